"""Fixes in Windows and WSL: what Windows must have, and what the Linux inside WSL must not."""

from __future__ import annotations

from typing import Any

from ..findings import Fix, Step
from ..snapshot import LibraryFile, Snapshot, known
from .libcuda import prefer_folder
from .where import RECHECK, driver_changes, library_changes, sudo

_SHUTDOWN = "wsl --shutdown"
_DRIVER_PACKAGES = (
    "^(nvidia-(driver|dkms|utils|kernel|compute|firmware|headless|open)|cuda-drivers|libcuda1"
    "|libnvidia-(compute|gl|common|cfg1|decode|encode|extra|fbc1|ml1|ptxjit))"
)
"""Debian's and Ubuntu's packages of a driver; libnvidia-container and the container toolkit are none of them."""


def update_windows_driver(
    s: Snapshot, branch: int | None = None, changes: dict[str, Any] | None = None, which: str = ""
) -> Fix:
    """Another NVIDIA driver in Windows (`which`, else `branch` or newer); none inside WSL."""
    which = which or (f"NVIDIA driver {branch} or newer" if branch else "the newest NVIDIA driver")
    text = f"In Windows, install {which} from nvidia.com/drivers"
    if known(s.host.system) == "windows":
        changes = changes or driver_changes()
        step = Step(
            text=f"{text}. Save your work, then restart Windows.",
            command="Restart-Computer",
            where="windows",
            changes=changes,
        )
        return Fix(id="update-windows-driver", title=f"Install {which}", steps=(step,))
    changes = changes or driver_changes(host__kernel=RECHECK)
    return Fix(
        id="update-windows-driver",
        title=f"Install {which} in Windows (WSL uses the Windows driver)",
        steps=(
            Step(
                text=f"{text}, and the newest WSL. Do not install an NVIDIA driver inside WSL.",
                command="wsl --update",
                where="windows",
            ),
            Step(
                text="Close what runs in WSL, restart it, then run gpudoctor check again.",
                command=_SHUTDOWN,
                where="windows",
                changes=changes,
            ),
        ),
        source="docs.nvidia.com/cuda/wsl-user-guide",
    )


def update_windows(s: Snapshot) -> Fix:
    """A Windows that passes GPUs on to WSL 2; then its WSL and driver."""
    convert = f"{_SHUTDOWN}; wsl --list --verbose; wsl --set-default-version 2"
    return Fix(
        id="update-windows",
        title="Update Windows: this build does not pass GPUs through to WSL",
        steps=(
            Step(
                text="Update to Windows 11, or to Windows 10 22H2 (GPUs in WSL need 21H2, build 19044, or later); "
                "'winver' shows the build.",
                command="start ms-settings:windowsupdate",
                where="windows",
            ),
            Step(
                text="Close what runs in WSL, then install the newest NVIDIA driver for Windows from "
                "nvidia.com/drivers (none inside WSL) and the newest WSL. Convert a distribution with VERSION 1 "
                "using wsl --set-version NAME 2.",
                command=f"wsl --update; {convert if known(s.host.wsl) == 1 else _SHUTDOWN}",
                where="windows",
                changes=driver_changes(host__kernel=RECHECK, host__wsl=RECHECK),
            ),
        ),
        source="learn.microsoft.com/windows/wsl/tutorials/gpu-compute",
    )


def convert_to_wsl2() -> Fix:
    """WSL 1 has no GPU: convert the distribution."""
    return Fix(
        id="convert-to-wsl2",
        title="Convert this distribution to WSL 2",
        steps=(
            Step(
                text="Close what runs in WSL. In Windows, find the distribution's name with 'wsl --list --verbose', "
                "then convert it.",
                command="wsl --set-version <DISTRIBUTION> 2",
                where="windows",
                changes=driver_changes(host__wsl=2, host__kernel=RECHECK),
            ),
        ),
        source="learn.microsoft.com/windows/wsl/basic-commands",
    )


def remove_linux_driver(s: Snapshot, windows_libcuda: LibraryFile | None) -> tuple[Fix, ...]:
    """Remove the Linux driver inside WSL; until then put Windows' libraries first."""
    root = sudo(s)
    remove = Fix(
        id="remove-linux-driver",
        title="Remove the Linux NVIDIA driver inside WSL",
        steps=(
            Step(
                text="Remove the driver's packages; the toolkit package that is safe inside WSL is cuda-toolkit.",
                command=f"dpkg -l | awk '/^ii/ && $2 ~ /{_DRIVER_PACKAGES}/ {{print $2}}' | "
                f"xargs -r {root}apt-get purge -y && {root}ldconfig",
                where="shell",
                needs_root=True,
                changes=library_changes(),
            ),
        ),
        note=f"If libcuda in /usr/lib/wsl/lib is damaged too, run '{_SHUTDOWN}' in Windows.",
        source="docs.nvidia.com/cuda/wsl-user-guide",
    )
    if windows_libcuda is None:
        return (remove,)
    return (remove, prefer_folder(s, windows_libcuda, "Make the loader find Windows' libraries first"))
