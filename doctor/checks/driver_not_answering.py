"""A call into the NVIDIA driver hung or crashed.

What is wrong: gpudoctor calls the driver's libraries (NVML, libcuda) in child processes with a deadline. One of these
calls did not return in time, or crashed its process. Every program that makes the same call will hang or crash too.
`gpudoctor prove` also runs a small kernel on each GPU through libcuda alone: a failure there is only a warning if torch
computed on that GPU afterwards. It is also only a warning if torch's first test on a GPU gave correct results, but a
matmul or a copy that is timed later on that GPU hangs (10 seconds without output), crashes or fails with a CUDA error.

Symptoms: `nvidia-smi` or `import torch; torch.cuda.is_available()` never returns and cannot be interrupted, or
crashes with `Segmentation fault` or `Aborted`.

Why it happens: a GPU in a bad state (an Xid error in the kernel log), a kernel module that is waiting for its GSP
firmware, a process stuck in the driver (state D), a device reset in progress, libraries of a different version than the
kernel module, or a library that another program has preloaded.

How to fix it: read the kernel log for Xid lines, then reboot the host. In a container or pod, switch to a different
host, because nothing inside the container can reset the driver.

What was examined: whether the call returned before its deadline, and whether its process was making progress up to
then. A process that is reading (a library on a slow disk) or has no core to run on is not considered hung: it gets more
time, and the result is UNKNOWN if even that is not enough. A process that makes no progress, or spins in the call
without reading anything, is considered hung.

Source: Xid errors, docs.nvidia.com/deploy/xid-errors.
"""

from __future__ import annotations

import re

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.driver import other_host
from ..fixes.restart import power_cycle, reboot
from ..fixes.where import container_kind
from ..snapshot import CallFault, Missing, Snapshot, StepEnd, known, need
from ._seen import absent

CHECK = Check(
    __name__,
    title="The NVIDIA driver does not answer",
    sound="No driver call hung or crashed",
    severity="critical",
    layer="driver",
    tags=("driver",),
)

