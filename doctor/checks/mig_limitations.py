"""MIG is on, but programs cannot use the GPU the way they request it.

What is wrong: a GPU in MIG mode can only be used through its instances. Here it has none; or CUDA_VISIBLE_DEVICES names
the whole GPU although an instance is needed, or several instances although a process can use only one.

Symptoms: nvidia-smi lists the GPU, with `No MIG devices found` below it; `No CUDA GPUs are available`, `device_count()`
is 0, or is 1 although more were named.

Why it happens: MIG was switched on but no instances were created, or they were lost in a reboot; a script written for
whole GPUs; a job that expects several instances to work like several GPUs. A process sees only one instance, and there
is no peer-to-peer access between instances. NCCL connects processes on different instances only since release 2.31, as
an experiment, and only with a driver for CUDA 13.0 or newer.

How to fix it: create instances (`nvidia-smi mig -cgi ... -C`) or switch MIG off (root on the host); name one instance
by its MIG-... identifier (`nvidia-smi -L`).

Source: docs.nvidia.com/datacenter/tesla/mig-user-guide, CUDA device enumeration; NCCL user guide, using MIG instances.
"""

from __future__ import annotations

from ..findings import Check, Finding, Findings, Matrix, Policy
from ..fixes.mig import no_instance
from ..fixes.selection import select_gpus, show_gpus
from ..snapshot import Gpu, MigInstance, Snapshot, known
from ._readings import Readings, listed, name_of

CHECK = Check(
    __name__,
    title="The MIG setup does not match the request",
    sound="No conflict between MIG and the requested GPUs was found",
    severity="error",
    layer="driver",
    tags=("gpu", "mig", "selection"),
    downstream_of=("driver-not-answering", "driver-library-version-mismatch"),
)
NAME = "CUDA_VISIBLE_DEVICES"


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Decided from each GPU's mode and instances, the variable, and the devices that CUDA shows."""
    seen, cut = Readings(), []
    for gpu in listed(s):
        if not seen.of("mig_enabled", gpu.mig_enabled):
            continue
        instances = seen.of("mig_instances", gpu.mig_instances)
        if instances:
            cut.append((gpu, instances))
        elif instances == () and not _cuda_has(s, gpu):
            yield _none(s, gpu)
        if known(gpu.mig_pending) is False:
            title = f"MIG will be off on {name_of(gpu)} after the GPU's next reset"
            yield CHECK.remark(title, facts={"mig_pending": False}, subject=gpu.key)
    if cut:
        yield from _named(s, cut)
    seen.end("a MIG mode")


def _cuda_has(s: Snapshot, gpu: Gpu) -> bool:
    devices = known(s.driver.cuda_devices) or ()
    return any(known(d.pci_address) is not None and d.pci_address == gpu.pci_address for d in devices)


def _none(s: Snapshot, gpu: Gpu) -> Finding:
    others = [g for g in known(s.gpus) or () if g.key != gpu.key]
    make = CHECK.warn if others and s.driver.cu_init == 0 else CHECK.fail
    return make(
        f"MIG is on, but {name_of(gpu)} has no instance, so no program can use it",
        "A GPU in MIG mode can only be used through its instances; none was created, or none was passed to this "
        "container.",
        facts={"mig_enabled": True, "instances": 0},
        subject=gpu.key,
        fixes=no_instance(s, gpu.key),
    )


def _named(s: Snapshot, cut: list[tuple[Gpu, tuple[MigInstance, ...]]]) -> Findings:
    value = known(s.host.env(NAME)) or ""
    entries = [entry.strip() for entry in value.split(",") if entry.strip()]
    devices = known(s.driver.cuda_devices) if s.driver.cu_init == 0 else None
    nothing = s.driver.cu_init == 100 or devices == ()
    if not entries or (devices and len(devices) >= len(entries)):
        return
    whole = [g for g, _ in cut if entries[0].startswith("GPU-") and (known(g.uuid) or "").startswith(entries[0])]
    several = [entry for entry in entries if entry.startswith("MIG-")]
    facts = {"value": value, "devices": None if devices is None else len(devices)}
    if whole:
        make = CHECK.fail if nothing else CHECK.warn
        yield make(
            f"{NAME} names {name_of(whole[0])}, but that GPU is in MIG mode and can only be used through an instance",
            "Name one of its instances by its MIG-... identifier.",
            facts=facts,
            subject=NAME,
            direct=nothing,
            fixes=show_gpus(s, NAME),
        )
    elif len(several) > 1 and not nothing:
        yield CHECK.warn(
            f"{NAME} lists {len(several)} MIG instances, but a process can use only the first",
            "CUDA shows only one MIG instance to a process; start one process per instance.",
            facts=facts,
            subject=NAME,
            direct=devices is not None,
            fixes=(select_gpus(s, NAME, several[0]),),
        )
