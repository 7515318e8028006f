"""Fixes that restart or complete the driver: load modules, restart a container, reboot, add libcuda."""

from __future__ import annotations

from shlex import quote
from typing import Any

from compat_matrix.versions import numbers

from ..findings import Fix, Matrix, Step
from ..snapshot import Snapshot, known
from .distribution import RPM
from .driver import install_compatible, install_note, other_host, pinned
from .ending import HOST
from .libcuda import purge_image_driver
from .machine import driver_platform
from .where import (
    container_kind,
    cuda_changes,
    driver_changes,
    guest,
    host_sudo,
    library_changes,
    notebook,
    on_host,
    reboot_step,
    start_again,
    sudo,
)


def load_module(s: Snapshot, m: Matrix) -> tuple[Fix, ...]:
    """Load the kernel module; rebuild it where it is not there for the running kernel."""
    root = host_sudo(s)
    load = Fix(
        id="load-kernel-module",
        title="Load the NVIDIA kernel module" + (" on the host" if container_kind(s) else ""),
        steps=(
            on_host(
                s,
                "Load the module. If that fails, the error message gives the reason.",
                f"{root}modprobe nvidia",
                driver_changes(),
            ),
        ),
        note="'Module nvidia not found': it was not built for this kernel; install linux-headers-$(uname -r), then "
        "run 'dkms autoinstall'. 'Key was rejected': Secure Boot rejects its signature. 'No such device': another "
        "driver "
        "holds the card, or the card is not supported by this module (see dmesg).",
    )
    if not guest(s):
        return (load, *install_compatible(s, m))
    return (other_host(s, "whose NVIDIA driver works"), load)


def reboot(s: Snapshot, why: str, changes: dict[str, Any] | None = None) -> Fix:
    """Reboot the host; in WSL and Windows: Windows."""
    changes = driver_changes() if changes is None else changes
    if driver_platform(s) == "windows":
        wsl = known(s.host.system) != "windows"
        text, command = "Save your work, then restart Windows.", "Restart-Computer"
        if wsl:
            text = "Close what runs in WSL and restart it; if that does not help, restart Windows."
            command = "wsl --shutdown"
        step = Step(text=text, command=command, where="windows", changes=changes)
        return Fix(id="reboot", title="Restart WSL" if wsl else "Restart Windows", steps=(step,))
    return Fix(
        id="reboot",
        title="Reboot the host" if container_kind(s) else "Reboot",
        steps=(reboot_step(s, why, changes),),
    )


def power_cycle(s: Snapshot, why: str = "", changes: dict[str, Any] | None = None) -> Fix:
    """Turn the power off and on, for what a reboot does not reset. `why`, shown first, if a shutdown would wait
    for something: then the system's own shutdown is not an option."""
    changes = driver_changes() if changes is None else changes
    virtual = known(s.host.virtualization) not in (None, "none") or bool(known(s.host.provider))
    after = "If it happens again, check power cables, seating and heat, and look for Xid lines in 'sudo dmesg'."
    title = "Power the machine off and on"
    if driver_platform(s) == "windows":
        after = "If it happens again, check power cables, seating and heat."
        text = f"{why} Save your work, switch the machine off, wait half a minute, and switch it on again. {after}"
        step = Step(text=text.strip(), where="windows", changes=changes, ends=HOST, destructive=True)
        return Fix(id="power-cycle", title=title, steps=(step,))
    if virtual and not container_kind(s):
        text = (
            "Once the jobs on this host are no longer needed, stop this instance (virtual machine) and start it again, "
            "in the provider's console or on its host: a reboot from inside does not reset the GPU. If it happens "
            "again, tell the provider."
        )
        step = Step(
            text=f"{why} {text}".strip(),
            where="provider",
            possible_here=not guest(s),
            changes=changes,
            ends=HOST,
            destructive=True,
        )
        return Fix(id="power-cycle", title="Stop and start the instance", steps=(step,))
    if known(s.host.chassis) in ("desktop", "laptop"):
        how = "hold the power button until it is off" if why else "switch it off"
        text = (
            f"{why} Save your work, {how}, wait half a minute, and switch it on again (a reboot seldom helps). {after}"
        )
        command = "" if why else f"{host_sudo(s)}shutdown -h now"
    else:
        text = (
            f"{why} Once the jobs on this host are no longer needed, have its BMC turn the power off and on (a reboot "
            "seldom helps; 'shutdown' would leave a remote host off). Without a BMC, turn it off and on by hand. "
            f"{after}"
        )
        command = f"sync && {host_sudo(s)}ipmitool chassis power cycle"
    step = on_host(s, text.strip(), command, changes, needs_root=bool(command), ends=HOST, destructive=True)
    return Fix(id="power-cycle", title=title, steps=(step,))


