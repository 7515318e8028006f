"""What is offered for a told fault of the hardware, of its firmware, and of who holds the GPU."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ...findings import Fix
from ...findings.patterns import lazy
from ...fixes.driver import other_host
from ...fixes.gpu_state import cool, elsewhere, find_holder, replace_board, reset, seat_board
from ...fixes.machine import driver_platform
from ...fixes.restart import power_cycle, reboot
from ...fixes.selection import unset_variable
from ...fixes.variables import pci_order
from ...fixes.vgpu import license_vgpu
from ...fixes.where import (
    RECHECK,
    batch_job,
    container_kind,
    cuda_changes,
    driver_changes,
    guest,
    host_sudo,
    notebook,
    on_host,
)
from ...snapshot import known
from .parts import Told, one_step

_PCI = lazy(r"\bPCI:(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})(?:\.\d)?", re.I)


def _address(text: str) -> str:
    """`0000:3b:00.0` of a line of the kernel log; nvidia-smi takes it after -i."""
    found = _PCI.search(text)
    return f"{(found[1] or '0000').lower()}:{found[2].lower()}:{found[3].lower()}.0" if found else ""


def _fell_off(t: Told) -> Iterable[Fix]:
    if guest(t.s):
        return (elsewhere(t.s), power_cycle(t.s))
    where: Any = "windows" if driver_platform(t.s) == "windows" else "host"
    cycle = one_step(
        "power-cycle",
        "Power the machine off and on",
        "Switch it off for half a minute (a reboot seldom brings the card back). Where it happens again: power cables "
        "and supply, the card's seat and riser, heat; then the card in another slot or machine; then its maker.",
        where=where,
        changes=driver_changes(),
    )
    return (cycle,)


def _memory_fault(t: Told) -> Iterable[Fix]:
    if driver_platform(t.s) == "windows":
        return (reboot(t.s, ""), *replace_board(t.s, ""))
    return (*reset(t.s, "", _address(t.text)), *replace_board(t.s, "")[-1:])


def _needs_reset(t: Told) -> Iterable[Fix]:
    """A switch takes all GPUs with it: they are reset together, without the fabric manager."""
    if driver_platform(t.s) == "windows":
        return (reboot(t.s, ""),)
    if t.said.id != "sxid-fatal":
        return reset(t.s, "", _address(t.text))
    root = host_sudo(t.s)
    step = on_host(
        t.s,
        "Stop every program that uses a GPU, then reset all of them together, or reboot. If it comes "
        "back, have the machine checked.",
        f"{root}systemctl stop nvidia-fabricmanager && {root}nvidia-smi --gpu-reset && "
        f"{root}systemctl start nvidia-fabricmanager",
        driver_changes(),
    )
    fix = Fix(id="reset-all-gpus", title="Reset all GPUs of the machine", steps=(step,))
    return (elsewhere(t.s), fix) if guest(t.s) else (fix,)


def _slowed(t: Told) -> Iterable[Fix]:
    """Clocks that are held down without heat: the limit, a laptop's supply and profile, a driver's wrong reading."""
    if t.said.id == "clocks-stuck-told" and not guest(t.s):
        look = "nvidia-smi -q -d PERFORMANCE,POWER,TEMPERATURE"
        text = (
            "See which reason is active, and the draw against the limit. A draw above the limit at rest is a wrong "
            "reading: another driver release, after a power-off."
        )
        reset = on_host(
            t.s,
            "Take back locked clocks and lowered limits (WATTS: the default limit of that page).",
            f"{host_sudo(t.s)}nvidia-smi -rgc && {host_sudo(t.s)}nvidia-smi -pl WATTS",
            driver_changes(),
        )
        laptop = any("laptop" in (known(gpu.name) or "").lower() for gpu in known(t.s.gpus) or ())
        if laptop or "laptop" in t.text.lower():
            reset = on_host(
                t.s,
                "A laptop: its own supply plugged in, its performance profile chosen, and Dynamic Boost running.",
                f"{host_sudo(t.s)}systemctl enable --now nvidia-powerd",
                driver_changes(),
            )
        first = one_step("see-what-holds-clocks", "", text, look, "host").steps
        return (Fix(id="release-clocks", title="See what holds the clocks, and lift it", steps=(*first, reset)),)
    return cool(t.s, "")


def _link(t: Told) -> Iterable[Fix]:
    if t.said.id == "topology-not-nvlink":
        return (other_host(t.s, "whose GPUs are joined by NVLink"),)
    if t.said.id == "topology-far-told" and not guest(t.s):
        text = (
            "See what lies between the cards (SYS, NODE: two sockets or host bridges), and put them into slots of "
            "one root complex: then it is PHB, PXB or PIX."
        )
        note = "Where they must stay: let less go between them (pipeline in place of tensor parallel)."
        return (
            one_step(
                "one-root-complex",
                "Put the cards under one root complex",
                text,
                "nvidia-smi topo -m",
                "host",
                note=note,
                changes={"gpu_pairs": RECHECK},
            ),
        )
    return seat_board(t.s, "", 16)


def _firmware(t: Told) -> Iterable[Fix]:
    """On a host the firmware's own switches, in a virtual machine its memory window."""
    virtual = (known(t.s.host.virtualization) or "none") not in ("none", "")
    text = "In the firmware turn on 'Above 4G decoding' and Resizable BAR (and off CSM), save, and start again."
    command = "sudo dmesg | grep -i BAR"
    if virtual:
        text = "Give the virtual machine UEFI firmware (OVMF) and a 64-bit memory window as large as the GPU's memory."
        command = "qemu-system-x86_64 ... -fw_cfg name=opt/ovmf/X-PciMmio64Mb,string=65536"
    step = on_host(t.s, text, command, driver_changes(), needs_root=False)
    note = "Where the firmware has no such switch, add pci=realloc to the kernel's command line."
    if not virtual:
        note += (
            " In a virtual machine its own firmware is meant: give OVMF a 64-bit memory window as large as the "
            "memory of all GPUs (-fw_cfg name=opt/ovmf/X-PciMmio64Mb,string=65536; in LXD by raw.qemu)."
        )
    fix = Fix(id="map-gpu-memory", title="Let the firmware map the GPU's memory", steps=(step,), note=note)
    return (other_host(t.s, "whose firmware maps the GPU's memory"), fix) if guest(t.s) else (fix,)


