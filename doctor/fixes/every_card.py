"""A driver is the whole machine's: whom it would serve, and what each choice loses, before it is installed."""

from __future__ import annotations

from msgspec.structs import replace

from ..findings import Fix, Matrix
from ..snapshot import Snapshot, known
from .driver import other_host
from .machine import driver_platform
from .where import another_machine, driver_changes

_NOT_DRIVEN = ("too-old", "too-new", "needs-open-module", "open-module-unsupported")


def cards(s: Snapshot, m: Matrix) -> dict[str, tuple[str, str]]:
    """Address or key -> (name, compute capability) of every GPU of NVIDIA on the bus, or that NVML lists."""
    found: dict[str, tuple[str, str]] = {}
    for gpu in known(s.gpus) or ():
        row = m.gpu(known(gpu.name), known(gpu.pci_device_id))
        capability = known(gpu.compute_capability) or row.capability
        found[known(gpu.pci_address) or gpu.key] = (known(gpu.name) or "GPU", capability)
    for card in known(s.driver.pci_devices) or ():
        if card.vendor != "10de" or card.class_code.startswith("0680") or card.address in found:
            continue
        if isinstance(card.driver, str) and card.driver != "nvidia":
            continue  # held by another driver, on purpose or not: this one's drivers do not count
        row = m.gpu(pci_device_id=card.device)
        names = {one.name for one in row.rows}
        name = row.rows[0].name if len(names) == 1 else f"PCI device 10de:{card.device}"
        found[card.address] = (name, row.capability)
    return found


def lost_by(s: Snapshot, m: Matrix, branch: int, flavour: str) -> list[str]:
    """Names of the GPUs that this driver would not drive."""
    platform = driver_platform(s)
    judged = [(name, m.driver_for_gpu(str(branch), cc, flavour or None, platform)) for name, cc in cards(s, m).values()]
    return sorted({name for name, grade in judged if grade.grade in _NOT_DRIVEN})


def for_every_card(s: Snapshot, m: Matrix, fixes: tuple[Fix, ...], branch: int, flavour: str) -> tuple[Fix, ...]:
    """The fixes that install this driver as they are, if it drives every GPU; else with what is lost, and after the
    choice that loses nothing: the GPUs in two machines."""
    lost = lost_by(s, m, branch, flavour)
    if not lost:
        return fixes
    kept = sorted({name for name, _ in cards(s, m).values()} - set(lost))
    if not kept:
        return fixes
    names = " and ".join(lost)
    changed = []
    for fix in fixes:
        if not fix.id.startswith("install-"):
            changed.append(fix)
            continue
        first, *rest = fix.steps
        text = f"No driver serves all GPUs of this machine: with this one {names} can no longer be used. {first.text}"
        changed.append(replace(fix, title=f"{fix.title}, and lose {names}", steps=(replace(first, text=text), *rest)))
    what = f"Use {' and '.join(kept)} and {names} in two machines: no driver serves both."
    apart = Fix(
        id="separate-gpus",
        title="Put the GPUs into two machines",
        steps=(replace(another_machine(s, "", driver_changes()), text=what),),
    )
    away = [fix for fix in changed if fix.id == other_host(s, "").id]
    return (*away, apart, *(fix for fix in changed if fix not in away))
