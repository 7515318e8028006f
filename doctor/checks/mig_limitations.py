"""MIG is on, and programs cannot use the GPU in the way that they ask for it.

What is wrong: a GPU in MIG mode can only be used through its instances. Here it has none; or CUDA_VISIBLE_DEVICES names
the whole GPU where an instance is needed, or several instances where a process can use only one.

Symptoms: nvidia-smi lists the GPU, with `No MIG devices found` below it; `No CUDA GPUs are available`,
`device_count()` 0, or 1 where more were named.

Why it happens: MIG was switched on and nobody created instances, or they were lost at a reboot; a script written for
whole GPUs; a job that expects several instances to work as several GPUs. A process sees one instance; instances have no
peer-to-peer access and no NCCL between them.

How to fix it: create instances (`nvidia-smi mig -cgi ... -C`) or switch MIG off (root on the host); name one instance
by its MIG-... identifier (`nvidia-smi -L`).

Source: docs.nvidia.com/datacenter/tesla/mig-user-guide, CUDA device enumeration.
"""

from __future__ import annotations

from ..findings import Check, Finding, Findings, Matrix, Policy
from ..fixes.mig import no_instance
from ..fixes.selection import select_gpus, show_gpus
from ..snapshot import Gpu, MigInstance, Snapshot, known
from ._readings import Readings, listed, name_of

CHECK = Check(
    __name__,
    title="MIG does not fit what is asked for",
    sound="MIG settings fit what is asked for",
    severity="error",
    layer="driver",
    tags=("gpu", "mig", "selection"),
    downstream_of=("driver-not-answering", "driver-library-version-mismatch"),
)
NAME = "CUDA_VISIBLE_DEVICES"


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Decided by mode and instances of each GPU, the variable, and the devices that CUDA shows."""
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
            title = f"MIG on {name_of(gpu)} will be off after its next reset"
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
        f"MIG is on and {name_of(gpu)} has no instance: no program can use it",
        "A GPU in MIG mode is used through its instances only; none was made, or none was given to this container.",
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
            f"{NAME} names {name_of(whole[0])}, which is in MIG mode: an instance is needed",
            "Name one of its instances by its MIG-... identifier.",
            facts=facts,
            subject=NAME,
            direct=nothing,
            fixes=show_gpus(s, NAME),
        )
    elif len(several) > 1 and not nothing:
        yield CHECK.warn(
            f"{NAME} names {len(several)} MIG instances, a process gets the first",
            "CUDA shows one MIG instance to a process; start one process for each.",
            facts=facts,
            subject=NAME,
            direct=devices is not None,
            fixes=(select_gpus(s, NAME, several[0]),),
        )
