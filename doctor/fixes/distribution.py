"""Package managers of Linux distributions, for every fix that installs a system package."""

from __future__ import annotations

from ..snapshot import Snapshot, known

RPM = ("rhel", "rocky", "almalinux", "centos", "fedora", "ol", "amzn", "azurelinux")
APT = ("ubuntu", "debian", "pop", "linuxmint", "elementary")
ARCH = ("arch", "manjaro", "endeavouros")


def manager(s: Snapshot) -> str:
    """apt-get, dnf, yum, zypper or pacman; apt-get where the system is not known, '' where it has another one."""
    system = (known(s.host.os_id) or "").lower()
    if system in RPM:
        old = system in ("rhel", "centos", "ol") and (known(s.host.os_version) or "").startswith("7")
        return "yum" if old else "dnf"
    if system.startswith(("opensuse", "sles")):
        return "zypper"
    if system in ARCH:
        return "pacman"
    return "apt-get" if not system or system in APT else ""


def install_line(s: Snapshot, root: str, packages: dict[str, str]) -> str:
    """The line that installs these packages, given for each manager (yum takes dnf's); '' where there are none."""
    tool = manager(s)
    names = packages.get("dnf" if tool == "yum" else tool, "")
    if not names:
        return ""
    option = "-S --needed" if tool == "pacman" else "install -y"
    update = f"{root}apt-get update && " if tool == "apt-get" else ""
    return f"{update}{root}{tool} {option} {names}"
