"""Fixes for the state of one GPU: reset, reboot, replace, cool, power, reseat."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from ..findings import Fix, Step
from ..snapshot import Gpu, Missing, Snapshot, known
from .driver import other_host
from .ending import HOST
from .where import RECHECK, container_kind, guest, host_sudo, on_host, reboot_step, sudo

CABLES = (
    "Check its power cables: every socket connected, every plug fully in, each on its own cable from the power supply "
    "(no pigtails, no splitters). An 8-pin socket carries 150 W, a 6-pin 75 W, a 12-pin 500 to 600 W."
)
_STATE = (
    "ecc_uncorrected_volatile", "ecc_corrected_volatile", "row_remap_pending", "row_remap_failed",
    "remapped_rows_uncorrectable", "retired_pages", "retired_pages_pending", "recovery_action",
    "sram_threshold_exceeded", "memory_unrepairable",
)  # fmt: skip
_LOAD = ("temperature_c", "temperature_margin_c", "clock_event_reasons", "clock_sm_mhz", "power_draw_w")


def gpu_changes(s: Snapshot, key: str, **facts: Any) -> dict[str, Any]:
    """Facts of one GPU that a step sets."""
    gpus: tuple[Gpu, ...] | None = known(s.gpus)
    if gpus is None:
        return {"gpus": RECHECK}
    at = next((number for number, gpu in enumerate(gpus) if gpu.key == key), len(gpus))
    return {"gpus": (*gpus[:at], *(replace(gpu, **facts) for gpu in gpus[at : at + 1]), *gpus[at + 1 :])}


def with_gpus(s: Snapshot, change: Callable[[Gpu], Gpu]) -> tuple[Gpu, ...] | Missing:
    """The list of GPUs after changing each of them; if the list is unknown, it has to be read again."""
    gpus: tuple[Gpu, ...] | None = known(s.gpus)
    return RECHECK if gpus is None else tuple(change(g) for g in gpus)


def _again(s: Snapshot, key: str, names: tuple[str, ...]) -> dict[str, Any]:
    return gpu_changes(s, key, **dict.fromkeys(names, RECHECK))


def _choice(s: Snapshot, key: str) -> str:
    index = next((known(g.index) for g in known(s.gpus) or () if g.key == key), None)
    return "" if index is None else f" -i {index}"


def reset(s: Snapshot, key: str, address: str = "") -> tuple[Fix, ...]:
    """Reset the GPU, or reboot; inside a container first take another host. `address`: where only that is known."""
    root, changes = host_sudo(s), _again(s, key, _STATE)
    choice = f" -i {address}" if address else _choice(s, key)
    fix = Fix(
        id="reset-gpu",
        title="Reset the GPU" + (" on the host" if container_kind(s) else ""),
        steps=(
            on_host(
                s,
                "Once the programs on this GPU are no longer needed, stop everything that uses it, then reset it.",
                f"{root}nvidia-smi{choice} --gpu-reset",
                changes,
            ),
        ),
        note="GPUs connected by NVLink are reset together. If the reset is refused, reboot.",
    )
    boot = Fix(
        id="reboot",
        title="Reboot the host" if container_kind(s) else "Reboot",
        steps=(reboot_step(s, "so that the GPU starts in a clean state.", changes),),
    )
    return (elsewhere(s), fix, boot) if guest(s) else (fix, boot)


def recover_imex(s: Snapshot, key: str) -> tuple[Fix, ...]:
    """Restart IMEX, which connects the machines that share memory over NVLink."""
    step = on_host(
        s,
        "Once the jobs that share memory between machines are no longer needed, restart the IMEX service on all "
        "machines in the domain; 'nvidia-imex-ctl -N' shows its state.",
        f"{host_sudo(s)}systemctl restart nvidia-imex",
        _again(s, key, ("recovery_action",)),
    )
    fix = Fix(id="recover-imex", title="Restart IMEX on all machines in the domain", steps=(step,))
    return (elsewhere(s), fix) if guest(s) else (fix,)


def replace_board(s: Snapshot, key: str) -> tuple[Fix, ...]:
    """Take the board out of service."""
    step = on_host(
        s,
        "Once the jobs on this host are no longer needed, take this GPU out of service and have it replaced (RMA); its "
        "manufacturer may ask for the output of nvidia-bug-report.sh.",
        f"{host_sudo(s)}nvidia-bug-report.sh",
        _again(s, key, _STATE),
        ends=HOST,
        destructive=True,
    )
    fix = Fix(id="replace-gpu", title="Replace the GPU", steps=(step,))
    return (elsewhere(s), fix) if guest(s) else (fix,)


def elsewhere(s: Snapshot) -> Fix:
    """Switch to a different host, and report this one to the provider."""
    return other_host(s, "with healthy GPUs (and tell the provider about this one)")


def cool(s: Snapshot, key: str) -> tuple[Fix, ...]:
    """Lower the temperature."""
    changes = _again(s, key, _LOAD)
    air = Fix(
        id="cool-gpu",
        title="Cool the GPU",
        steps=(
            on_host(
                s,
                "Check the fans, dust, air flow (passive boards need the server's fans) and the room temperature; "
                "then check again under load.",
                changes=changes,
                needs_root=False,
            ),
        ),
    )
    if guest(s):
        return elsewhere(s), air
    limit = next((known(gpu.power_limit_w) for gpu in known(s.gpus) or () if gpu.key == key), None)
    if not limit:
        return (air,)
    watts = round(0.9 * limit)
    less = on_host(
        s,
        f"A limit 10 % below its {limit:.0f} W costs little speed. The setting lasts until the driver is reloaded.",
        f"{host_sudo(s)}nvidia-smi{_choice(s, key)} -pl {watts}",
        gpu_changes(s, key, **dict.fromkeys(_LOAD, RECHECK), power_limit_w=float(watts)),
    )
    title = "Lower the power limit until the cooling is repaired"
    return air, Fix(id="lower-power-limit", title=title, steps=(less,))


def power(s: Snapshot, key: str, sockets: bool) -> tuple[Fix, ...]:
    """Give the GPU the power that it requests."""
    text = CABLES if sockets else "Check the machine's power supplies and its power capping (BMC); see its event log."
    step = on_host(s, text, changes=_again(s, key, _LOAD), needs_root=False)
    fix = Fix(id="check-power", title="Check the GPU's power supply", steps=(step,))
    return (elsewhere(s), fix) if guest(s) else (fix,)


def default_power_limit(s: Snapshot, key: str, watts: float) -> tuple[Fix, ...]:
    """The board's own default limit."""
    fix = Fix(
        id="default-power-limit",
        title=f"Set the power limit to its default of {watts:.0f} W" + (" on the host" if container_kind(s) else ""),
        steps=(
            on_host(
                s,
                "Unless it was lowered on purpose (heat, power supply, quota), set it back.",
                f"{host_sudo(s)}nvidia-smi{_choice(s, key)} -pl {watts:.0f}",
                gpu_changes(s, key, power_limit_w=watts),
            ),
        ),
    )
    return (other_host(s, "whose GPUs run at their full power limit"), fix) if guest(s) else (fix,)


