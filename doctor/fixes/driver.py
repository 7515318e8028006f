"""Fixes for the driver itself: install, load, reboot, newer, older, open module."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote
from typing import Any

from msgspec import Struct

from compat_matrix.versions import numbers

from ..findings import Fix, Matrix
from ..snapshot import Snapshot, known
from .distribution import ARCH, RPM, manager
from .machine import capabilities, cards, driver_platform
from .where import another_machine, container_kind, cuda_changes, driver_changes, guest, host_sudo, on_host, reboot_step
from .windows import update_windows_driver

_FIRST_OPEN = 515
"""The first branch that has the open kernel module."""
DOCS = "docs.nvidia.com/datacenter/tesla/driver-installation-guide"


def install_command(s: Snapshot, branch: int | None = None, flavour: str = "", last: bool = False) -> str:
    """The distribution's command for the driver; `branch` and `flavour` (open, proprietary) where they matter.

    `last`: no later branch drives the GPUs here.

    Empty inside a container: the host's distribution is not known there.
    """
    if container_kind(s):
        return ""
    root, system = host_sudo(s), (known(s.host.os_id) or "").lower()
    number = f"-{branch}" if branch else ""
    if system in ("ubuntu", "pop", "linuxmint"):
        if branch:
            suffix = "-open" if flavour == "open" else ""
            return f"{root}apt-get update && {root}apt-get install -y nvidia-driver-{branch}{suffix}"
        return f"{root}apt-get update && {root}apt-get install -y ubuntu-drivers-common && {root}ubuntu-drivers install"
    if system == "debian":
        package = {"open": "nvidia-open", "": "cuda-drivers"}.get(flavour, "cuda-drivers")
        return f"{root}apt-get update && {root}apt-get install -y linux-headers-$(uname -r) {package}{number}"
    if system in RPM:
        stream = f"{branch or 'latest'}-{'dkms' if flavour == 'proprietary' else 'open'}"
        if system in ("fedora", "amzn", "azurelinux"):
            return f"{root}dnf install -y {'cuda-drivers' if flavour == 'proprietary' else 'nvidia-open'}{number}"
        return f"{root}dnf module install -y nvidia-driver:{stream}"
    if system in ("opensuse-leap", "sles", "opensuse-tumbleweed"):
        return f"{root}zypper install -y {'cuda-drivers' if flavour == 'proprietary' else 'nvidia-open'}{number}"
    if system in ARCH and last:  # pacman has the newest alone
        return f"yay -S nvidia-{branch}xx-dkms"
    if system in ARCH:
        return f"{root}pacman -S --needed {'nvidia' if flavour == 'proprietary' else 'nvidia-open'}"
    return ""


def install_note(s: Snapshot, last: bool = False) -> str:
    """Where the driver's packages come from, when the distribution has none of its own."""
    system = (known(s.host.os_id) or "").lower()
    if container_kind(s) or not system:
        return f"On an Ubuntu host: ubuntu-drivers install. On others, install it from NVIDIA's repository ({DOCS})."
    if system in ARCH and last:
        return "The package is in the AUR (yay is one of its helpers); remove the newer driver's packages first."
    if system in ("ubuntu", "pop", "linuxmint", *ARCH):
        return ""
    return (
        "The packages come from NVIDIA's repository, which you must add first, as the installation guide describes "
        f"({DOCS})."
    )


class Offer(Struct, frozen=True):
    """The branch to install; `last`: no later one drives these GPUs; `floor`: the oldest that would do, 0 where any;
    `proprietary`: the open kernel module does not drive one of them; `open`: only that one does."""

    branch: int
    last: bool
    floor: int
    proprietary: bool = False
    open: bool = False


def offer(s: Snapshot, m: Matrix, floor: int = 0, today: str = "", gpus: Sequence[str] | None = None) -> Offer | None:
    """The branch to install for these GPUs (those that are here); None where each that would do has ended."""
    if floor and _stays(s, m):
        return None
    every = _capabilities_here(s, m) if gpus is None else gpus
    row = m.branch_to_install(every, floor, today, driver_platform(s))
    if row is None and gpus is None and (every := capabilities(s, m)):  # none for all cards: for those of programs
        row = m.branch_to_install(every, floor, today, driver_platform(s))
    if row is None:
        return None
    rows = [found for cc in every if (found := m.compute_capability(cc))]
    if floor and driver_platform(s) == "linux":
        floor = max([floor, *(found.first_driver or 0 for found in rows)])
    closed = any(found.open_module == "unsupported" for found in rows)
    opened = any(found.open_module == "required" for found in rows)
    return Offer(row.branch, row.branch in {found.last_driver for found in rows}, floor, closed, opened)


