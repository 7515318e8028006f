"""Fixes for a kernel module that was not built for the running kernel, or that Secure Boot rejects."""

from __future__ import annotations

from ..findings import Fix, Matrix
from ..snapshot import Snapshot, known
from .distribution import APT, ARCH, RPM
from .driver import install_compatible
from .where import driver_changes, host_sudo, on_host, reboot_step


def build_module(s: Snapshot, m: Matrix) -> tuple[Fix, ...]:
    """Headers of the running kernel, then build and load."""
    root = host_sudo(s)
    build = Fix(
        id="build-kernel-module",
        title="Build the module for the running kernel",
        steps=(
            on_host(s, "Install the headers for the running kernel.", headers_command(s)),
            on_host(
                s,
                "Build every module registered with DKMS, then load the NVIDIA module.",
                f"{root}dkms autoinstall && {root}modprobe nvidia",
                driver_changes(driver__module_built=True),
            ),
        ),
        note="If the module came as a prebuilt package (linux-modules-nvidia-...), install the one for this kernel. "
        "Booting the previous kernel works right away.",
    )
    return (build, *install_compatible(s, m))


def headers_command(s: Snapshot) -> str:
    """Install the headers of the running kernel, as the distribution names them."""
    root, system = host_sudo(s), (known(s.host.os_id) or "").lower()
    apt = f"{root}apt-get install -y linux-headers-$(uname -r)"
    rpm = f"{root}dnf install -y kernel-devel-$(uname -r)"
    if system in APT:
        return apt
    if system in ARCH:
        return f"{root}pacman -S --needed $(cat /usr/lib/modules/$(uname -r)/pkgbase)-headers"
    if system.startswith(("opensuse", "sles")):
        return f"{root}zypper install -y kernel-default-devel"
    return rpm if system in RPM else f"{apt} || {rpm}"


def sign_module(s: Snapshot) -> tuple[Fix, ...]:
    """Enroll the key that the module is signed with, or turn off Secure Boot."""
    root = host_sudo(s)
    ubuntu = known(s.host.os_id) == "ubuntu"
    key = "/var/lib/shim-signed/mok/MOK.der" if ubuntu else "/var/lib/dkms/mok.pub"
    sign = Fix(
        id="enrol-module-key",
        title="Make Secure Boot trust the module",
        steps=(
            on_host(
                s, "Enroll the key that DKMS signs modules with; choose a password.", f"{root}mokutil --import {key}"
            ),
            reboot_step(s, "and choose 'Enroll MOK' on the blue screen, then enter the password.", driver_changes()),
        ),
    )
    off = Fix(
        id="secure-boot-off",
        title="Turn off Secure Boot",
        steps=(
            on_host(
                s,
                "Once the jobs on this host are no longer needed, reboot into the firmware setup and turn it off.",
                f"{root}systemctl reboot --firmware-setup",
                driver_changes(host__secure_boot=False),
            ),
        ),
    )
    return (sign, off)
