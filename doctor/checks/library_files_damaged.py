"""A library file of torch, CUDA or Triton is missing or damaged.

What is wrong: a shared library that pip, uv or conda installed is missing, empty, truncated, full of zeros, a git-lfs
pointer, or built for a different processor. A program that loads it fails, even if the list of packages looks complete.

Symptoms: `ImportError: libtorch_cpu.so: cannot open shared object file`, `file too short`, `invalid ELF header`, `ELF
load command past end of file`, `Unable to load any of {libcudnn_cnn.so.9.1.0, libcudnn_cnn.so.9}`, `Bus error` (a file
that was truncated while it was mapped).

Why it happens: an installation that was interrupted or ran out of disk space; a copy (rsync, `COPY`, a network file
system) that was cut short; a repository cloned without git-lfs; a uv cache that was cleaned while installed files still
linked into it; a script that made an image smaller.

How to fix it: check whether the disk is full, then reinstall just the damaged packages; see the command in the finding.

What was examined: every shared library that RECORD lists for torch, the nvidia-* wheels, Triton and the packages named
with `--require`: its size, and whether its ELF header shows that the file is complete. In builds without RECORD (conda,
a distribution, source): the headers of the files in torch/lib and nvidia/*/lib, and whether the libraries they name are
found. Contents are not read; `gpudoctor check --deep` compares them with the hashes in RECORD. An intact library of a
different size (stripped, or changed by patchelf) is only a note, and so is a missing one that programs rarely load
(tests, profiling, transports).

Source: RECORD (packaging.python.org/specifications/recording-installed-packages); the ELF header (System V ABI).
"""

from __future__ import annotations

from collections.abc import Sequence

from ..findings import Check, Findings, Matrix, NotExamined, Policy, Skip
from ..findings.patterns import lazy
from ..fixes.damaged import reinstall_damaged
from ..snapshot import ChangedFile, Missing, Snapshot, known, need
from ._torch import REPLACED

CHECK = Check(
    __name__,
    title="A library file is missing or damaged",
    sound="No damaged library file of torch or CUDA was found",
    severity="critical",
    layer="python",
    tags=("torch", "libraries"),
    downstream_of=(*REPLACED, "torch-installed-twice"),
    needs_gpu=False,
)


_SPARE = lazy(
    r"(.*/)?(lib(backend_with_compiler|jitbackend_test|torchbind_test|aoti_custom_ops|nvperf_\w+|pcsamplingutil|"
    r"checkpoint|cufile_rdma|nvToolsExt|cupti_\w+|proton|nvblas|cufftw|cusolverMg|"
    r"caffe2_(detectron_ops|observers|module_test_dynamic)\w*)|nvshmem_(transport|bootstrap)_|"
    r"libnvshmem_|test_)[^/]*"
)
"""What no program loads, or only one that measures, tests, needs this transport or asks for Caffe2's own operators:
Debian's python3-torch links to those, and no package has the files (packages.debian.org/bookworm/libtorch1.13)."""
_UNUSED = lazy(r"(^|/)(tests?|testing|_?benchmarks?|examples?|include)/|(^|/)test_[^/]*$")
_HOW = {
    "missing": "is missing", "empty": "is empty", "zeros": "contains zeros instead of data", "cut": "is truncated",
    "machine": "is built for a different processor",
    "pointer": "is a git-lfs pointer", "not-elf": "is damaged", "needs": "cannot be loaded", "size": "was changed",
    "content": "was changed",
}  # fmt: skip
_LISTED = 8


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """One failure for all libraries that cannot be loaded, one note for those that were changed."""
    changed = s.python.changed_libraries
    if isinstance(changed, Missing) and changed.reason == "absent":
        raise Skip("no library of torch, CUDA or Triton is installed")
    if isinstance(changed, Missing) and changed.reason == "not-asked":
        raise NotExamined("the libraries' files were not examined")
    broken: list[ChangedFile] = []
    spare: list[ChangedFile] = []
    for one in need("python.changed_libraries", changed):
        (broken if _breaks(s, p, one) else spare).append(one)
    if broken:
        first, more = broken[0], len(broken) - 1
        title = f"{first.path.rpartition('/')[2]} {_HOW[first.state]}"
        title += (
            f", and {more} more damaged librar{'y' if more == 1 else 'ies'}"
            if more
            else f" ({first.package} {first.version})"
        )
        yield CHECK.fail(title, _lines(broken), facts=_facts(broken), fixes=(reinstall_damaged(s, m, broken),))
    yield from _deep(s, m, broken)
    if spare:
        count = f"{len(spare)} librar{'y differs' if len(spare) == 1 else 'ies differ'}"
        title = f"{count} from what was installed, but this is not known to break anything"
        yield CHECK.remark(title, _lines(spare), facts=_facts(spare))


