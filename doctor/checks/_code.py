"""torch's compiled architectures compared with each GPU, from every source that lists them."""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct

from compat_matrix.code import CodeGrade
from compat_matrix.versions import arch, torch_version

from ..findings import Matrix, Skip
from ..findings.patterns import lazy
from ..fixes.machine import SeenGpu, wheel_platform
from ..fixes.torch_request import AS_PUBLISHED
from ..snapshot import NOT_ASKED, Missing, NeedsFact, Snapshot, known, need
from ._extensions import FEW, share_for
from ._torch import cuda_build, gpus

RUNS = ("sass", "ptx-jit")
_MAIN = lazy(r"/libtorch_cuda(_cu|_cpp)?\.so$")
NO_IMAGE = "no kernel image is available"


class Code(Struct, frozen=True):
    """The architectures of a torch build according to one witness. `kind`: list, published, bytes."""

    witness: str
    sass: tuple[str, ...]
    ptx: tuple[str, ...]
    direct: bool
    kind: str = "bytes"


class Judged(Struct, frozen=True):
    """One GPU compared with torch's code, from the witness that decides.

    `against`: the witnesses that disagree. `ran`: torch was seen to compute on this GPU, which outweighs them all.
    `conflict`: torch's list and the published build differ, so the answer is unclear; then the grade is 'unknown'.
    """

    gpu: SeenGpu
    grade: CodeGrade
    code: Code
    against: tuple[tuple[Code, CodeGrade], ...] = ()
    ran: bool = False
    conflict: bool = False

    @property
    def serves(self) -> bool:
        """Whether there is code for the GPU, or a kernel ran on it."""
        return self.ran or self.grade.kind in RUNS

    @property
    def disagreement(self) -> str:
        """` The published build 2.6.0+cu124 says otherwise: ...`, or ''."""
        return "".join(f" {_capital(c.witness)} says otherwise: {grade.reason}." for c, grade in self.against)

    @property
    def facts(self) -> dict[str, Any]:
        return {
            "gpu": self.gpu.name,
            "compute_capability": self.gpu.capability,
            "sass": list(self.code.sass),
            "ptx": list(self.code.ptx),
            "witness": self.code.witness,
        }