def reload_module(s: Snapshot) -> tuple[Fix, ...]:
    """Bring module and libraries to one version: reload the modules, reboot, or restart the container."""
    again = anew(
        s,
        "it then gets the libraries that the host has now. If the image itself contains driver packages "
        "(apt list --installed | grep -i nvidia), remove them.",
    )
    restart = reboot(s, "so that the installed version of the module is loaded.")
    if container_kind(s):
        return (purge_image_driver(), again, restart) if _newer_than_module(s) else (again, restart)
    if driver_platform(s) == "windows":
        return (restart,)
    if known(s.host.chassis) in ("desktop", "laptop"):
        return (other_host(s, "whose NVIDIA driver works"), restart) if guest(s) else (restart,)
    unload = Fix(
        id="reload-modules",
        title="Reload the kernel modules",
        steps=(
            on_host(
                s,
                "Once the programs on the GPUs are no longer needed, stop everything that uses them (jobs, DCGM, the "
                "desktop) and reload the modules. A module that is still in use is not replaced: reboot in that case.",
                _reload_command(s),
                driver_changes(),
            ),
        ),
        note="To prevent this, hold the driver's packages: use apt-mark hold, or unattended-upgrades' block list.",
    )
    return (other_host(s, "whose NVIDIA driver works"), unload, restart) if guest(s) else (unload, restart)


def _newer_than_module(s: Snapshot) -> bool:
    """Whether the libraries are newer than the module: then the host's libraries are not what a restart brings."""
    module, libraries = known(s.driver.kernel_version), known(s.driver.nvml_library_version)
    libraries = libraries or known(s.driver.libcuda_version)
    return bool(module and libraries) and numbers(libraries or "") > numbers(module or "")


def _reload_command(s: Snapshot) -> str:
    """Unload those that are loaded, users first, and load them again; rmmod refuses one that is in use."""
    root, loaded = host_sudo(s), known(s.driver.modules)
    order = ("nvidia_fs", "nvidia_peermem", "nvidia_uvm", "nvidia_drm", "nvidia_modeset", "nvidia")
    names = [name for name in order if name in (loaded or order[2:])] or ["nvidia"]
    back = " ".join(reversed([name for name in names if name not in ("nvidia_modeset",)]))
    return (
        f"{root}systemctl stop nvidia-persistenced\n"
        f"{root}rmmod {' '.join(names)}\n{root}modprobe -a {back}\n"
        f"{root}systemctl start nvidia-persistenced"
    )


def anew(s: Snapshot, why: str) -> Fix:
    """Stop and start the container, pod or session, in the words of the place; `why` follows a colon."""
    how, command = start_again(s)
    step = Step(text=f"{how.rstrip('.')}: {why}", command=command, where="container-start", changes=driver_changes())
    title = "Start a new session" if notebook(s) else "Recreate the container"
    return Fix(id="restart-container", title=title, steps=(step,))


