"""Which GPU of the machine a measurement is of."""

from __future__ import annotations

from ..snapshot import Gpu, Snapshot, known


def gpu_of(s: Snapshot, device: str, key: str = "") -> Gpu | None:
    """The GPU of torch's `cuda:N`: by the proof's key, else by libcuda's order, else the only one there is."""
    gpus = known(s.gpus) or ()
    proof = next((p for p in known(s.measured.torch) or () if p.device == device), None)
    wanted = _plain(key or (proof.key if proof else ""))
    if not wanted and device.startswith("cuda:") and device[5:].isdecimal():
        devices = known(s.driver.cuda_devices) or ()
        wanted = next((_plain(known(d.uuid) or "") for d in devices if d.ordinal == int(device[5:])), "")
    for gpu in gpus if wanted else ():
        if wanted == _plain(known(gpu.uuid) or "") or wanted == _plain(gpu.key):
            return gpu
        if wanted in [_plain(known(child.uuid) or "") for child in known(gpu.mig_instances) or ()]:
            return gpu
    return gpus[0] if len(gpus) == 1 else None


def _plain(uuid: str) -> str:
    return uuid.removeprefix("GPU-").removeprefix("MIG-").lower()
