"""PyTorch's kernels were compiled from PTX when they were first launched.

What is wrong: this PyTorch has no machine code for this GPU; the driver compiled its kernels from PTX while
`gpudoctor prove` ran. It works, but the first use of each kernel is slow, and there are no kernels tuned for this GPU.

Symptoms: the first step takes tens of seconds. That happens again after each driver update, and in containers at
every start, because the cache (~/.nv/ComputeCache) is lost.

Why it happens: the GPU is newer than the build.

How to fix it: install a build with machine code for this GPU; see the command in the finding. Until then, keep
CUDA_CACHE_PATH on a volume in containers.

Source: time of the first launch and growth of the driver's cache, measured by `gpudoctor prove`; CUDA C++ Programming
Guide, just-in-time compilation.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, NotExamined, Policy
from ..snapshot import Missing, NeedsFact, Snapshot, known
from ._measured import measured

CHECK = Check(
    __name__,
    title="Kernels were compiled from PTX at the first launch",
    sound="No kernel compilation was seen at the first launch",
    severity="warning",
    layer="python",
    tags=("measured", "torch", "speed"),
    downstream_of=("torch-ptx-jit-only",),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns for each device whose first launch was compiled; unknown if that could not be determined."""
    proofs = [proof for proof in known(measured(s).torch) or () if proof.device.startswith("cuda")]
    if not proofs:
        raise NotExamined("torch was not tested on a GPU")
    lack: Missing | None = None
    for proof in proofs:
        if isinstance(proof.code, Missing):
            lack = lack or proof.code
        elif proof.code == "ptx-jit":
            from ..findings.measured_gpu import gpu_of
            from ..fixes.compatible import compatible_torch
            from ..fixes.speed import here, measured_again

            gpu = gpu_of(s, proof.device, proof.key)
            first, cache = known(proof.first_launch_ms), known(proof.jit_cache_bytes)
            took = f"{first / 1000:.1f} s" if first is not None and first >= 1000 else f"{first or 0:.0f} ms"
            words = [f"The first launch took {took}"] if first is not None else []
            if cache:
                words.append(f"the driver's cache of compiled kernels grew by {cache / 1e6:.1f} MB")
            forced = known(s.host.env("CUDA_FORCE_PTX_JIT")) or known(s.host.env("CUDA_FORCE_JIT"))
            fixes = measured_again([compatible_torch(s, m)]) or (
                here(
                    "prove-again", "Install a build with machine code for this GPU", "Then run gpudoctor prove again."
                ),
            )
            if forced:
                words.append("an environment variable forces compilation from PTX")
                fixes = (
                    here(
                        "unset-force-jit",
                        "Unset the variable",
                        "It is meant for testing only.",
                        "unset CUDA_FORCE_PTX_JIT CUDA_FORCE_JIT && gpudoctor prove",
                    ),
                )
            yield CHECK.warn(
                f"torch's kernels were compiled from PTX for {proof.name or proof.device}",
                f"{' and '.join(words)}. All other kernels are also slow the first time they run." if words else "",
                facts={"first_launch_ms": first, "jit_cache_bytes": cache},
                fixes=fixes,
                downstream_of=(*CHECK.downstream_of, *(("environment-variable-breaks-cuda",) if forced else ())),
                subject=gpu.key if gpu else proof.device,
            )
    if lack is not None and lack.reason != "not-asked":
        raise NeedsFact("measured.torch.code", lack)