def _deep(s: Snapshot, m: Matrix, broken: Sequence[ChangedFile]) -> Findings:
    """What --deep adds: a warning for files with different contents, a note for edited and deleted ones."""
    known_already = {(one.site, one.path) for one in broken}
    differing = [one for one in known(s.python.changed_files) or () if (one.site, one.path) not in known_already]
    bad = [one for one in differing if _is_library(one) and one.state == "content"]
    bad += [one for one in differing if one.path.endswith(".py") and _gone(one) and not _UNUSED.search(one.path)]
    if bad:
        title = f"{len(bad)} torch or CUDA file{'s have' if len(bad) > 1 else ' has'} changed since installation"
        fixes = (reinstall_damaged(s, m, bad),)
        yield CHECK.warn(title, _lines(bad), facts=_facts(bad), fixes=fixes)
    rest = [one for one in differing if one not in bad and not _is_library(one)]
    if rest:
        gone = sum(_gone(one) for one in rest)
        title = f"Files changed since installation: {len(rest) - gone} edited, {gone} deleted"
        yield CHECK.remark(title, _lines(rest), facts=_facts(rest))
    changed = s.python.changed_files
    if isinstance(changed, Missing) and changed.reason != "not-asked":
        need("python.changed_files", changed)


def _gone(one: ChangedFile) -> bool:
    return one.state in ("missing", "empty")


def _is_library(one: ChangedFile) -> bool:
    return ".so" in one.path.rpartition("/")[2]


def _breaks(s: Snapshot, p: Policy, one: ChangedFile) -> bool:
    """Whether a program that loads this library fails."""
    if one.state == "size":
        return False
    if one.package.startswith("nvidia-") and known(s.torch.build) == "cpu" and one.package not in p.require:
        return False  # a leftover that nothing here loads
    name = one.path.rpartition("/")[2]
    loaded = {path.rpartition("/")[2] for path in known(s.torch_run.libraries_loaded) or ()}
    if known(s.torch_run.imported) is True and (name in loaded or one.state == "needs"):
        return False  # the loader found it, or one of that name
    return one.state != "missing" or not (one.elsewhere or _SPARE.fullmatch(one.path))


def _lines(libraries: Sequence[ChangedFile]) -> str:
    lines = [f"{one.site}/{one.path}: {_words(one)}." for one in libraries[:_LISTED]]
    more = len(libraries) - len(lines)
    return "\n".join([*lines, *([f"And {more} more."] if more > 0 else [])])


def _words(one: ChangedFile) -> str:
    size = _size(one.size) if one.whole is None else f"{_size(one.size)} of {_size(one.whole)}"
    if one.state == "missing":
        gone = (
            f"missing (RECORD gives its size as {_size(one.whole)})"
            if one.whole is not None
            else "the file does not exist"
        )
        gone = f"a link to {one.detail}, which does not exist" if one.detail else gone
        return gone + (f"; the loader uses {one.elsewhere} instead" if one.elsewhere else "")
    if one.state == "machine":
        return f"built for {one.detail}"
    if one.state == "needs":
        return f"it needs {one.detail}, which was not found"
    if one.state == "size":
        whole, why = one.whole or 0, "stripped, or changed by patchelf" if ".so" in one.path else "edited since then"
        sizes = (_size(one.size), _size(whole))
        if sizes[0] == sizes[1]:
            sizes = (f"{one.size:,} bytes", f"{whole:,}")
        return f"intact, but its size is {sizes[0]} instead of the {sizes[1]} at installation ({why})"
    if one.state == "content":
        return "its hash differs from the one in RECORD, but its size matches"
    what = {
        "empty": "it is empty",
        "zeros": "it contains zeros instead of data",
        "pointer": "a git-lfs pointer, not the library",
    }
    return f"{what.get(one.state) or ('truncated' if one.state == 'cut' else one.detail)} ({size})"


def _size(size: int) -> str:
    if size < 10_000:
        return f"{size} bytes"
    if size < 1_000_000:
        return f"{size / 1e3:.0f} kB"
    return f"{size / 1e6:.1f} MB" if size < 1e9 else f"{size / 1e9:.2f} GB"


def _facts(libraries: Sequence[ChangedFile]) -> dict[str, object]:
    return {"libraries": [f"{one.path}: {one.state}" for one in libraries]}
