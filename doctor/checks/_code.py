"""torch's compiled architectures against each GPU, by every witness that speaks of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from compat_matrix.versions import arch, torch_version

from ..fixes.machine import SeenGpu, wheel_platform
from ..snapshot import NOT_ASKED, Missing, NeedsFact, Snapshot, known, need
from ._torch import cuda_build, gpus

if TYPE_CHECKING:
    from compat_matrix import Matrix
    from compat_matrix.code import CodeGrade


_RUNS = ("sass", "ptx-jit")


class Code(NamedTuple):
    """The architectures of a torch build as one witness tells them."""

    witness: str
    sass: tuple[str, ...]
    ptx: tuple[str, ...]
    direct: bool


class Judged(NamedTuple):
    """One GPU against torch's code. `disagreement`: what another witness says to the contrary, or ''."""

    gpu: SeenGpu
    grade: CodeGrade
    code: Code
    disagreement: str

    @property
    def facts(self) -> dict[str, Any]:
        return {
            "gpu": self.gpu.name, "compute_capability": self.gpu.capability, "sass": list(self.code.sass),
            "ptx": list(self.code.ptx), "witness": self.code.witness,
        }  # fmt: skip


def witnesses(s: Snapshot, m: Matrix) -> list[Code]:
    """Who says what torch was compiled for, the best witness first; empty where nobody does."""
    found = []
    sass, ptx = known(s.torch.sass), known(s.torch.ptx)
    if sass is not None and (sass or ptx):
        found.append(Code("machine code in torch's libraries", sass, ptx or (), True))
    for witness, names in (
        ("torch.cuda.get_arch_list()", known(s.torch_run.arch_list)),
        ("the list in libtorch_python.so", known(s.torch.arch_text)),
    ):
        if names:
            real = tuple(str(a) for name in names if name.startswith("sm_") and (a := arch(name)))
            virtual = tuple(str(a) for name in names if name.startswith("compute_") and (a := arch(name)))
            if real or virtual:
                found.append(Code(witness, real, virtual, True))
    parts = torch_version(known(s.torch.version) or "")
    if not found and parts and parts.kind == "release" and (tag := parts.tag or _tag_of(s)):
        row = m.torch_build(parts.base, tag, wheel_platform(s))
        if row and row.confidence != "memory":
            found.append(Code(f"the published build {parts.base}+{tag}", row.sass, row.ptx, False))
    return found


def _of_every_release(s: Snapshot, m: Matrix) -> list[Code]:
    """A text that tells torch's CUDA and not its version: the code of all releases for it, where a GPU finds none."""
    told = s.torch.version == NOT_ASKED and not known(s.torch_run.arch_list)
    tag = _tag_of(s) if told else ""
    rows = [row for row in m.builds if row.tag == tag and row.platform == wheel_platform(s)] if tag else []
    rows = [row for row in rows if row.confidence != "memory" and row.sass]
    sass = tuple(dict.fromkeys(name for row in rows for name in row.sass))
    ptx = tuple(dict.fromkeys(name for row in rows for name in row.ptx))
    levels = {gpu.capability for gpu in gpus(s, m) if gpu.capability} if rows else set()
    lacks = any(m.code_for_gpu(level, sass, ptx).kind == "none" for level in levels)
    return [Code(f"all published builds for CUDA {known(s.torch.cuda)}", sass, ptx, False)] if rows and lacks else []


def _tag_of(s: Snapshot) -> str:
    """The tag of a text's plain version by the CUDA that it tells; conda-forge builds releases for other GPUs."""
    if s.target.kind != "text" or known(s.torch.installer) == "conda-forge":
        return ""
    cuda = (known(s.torch.cuda) or "").split(".")
    return f"cu{cuda[0]}{cuda[1]}" if len(cuda) >= 2 else ""


def judged(s: Snapshot, m: Matrix) -> list[Judged]:
    """Every GPU that programs get against torch's code; unknown where neither bytes nor lists are known."""
    of_all = _of_every_release(s, m)
    cuda = known(s.torch.cuda) or "" if of_all else cuda_build(s)
    cards = gpus(s, m)
    found = of_all or witnesses(s, m)
    if not found:
        need("torch.sass", s.torch.sass)
        raise NeedsFact("torch.sass", Missing("absent", "no GPU code was found in torch's libraries"))
    driver = known(s.driver.cuda_version) or known(s.driver.nvml_cuda_version)
    result = []
    by_capability: dict[str, list[CodeGrade]] = {}
    for gpu in cards:
        if not (cc := gpu.capability):
            continue
        if cc not in by_capability:
            by_capability[cc] = [m.code_for_gpu(cc, code.sass, code.ptx, driver, cuda) for code in found]
        grades = by_capability[cc]
        disagreement = "".join(
            f" {code.witness[0].upper()}{code.witness[1:]} says otherwise: {grade.reason}."
            for code, grade in zip(found[1:], grades[1:], strict=True)
            if grade.kind != "unknown" and (grade.kind in _RUNS) != (grades[0].kind in _RUNS)
        )
        result.append(Judged(gpu, grades[0], found[0], disagreement))
    if not result:
        raise NeedsFact("gpus.compute_capability", Missing("absent", "no GPU's compute capability is known"))
    return result


def ran_here(s: Snapshot, gpu: SeenGpu) -> bool:
    """Whether torch was seen to run a kernel on every device and this GPU's kind was among them."""
    seen = known(s.torch_run.device_capabilities)
    return known(s.torch_run.kernel_ran) is True and (seen is None or gpu.capability in seen)


def older_than_build(j: Judged) -> bool:
    """Whether the GPU is older than the newest architecture that the build holds code for in its own line.

    Older than the oldest, or in a gap below the newest: its code was dropped. Newer than the newest: it lacks it.
    """
    held = [a.capability for name in (*j.code.sass, *j.code.ptx) if (a := arch(name))]
    device = arch(j.gpu.capability)
    return bool(held and device and device.capability < max(held))
