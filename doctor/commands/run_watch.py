"""What `watch` does once its flags are known: watch, then examine the machine, judge, print."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import Any

from ..findings import Policy
from ..guard import Refusal, say, traced
from ..snapshot import Snapshot, known
from ..snapshot.measured import Measured, StepEnd
from ..targets.interrupts import forget
from .assess import matrix_of
from .config import base_policy
from .expected import refuse_early
from .gather_options import refuse_special_python
from .options import make_policy
from .pictures import writable

_FACTS_S = 10.0
"""How long the machine is examined at the end: whoever sent a signal may not wait long."""


def run_watch(flags: dict[str, Any]) -> int:
    """Watch until the end; returns the command's exit code."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller: whatever we would say, the command runs
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    _usable(flags)
    given = {name: flags[name] for name in ("expect", "only", "skip")}
    policy = make_policy(saved=base_policy(flags), left_out=("torch_run",), **given)
    refuse_early(policy, matrix_of(flags))
    from ..probes.commands import nvml_binding, own_agent
    from ..proof.watch_command import CannotStart
    from ..proof.watch_run import INTERVAL_S, watch_command, watch_process

    binding, interval = nvml_binding(), flags["interval"]
    sampler = own_agent(
        "nvml_sampler", binding, "--interval", str(interval or INTERVAL_S), "--share", "0.005", "--watch", "1"
    )
    program = _program(flags["pid"]) if flags["pid"] else ""
    try:
        if program:
            watched = watch_process(flags["pid"], program, sampler, interval)
        else:
            watched = watch_command(flags["command"], sampler, interval)
    except CannotStart as why:
        return say(str(why), why.code)
    try:
        _report(watched, policy, flags)
    except KeyboardInterrupt:
        forget()
        say("interrupted: no report", 0)
    except Exception as error:  # whatever is wrong with the report, the command's exit code is passed on
        if traced() and not isinstance(error, (Refusal, OSError)):
            raise
        say(str(error) if isinstance(error, Refusal) else f"internal error: {type(error).__name__}: {error}", 0)
    return watched.code


def _usable(flags: dict[str, Any]) -> None:
    """Refuse what cannot be done before anything is started."""
    if flags["pid"] and flags["command"]:
        raise Refusal("--pid cannot be used with a command")
    if not flags["pid"] and not flags["command"]:
        raise Refusal("nothing to watch: gpudoctor watch -- python train.py, or gpudoctor watch --pid PID")
    if flags["command"] and not flags["command"][0]:
        raise Refusal("the command's name is empty")
    if not os.path.isdir("/proc/self/task") or not hasattr(signal, "sigtimedwait"):  # noqa: PTH112
        raise Refusal("watch reads /proc, which only Linux has")
    writable({**flags, "plot": None})
    refuse_special_python(flags)
    if flags["python_"] and not os.path.exists(flags["python_"]):  # noqa: PTH110
        import shutil

        if shutil.which(flags["python_"]) is None:
            raise Refusal(f"--python {flags['python_']}: no such file")


def _program(pid: int) -> str:
    """Base name of a running process's program. Raises Refusal if it cannot be watched."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            name, _, rest = file.read(4096).partition(b" (")[2].rpartition(b") ")
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            line = file.read(4096)
    except (FileNotFoundError, ProcessLookupError):
        raise Refusal(f"--pid {pid}: no such process") from None
    except OSError as error:
        raise Refusal(f"--pid {pid} cannot be examined: {error.strerror or error}") from None
    if rest[:1] in (b"Z", b"X"):
        raise Refusal(f"--pid {pid} has already exited")
    first = os.path.basename(line.split(b"\0")[0])  # noqa: PTH119
    return (first or name).decode("utf-8", "replace") or "process"


def _report(watched: Any, policy: Policy, flags: dict[str, Any]) -> None:
    snapshot = _facts(watched, flags)
    ended = watched.ended
    if watched.unseen and not watched.python and not flags["python_"]:
        words = f"it exited before it could be examined, so this report is about {_judged(snapshot)}"
        ended += (StepEnd(agent="watch", step=f"{watched.watch.program}'s Python", fault="skipped", detail=words),)
    measured = Measured(level="watch", watch=watched.watch, loads=watched.loads, ended=ended)
    snapshot = snapshot.with_(measured=measured)
    from .run_check import print_report

    if flags["output"] == "-":
        print_report(snapshot, policy, flags)
        return
    with contextlib.redirect_stdout(sys.stderr):  # the command's own output is on stdout
        try:
            print_report(snapshot, policy, flags)
        except Refusal as refusal:  # the disk is full: after hours of watching, the report should still be shown
            if flags["output"] is None:
                raise
            say(str(refusal), 0)
            print_report(snapshot, policy, {**flags, "output": None})


def _judged(s: Snapshot) -> str:
    """The environment that a report is about, and why it was chosen."""
    where = known(s.python.patient.prefix) or known(s.python.patient.executable) or "no Python"
    because = known(s.python.chosen_because)
    return f"{where} ({because})" if because else where


def _facts(watched: Any, flags: dict[str, Any]) -> Snapshot:
    """The machine as the watched program saw it, with its Python and variables. torch is not imported again."""
    from ..probes.collect import Options, Started, collect
    from ..proof.watch_run import HURRIED_S
    from ..report.progress import Progress
    from .preload import preload

    options = Options(
        python=flags["python_"] or watched.python or None,
        env=watched.env,
        cwd=watched.cwd or None,
        import_torch=False,
        deadline_s=HURRIED_S if watched.hurried else _FACTS_S,
        hurried=watched.hurried,
    )
    try:
        started = Started(options)
        try:
            preload()
            with Progress() as progress:
                snapshot = collect(started, progress)
        finally:
            started.abandon()
        if watched.python and not flags["python_"]:
            return snapshot.replace({"python.chosen_because": "the watched program"})
        return snapshot
    except KeyboardInterrupt:  # what was measured is reported all the same
        forget()
        return Snapshot()
