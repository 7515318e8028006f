"""What the proof through libcuda alone adds to torch's."""

from __future__ import annotations

from ..snapshot import DriverProof, Measured, Missing, known
from ..snapshot.measured_proof import PROVES_NOTHING

OUT_OF_MEMORY = 2


def driver_failed(proof: DriverProof) -> bool:
    """Whether a kernel through libcuda alone did not come to its end, and not for lack of memory."""
    if (
        not isinstance(proof.right, Missing)
        or proof.fault in PROVES_NOTHING
        or known(proof.error_code) == OUT_OF_MEMORY
    ):
        return False
    return bool(proof.fault or proof.error_name or proof.failed_call)


def driver_error(proof: DriverProof) -> str:
    """`CUDA_ERROR_LAUNCH_FAILED in cuLaunchKernel`."""
    return f"{proof.error_name or proof.fault or 'an error'}{f' in {proof.failed_call}' if proof.failed_call else ''}"


def driver_words(m: Measured, device: str = "", key: str = "") -> str:
    """What L0 adds on this device, or on all: whether the driver alone works. Empty if it was not asked."""
    proofs: tuple[DriverProof, ...] = known(m.driver) or ()
    own = tuple(p for p in proofs if (p.key == key if p.key and key else f"cuda:{p.device}" == device))
    proofs = own or proofs
    if not proofs:
        return ""
    right = [proof for proof in proofs if known(proof.right)]
    if len(right) == len(proofs):
        return "A kernel run through libcuda alone gave correct results: the driver works, but torch does not."
    if right:
        return f"A kernel run through libcuda alone gave correct results on {len(right)} of {len(proofs)} GPUs."
    bad = next(proof for proof in proofs if not known(proof.right))
    if known(bad.right) is False:
        return f"A kernel run through libcuda alone gives wrong results too (device {bad.device})."
    return f"A kernel run through libcuda alone fails too: {driver_error(bad)}. So the cause is the driver or the GPU."
