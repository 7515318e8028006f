"""Fixes of the driver itself: install, load, reboot, newer, older, open module."""

from __future__ import annotations

from typing import Any

from ..findings import Fix, Step
from ..snapshot import Snapshot, known
from .place import another_machine, container_kind, cuda_changes, driver_changes, host_sudo, library_changes, on_host

_DOCS = "docs.nvidia.com/datacenter/tesla/driver-installation-guide"
_RPM = ("rhel", "rocky", "almalinux", "centos", "fedora", "ol", "amzn", "azurelinux")


def install_command(s: Snapshot, branch: int | None = None, flavour: str = "") -> str:
    """The distribution's command for the driver; `branch` and `flavour` (open, proprietary) where they matter.

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
    if system in _RPM:
        stream = f"{branch or 'latest'}-{'dkms' if flavour == 'proprietary' else 'open'}"
        if system in ("fedora", "amzn", "azurelinux"):
            return f"{root}dnf install -y {'cuda-drivers' if flavour == 'proprietary' else 'nvidia-open'}{number}"
        return f"{root}dnf module install -y nvidia-driver:{stream}"
    if system in ("opensuse-leap", "sles", "opensuse-tumbleweed"):
        return f"{root}zypper install -y {'cuda-drivers' if flavour == 'proprietary' else 'nvidia-open'}{number}"
    if system in ("arch", "manjaro"):
        return f"{root}pacman -S --needed {'nvidia' if flavour == 'proprietary' else 'nvidia-open'}"
    return ""


def _note(s: Snapshot) -> str:
    system = (known(s.host.os_id) or "").lower()
    if container_kind(s):
        return f"On an Ubuntu host: ubuntu-drivers install; on others from NVIDIA's repository ({_DOCS})."
    if system in ("ubuntu", "pop", "linuxmint", "arch", "manjaro"):
        return ""
    return f"The packages come from NVIDIA's repository: add it first as the installation guide says ({_DOCS})."


def install_driver(
    s: Snapshot, branch: int | None = None, flavour: str = "", title: str = "", why: str = ""
) -> tuple[Fix, ...]:
    """Install a driver on the host and reboot; inside a container, first take another host."""
    changes = driver_changes()
    words = f"the NVIDIA driver (branch {branch} or newer)" if branch else "the NVIDIA driver"
    if flavour:
        words += f" with the {flavour} kernel module"
    command = install_command(s, branch, flavour)
    install = Fix(
        id="install-driver",
        title=title or f"Install {words}" + (" on the host" if container_kind(s) else ""),
        steps=(
            on_host(s, f"Install {words}.{' ' + why if why else ''}", command),
            on_host(s, "Reboot, so that the new kernel module is the one that runs.", f"{host_sudo(s)}reboot", changes),
        ),
        note=_note(s),
        source=_DOCS,
    )
    if not container_kind(s):
        return (install,)
    what = f"with NVIDIA driver {branch} or newer" if branch else "whose NVIDIA driver works"
    return (other_host(s, what, changes), install)


def other_host(s: Snapshot, what: str, changes: dict[str, Any] | None = None) -> Fix:
    """Start on another machine: what remains to somebody who cannot change this one."""
    step = another_machine(s, what, driver_changes() if changes is None else changes)
    return Fix(id="choose-another-host", title=f"Start on a host {what}", steps=(step,))


def load_module(s: Snapshot) -> tuple[Fix, ...]:
    """Load the kernel module; rebuild it where it is not there for the running kernel."""
    root = host_sudo(s)
    load = Fix(
        id="load-kernel-module",
        title="Load the NVIDIA kernel module" + (" on the host" if container_kind(s) else ""),
        steps=(
            on_host(s, "Load the module. Its answer names the reason if it cannot be loaded.", f"{root}modprobe nvidia",
                    driver_changes()),
        ),
        note="'Module nvidia not found': it was not built for this kernel; install linux-headers-$(uname -r), then "
        "'dkms autoinstall'. 'Key was rejected': Secure Boot refuses its signature. 'No such device': another driver "
        "holds the card, or the card is not supported by this module (see dmesg).",
    )  # fmt: skip
    if not container_kind(s):
        return (load, *install_driver(s))
    return (other_host(s, "whose NVIDIA driver works"), load)


def reboot(s: Snapshot, why: str, changes: dict[str, Any] | None = None) -> Fix:
    """Reboot the host."""
    return Fix(
        id="reboot",
        title="Reboot the host" if container_kind(s) else "Reboot",
        steps=(on_host(s, why, f"{host_sudo(s)}reboot", driver_changes() if changes is None else changes),),
    )


def release_card(s: Snapshot, held_by: str, installed: bool) -> tuple[Fix, ...]:
    """Take the card away from nouveau, nova or vfio-pci."""
    root = host_sudo(s)
    if not held_by.startswith("vfio"):
        names = "nova_core nova_drm nova nouveau" if held_by.startswith("nova") else "nouveau"
        lines = "".join(f"blacklist {name}\\n" for name in names.split()) + "options nouveau modeset=0\\n"
        block = f"printf '{lines}' | {root}tee /etc/modprobe.d/blacklist-nouveau.conf"
        debian = known(s.host.os_id) in ("ubuntu", "debian", "pop", "linuxmint")
        rebuild = "update-initramfs -u" if debian else "dracut --force"
        steps: tuple[Step, ...] = (
            on_host(s, f"Keep {held_by} from taking the card at boot.", f"{block} && {root}{rebuild}"),
        )
        if not installed:
            steps += (on_host(s, "Install the NVIDIA driver.", install_command(s)),)
        steps += (on_host(s, "Reboot.", f"{root}reboot", driver_changes()),)
        title = f"Take the card away from {held_by}"
    else:
        steps = (
            on_host(s, "End the virtual machine that uses the card, remove its ids from vfio-pci's options "
                    "(/etc/modprobe.d, kernel command line), then reboot.", f"{root}reboot", driver_changes()),
        )  # fmt: skip
        title = "Give the card back to the host"
    fix = Fix(id="release-card", title=title, steps=steps, note="" if installed else _note(s))
    return (other_host(s, "whose NVIDIA driver works"), fix) if container_kind(s) else (fix,)


def reload_module(s: Snapshot) -> tuple[Fix, ...]:
    """Bring module and libraries to one version: reboot, or a container started anew."""
    root = host_sudo(s)
    again = Fix(
        id="restart-container",
        title="Start the container anew",
        steps=(
            Step(
                text="Stop and start the container or pod: it then gets the libraries that the host has now. "
                "If the image itself holds driver packages (apt list --installed | grep -i nvidia), remove them.",
                where="container-start",
                changes=driver_changes(),
            ),
        ),
    )
    restart = reboot(s, "Reboot, so that the module of the installed version is loaded.")
    unload = Fix(
        id="reload-modules",
        title="Reload the modules without a reboot",
        steps=(
            on_host(s, "Stop every program that uses a GPU, the persistence daemon and the desktop, then reload.",
                    f"{root}systemctl stop nvidia-persistenced; "
                    f"{root}rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia && {root}modprobe nvidia",
                    driver_changes()),
        ),
        note="To prevent it, hold the driver's packages: apt-mark hold, or a block list of unattended-upgrades.",
    )  # fmt: skip
    return (again, restart) if container_kind(s) else (restart, unload)


def restart(s: Snapshot) -> tuple[Fix, ...]:
    """Where only the code is known: what clears most states of a driver."""
    words = "It clears most states of the driver in which CUDA answers so."
    if not container_kind(s):
        return (reboot(s, f"Reboot. {words} If it stays, look for Xid and NVRM lines in 'sudo dmesg'."),)
    text = "Stop and start the container or pod, so that it gets the GPU and the driver's libraries anew."
    step = Step(text=text, where="container-start", changes=driver_changes())
    again = Fix(id="restart-container", title="Start the container anew", steps=(step,))
    return (again, other_host(s, "on which the same image works"), reboot(s, words))


def install_libcuda(s: Snapshot) -> tuple[Fix, ...]:
    """libcuda, the part of the driver that was left out, in the version of the module that runs."""
    if container_kind(s):
        return restart(s)
    root, system = host_sudo(s), (known(s.host.os_id) or "").lower()
    branch = (known(s.driver.version) or "").partition(".")[0]
    package = {"debian": "libcuda1"}.get(system, "")
    if system in ("ubuntu", "pop", "linuxmint") and branch:
        package = f"libnvidia-compute-{branch}"
    manager = "dnf" if system in _RPM else "apt-get"
    package = package or ("nvidia-driver-cuda-libs" if system in _RPM else "")
    text = "Install the driver's CUDA library, of the version of the kernel module that runs"
    text += f" ({version})." if (version := known(s.driver.version)) else "."
    command = f"{root}{manager} install -y {package}" if package else ""
    step = on_host(s, text, command, library_changes())
    return (Fix(id="install-libcuda", title="Install the driver's libcuda", steps=(step,), note=_note(s)),)


def older_driver(s: Snapshot, branch: int) -> tuple[Fix, ...]:
    """The last branch that supports an old GPU."""
    root, changes = host_sudo(s), driver_changes()
    command = install_command(s, branch, "proprietary")
    install = Fix(
        id="install-older-driver",
        title=f"Install driver branch {branch}" + (" on the host" if container_kind(s) else ""),
        steps=(
            on_host(s, f"Install branch {branch}, the last one for this GPU, and hold its packages.", command),
            on_host(s, "Reboot.", f"{root}reboot", changes),
        ),
        note=_note(s),
        source=_DOCS,
    )
    if not container_kind(s):
        return (install,)
    return (other_host(s, f"with driver branch {branch}, or with a newer GPU", changes), install)


def start_fabric_manager(s: Snapshot, version: str) -> tuple[Fix, ...]:
    """Fabric manager of the driver's own version, running."""
    root, branch = host_sudo(s), version.partition(".")[0]
    package = f"nvidia-fabricmanager-{branch}" if branch else "nvidia-fabricmanager"
    manager = "dnf" if (known(s.host.os_id) or "") in _RPM else "apt-get"
    exact = f" of exactly version {version}" if version else " of exactly the driver's version"
    start = Fix(
        id="start-fabric-manager",
        title="Start the fabric manager" + (" on the host" if container_kind(s) else ""),
        steps=(
            on_host(s, f"Install the fabric manager{exact} (packages differ: {package}, cuda-drivers-fabricmanager).",
                    "" if container_kind(s) else f"{root}{manager} install -y {package}"),
            on_host(s, "Start it, and look at its log if it does not stay up.",
                    f"{root}systemctl enable --now nvidia-fabricmanager && systemctl status nvidia-fabricmanager",
                    cuda_changes()),
        ),
        source="docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide",
    )  # fmt: skip
    return (other_host(s, "whose NVSwitch fabric is up"), start) if container_kind(s) else (start,)


def reload_uvm(s: Snapshot) -> tuple[Fix, ...]:
    """Reload nvidia-uvm, which clears its state after a suspend."""
    root = host_sudo(s)
    fix = Fix(
        id="reload-uvm",
        title="Reload nvidia-uvm",
        steps=(
            on_host(s, "Stop every program that uses CUDA, then reload the module. A reboot does the same.",
                    f"{root}rmmod nvidia_uvm && {root}modprobe nvidia_uvm", cuda_changes()),
        ),
        note="To prevent it: options nvidia NVreg_PreserveVideoMemoryAllocations=1 in /etc/modprobe.d, and enable "
        "nvidia-suspend, nvidia-resume and nvidia-hibernate.",
    )  # fmt: skip
    return (fix, reboot(s, "Reboot.", cuda_changes()))
