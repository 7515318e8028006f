"""Fixes for a reported fault of the driver: its versions, its modules, and what holds the card."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...findings import Fix
from ...findings.patterns import lazy
from ...fixes.card import release_card
from ...fixes.compatible import other_gpu
from ...fixes.cuda_driver import fixes_for
from ...fixes.distribution import APT
from ...fixes.driver import (
    install_compatible,
    install_driver,
    install_offered,
    offer,
    older_driver,
    other_host,
    start_fabric_manager,
)
from ...fixes.kernel_module import build_module, sign_module
from ...fixes.machine import driver_platform, driver_version, torch_cuda
from ...fixes.restart import anew, reload_module, reload_uvm
from ...fixes.selection import default_compute_mode
from ...fixes.where import container_kind, get_a_gpu, guest
from ...fixes.windows import convert_to_wsl2, remove_linux_driver, update_windows, update_windows_driver
from ...snapshot import known
from .parts import Builder, Evidence
from .written import written

_OLD_RELEASE = lazy(r"(/var/lib/dkms/nvidia[\w.-]{0,40}/\d[\w.+~-]{1,40})/source/dkms\.conf")
_LAST_BEFORE_TURING = 580
"""The last branch that drives Maxwell, Pascal and Volta (compat_matrix: last_driver of 5.0 to 7.0)."""


def _too_old(t: Evidence) -> Iterable[Fix]:
    """A build for what the driver can do, then a newer driver; a driver alone where the program is not torch."""
    if t.symptom.id == "nvidia-driver-too-old":
        required = re.search(r"required_driver\W{1,3}(\d{3})\b", t.text)
        if required:
            return install_offered(t.s, offer(t.s, t.m, int(required[1]))) or (other_gpu(t.s),)
        return install_compatible(t.s, t.m, newer=True)
    cuda, platform = torch_cuda(t.s, t.m), driver_platform(t.s)
    grade = t.m.driver_for_cuda(driver_version(t.s, t.m) or "1", cuda, platform) if cuda else None
    return fixes_for(t.s, t.m, cuda, grade)


def _dropped(t: Evidence) -> Iterable[Fix]:
    """The legacy branch that the kernel log names: `supported through the NVIDIA 470.xx Legacy drivers`."""
    found = re.search(r"\b(\d{3})\.xx", t.text)
    if not found:
        return ()
    if driver_platform(t.s) == "windows":
        return (update_windows_driver(t.s, int(found[1])),)
    return older_driver(t.s, int(found[1]))


def _open_module(t: Evidence) -> Iterable[Fix]:
    """The other kind of kernel module, of the branch that is there."""
    branch = (known(t.s.driver.version) or "").partition(".")[0]
    if driver_platform(t.s) == "windows":
        return (update_windows_driver(t.s),)
    if t.symptom.id == "nvrm-not-open":  # older than Turing: the last branch for these boards
        last = _LAST_BEFORE_TURING
        return older_driver(t.s, min(int(branch), last) if branch.isdecimal() else last)
    flavour = "open"
    found = offer(t.s, t.m, int(branch)) if branch.isdecimal() else None
    return install_offered(t.s, found, flavour) or install_driver(t.s, None, flavour)


def _released(t: Evidence) -> Iterable[Fix]:
    """Depends on the driver that the text names; nova only as a whole word, because other words end in it."""
    lower = t.text.lower()
    if driver_platform(t.s) == "windows":
        return (update_windows_driver(t.s),)
    holder = "vfio-pci" if "vfio" in lower else "nova" if re.search(r"\bnova(?:_?core)?\b", t.text, re.I) else "nouveau"
    return release_card(t.s, t.m, holder, True if known(t.s.driver.version) else None)


def _built(t: Evidence) -> Iterable[Fix]:
    if driver_platform(t.s) == "windows":
        return _no_wsl_gpu(t)
    if any(symptom.id == "module-source-too-old" for symptom in t.s.symptoms):
        return install_compatible(t.s, t.m, newer=True) or install_compatible(t.s, t.m)  # its package has patches
    fixes = build_module(t.s, t.m)
    if t.symptom.id == "dkms-source-gone":
        fixes = (_without_old(t), *fixes)
    return (other_host(t.s, "whose NVIDIA driver works"), *fixes[:1]) if guest(t.s) else fixes


def _without_old(t: Evidence) -> Fix:
    """Without the release whose source is gone, in the folder that the text names (distributions differ)."""
    found = _OLD_RELEASE.search(t.text)
    if found:
        return written(t.s, "remove-old-dkms", which="That release has nothing left to build.", folder=found[1])
    which = "The line below the error names that release's folder in /var/lib/dkms: replace NAME and OLD_RELEASE."
    return written(t.s, "remove-old-dkms", which=which, folder="/var/lib/dkms/NAME/OLD_RELEASE")


def _signed(t: Evidence) -> Iterable[Fix]:
    if driver_platform(t.s) == "windows":  # the module that counts is Windows' own
        return (update_windows_driver(t.s),)
    fixes = sign_module(t.s)
    return (other_host(t.s, "whose NVIDIA driver works"), *fixes) if guest(t.s) else fixes


def _uvm_stale(t: Evidence) -> Iterable[Fix]:
    if driver_platform(t.s) == "windows":
        return (written(t.s, "restart-wsl"),)
    fixes = reload_uvm(t.s)
    if container_kind(t.s):
        why = (
            "do this after nvidia-uvm has been reloaded on the host (with every GPU program stopped) or the host has "
            "been rebooted."
        )
        return (anew(t.s, why), *fixes)
    return (other_host(t.s, "whose nvidia-uvm module works"), *fixes) if guest(t.s) else fixes


def _exclusive(t: Evidence) -> Iterable[Fix]:
    """End the other program; then the mode, which only the host's owner sets."""
    mine = written(t.s, "end-other-program")
    windows = driver_platform(t.s) == "windows"
    mode = written(t.s, "default-compute-mode") if windows else default_compute_mode(t.s, "", None)
    return (mine, mode) if guest(t.s) else (mode, mine)


