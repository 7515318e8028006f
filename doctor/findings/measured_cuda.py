"""Is CUDA compatibility the cause of slowness? Cleared only by what ran."""

from __future__ import annotations

from typing import Literal, NamedTuple

from ..snapshot import Snapshot, TorchProof, known
from .measured_gpu import gpu_of
from .measured_path import cpu_was_measured, cuda_proofs, overall, paths, shared
from .measured_rates import Knows, Ranged, ranged

_PLAIN = ("bf16", "fp16", "tf32", "fp32")
_FAR = 0.6
"""Of what is typical: heat and power limits cost less, code that does not fit a GPU costs more."""


class Compatibility(NamedTuple):
    """The word, and why as a sentence."""

    word: Literal["cleared", "suspect", "unknown"]
    reason: str


def compatibility(s: Snapshot, m: Knows) -> Compatibility:
    """Cleared: machine code for this GPU ran, results are right, and large products are as fast as they should be."""
    path = overall(paths(s))
    if path.word != "gpu-path-used":
        # A program that leaves the GPU alone says nothing of CUDA.
        proves_nothing = path.word == "unknown" or cpu_was_measured(s.measured) or path.device == "watch"
        word: Literal["suspect", "unknown"] = "unknown" if proves_nothing else "suspect"
        return Compatibility(word, path.reason)
    proofs = cuda_proofs(s.measured)
    if not proofs and (s.measured.watch is None or known(s.measured.watch.gpu_busy_percent) is None):
        return Compatibility("unknown", path.reason)
    if not proofs and s.measured.watch and shared(s.measured.watch):
        return Compatibility("unknown", "other programs used the GPU too, and NVML does not show whose kernels ran")
    if any(known(proof.code) == "ptx-jit" for proof in proofs):
        return Compatibility(
            "suspect", "torch's kernels were compiled from PTX because torch has no native code for this GPU"
        )
    native = _native(s, m, proofs)
    if not native:
        return Compatibility("unknown", "gpudoctor does not know whether torch has native code for this GPU")
    products = [r for r in ranged(s, m, "matmul") if r.band.basis != "unknown" and r.rate.what in _PLAIN]
    low = [r for r in products if r.low and r.rate.value < _FAR * r.band.typical and not r.busy]
    if low:
        where = f" on {low[0].rate.device}" if len({r.rate.device for r in products}) > 1 else ""
        return Compatibility("unknown", f"large matmuls are slower than they should be{where}: {low[0].figures()}")
    words = [native, "the results are correct"] if proofs else [native]
    if products:
        words.append(_speed(products))
    return Compatibility("cleared", f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0])


def sentence(s: Snapshot, m: Knows) -> str:
    """For the detail of a finding about speed."""
    found = compatibility(s, m)
    if found.word == "cleared":
        return f"CUDA compatibility is not the cause: {found.reason}."
    return f"CUDA compatibility is not ruled out: {found.reason}."


def _native(s: Snapshot, m: Knows, proofs: list[TorchProof]) -> str:
    if proofs and all(known(proof.code) == "native" for proof in proofs):
        return "native code for this GPU ran"
    sass = known(s.torch.sass)
    keys = s.measured.watch.gpu_keys if s.measured.watch else ()
    gpus = [gpu_of(s, proof.device) for proof in proofs] or [gpu_of(s, "", key) for key in keys or ("",)]
    found = [known(gpu.compute_capability) if gpu else None for gpu in gpus]
    if not sass or not found or not all(cc and m.code_for_gpu(cc, sass).kind == "sass" for cc in found):
        return ""
    ran = "the program's kernels ran on the GPU" if not proofs else "torch's kernels ran on the GPU"
    return f"{ran}, for which torch has native code"


def _speed(products: list[Ranged]) -> str:
    best = next((r for what in _PLAIN for r in products if r.rate.what == what), products[0])
    share = f"{100 * best.rate.value / best.band.peak:.0f} % of the peak" if best.band.peak else "the normal rate"
    return f"large {best.rate.what} matmuls reach {share}"