def seat_board(s: Snapshot, key: str, width: int) -> tuple[Fix, ...]:
    """Give the board all lanes of its link."""
    step = on_host(
        s,
        "Once the jobs on this host are no longer needed, power off; reseat the board or use a slot with all its lanes "
        "connected (riser cables and M.2 slots share lanes); check the slot's setting in the firmware.",
        changes=gpu_changes(s, key, pcie_width=width, pcie_gen=RECHECK),
        needs_root=False,
        ends=HOST,
        destructive=True,
    )
    fix = Fix(id="seat-board", title="Restore the GPU's full PCIe link", steps=(step,))
    return (other_host(s, "whose GPUs have their full PCIe link"), fix) if guest(s) else (fix,)


def persistence(s: Snapshot) -> Fix:
    """Keep the driver loaded while the GPU is not in use."""
    gpus = with_gpus(s, lambda g: replace(g, persistence_mode=True))
    return Fix(
        id="persistence-mode",
        title="Turn on persistence mode",
        steps=(
            on_host(
                s,
                "The daemon keeps it on after a reboot; -pm 1 lasts only until then.",
                f"{host_sudo(s)}systemctl enable --now nvidia-persistenced || {host_sudo(s)}nvidia-smi -pm 1",
                {"gpus": gpus},
            ),
        ),
    )


def ecc_on(s: Snapshot, key: str) -> Fix:
    """Switch ECC on."""
    return Fix(
        id="ecc-on",
        title="Turn on ECC",
        steps=(
            on_host(
                s,
                "Turn it on; this takes effect at the next GPU reset or reboot.",
                f"{host_sudo(s)}nvidia-smi{_choice(s, key)} -e 1",
                gpu_changes(s, key, ecc_pending=True),
            ),
            reboot_step(s, "so that it takes effect.", gpu_changes(s, key, ecc_enabled=True, ecc_pending=True)),
        ),
    )


def find_holder(s: Snapshot, key: str) -> tuple[Fix, ...]:
    """Find who holds a GPU's memory, and end it."""
    changes = gpu_changes(s, key, memory_used_mib=RECHECK)
    find = Fix(
        id="end-holder",
        title="Find the process that holds the memory and end it",
        steps=(
            Step(
                text="Look for processes left over from earlier runs: this lists all that have the device open.",
                command=f"{sudo(s)}fuser -v /dev/nvidia*",
                where="shell",
                needs_root=True,
            ),
            Step(
                text="End the ones that are yours and that you no longer need.",
                command="kill PID",
                where="shell",
                destructive=True,
                changes=changes,
            ),
        ),
    )
    clear = Fix(
        id="reset-gpu",
        title="Reset the GPU if no process is found",
        steps=(
            on_host(
                s,
                "Once the programs on this GPU are no longer needed, stop everything that uses it, then reset it.",
                f"{host_sudo(s)}nvidia-smi{_choice(s, key)} --gpu-reset",
                changes,
            ),
        ),
    )
    return (find, clear)