_CUDA = re.compile(r"CUDA error|CUBLAS_STATUS_(EXECUTION|INTERNAL)|CUDNN_STATUS_(EXECUTION|INTERNAL)")
_SILENT_S = 10.0
_RUN_AGAIN, _BUSY = "Run gpudoctor prove again", "A busy GPU may respond slowly."
_LIBRARY = {"nvml": "NVML (libnvidia-ml)", "cuda": "the CUDA driver (libcuda)"}


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails for each call that hung or crashed; passes if both libraries answered, or there is none to ask."""
    for fault in s.driver.faults:
        ending = "did not return before the deadline" if fault.fault == "hang" else "crashed its process"
        again = "Run 'sudo dmesg | grep -i -e xid -e nvrm' on the host to see why."
        if fault.stuck_pid:
            why = "A reboot would wait for the process that cannot be killed."
            reset = power_cycle(s, why)
        else:
            reset = reboot(s, "the host: hardly anything else resets a driver in this state.")
        away = other_host(s, "whose driver answers")
        yield CHECK.fail(
            f"{fault.call} in {_LIBRARY[fault.library]} {'hangs' if fault.fault == 'hang' else 'crashes'}",
            f"The call {fault.call} {ending}{f' ({fault.detail})' if fault.detail else ''}. {_stuck(fault)}{again}",
            facts={
                "library": fault.library,
                "call": fault.call,
                "fault": fault.fault,
                **({"stuck_pid": fault.stuck_pid, "stuck_in": fault.stuck_in} if fault.stuck_pid else {}),
            },
            subject=fault.call,
            fixes=(away, reset) if container_kind(s) else (reset,),
        )
    yield from _in_the_proof(s)
    yield from _in_the_speed(s)
    if not s.driver.faults:
        if absent(s.driver.nvml_init) and absent(s.driver.cu_init):
            raise Skip("there is no driver library to call", without="gpu")
        for name in ("nvml_init", "cu_init"):
            fact = getattr(s.driver, name)
            if isinstance(fact, Missing) and fact.reason != "absent":
                need(f"driver.{name}", fact)


def _stuck(fault: CallFault) -> str:
    """What is left behind if nothing could end the call."""
    if not fault.stuck_pid:
        return ""
    where = f" (in {fault.stuck_in})" if fault.stuck_in else ""
    return (
        f"Process {fault.stuck_pid} is stuck in the kernel{where}, in state D: no signal can kill it, so only a power "
        "cycle helps. "
    )


def _in_the_proof(s: Snapshot) -> Findings:
    """Calls that hung or crashed while a small kernel was run through libcuda on each GPU; a warning if torch's own
    proof finished on that GPU."""
    proofs = known(s.measured.driver) or ()
    if known(s.measured.level) is None or not any(proof.fault in ("hang", "crash") for proof in proofs):
        return
    from ..findings.measured_gpu import gpu_of
    from ..fixes.gpu_state import reset
    from ..fixes.speed import here, measured_again
    from ._readings import name_of

    for proof in proofs:
        if proof.fault not in ("hang", "crash"):
            continue
        gpu = gpu_of(s, f"cuda:{proof.device}", proof.key)
        name = name_of(gpu) if gpu else proof.name or f"device {proof.device}"
        works = any(
            torch.right is True and (torch.device == f"cuda:{proof.device}" or (torch.key and torch.key == proof.key))
            for torch in known(s.measured.torch) or ()
        )
        how = "hangs" if proof.fault == "hang" else "crashes"
        after = "torch computed on it afterwards, so the GPU may just have been busy: measure again. " if works else ""
        make = CHECK.warn if works else CHECK.fail
        fixes = measured_again(reset(s, gpu.key) if gpu else (reboot(s, "the host.", {}),))
        again = (here("prove-again", _RUN_AGAIN, _BUSY),) if works else ()
        yield make(
            f"{proof.failed_call or 'libcuda'} {how} on {name}",
            f"A small kernel that was run through libcuda alone did not finish on this GPU. {after}"
            "Run 'sudo dmesg | grep -i -e xid -e nvrm' on the host to see why.",
            facts={"library": "cuda", "call": proof.failed_call, "fault": proof.fault, "device": proof.device},
            subject=gpu.key if gpu else f"cuda:{proof.device}",
            fixes=(*again, *fixes),
        )


def _in_the_speed(s: Snapshot) -> Findings:
    """What was timed on a GPU that torch had computed on and did not finish: one warning per GPU."""
    if known(s.measured.level) is None:
        return
    ends = [end for end in s.measured.ended if end.agent in ("torch_speed", "torch_soak") and _broke(end)]
    if not ends:
        return
    from ..findings.measured_gpu import gpu_of
    from ..fixes.gpu_state import reset
    from ..fixes.speed import here, measured_again
    from ._readings import name_of

    for device in dict.fromkeys(end.device for end in ends):
        own = [end for end in ends if end.device == device]
        gpu = gpu_of(s, device)
        first = own[0]
        how = {"hang": "hangs", "crash": "crashes"}.get(first.fault, "fails")
        words = "; ".join(f"{end.step}: {end.detail or end.fault}" for end in own)
        resets = reset(s, gpu.key) if gpu else (reboot(s, "the host.", {}),)
        again = here("prove-again", _RUN_AGAIN, _BUSY)
        yield CHECK.warn(
            f"{first.step} {how} on {name_of(gpu) if gpu else device}",
            f"torch's first test on this GPU gave correct results, but later steps did not finish: {words}. "
            "Run 'sudo dmesg | grep -i -e xid -e nvrm' on the host to see why.",
            facts={"device": device, "steps": [end.step for end in own], "fault": first.fault},
            subject=gpu.key if gpu else device,
            fixes=(again, *measured_again(resets)),
        )


def _broke(end: StepEnd) -> bool:
    if not end.device.startswith("cuda:") or end.step.startswith(("import", "device")):
        return False
    if end.fault == "hang":
        return end.silent_s >= _SILENT_S  # with a short --timeout one that is only slow is ended early
    return end.fault == "crash" or (end.fault == "failed" and _CUDA.search(end.detail) is not None)
