"""The proof in a live run: gather as `check` does, then measure with what was found."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from compat_matrix.versions import numbers

from ..proof.plan import TOTAL_S, Level, Links, Plan
from ..snapshot import Missing, Snapshot, known
from .ended import ending_children

if TYPE_CHECKING:
    from ..probes.collect import Options
    from ..targets.recording import Recording

Say = Callable[[str], None]
_TORCH = ("torch_proof", "collective_proof", "torch_speed", "training_speed", "torch_soak", "collective_speed")
SAMPLING = ("--interval", "0.1", "--share", "0.1")
SOAK_SAMPLING = ("--interval", "1", "--share", "0.1")
SOAK_MORE_S = 60.0
"""For the imports of torch before it."""
LeftOut = dict[str, tuple[str, str]]


def gather_and_prove(
    options: Options,
    level: Level,
    device: str = "cuda",
    total_s: float | None = None,
    say: Say | None = None,
    facts_too: bool = False,
    interruptible: bool = False,
    soak_s: float = 0.0,
    links: Links | None = None,
) -> Recording:
    """The facts of this machine and, after them, the measurements. `total_s`: total seconds for the measurements, or
    (`facts_too`) for both.

    `soak_s`: seconds of sustained load on every GPU at the end, on top of the default of `total_s`.
    `links`: who takes part in measuring links, at the level of that name.
    `interruptible`: an interrupt during measuring stops only the measurements; results so far are reported.
    Raises Refusal if `--python` names no environment. A signal that terminates this process stops the children too.
    """
    from ..probes.collect import Started, gather_all, snapshot_of
    from ..proof.run import prove
    from .preload import preload
    from .sources import refuse_missing_python

    started = monotonic()
    total_s = TOTAL_S[level] + (soak_s + SOAK_MORE_S if soak_s else 0.0) if total_s is None else total_s
    with ending_children():
        gathering = Started(options)
        try:
            preload()
            recording = gather_all(gathering, say)
        finally:
            gathering.abandon()
        snapshot = snapshot_of(recording)
        refuse_missing_python(options.python, snapshot)
        left_s = total_s - (monotonic() - started) if facts_too else total_s
        plan = make_plan(snapshot, level, device, max(0.0, left_s), soak_s, links)
        recording.manifest["prove"] = {"level": level, "device": device, "timeout_s": total_s}
        recording.proof = prove(plan, options.env, say)
        if not interruptible and any(line.get("field") == "interrupted" for line in recording.proof["proof"][0].lines):
            raise KeyboardInterrupt
    return recording


def measured_facts(flags: dict[str, Any], level: Level, **how: Any) -> Snapshot:
    """The Snapshot of a live run with a proof; `flags`: those of the probes; `how`: as for `gather_and_prove`."""
    from ..probes.collect import snapshot_of
    from .sources import options

    return snapshot_of(gather_and_prove(options(flags), level, **how))


def make_plan(
    snapshot: Snapshot, level: Level, device: str, total_s: float, soak_s: float = 0.0, links: Links | None = None
) -> Plan:
    """Which children are started with which Python, and which are not started and why."""
    from ..probes.commands import nvml_binding, own_agent, torch_command

    commands = {"driver_proof": own_agent("driver_proof")}
    if known(snapshot.gpus):
        commands["nvml_sampler"] = own_agent("nvml_sampler", nvml_binding(), *SAMPLING)
        commands["soak_sampler"] = own_agent("nvml_sampler", nvml_binding(), *SOAK_SAMPLING)
    left_out: LeftOut = {}
    why = _no_torch(snapshot)
    if any(fault.library == "cuda" and fault.fault == "hang" for fault in snapshot.driver.faults):
        left_out["driver_proof"] = ("timeout", "libcuda did not answer when asked for the devices")
        if device != "cpu":
            why = why or left_out["driver_proof"]
    for name in _TORCH:
        command = torch_command({"executable": known(snapshot.python.patient.executable)}, name)
        if command is None or why is not None:
            left_out[name] = why or ("absent", "the environment has no interpreter")
        else:
            commands[name] = command
    if sys.platform == "win32":
        left_out["collective_speed"] = ("absent", "it can start its processes only on Linux and macOS")
    devices = known(snapshot.driver.cuda_devices)
    return Plan(
        level=level,
        device=device,
        total_s=total_s,
        soak_s=soak_s,
        links=links and replace(links, local_addr=numbers(known(snapshot.torch.version)) >= (2,)),
        commands=commands,
        left_out=left_out,
        devices=len(devices) if devices is not None else None,
        memory_mib=known(snapshot.host.memory_limit_mib),
        cores=max(1, int(min(known(snapshot.host.cpu_cores) or 1, known(snapshot.host.cpu_quota_cores) or 1 << 20))),
    )


def _no_torch(s: Snapshot) -> tuple[str, str] | None:
    """Why torch's agents cannot be started; None if they can."""
    if isinstance(s.torch.version, Missing):
        absent = s.torch.version.reason == "absent"
        return ("absent", "torch is not installed") if absent else (s.torch.version.reason, s.torch.version.detail)
    if s.torch_run.imported is False:
        return "error", "torch cannot be imported"
    return None
