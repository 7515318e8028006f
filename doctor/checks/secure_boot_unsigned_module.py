"""Secure Boot is on, and the NVIDIA module is built but not loaded.

What is wrong: with Secure Boot the kernel loads only modules with a signature that it trusts. A module that DKMS built
is signed with this machine's own key, which the firmware must be told to trust.

Symptoms: `modprobe: ERROR: could not insert 'nvidia': Key was rejected by service`; in the kernel log `Loading of
unsigned module is rejected`; nvidia-smi cannot talk to the driver.

Why it happens: the key was never enrolled (the blue screen at the first reboot was skipped), or the driver was
installed from a .run file without signing.

How to fix it: enroll the key with mokutil and reboot, or turn Secure Boot off in the firmware. If the module is loaded,
Secure Boot is not a problem. gpudoctor only infers this problem from Secure Boot being on and the module not being
loaded; `modprobe nvidia` shows whether that is correct.

Source: NVIDIA driver README, signed kernel modules; mokutil(1).
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.kernel_module import sign_module
from ..snapshot import Snapshot, known, need
from ._module import is_loaded
from ._seen import absent, nvidia_cards

CHECK = Check(
    __name__,
    title="Secure Boot may be blocking the NVIDIA module",
    sound="Secure Boot is not blocking the NVIDIA module",
    severity="critical",
    layer="driver",
    tags=("driver",),
    downstream_of=("no-nvidia-gpu", "other-kernel-driver-bound", "kernel-module-not-built-for-kernel"),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails on a host with Secure Boot on, a module built and not loaded, and a card that no driver is bound to."""
    if known(s.host.secure_boot) is False or is_loaded(s):
        return
    if absent(s.host.secure_boot) or not need("host.secure_boot", s.host.secure_boot):
        return
    if not need("driver.module_built", s.driver.module_built):
        raise Skip("no module was built for the running kernel")
    if any(card.driver for card in nvidia_cards(s) or ()):
        raise Skip("a different kernel driver is bound to the card")
    yield CHECK.fail(
        "Secure Boot is on, and the NVIDIA module is built but not loaded: the kernel may not trust its signature",
        "Run modprobe nvidia: 'Key was rejected by service' confirms it.",
        facts={"secure_boot": True, "module_built": True, "kernel": known(s.host.kernel)},
        direct=False,
        fixes=sign_module(s),
    )