def _capabilities_here(s: Snapshot, m: Matrix) -> Sequence[str]:
    """Of the GPUs that the driver lists and of those on the PCI bus that it is to drive; else of all on the bus."""
    found = {*capabilities(s, m), *(cc for _, cc in cards(s, m).values() if cc)}
    bus = [d for d in known(s.driver.pci_devices) or () if d.vendor == "10de" and not d.class_code.startswith("0680")]
    return sorted(found, key=numbers) or [cc for d in bus if (cc := m.gpu(pci_device_id=d.device).capability)]


def driving(s: Snapshot, m: Matrix, branches: Sequence[int]) -> list[int]:
    """Those of these branches that drive all GPUs here."""
    rows = [row for cc in _capabilities_here(s, m) if (row := m.compute_capability(cc))]
    return [one for one in branches if all((r.first_driver or 0) <= one <= (r.last_driver or one) for r in rows)]


def module_flavour(s: Snapshot, m: Matrix) -> str:
    """The kernel module for all GPUs here: `open`, `proprietary`, or the one that is loaded; '' if either would do."""
    needs = {row.open_module for cc in _capabilities_here(s, m) if (row := m.compute_capability(cc))}
    if "unsupported" in needs:
        return "proprietary"
    return "open" if "required" in needs else known(s.driver.kernel_flavour) or ""


def last_branch(s: Snapshot, m: Matrix) -> int:
    """The last branch that drives all GPUs here; 0 where later ones still do."""
    rows = [row for cc in _capabilities_here(s, m) if (row := m.compute_capability(cc))]
    return min((row.last_driver for row in rows if row.last_driver), default=0)


def _legacy(s: Snapshot, m: Matrix) -> int:
    """The branch of the driver here, if no GPU is known and it is the last branch for some; else 0."""
    branch = (known(s.driver.version) or known(s.driver.kernel_version) or "").partition(".")[0]
    lasts = {row.last_driver for row in m.capabilities if row.last_driver}
    return int(branch) if branch.isdecimal() and int(branch) in lasts and not _capabilities_here(s, m) else 0


def _stays(s: Snapshot, m: Matrix) -> bool:
    """Whether a legacy driver stays: Arch has it in the AUR alone, for GPUs that no newer one drives."""
    return known(s.host.os_id) in ARCH and 0 < _legacy(s, m) < _FIRST_OPEN


def install_compatible(
    s: Snapshot, m: Matrix, today: str = "", flavour: str = "", newer: bool = False
) -> tuple[Fix, ...]:
    """The distribution's driver; where later branches have dropped a GPU here, one that still drives it.

    Where no GPU is known and the driver here is the last one for some, its branch stays.
    """
    last = last_branch(s, m)
    kept = 0 if last or driver_platform(s) == "windows" else _legacy(s, m)
    if newer and _stays(s, m):
        return ()
    if kept and not newer:
        flavour = "proprietary" if kept < _FIRST_OPEN else known(s.driver.kernel_flavour) or ""
        return install_driver(s, kept, flavour, last=True)
    if not last or driver_platform(s) == "windows":
        return install_driver(s, None, flavour, newer=newer)
    return install_offered(s, offer(s, m, 0, today)) or older_driver(s, last)


def install_offered(s: Snapshot, found: Offer | None, flavour: str = "") -> tuple[Fix, ...]:
    """Install the driver that `offer` found; nothing where it found none."""
    if found is None:
        return ()
    if driver_platform(s) == "windows":
        return (update_windows_driver(s, found.floor or None),)
    flavour = "proprietary" if found.proprietary else "open" if found.open else flavour
    return install_driver(s, found.branch, flavour, floor=found.floor, last=found.last)


