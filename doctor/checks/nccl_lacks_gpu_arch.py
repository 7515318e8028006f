"""The NCCL that PyTorch loads has no code for this GPU.

What is wrong: NCCL's collectives run as GPU kernels. The library installed with PyTorch has machine code for other GPU
generations, and no PTX that the driver could compile for this GPU. PyTorch's own kernels may still support it.

Symptoms: `NCCL error ... unhandled cuda error`, `no kernel image is available for execution on the device` at the first
all-reduce; work on a single GPU is fine.

Why it happens: a newer NCCL wheel dropped this GPU generation before PyTorch did, or an older NCCL was installed with a
PyTorch for a new GPU.

How to fix it: install an NCCL release for the same CUDA major version that has code for this GPU; see the command in
the finding. Until then `init_process_group("gloo")` works.

This is a failure with several GPUs, and only a note with one, because NCCL then has nothing to do.

Source: .nv_fatbin of libnccl.so.2; NCCL's wheels.
"""

from __future__ import annotations

from compat_matrix.versions import numbers

from ..findings import Check, Findings, Fix, Matrix, Policy, Skip, Step
from ..fixes.compatible import compatible_torch
from ..fixes.extensions import without_libraries
from ..fixes.install import Install, ways
from ..fixes.packages import site_packages, with_distributions
from ..fixes.where import RECHECK, recheck_run
from ..snapshot import CodeLibrary, Distribution, Missing, NeedsFact, Snapshot, known, need
from ._extensions import reaches
from ._torch import NO_CODE, cuda_build, gpus

CHECK = Check(
    __name__,
    title="NCCL has no code for this GPU",
    sound="No GPU without NCCL code was found",
    severity="error",
    layer="libraries",
    tags=("torch", "libraries", "gpu"),
    downstream_of=(*NO_CODE, "no-nvidia-gpu", "mixed-cuda-wheels", "torch-installed-twice"),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """With several GPUs, fails for each one that the loaded NCCL has no code for."""
    cuda = cuda_build(s)
    libraries = need("python.extensions", s.python.extensions)
    found = _loaded(s, [lib for lib in libraries if lib.package == "nvidia-nccl"])
    if found is None:
        raise Skip("no NCCL library was found for this torch")
    cards = [gpu for gpu in gpus(s, m) if gpu.capability]
    if not cards:
        raise NeedsFact("gpus.compute_capability", Missing("absent", "no GPU's compute capability is known"))
    version = known(s.torch.nccl_bundled) or ""
    for capability in dict.fromkeys(gpu.capability for gpu in cards):
        reach = reaches(s, m, (found,), capability)
        if reach.verdict != "no":
            continue
        title = f"NCCL {version} has no code for compute capability {capability}".replace("  ", " ")
        detail = f"Read from {found.path}: {reach.reason}."
        facts = {"nccl": version, "compute_capability": capability, "sass": list(reach.held), "library": found.path}
        if _ran(s, len(cards)):
            yield CHECK.remark(
                f"NCCL {version} works here, though no code for {capability} was found in its file",
                f"An all-reduce over all GPUs returned the right sum. {detail}",
                facts=facts,
                subject=capability,
            )
            continue
        if row := _published(s, m, version, capability, cuda.partition(".")[0]):
            raise NeedsFact(
                "python.extensions", Missing("conflict", f"{row}, but the installed file has {reach.reason}")
            )
        if len(cards) > 1:
            fixes = _fixes(s, m, int(numbers(cuda)[0]), [gpu.capability for gpu in cards])
            yield CHECK.fail(title, detail, facts=facts, subject=capability, fixes=fixes)
        else:
            yield CHECK.remark(title, detail + " With one GPU, nothing uses NCCL.", facts=facts, subject=capability)


def _ran(s: Snapshot, cards: int) -> bool:
    """Whether an all-reduce with NCCL over all these GPUs was correct."""
    ring = s.measured.collective
    fresh = known(s.measured.level) is not None and s.torch_run.kernel_ran != RECHECK
    return bool(fresh and ring and ring.backend == "nccl" and known(ring.right) and ring.ranks >= cards)


def _published(s: Snapshot, m: Matrix, version: str, capability: str, major: str) -> str:
    """That the installed NCCL wheel, as published, has code for the GPU; '' if it has none or that is unknown."""
    wheel = s.python.distribution(f"nvidia-nccl-cu{major}")
    if not isinstance(wheel, Distribution) or numbers(wheel.version)[:3] != numbers(version)[:3]:
        return ""
    held = next((row.wheel_sass.get(major) for row in m.nccl_rows if row.version == wheel.version), None)
    runs = held and m.code_for_gpu(capability, held).kind == "sass"
    return f"the published {wheel.name} {wheel.version} has code for {capability}" if runs else ""


def _loaded(s: Snapshot, libraries: list[CodeLibrary]) -> CodeLibrary | None:
    """The one that torch loads, by its path; if that is unknown, the only one."""
    path = known(s.torch.nccl_path)
    mine = [lib for lib in libraries if lib.path == path]
    return mine[0] if mine else libraries[0] if len(libraries) == 1 and path is None else None


def _fixes(s: Snapshot, m: Matrix, major: int, wanted: list[str]) -> tuple[Fix, ...]:
    """The newest NCCL known to support all GPUs, then a torch (with its NCCL) that does."""
    rows = [
        row
        for row in m.nccl_rows
        if (held := row.wheel_sass.get(str(major)))
        and all(m.code_for_gpu(capability, held).kind == "sass" for capability in wanted)
    ]
    best = max(rows, key=lambda row: numbers(row.version), default=None)
    torch = tuple(fix for fix in (compatible_torch(s, m),) if fix)
    if best is None:
        return torch
    name = f"nvidia-nccl-cu{major}"
    put = (Distribution(name=name, version=best.version, location=site_packages(s)),)
    changes = {
        **recheck_run(s), **without_libraries(s, ("nvidia-nccl",)),
        "python.distributions": with_distributions(s, put), "torch.nccl_bundled": best.version.partition(".post")[0],
    }  # fmt: skip
    step = Step(
        text="This no longer matches torch's pin, but NCCL's interface stays compatible within version 2.",
        where="environment",
        **ways(s, Install(packages=(f"{name}=={best.version}",), deps=False)),
        changes=changes,
    )
    return Fix(id="install-nccl", title=f"Install {name} {best.version}", steps=(step,)), *torch