def _held(t: Told) -> Iterable[Fix]:
    """Own leftovers first, in the words of the place."""
    s, changes = t.s, cuda_changes(gpus=RECHECK)
    if notebook(s):
        text = (
            "Runtime > Restart session; then run only the cells that are needed."
            if notebook(s) == "Colab"
            else ("Run > Restart & clear cell outputs; then run only the cells that are needed.")
        )
        return (one_step("restart-session", "Restart the session: it frees the GPU's memory", text, changes=changes),)
    if known(s.host.system) == "windows":
        text = "See which program holds the memory (games, browsers, other notebooks too), and end those not needed."
        return (
            one_step(
                "end-holder",
                "Find what holds the memory and end it",
                text,
                "nvidia-smi\nStop-Process -Id PID",
                destructive=True,
                changes=changes,
            ),
        )
    fixes = find_holder(s, "")
    if known(s.host.wsl) == 2:
        return (
            one_step(
                "end-holder",
                "Find what holds the memory and end it",
                "Programs of Windows hold the same memory: look in the Task Manager (Details, dedicated GPU "
                "memory), and here for your own; end those not needed.",
                "ps aux | grep python\nkill PID",
                destructive=True,
                changes=changes,
            ),
        )
    if container_kind(s) or batch_job(s):
        own = one_step(
            "end-own-programs",
            "End your own leftovers, or take a free GPU",
            "In here only your own processes can be ended; what others hold (other containers, the host) is seen on "
            "the host.",
            "ps aux | grep python\nkill PID",
            destructive=True,
            changes=changes,
        )
        return (own, *(on_the_host(fix) for fix in fixes[:1]))
    return fixes


def on_the_host(fix: Fix) -> Fix:
    """The same fix, carried out on the host."""
    from msgspec.structs import replace

    steps = tuple(replace(step, where="host", possible_here=False) for step in fix.steps)
    return replace(fix, title=f"{fix.title}, on the host", steps=steps)