def restart(s: Snapshot) -> tuple[Fix, ...]:
    """Where only the code is known: what clears most states of a driver."""
    words = "most driver states that cause this error"
    if not container_kind(s):
        again = reboot(s, f"to clear {words}. If the error persists, look for Xid and NVRM lines in 'sudo dmesg'.")
        return (other_host(s, "whose NVIDIA driver works"), again) if guest(s) else (again,)
    again = anew(s, "it then gets the GPU and the driver's libraries again.")
    return (again, other_host(s, "on which the same image works"), reboot(s, f"to clear {words}."))


def reload_uvm(s: Snapshot) -> tuple[Fix, ...]:
    """Reload nvidia-uvm, which clears its state after a suspend."""
    root = host_sudo(s)
    fix = Fix(
        id="reload-uvm",
        title="Reload nvidia-uvm",
        steps=(
            on_host(
                s,
                "Once the programs on the GPUs are no longer needed, stop those that use CUDA, then reload the module. "
                "A reboot does the same.",
                f"{root}rmmod nvidia_uvm && {root}modprobe nvidia_uvm",
                cuda_changes(),
            ),
        ),
        note="To prevent this, set options nvidia NVreg_PreserveVideoMemoryAllocations=1 in /etc/modprobe.d, and "
        "enable nvidia-suspend, nvidia-resume and nvidia-hibernate.",
    )
    return (fix, reboot(s, "", cuda_changes()))


def equal_packages(s: Snapshot) -> Fix:
    """All packages of the driver in one version, then a reboot: a half-upgraded driver stays one after a reboot."""
    first = _libcuda_step(
        s, "The driver's packages have two different versions. Install the same version of libcuda as the others", True
    )
    return Fix(
        id="equal-driver-packages",
        title="Bring all driver packages to the same version, then reboot",
        steps=(first, reboot_step(s, "so that the module and the libraries have that version.", driver_changes())),
        note=install_note(s),
    )


def libraries_in_lxc(s: Snapshot) -> Fix:
    """The libraries of an LXC container are installed inside it; recreating the container loses them."""
    version = known(s.driver.kernel_version) or ""
    branch = version.partition(".")[0]
    text = f"Install the driver's libraries{f' (version {version})' if version else ''} inside this container. The "
    text += "kernel module is the host's: with NVIDIA's .run file, leave it out (--no-kernel-module)."
    command = ""
    if (known(s.host.os_id) or "").lower() in ("ubuntu", "pop", "linuxmint") and version:
        packages = " ".join(quote(f"{name}-{branch}={version}-*") for name in ("libnvidia-compute", "nvidia-utils"))
        command = f"{sudo(s)}apt-get update && {sudo(s)}apt-get install -y --allow-downgrades {packages}"
    step = Step(text=text, command=command, where="shell", needs_root=True, changes=library_changes())
    return Fix(id="libraries-in-lxc", title="Install the host's driver version inside the container", steps=(step,))


def install_libcuda(s: Snapshot) -> tuple[Fix, ...]:
    """libcuda, the part of the driver that was left out, in the version of the module that runs."""
    if container_kind(s):
        return restart(s)
    step = _libcuda_step(s, "Install the version of the driver's CUDA library that matches the loaded kernel module")
    return (Fix(id="install-libcuda", title="Install the driver's libcuda", steps=(step,), note=install_note(s)),)


def _libcuda_step(s: Snapshot, text: str, other: bool = False) -> Step:
    """libcuda in the version of the module that runs; `other`: another version is installed."""
    system = (known(s.host.os_id) or "").lower()
    branch = (known(s.driver.version) or "").partition(".")[0]
    package = {"debian": "libcuda1"}.get(system, "")
    if system in ("ubuntu", "pop", "linuxmint") and branch:
        package = f"libnvidia-compute-{branch}"
    package = package or ("nvidia-driver-cuda-libs" if system in RPM else "")
    version = known(s.driver.version) or ""
    text += f" ({version})." if version else "."
    command = pinned(s, package, version) if package else ""
    command = command.replace("apt-get install -y", "apt-get install -y --allow-downgrades") if other else command
    return on_host(s, text, command, library_changes())
