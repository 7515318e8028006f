"""The proof of a live run: gather as `check` does, then measure with what was found there."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..proof.plan import TOTAL_S, Level, Plan
from ..snapshot import Missing, Snapshot, known

if TYPE_CHECKING:
    from ..probes.collect import Options
    from ..targets.recording import Recording

Say = Callable[[str], None]
_TORCH = ("torch_proof", "collective_proof", "torch_speed", "training_speed")
LeftOut = dict[str, tuple[str, str]]


def gather_and_prove(
    options: Options, level: Level, device: str = "cuda", total_s: float | None = None, say: Say | None = None
) -> Recording:
    """The facts of this machine and, after them, the measurements. `total_s`: seconds for the measurements in all."""
    from ..probes.collect import gather_all, snapshot_of
    from ..proof.run import prove

    recording = gather_all(options, say)
    snapshot = snapshot_of(recording)
    plan = make_plan(snapshot, level, device, TOTAL_S[level] if total_s is None else total_s)
    recording.manifest["prove"] = {"level": level, "device": device}
    recording.proof = prove(plan, options.env, say)
    return recording


def make_plan(snapshot: Snapshot, level: Level, device: str, total_s: float) -> Plan:
    """Which children are started with which Python, and which are not, and why."""
    from ..probes.commands import nvml_binding, own_agent, torch_command

    commands = {"driver_proof": own_agent("driver_proof")}
    if known(snapshot.gpus):
        commands["nvml_sampler"] = own_agent("nvml_sampler", nvml_binding())
    left_out: LeftOut = {}
    if any(fault.library == "cuda" and fault.fault == "hang" for fault in snapshot.driver.faults):
        left_out["driver_proof"] = ("timeout", "libcuda did not answer when it was asked for its devices")
    why = _no_torch(snapshot)
    for name in _TORCH:
        command = torch_command({"executable": known(snapshot.python.patient.executable)}, _cwd(), name)
        if command is None or why is not None:
            left_out[name] = why or ("absent", "the environment has no interpreter")
        else:
            commands[name] = command
    devices = known(snapshot.driver.cuda_devices)
    return Plan(
        level=level, device=device, total_s=total_s, commands=commands, left_out=left_out,
        devices=len(devices) if devices is not None else None,
    )  # fmt: skip


def _no_torch(s: Snapshot) -> tuple[str, str] | None:
    """Why torch's agents cannot be started; None where they can."""
    if isinstance(s.torch.version, Missing):
        absent = s.torch.version.reason == "absent"
        return ("absent", "torch is not installed") if absent else (s.torch.version.reason, s.torch.version.detail)
    if s.torch_run.imported is False:
        return "error", "torch does not import"
    return None


def _cwd() -> str:
    """The working directory, empty where it was deleted."""
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:
        return ""
