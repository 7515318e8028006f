"""torchvision, torchaudio or another companion package was built for a different PyTorch or CUDA version.

What is wrong: these packages contain code compiled against one PyTorch release (and one CUDA version). With a different
one, they fail to import or lack their CUDA operators.

Symptoms: `RuntimeError: operator torchvision::nms does not exist`, `OSError: libtorchaudio.so: undefined symbol:
_ZN3c10...`, `Could not run 'torchvision::nms' with arguments from the 'CUDA' backend`, `Detected that PyTorch and
torchvision were compiled with different CUDA major versions`, `OSError: libcudart.so.13: cannot open shared object`.

Why it happens: `torch` was upgraded or replaced on its own; one package came from PyPI and the other from a CUDA index.
The version alone does not show this. What counts is what the package's libraries link to (a CPU build of PyTorch has no
libtorch_cuda.so).

How to fix it: install the version that matches the installed `torch`, from the same index; see the command in the
finding.

Source: ELF DT_NEEDED and Requires-Dist of the companion; the projects' compatibility tables.
"""

from __future__ import annotations

from typing import Any

from compat_matrix.versions import TorchVersion, numbers, torch_version

from ..findings import Check, Findings, Matrix, Policy
from ..fixes.companions import COMPILED, install_companion, remove_companion
from ..fixes.extensions import cudart_major
from ..fixes.pins import applies, pin_of, requires
from ..snapshot import Distribution, Snapshot, known, need
from ._linked import libraries_of, links_torch, links_torch_cuda
from ._torch import OTHER_BUILD, REPLACED, installed

CHECK = Check(
    __name__,
    title="A companion package does not match torch",
    sound="No companion package that conflicts with torch was found",
    severity="error",
    layer="python",
    tags=("torch", "python"),
    downstream_of=(
        *OTHER_BUILD,
        *REPLACED,
        "image-torch-replaced",
        "torch-installed-twice",
        "user-site-shadows-packages",
    ),
    needs_gpu=False,
)


_LOOSE = ("triton", "torchao")
"""A mismatch of these costs torch.compile or some speed, not the import."""


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails for each companion that needs a different torch: by its own pin, the table, or its build tag."""
    version = installed(s)
    for d in _first_of_each(need("python.distributions", s.python.distributions)):
        reason, facts = _linked_otherwise(s, d)
        if not reason:
            reason, facts = _mismatch(s, m, version, d)
        if not reason:
            continue
        title = f"{d.name} {d.version} does not match torch {version}"
        remove = remove_companion(s, d.name) if "links" in facts else None
        fixes = tuple(fix for fix in (install_companion(s, m, version, d), remove) if fix)
        say = CHECK.fail if d.name in COMPILED else CHECK.warn
        facts = {"torch": version, d.name: d.version, **facts}
        yield say(title, reason + ".", facts=facts, subject=d.name, fixes=fixes)


def _first_of_each(distributions: tuple[Distribution, ...]) -> list[Distribution]:
    seen: dict[str, Distribution] = {}
    for d in distributions:
        if d.name in (*COMPILED, *_LOOSE):
            seen.setdefault(d.name, d)
    return list(seen.values())


def _linked_otherwise(s: Snapshot, d: Distribution) -> tuple[str, dict[str, Any]]:
    """What the companion's own libraries link against the build of torch: CUDA or none, and the CUDA major version."""
    kind, cuda = known(s.torch.build), known(s.torch.cuda)
    found = libraries_of(s, d.name) if d.name in COMPILED and not d.editable else ()
    for library in found:
        name, major = links_torch_cuda(library), cudart_major(library)
        if kind == "cpu" and name:
            facts = {"links": name, "library": library.path, "torch_build": kind}
            return f"It is a CUDA build: its libraries need {name}, which the CPU build of torch does not have", facts
        if kind == "cuda" and cuda and major and name and numbers(cuda)[:1] not in ((), (major,)):
            facts = {"links": f"libcudart of CUDA {major}", "library": library.path, "torch_cuda": cuda}
            return f"It is built for CUDA {major}, but torch is built for CUDA {cuda}", facts
    main = [library for library in found if library.path.endswith("/torchvision/_C.so")]
    if kind == "cuda" and main and links_torch(main[0]) and not links_torch_cuda(main[0]):
        facts = {"links": "libtorch_cpu.so", "library": main[0].path, "torch_build": kind}
        return "It is a CPU build: its libraries do not link to torch's CUDA libraries", facts
    return "", {}


def _mismatch(s: Snapshot, m: Matrix, version: str, d: Distribution) -> tuple[str, dict[str, Any]]:
    """Why it does not match, or ''. Nightly, vendor and editable builds are not judged: their versions say nothing."""
    parts, own = torch_version(version), torch_version(d.version)
    if parts is None or parts.kind != "release" or d.editable:
        return "", {}
    if d.name == "triton":
        for pin in filter(None, map(pin_of, known(requires(s)) or ())):
            if pin.name == "triton" and pin.version == d.version:
                return "", {}
            if pin.name == "triton" and applies(pin, s):
                return f"torch requires triton {pin.version}", {"expected": [pin.version]}
    pinned = False
    for line in known(d.requires) or ():
        wanted = pin_of(line)
        for_torch = torch_version(wanted.version) if wanted and wanted.name == "torch" else None
        if wanted and for_torch:
            pinned = True
            if for_torch.release != parts.release:
                return f"Its own metadata requires torch {wanted.version}", {"asks_for": wanted.version}
    if own and _other_build(d.name, own, parts):
        return f"It is built for {own.local}, but torch is built for {parts.local}", {"built_for": own.local}
    if pinned:
        return "", {}
    grade = m.companion_matches(parts.base, d.name, d.version.partition("+")[0])
    if grade.grade == "mismatch":
        return grade.reason[0].upper() + grade.reason[1:], {"expected": list(grade.expected)}
    return "", {}


def _other_build(name: str, own: TorchVersion, torch: TorchVersion) -> bool:
    """Whether both carry a build tag and the tags are incompatible: CPU with CUDA, another CUDA major version, and for
    torchaudio (which compares the whole CUDA version when it is imported) a different minor."""
    if not own.local or not torch.local:
        return False
    if own.local.startswith("rocm") != torch.local.startswith("rocm"):
        return True
    if own.kind != "release":
        return False
    if (own.local == "cpu") != (torch.local == "cpu"):
        return True
    if own.tag is None or torch.tag is None:
        return False
    return own.tag != torch.tag if name == "torchaudio" else own.tag[:-1] != torch.tag[:-1]