def _capital(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


def witnesses(s: Snapshot, m: Matrix) -> list[Code]:
    """What torch was compiled for, per source: its libraries' bytes, its own list, the published build."""
    found = [] if s.witnesses.get("torch.sass") == (AS_PUBLISHED,) else _of_files(s)
    parts = torch_version(known(s.torch.version) or "")
    if parts and parts.kind == "release" and (tag := parts.tag or (_tag_of(s) if not found else "")):
        row = m.torch_build(parts.base, tag, wheel_platform(s))
        if row and row.confidence != "memory":
            found.append(Code(f"the published build {parts.base}+{tag}", row.sass, row.ptx, False, "published"))
    return found


def _of_files(s: Snapshot) -> list[Code]:
    found = []
    sass, ptx = known(s.torch.sass), known(s.torch.ptx)
    if sass is not None and (sass or ptx):
        listed = s.witnesses.get("torch.sass", ()) == ("TORCH_CUDA_ARCH_LIST",)
        words = (
            "the list that torch was built with (TORCH_CUDA_ARCH_LIST)"
            if listed
            else "machine code in torch's libraries"
        )
        found.append(Code(words, sass, ptx or (), not listed, "list" if listed else "bytes"))
    for witness, names in (
        ("torch.cuda.get_arch_list()", known(s.torch_run.arch_list)),
        ("the list in libtorch_python.so", known(s.torch.arch_text)),
    ):
        if names:
            real = tuple(str(a) for name in names if name.startswith("sm_") and (a := arch(name)))
            virtual = tuple(str(a) for name in names if name.startswith("compute_") and (a := arch(name)))
            if real or virtual:
                found.append(Code(witness, real, virtual, True, "list"))
                break
    return found


def _of_every_release(s: Snapshot, m: Matrix) -> list[Code]:
    """Torch's CUDA is known and its version is not: the code of all releases for it, if a GPU finds none there."""
    version_unknown = s.torch.version == NOT_ASKED and not known(s.torch_run.arch_list)
    tag = _tag_of(s) if version_unknown else ""
    rows = [row for row in m.builds if row.tag == tag and row.platform == wheel_platform(s)] if tag else []
    rows = [row for row in rows if row.confidence != "memory" and row.sass]
    sass = tuple(dict.fromkeys(name for row in rows for name in row.sass))
    ptx = tuple(dict.fromkeys(name for row in rows for name in row.ptx))
    levels = {gpu.capability for gpu in gpus(s, m) if gpu.capability} if rows else set()
    lacks = any(m.code_for_gpu(level, sass, ptx).kind == "none" for level in levels)
    return [Code(f"all published builds for CUDA {known(s.torch.cuda)}", sass, ptx, False)] if rows and lacks else []


def _tag_of(s: Snapshot) -> str:
    return known(s.torch.wheel_tag) or ""


def judged(s: Snapshot, m: Matrix) -> list[Judged]:
    """Every GPU that programs get, compared with torch's code; unknown if neither bytes nor lists are known."""
    of_all = _of_every_release(s, m)
    cuda = known(s.torch.cuda) or "" if of_all else cuda_build(s)
    cards = gpus(s, m)
    found = of_all or witnesses(s, m)
    if not found:
        need("torch.sass", s.torch.sass)
        raise NeedsFact("torch.sass", Missing("absent", "no GPU code was found in torch's libraries"))
    driver = known(s.driver.cuda_version) or known(s.driver.nvml_cuda_version)
    result = []
    by_capability: dict[str, list[tuple[Code, CodeGrade]]] = {}
    for gpu in cards:
        if not (cc := gpu.capability):
            continue
        if cc not in by_capability:
            grades = [(code, m.code_for_gpu(cc, code.sass, code.ptx, driver, cuda)) for code in found]
            by_capability[cc] = [pair for pair in grades if not _ptx_unseen(s, m, *pair)] or grades[:1]
        decided = _decide(gpu, by_capability[cc], ran_here(s, gpu), no_image_here(s, gpu))
        result.append(_in_part(s, m, decided, [code.kind for code, _ in by_capability[cc]]))
    if not result:
        raise NeedsFact("gpus.compute_capability", Missing("absent", "the compute capability of the GPUs is unknown"))
    return result


def conflict(s: Snapshot, m: Matrix) -> str:
    """What torch's witnesses say about a GPU if they differ and none outweighs the others; otherwise ''."""
    try:
        return next((j.grade.reason for j in judged(s, m) if j.conflict), "")
    except (NeedsFact, Skip):
        return ""


def serves_any(s: Snapshot, m: Matrix) -> bool:
    """Whether torch may have code for a GPU here: False only where it is known to have none for any."""
    try:
        return any(j.serves or j.grade.kind == "unknown" or j.grade.ptx_needs_cuda for j in judged(s, m))
    except (NeedsFact, Skip):
        return True


def _ptx_unseen(s: Snapshot, m: Matrix, code: Code, grade: CodeGrade) -> bool:
    """The row of a published build whose PTX was never read cannot show that there is no code."""
    if code.kind != "published" or grade.kind != "none":
        return False
    parts = torch_version(known(s.torch.version) or "")
    row = m.torch_build(parts.base, parts.tag or _tag_of(s), wheel_platform(s)) if parts else None
    return row is not None and row.ptx_unknown


def _decide(gpu: SeenGpu, grades: list[tuple[Code, CodeGrade]], ran: bool, no_image: bool) -> Judged:
    """The order of evidence: a kernel on this GPU, torch's own list with the published build, the bytes.

    If either the list or the build is missing, a 'yes' outweighs a 'no' if the witness describes these very files: its
    own list against the bytes, bytes against the table. In the opposite case the answer is unknown.
    """
    by = {code.kind: (code, grade) for code, grade in grades if grade.kind != "unknown"}
    if not by:
        code, grade = grades[0]
        return Judged(gpu, _refused(gpu, code) if no_image and not ran else grade, code, ran=ran)
    own, published, read = by.get("list"), by.get("published"), by.get("bytes")
    every = [one for one in (read, own, published) if one]
    yes = [one for one in every if one[1].kind in RUNS]
    no = [one for one in every if one not in yes]
    first: tuple[Code, CodeGrade] | None = every[0]
    if ran or no_image:
        first = (yes or no)[0] if ran else (no or yes)[0]
    elif own and published:
        agreed = {own[1].kind, published[1].kind}
        first = None if (own in yes) != (published in yes) else read if read and read[1].kind in agreed else own
    elif yes and no:
        first = own if own in yes else read if read in yes and not own else None
    if first is None:
        reason = "; ".join(f"{code.witness}: {grade.reason}" for code, grade in (*yes, *no))
        return Judged(gpu, CodeGrade(kind="unknown", by="", reason=reason), every[0][0], conflict=True)
    side = first in yes
    return Judged(gpu, first[1], first[0], tuple(one for one in every if (one in yes) != side), ran)


def _refused(gpu: SeenGpu, code: Code) -> CodeGrade:
    """CUDA found no image for a GPU that the matrix does not list: CUDA's answer decides."""
    held = [found.capability for name in (*code.sass, *code.ptx) if (found := arch(name))]
    newest = "{}{}".format(*max(held)) if held else "unknown"
    target = gpu.capability.replace(".", "")
    return CodeGrade(kind="none", by="", reason=f"has no code for sm_{target} (its newest is sm_{newest})")


def _in_part(s: Snapshot, m: Matrix, j: Judged, kinds: list[str]) -> Judged:
    """Unknown if only the bytes say no, although a good share of the kernels has code for the GPU."""
    if j.ran or kinds != ["bytes"] or j.grade.kind != "none" or no_image_here(s, j.gpu):
        return j
    libraries = [lib for lib in known(s.torch.libraries) or () if _MAIN.search(lib.path)]
    share = max((share_for(m, library, j.gpu.capability) for library in libraries), default=0.0)
    if share <= FEW:
        return j
    reason = (
        f"judging by the library files alone, at most {share:.0%} of torch's kernels have code for {j.gpu.capability}"
    )
    return Judged(j.gpu, CodeGrade(kind="unknown", by="", reason=reason), j.code, conflict=True)


def ran_here(s: Snapshot, gpu: SeenGpu) -> bool:
    """Whether torch was seen to compute on this GPU: a small kernel on every device, or the proof on this one."""
    ran = s.torch_run.kernel_ran
    if isinstance(ran, Missing) and ran.reason != "recheck" and known(s.measured.level) is not None:
        return any(proof.key == gpu.key and known(proof.right) for proof in known(s.measured.torch) or ())
    seen = known(s.torch_run.device_capabilities)
    return known(ran) is True and (seen is None or gpu.capability in seen)


def no_image_here(s: Snapshot, gpu: SeenGpu) -> bool:
    """Whether CUDA reported 'no kernel image' for a kernel on this kind of GPU."""
    run = s.torch_run
    if not any(NO_IMAGE in (known(text) or "") for text in (run.kernel_error, run.first_call_error)):
        return False
    numbers = {int(n) for n in re.findall(r"device (\d{1,3}):[^;]*" + NO_IMAGE, known(run.kernel_error) or "")}
    seen = known(run.device_capabilities)
    return not numbers or not seen or any(gpu.capability == seen[n] for n in numbers if n < len(seen))


def older_than_build(j: Judged, code: Code) -> bool:
    """Whether the GPU is older than the newest architecture that the build holds code for in its own line.

    Older than the oldest, or in a gap below the newest: its code was dropped. Newer than the newest: it lacks it.
    """
    held = [a.capability for name in (*code.sass, *code.ptx) if (a := arch(name))]
    device = arch(j.gpu.capability)
    return bool(held and device and device.capability < max(held))
