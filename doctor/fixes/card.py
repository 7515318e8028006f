"""Take a card back from another kernel driver: nouveau, nova, vfio-pci."""

from __future__ import annotations

from ..findings import Fix, Matrix, Step
from ..snapshot import Snapshot, known
from .distribution import APT, ARCH, RPM
from .driver import DOCS, install_compatible, install_note, other_host
from .where import driver_changes, guest, host_sudo, on_host, reboot_step


def release_card(s: Snapshot, m: Matrix, held_by: str, installed: bool | None) -> tuple[Fix, ...]:
    """Take the card away from nouveau, nova or vfio-pci."""
    root = host_sudo(s)
    if not held_by.startswith("vfio"):
        names = "nova_core nova_drm nova nouveau" if held_by.startswith("nova") else "nouveau"
        lines = "".join(f"blacklist {name}\\n" for name in names.split()) + "options nouveau modeset=0\\n"
        block = f"printf '{lines}' | {root}tee /etc/modprobe.d/blacklist-nouveau.conf"
        steps: tuple[Step, ...] = (
            on_host(s, f"Keep {held_by} from claiming the card at boot.", f"{block} && {rebuild_initramfs(s)}"),
        )
        if installed is False:
            steps += (on_host(s, "Install the NVIDIA driver.", _command(s, m)),)
        steps += (reboot_step(s, "", driver_changes()),)
        title = f"Release the card from {held_by}"
    else:
        ids = " ".join(_ids(s)) or "its IDs"
        files = "$(grep -rls vfio /etc/modprobe.d /etc/default/grub)"
        editor = "sudoedit" if root else "${EDITOR:-vi}"
        grub = f" && {root}update-grub" if (known(s.host.os_id) or "").lower() in APT else ""
        steps = (
            on_host(
                s,
                "Once nothing in it is still needed, shut down the virtual machine that uses the card. Then remove "
                f"{ids} from vfio-pci's options in these files (/etc/modprobe.d, the kernel's command line).",
                f"{editor} {files}",
            ),
            on_host(
                s, "Rebuild the boot files so that the change takes effect at boot.", f"{rebuild_initramfs(s)}{grub}"
            ),
            reboot_step(s, "so that the NVIDIA driver can claim the card.", driver_changes()),
        )
        title = "Give the card back to the host"
    note = "" if installed else install_note(s)
    if installed is None:
        command = _command(s, m)
        note = "If the NVIDIA driver is not installed yet, install it before the reboot" + (
            f": {command}" if command else f" ({DOCS})."
        )
    fix = Fix(id="release-card", title=title, steps=steps, note=note)
    return (other_host(s, "whose NVIDIA driver works"), fix) if guest(s) else (fix,)


def _ids(s: Snapshot) -> list[str]:
    """vendor:device of the cards that vfio-pci holds, as its option `ids` names them."""
    cards = known(s.driver.pci_devices) or ()
    return sorted({f"{card.vendor}:{card.device}" for card in cards if str(known(card.driver)).startswith("vfio")})


def _command(s: Snapshot, m: Matrix) -> str:
    """The command of `install_compatible`."""
    return next((step.command for fix in install_compatible(s, m) for step in fix.steps if "install" in fix.id), "")


def rebuild_initramfs(s: Snapshot) -> str:
    """The distribution's command; where it is not known, the one of two that is there."""
    root, system = host_sudo(s), (known(s.host.os_id) or "").lower()
    if system in APT:
        return f"{root}update-initramfs -u"
    if system in ARCH:
        return f"{root}mkinitcpio -P"
    if system in RPM or system.startswith(("opensuse", "sles")):
        return f"{root}dracut --force"
    return f"{{ {root}update-initramfs -u || {root}dracut --force; }}"
