"""A call into the NVIDIA driver hung or crashed.

What is wrong: gpudoctor asks the driver's libraries (NVML, libcuda) in child processes with a deadline. One of these
calls did not come back in time, or ended its process. Every program that makes the same call will hang or crash too.

How it shows: `nvidia-smi` or `import torch; torch.cuda.is_available()` never returns and cannot be interrupted, or
ends with `Segmentation fault` or `Aborted`.

Why it happens: a GPU in a bad state (an Xid error in the kernel log), a kernel module that waits for its GSP
firmware, a process stuck in the driver (state D), a device reset in progress, libraries of another version than the
kernel module, or a library that another program has preloaded.

How to fix it: read the kernel log for Xid lines, then reboot the host; in a container or pod, start on another host,
because nothing inside can reset the driver.

Source: Xid errors, docs.nvidia.com/deploy/xid-errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..findings import Check, Finding, Policy, Skip
from ..fixes.driver import other_host, reboot
from ..fixes.place import container_kind, driver_changes
from ..snapshot import Missing, Snapshot, need
from ._seen import absent

if TYPE_CHECKING:
    from compat_matrix import Matrix

CHECK = Check(
    __name__,
    title="The NVIDIA driver does not answer",
    severity="critical",
    layer="driver",
    tags=("driver",),
)

_LIBRARY = {"nvml": "NVML (libnvidia-ml)", "cuda": "the CUDA driver (libcuda)"}


def check(s: Snapshot, m: Matrix, p: Policy) -> Iterator[Finding]:
    """Fails for each call that hung or crashed; passes where both libraries answered, or there is none to ask."""
    for fault in s.driver.faults:
        said = "did not come back before the deadline" if fault.fault == "hang" else "ended its process"
        again = "Run 'sudo dmesg | grep -i -e xid -e nvrm' on the host to see why."
        reset = reboot(s, "Reboot the host: a driver in this state can rarely be reset otherwise.", driver_changes())
        away = other_host(s, "whose driver answers")
        yield CHECK.fail(
            f"{fault.call} of {_LIBRARY[fault.library]} {'hangs' if fault.fault == 'hang' else 'crashes'}",
            f"The call {fault.call} {said}. {fault.detail + '. ' if fault.detail else ''}{again}",
            facts={"library": fault.library, "call": fault.call, "fault": fault.fault},
            subject=fault.call,
            fixes=(away, reset) if container_kind(s) else (reset,),
        )
    if not s.driver.faults:
        if absent(s.driver.nvml_init) and absent(s.driver.cu_init):
            raise Skip("there is no driver library to call")
        for name in ("nvml_init", "cu_init"):
            fact = getattr(s.driver, name)
            if isinstance(fact, Missing) and fact.reason != "absent":
                need(f"driver.{name}", fact)