def install_driver(
    s: Snapshot,
    branch: int | None = None,
    flavour: str = "",
    title: str = "",
    why: str = "",
    newer: bool = False,
    floor: int = 0,
    last: bool = False,
) -> tuple[Fix, ...]:
    """Install a driver on the host and reboot; inside a container, first take another host; in WSL: in Windows.

    `newer`: the one that is there is too old, and which branch is needed is not known. `floor`: the oldest branch that
    would do on another host, where a newer one is to be installed. `last`: no later branch drives the GPUs here.
    """
    if driver_platform(s) == "windows":
        return (update_windows_driver(s, branch),)
    changes = driver_changes()
    newer = newer and not branch
    words = (
        f"the NVIDIA driver (branch {branch}{'' if last else ' or newer'})"
        if branch
        else ("a newer NVIDIA driver" if newer else "the NVIDIA driver")
    )
    least = floor or branch
    if flavour:
        words += f" with the {flavour} kernel module"
    command = install_command(s, branch, flavour, last)
    install = Fix(
        id="install-driver",
        title=title or f"Install {words}" + (" on the host" if container_kind(s) else ""),
        steps=(
            on_host(s, f"Install {words}.{' ' + why if why else ''}", command),
            reboot_step(s, "so that the new kernel module is loaded.", changes),
        ),
        note=install_note(s, last),
        source=DOCS,
    )
    if not guest(s):
        return (install,)
    what = (
        f"with NVIDIA driver {least} or newer"
        if least
        else ("with a newer NVIDIA driver" if newer else "whose NVIDIA driver works")
    )
    return (other_host(s, what, changes, by_driver=bool(least or newer)), install)


def other_host(s: Snapshot, what: str, changes: dict[str, Any] | None = None, by_driver: bool = False) -> Fix:
    """Switch to a different machine: what is left for a user who cannot change this one."""
    step = another_machine(s, what, driver_changes() if changes is None else changes, by_driver)
    return Fix(id="choose-another-host", title=f"Switch to a host {what}", steps=(step,))


def older_driver(s: Snapshot, branch: int) -> tuple[Fix, ...]:
    """The last branch that supports an old GPU."""
    changes = driver_changes()
    command = install_command(s, branch, "proprietary", last=True)
    install = Fix(
        id="install-older-driver",
        title=f"Install driver branch {branch}" + (" on the host" if container_kind(s) else ""),
        steps=(
            on_host(
                s, f"Install branch {branch}, the last one that supports this GPU, and hold its packages.", command
            ),
            reboot_step(s, "", changes),
        ),
        note=install_note(s, last=True),
        source=DOCS,
    )
    if not guest(s):
        return (install,)
    return (other_host(s, f"with driver branch {branch}, or with a newer GPU", changes, by_driver=True), install)


def pinned(s: Snapshot, package: str, version: str) -> str:
    """The command that installs exactly this version of a driver's package, of whatever release; '' where the
    distribution's is not known. `version` '': the newest."""
    tool = manager(s)
    if tool in ("", "pacman"):  # pacman has the newest alone
        return ""
    exact = {"apt-get": f"{package}={version}-*", "zypper": f"{package}={version}"}.get(tool, f"{package}-{version}")
    return f"{host_sudo(s)}{tool} install -y {quote(exact if version else package)}"


def fabric_manager_package(s: Snapshot, branch: str) -> str:
    """The package's name: with the branch in it where deb and SUSE; NVIDIA's rpms were first named fabric-manager."""
    if (known(s.host.os_id) or "").lower() in RPM:
        return "nvidia-fabric*manager"
    return f"nvidia-fabricmanager-{branch}" if branch else "nvidia-fabricmanager"


def start_fabric_manager(s: Snapshot, version: str, here: bool = True) -> tuple[Fix, ...]:
    """Run the fabric manager in the driver's version. `here`: the switches are on this machine."""
    if not here:
        return (other_host(s, "whose NVSwitch fabric is up (and tell the provider about this one)"),)
    root, branch = host_sudo(s), version.partition(".")[0]
    exact = f" (exactly version {version})" if version else " (exactly the driver's version)"
    start = Fix(
        id="start-fabric-manager",
        title="Start the fabric manager" + (" on the host" if container_kind(s) else ""),
        steps=(
            on_host(
                s,
                f"Install the fabric manager{exact}; any other version will not start.",
                "" if container_kind(s) else pinned(s, fabric_manager_package(s, branch), version),
            ),
            on_host(
                s,
                "Start it now and at each boot. If it does not stay up, its log shows why: journalctl -u "
                "nvidia-fabricmanager",
                f"{root}systemctl enable --now nvidia-fabricmanager",
                cuda_changes(),
            ),
        ),
        note=install_note(s) if not container_kind(s) else "",
        source="docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide",
    )
    return (other_host(s, "whose NVSwitch fabric is up"), start) if guest(s) else (start,)