def _no_wsl_gpu(t: Evidence) -> Iterable[Fix]:
    if any(symptom.id == "windows-before-wsl-gpu" for symptom in t.s.symptoms):
        return (update_windows(t.s),)
    return (convert_to_wsl2(),) if known(t.s.host.wsl) == 1 else (update_windows_driver(t.s),)


def _tcc(t: Evidence) -> Iterable[Fix]:
    """The card's number is in the row of nvidia-smi that shows the mode."""
    row = re.search(r"\|\s{0,4}(\d{1,2})\s[^|]{2,60}\bTCC\b", t.text)
    return (written(t.s, "wddm-mode", number=row[1] if row else "0"),)


_SWITCHES = {
    "prime-select": "sudo prime-select nvidia", "envycontrol": "sudo envycontrol -s hybrid",
    "supergfx": "supergfxctl --mode Hybrid", "optimus-manager": "optimus-manager --switch nvidia",
    "bbswitch": "echo ON | sudo tee /proc/acpi/bbswitch",
}  # fmt: skip


def _switched(t: Evidence) -> Iterable[Fix]:
    """The mode of the tool that is named."""
    if driver_platform(t.s) == "windows":
        return (written(t.s, "discrete-gpu-on-windows"),)
    lower = t.text.lower()
    usual = _SWITCHES["prime-select"] if known(t.s.host.os_id) in APT else ""
    line = next((line for word, line in _SWITCHES.items() if word in lower), usual)
    tools = "" if line else " (prime-select, envycontrol, supergfxctl, or the manufacturer's tool)"
    on = written(t.s, "discrete-gpu-on", tools=tools, command=f"{line} && sudo reboot" if line else "")
    return (other_host(t.s, "whose NVIDIA driver works"), on) if guest(t.s) else (on,)


def _no_gpu(t: Evidence) -> Iterable[Fix]:
    if container_kind(t.s) or known(t.s.host.provider):
        return (other_host(t.s, "that has an NVIDIA GPU"),)
    return (get_a_gpu(t.s),)


FIXES: dict[str, Builder] = {
    "driver-too-old-for-cuda-build": _too_old, "driver-dropped-gpu": _dropped,
    "open-kernel-module-required": _open_module, "other-kernel-driver-bound": _released,
    "kernel-module-not-built-for-kernel": _built, "secure-boot-unsigned-module": _signed,
    "uvm-stale-after-suspend": _uvm_stale, "exclusive-compute-mode": _exclusive,
    "wsl-version-without-gpu": _no_wsl_gpu, "wsl-gpu-not-in-wddm-mode": _tcc, "dgpu-hidden-by-switcher": _switched,
    "no-nvidia-gpu": _no_gpu,
    "driver-library-version-mismatch": lambda t: reload_module(t.s),
    "imex-not-working": lambda t: (written(t.s, "set-up-imex"),),
    "fabric-manager-not-running": lambda t: start_fabric_manager(t.s, known(t.s.driver.version) or ""),
    "wsl-linux-driver-installed": lambda t: remove_linux_driver(t.s, None),
}  # fmt: skip