def _licence(t: Told) -> Iterable[Fix]:
    return license_vgpu(t.s, "")


def _pinned(t: Told) -> Iterable[Fix]:
    code = one_step(
        "pin-less-memory",
        "Pin less memory in the program",
        "WSL lets a process pin only a part of its memory: load data without pinning, keep offloaded weights and "
        "optimizer states unpinned.",
        "DataLoader(..., pin_memory=False)",
        "code",
        changes=cuda_changes(),
    )
    more = one_step(
        "more-wsl-memory",
        "Give WSL more memory",
        "In Windows, put this into %UserProfile%\\.wslconfig (about three quarters of the machine's memory), then "
        "restart WSL.",
        "[wsl2]\nmemory=48GB\n# then: wsl --shutdown",
        "windows",
        changes=cuda_changes(),
    )
    return (code, more)


def _visible(t: Told) -> Iterable[Fix]:
    """In a batch job the variable is the batch system's: the program must not set another."""
    if batch_job(t.s):
        return (
            one_step(
                "keep-batch-devices",
                "Leave CUDA_VISIBLE_DEVICES as the batch system sets it",
                "Take your own setting of it out of the script and the program; number the GPUs from 0, as many as the "
                "job was given.",
                'echo "$CUDA_VISIBLE_DEVICES"',
                changes=cuda_changes(host__environment=RECHECK),
            ),
        )
    if t.said.id == "visible-devices-late":
        text = "On the command line; or in the program, at its very top: above `import torch` and all that imports it."
        return (
            one_step(
                "set-visible-devices-first",
                "Set CUDA_VISIBLE_DEVICES before CUDA starts",
                text,
                "export CUDA_VISIBLE_DEVICES=1\npython PROGRAM.py",
                changes=cuda_changes(host__environment=RECHECK),
            ),
        )
    return (unset_variable(t.s, "CUDA_VISIBLE_DEVICES"),)


def _mig(t: Told) -> Iterable[Fix]:
    """One instance for each process; more of the card by a larger instance, or by none."""
    text = (
        "A process uses one MIG instance, and NCCL takes those of one card for the same GPU. Start one process for "
        "each, by its identifier."
    )
    one = one_step(
        "one-instance-each",
        "Give each process one MIG instance",
        text,
        "nvidia-smi -L      # lists them: UUID: MIG-...\nexport CUDA_VISIBLE_DEVICES=MIG-UUID",
        changes=cuda_changes(host__environment=RECHECK),
    )
    if container_kind(t.s) == "kubernetes":
        text = "Ask for one instance of a larger profile in each container; several do not work together in one job."
        one = one_step(
            "one-instance-each",
            "Give each container one MIG instance",
            text,
            "resources: {limits: {nvidia.com/mig-3g.40gb: 1}}      # kubectl describe node: profiles",
            "container-start",
            changes=cuda_changes(host__environment=RECHECK),
        )
    if guest(t.s):
        return (one, other_host(t.s, "with whole GPUs"))
    step = on_host(
        t.s,
        "Where one job shall have the whole card: stop what uses it and switch MIG off.",
        f"{host_sudo(t.s)}nvidia-smi -mig 0",
        driver_changes(),
    )
    return (one, Fix(id="switch-mig-off", title="Switch MIG off and use the whole GPU", steps=(step,)))


def _order(t: Told) -> Iterable[Fix]:
    return (pci_order(t.s),)


FIXES = {
    "mig-limitations": _mig, "cuda-device-order-mismatch": _order,
    "gpu-fell-off-bus": _fell_off, "gpu-hardware-ecc-fault": _memory_fault, "gpu-recovery-action-needed": _needs_reset,
    "gpu-power-or-thermal-limited": _slowed, "pcie-link-or-topology-slow": _link, "firmware-bar-settings": _firmware,
    "gpu-memory-held-by-stale-process": _held, "vgpu-unlicensed": _licence, "wsl-pinned-memory-limit": _pinned,
    "cuda-visible-devices-wrong": _visible,
}  # fmt: skip
