"""Fixes for a reported fault of the hardware or its firmware, and for a GPU that is in use."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...findings import Fix
from ...findings.patterns import lazy
from ...fixes.driver import other_host
from ...fixes.gpu_state import cool, elsewhere, find_holder, replace_board, reset, seat_board
from ...fixes.machine import driver_platform
from ...fixes.restart import power_cycle, reboot
from ...fixes.selection import pci_order, show_gpus, unset
from ...fixes.vgpu import license_vgpu
from ...fixes.where import (
    batch_job,
    container_kind,
    guest,
    notebook,
)
from ...snapshot import known
from .parts import Builder, Evidence
from .written import written

_PCI = lazy(r"\bPCI:(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})(?:\.\d)?", re.I)
_HEAT = lazy(r"thermal.{0,3}(?:slow|throttl)", re.I)
_NO_JIT = lazy(r"JIT[ _]?compilation[ _]?(?:was[ _])?disabled", re.I)


def _address(text: str) -> str:
    """`0000:3b:00.0` of a line of the kernel log; nvidia-smi takes it after -i."""
    found = _PCI.search(text)
    return f"{(found[1] or '0000').lower()}:{found[2].lower()}:{found[3].lower()}.0" if found else ""


def _fell_off(t: Evidence) -> Iterable[Fix]:
    if guest(t.s):
        return (elsewhere(t.s), power_cycle(t.s))
    return (written(t.s, "power-cycle-windows" if driver_platform(t.s) == "windows" else "power-cycle"),)


def _memory_fault(t: Evidence) -> Iterable[Fix]:
    """A reset clears counted errors; a remapping that failed stays, so only another board helps."""
    if any(symptom.id == "remap-failed" for symptom in (t.symptom, *t.s.symptoms)):
        return replace_board(t.s, "")
    if driver_platform(t.s) == "windows":
        return (reboot(t.s, ""), *replace_board(t.s, ""))
    return (*reset(t.s, "", _address(t.text)), *replace_board(t.s, "")[-1:])


def _needs_reset(t: Evidence) -> Iterable[Fix]:
    """A switch takes all GPUs with it: they are reset together, without the fabric manager."""
    if driver_platform(t.s) == "windows":
        return (reboot(t.s, ""),)
    if t.symptom.id != "sxid-fatal":
        return reset(t.s, "", _address(t.text))
    fix = written(t.s, "reset-all-gpus")
    return (elsewhere(t.s), fix) if guest(t.s) else (fix,)


def _slowed(t: Evidence) -> Iterable[Fix]:
    """Clocks that are held down without heat: the limit, a laptop's supply and profile, a driver's wrong reading."""
    capped = t.symptom.id in ("cap-in-most-samples", "cap-in-most-time") and not _HEAT.search(t.symptom.text)
    if guest(t.s) or not (capped or t.symptom.id == "clocks-stuck-told"):
        return cool(t.s, "")
    laptop = any("laptop" in (known(gpu.name) or "").lower() for gpu in known(t.s.gpus) or ())
    inspect = written(t.s, "see-what-holds-clocks")
    lift = written(t.s, "laptop-clocks" if laptop or "laptop" in t.text.lower() else "default-clocks")
    return (Fix(id=inspect.id, title=inspect.title, steps=(*inspect.steps, *lift.steps)),)


def _link(t: Evidence) -> Iterable[Fix]:
    if t.symptom.id == "topology-not-nvlink":
        return (other_host(t.s, "whose GPUs are connected by NVLink"),)
    if t.symptom.id == "topology-far-told" and not guest(t.s):
        return (written(t.s, "one-root-complex"),)
    return seat_board(t.s, "", 16)


def _firmware(t: Evidence) -> Iterable[Fix]:
    """On a host the firmware's own switches, in a virtual machine its memory window."""
    virtual = (known(t.s.host.virtualization) or "none") not in ("none", "")
    fix = written(t.s, "map-gpu-memory-virtual" if virtual else "map-gpu-memory")
    return (other_host(t.s, "whose firmware maps the GPU's memory"), fix) if guest(t.s) else (fix,)


def _held(t: Evidence) -> Iterable[Fix]:
    """The user's own leftover processes first, with the commands of the place."""
    if notebook(t.s):
        return (written(t.s, "restart-session-colab" if notebook(t.s) == "Colab" else "restart-session"),)
    if driver_platform(t.s) == "windows" and known(t.s.host.wsl) != 1:
        return (written(t.s, "end-holder" if known(t.s.host.system) == "windows" else "end-holder-wsl"),)
    fixes = find_holder(t.s, "")
    if container_kind(t.s) or batch_job(t.s):
        return (written(t.s, "end-own-programs"), *(on_the_host(fix) for fix in fixes[:1]))
    return fixes


def on_the_host(fix: Fix) -> Fix:
    """The same fix, carried out on the host."""
    from msgspec.structs import replace

    steps = tuple(replace(step, where="host", possible_here=False) for step in fix.steps)
    return replace(fix, title=f"{fix.title}, on the host", steps=steps)


def _pinned(t: Evidence) -> Iterable[Fix]:
    return (written(t.s, "pin-less-memory"), written(t.s, "more-wsl-memory"))


def _visible(t: Evidence) -> Iterable[Fix]:
    """In a batch job the variable is the batch system's: the program must not set another."""
    if batch_job(t.s):
        return (written(t.s, "keep-batch-devices"),)
    if t.symptom.id == "visible-devices-late":
        return (written(t.s, "set-visible-devices-first"),)
    return show_gpus(t.s, "CUDA_VISIBLE_DEVICES")


def _variable(t: Evidence) -> Iterable[Fix]:
    """Those variables that break CUDA and that the message is about: most show only in the environment."""
    if "NUMBA_DISABLE_CUDA" in t.symptom.text:
        return (unset(t.s, "NUMBA_DISABLE_CUDA"),)
    return (written(t.s, "unset-jit-variables"),) if _NO_JIT.search(t.symptom.text) else ()


def _mig(t: Evidence) -> Iterable[Fix]:
    """One instance for each process; more of the card by a larger instance, or by none."""
    pod = container_kind(t.s) == "kubernetes"
    one = written(t.s, "one-instance-each-kubernetes" if pod else "one-instance-each")
    return (one, other_host(t.s, "with whole GPUs") if guest(t.s) else written(t.s, "switch-mig-off"))


FIXES: dict[str, Builder] = {
    "mig-limitations": _mig, "gpu-fell-off-bus": _fell_off, "gpu-hardware-ecc-fault": _memory_fault,
    "gpu-recovery-action-needed": _needs_reset, "row-remap-pending": _needs_reset,
    "gpu-power-or-thermal-limited": _slowed,
    "pcie-link-or-topology-slow": _link, "firmware-bar-settings": _firmware, "gpu-memory-held-by-stale-process": _held,
    "wsl-pinned-memory-limit": _pinned, "cuda-visible-devices-wrong": _visible,
    "cuda-device-order-mismatch": lambda t: (pci_order(t.s),),
    "environment-variable-breaks-cuda": _variable, "vgpu-unlicensed": lambda t: license_vgpu(t.s, ""),
}  # fmt: skip
