"""Fixes for what connects GPUs: NVLink, the NVSwitch fabric, PCIe."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ..findings import Fix
from ..snapshot import Snapshot, known
from .driver import other_host
from .ending import HOST
from .gpu_state import elsewhere, gpu_changes, with_gpus
from .where import RECHECK, container_kind, guest, host_sudo, on_host


def steady_link(s: Snapshot, key: str) -> tuple[Fix, ...]:
    """Reseat the board, so that the PCIe link can run at its speed."""
    step = on_host(
        s,
        "Once the jobs on this host are no longer needed, power off and reseat the board, without a riser or cable if "
        "there is one. If packets are still resent, set the slot to a lower PCIe generation in the firmware.",
        changes=gpu_changes(s, key, pcie_replays=RECHECK, pcie_replays_climbed=RECHECK),
        needs_root=False,
        ends=HOST,
        destructive=True,
    )
    fix = Fix(id="steady-pcie-link", title="Reseat the GPU", steps=(step,))
    return (elsewhere(s), fix) if guest(s) else (fix,)


def acs_off(s: Snapshot, bridges: Sequence[str]) -> tuple[Fix, ...]:
    """Make these PCIe bridges leave traffic between devices to the switch."""
    paths = known(s.driver.pcie_paths) or ()
    straight = tuple(replace(path, acs_redirects=()) for path in paths)
    each = f"{host_sudo(s)}setpci -s $bridge ECAP_ACS+0x6.w=0000"
    command = f"for bridge in {' '.join(bridges)}; do {each}; done"
    return (
        Fix(
            id="acs-off",
            title="Turn ACS off at these bridges" + (" on the host" if container_kind(s) else ""),
            steps=(
                on_host(
                    s,
                    "Do this only if no device behind these switches is passed through to a virtual machine. It lasts "
                    "until the next boot; to make it permanent, turn ACS off in the firmware.",
                    command,
                    {"driver.pcie_paths": straight},
                ),
            ),
            source="docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html",
        ),
    )


def reset_links(s: Snapshot) -> tuple[Fix, ...]:
    """Reset all GPUs together, and so their NVLink links."""
    links = dict.fromkeys(("nvlink_active", "nvlink_inactive", "nvlink_errors"), RECHECK)
    step = on_host(
        s,
        "Once the programs on the GPUs are no longer needed, stop them all and reset the GPUs together (or reboot); if "
        "the fault comes back, check 'nvidia-smi nvlink -e', the bridge and the fabric manager's log.",
        f"{host_sudo(s)}nvidia-smi --gpu-reset",
        {"gpus": with_gpus(s, lambda g: replace(g, **links))},
    )
    fix = Fix(id="reset-links", title="Reset the GPUs", steps=(step,))
    return (elsewhere(s), fix) if container_kind(s) else (fix,)


def repair_fabric(s: Snapshot) -> tuple[Fix, ...]:
    """Have the fabric manager set the fabric up again, and the GPUs join it."""
    again = dict.fromkeys(("fabric_state", "fabric_status", "fabric_health", "fabric_health_summary"), RECHECK)
    changes = {"gpus": with_gpus(s, lambda g: replace(g, **again))}
    root = host_sudo(s)
    fix = Fix(
        id="repair-fabric",
        title="Set up the NVLink fabric again" + (" on the host" if container_kind(s) else ""),
        steps=(
            on_host(
                s,
                "Once the programs on the GPUs are no longer needed, stop them all, restart the fabric manager and "
                "reset the GPUs together. Its log (journalctl -u nvidia-fabricmanager) and the Xid and SXid lines in "
                "'sudo dmesg' show the cause.",
                f"{root}systemctl restart nvidia-fabricmanager && {root}nvidia-smi --gpu-reset",
                changes,
            ),
        ),
        note="In a rack (NVL72), the NMX controller sets the partitions: contact whoever runs it.",
        source="docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide",
    )
    return (other_host(s, "whose NVLink fabric is healthy"), fix) if guest(s) else (fix,)
