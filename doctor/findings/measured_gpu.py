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
    found = _by_uuid(gpus).get(wanted) if wanted else None
    return found or (gpus[0] if len(gpus) == 1 else None)


_last: list[tuple[tuple[Gpu, ...], dict[str, Gpu]]] = [((), {})]
"""The GPUs that were asked about last: of one Snapshot this is asked for every device by every check of rates."""


def _by_uuid(gpus: tuple[Gpu, ...]) -> dict[str, Gpu]:
    """The first GPU that has a UUID or key, itself or one of its MIG instances."""
    of, found = _last[0]
    if of is not gpus:
        found = {}
        for gpu in gpus:
            for name in (gpu.key, known(gpu.uuid), *(known(child.uuid) for child in known(gpu.mig_instances) or ())):
                found.setdefault(_plain(name or ""), gpu)
        _last[0] = gpus, found
    return found


def _plain(uuid: str) -> str:
    return uuid.removeprefix("GPU-").removeprefix("MIG-").lower()
