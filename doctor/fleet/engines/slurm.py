"""Nodes by Slurm: `sinfo` says which are free, one `srun` runs the probe on up to 256 of them, `squeue` how it goes.

A busy node gets a job of its own, which may wait. Nothing is scheduled beyond that, and all jobs are cancelled.
"""

from __future__ import annotations

import getpass
import math
import os
import re
import selectors
import signal
import subprocess
import tempfile
from collections import deque
from collections.abc import Collection, Iterator
from contextlib import suppress
from time import monotonic, sleep
from typing import NamedTuple

from ...guard import Refusal
from ..gather import BEGINS, Event, Probe, Roster, Wish
from ..nodesets import folded
from ..sinfo import SlurmNode, list_nodes, list_switches, run_command

_LOT = 256
"""Nodes of one job: a peer loses everything in one of more than 300."""
_MOST_WAITING = 200
_POLL_S = 2.0
_PENDING_S = 10.0
"""After it, a job for free nodes still waits: some of them are not free any more."""
_GONE_S = 5.0
"""After the end of a job, for the last lines of its srun, which may stay for a minute."""
_STOP_S = 20.0
_PAIR_S = 60.0
"""After it, a pair's job still waits for its nodes."""
_MOST_PAIRS = 512
"""Jobs of pairs at once."""
_OTHERS_S = 30
"""How long the other ranks of a pair may go on once the first one has ended."""
_PASSED_ON = ("NCCL_", "GLOO_", "TORCH_", "UCX_", "FI_", "MASTER_")
"""Variables that choose interfaces and addresses for the ranks of a pair begin with these."""
_STILL_BUSY = "busy: not free in the time that --wait gave it"
_CANCELLED = "COMPLETING"
"""The state of a job that Slurm is cleaning up: a minute long where a slurmstepd has died."""
_USERS = ("SLURM_CONF", "SLURM_ACCOUNT", "SLURM_QOS", "SLURM_CLUSTERS", "SLURM_RESERVATION")
"""Variables with which users choose how their jobs start."""
_LABEL = re.compile(rb"\s*(\d{1,7}): ?(.*)", re.S)
_TASKS = re.compile(r"tasks? ([\d,-]{1,2000}): (.{1,200})")
_LONGEST = 1 << 16
_TAIL = 20


class _Own(NamedTuple):
    """What `start` needs of `nodes`."""

    nodes: dict[str, SlurmNode]
    wait_s: float


class _Lot:
    """One job. waits_until: when it gives up waiting for a busy node; None for a job on free nodes; pair: its tasks are
    ranks of one program."""

    def __init__(
        self, name: str, nodes: tuple[str, ...], node: SlurmNode, waits_until: float | None, pair: bool = False
    ) -> None:
        self.name, self.nodes, self.node, self.waits_until, self.pair = name, nodes, node, waits_until, pair
        self.child: subprocess.Popen[bytes] | None = None
        self.open = set(nodes)
        self.of_task: dict[int, str] = {}
        self.buffers: dict[str, bytes] = {"out": b"", "err": b""}
        self.err: deque[str] = deque(maxlen=_TAIL)
        self.began = monotonic()
        self.seen = self.ran = False
        self.gone_since: float | None = None


class _Job:
    """All jobs of a run."""

    def __init__(self, probe: Probe) -> None:
        self.probe = probe
        self.lots: dict[str, _Lot] = {}
        self.later: deque[_Lot] = deque()
        self.events: list[Event] = []
        self.selector = selectors.DefaultSelector()
        self.polled = monotonic()
        self.count = 0


def nodes(wish: Wish) -> Roster:
    """The free nodes, and the busy ones where there is time to wait; the others with their reason. Raises Refusal."""
    found = list_nodes(wish.partition, wish.nodes)
    names: list[str] = []
    left_out = dict(found.unknown)
    for name, node in found.nodes.items():
        why = node.why_not(bool(wish.wait_s))
        if why:
            left_out[name] = why
        else:
            names.append(name)
    gpus = {name: node.gpus for name, node in found.nodes.items() if node.gpus}
    source = f"Slurm (partition {wish.partition})" if wish.partition else "Slurm"
    return Roster(tuple(names), left_out, source, gpus, _Own(found.nodes, wish.wait_s))


def start(roster: Roster, names: Collection[str], probe: Probe) -> _Job:
    """A job for each lot of free nodes of one kind, and one for each busy node."""
    job = _Job(probe)
    own: _Own = roster.own
    lots: dict[tuple[str, int], list[str]] = {}
    for name in names:
        node = own.nodes[name]
        if node.is_busy:
            job.later.append(_Lot("", (name,), node, monotonic() + own.wait_s))
        else:
            lots.setdefault((node.partition, node.gpus), []).append(name)
    try:
        for same in lots.values():
            for at in range(0, len(same), _LOT):
                some = tuple(same[at : at + _LOT])
                _submit(job, _Lot("", some, own.nodes[some[0]], None))
        _submit_waiting(job)
    except BaseException:
        stop(job)
        raise
    return job


def start_pairs(roster: Roster, pairs: Collection[tuple[str, str]], probe: Probe) -> _Job:
    """A job for each pair of nodes, with a task for each of their GPUs (one without GPUs): the ranks of one program.
    What they print are lines of the pair's first node."""
    job = _Job(probe)
    own: _Own = roster.own
    job.later += [_Lot("", pair, own.nodes[pair[0]], None, pair=True) for pair in pairs]
    try:
        _submit_waiting(job)
    except BaseException:
        stop(job)
        raise
    return job


def switches() -> dict[str, str]:
    """Node to its switch, where Slurm knows the topology."""
    return list_switches()


def answers(job: _Job, wait_s: float) -> Iterator[Event]:
    """What has come."""
    for key, _ in job.selector.select(wait_s):
        lot, stream = key.data
        data = os.read(key.fd, 1 << 16)
        if data:
            _read(job, lot, stream, data)
        else:
            job.selector.unregister(key.fileobj)
    if not job.selector.get_map():
        sleep(wait_s)
    for lot in list(job.lots.values()):
        if lot.child is not None and lot.child.poll() is not None and not _is_read(job, lot):
            _ended(job, lot)
    if monotonic() - job.polled >= _POLL_S:
        _poll(job)
    _submit_waiting(job)
    events, job.events = job.events, []
    yield from events


def stop(job: _Job, names: Collection[str] | None = None) -> str:
    """Cancel the jobs, kill their srun, and wait until Slurm has ended them. One task of a job cannot be cancelled:
    of some nodes, the jobs are that have no other nodes."""
    lots = [lot for lot in job.lots.values() if names is None or lot.open.issubset(names) or not lot.open]
    if names is None:
        job.later.clear()
    for lot in lots:
        _kill(job, lot)
    until = monotonic() + _STOP_S
    own = {lot.name for lot in lots}
    while own and monotonic() < until:
        queued = _queue(own)
        if queued is not None:
            ids = [one.id for one in queued.values() if one.state != _CANCELLED]
            if not ids:
                break
            run_command(["scancel", "--signal=KILL", *ids])
            run_command(["scancel", *ids])
        if names is not None:
            break
        sleep(0.3)
    return ""


def _submit(job: _Job, lot: _Lot) -> None:
    """Start its srun. Raises Refusal if there is none."""
    job.count += 1
    lot.name = f"gpudoctor-{job.probe.run}-{job.count}"
    lot.began = monotonic()
    count = len(lot.nodes)
    each = max(1, lot.node.gpus) if lot.pair else 1
    minutes = math.ceil(job.probe.node_s / 60) + 2
    words = [
        "srun", f"--job-name={lot.name}", f"--partition={lot.node.partition}", f"--nodelist={','.join(lot.nodes)}",
        f"--nodes={count}", f"--ntasks={count * each}", f"--ntasks-per-node={each}", "--exclusive", "--mem=0",
        f"--time={minutes}", *([f"--gres=gpu:{lot.node.gpus}"] if lot.node.gpus else []), "--no-kill",
        "--kill-on-bad-exit=0",
        *((f"--wait={_OTHERS_S}", _passed_on()) if lot.pair else ("--wait=0", "--export=NONE", "--label")),
        "/bin/sh", "-c", job.probe.command,
    ]  # fmt: skip
    with tempfile.TemporaryFile() as script:
        script.write(job.probe.script)
        script.seek(0)
        pipe = subprocess.PIPE
        try:
            lot.child = subprocess.Popen(
                words, stdin=script, stdout=pipe, stderr=pipe, start_new_session=True, env=_own_env()
            )
        except OSError as error:
            raise Refusal(f"cannot start srun: {error.strerror}") from None
    job.lots[lot.name] = lot
    job.selector.register(lot.child.stdout, selectors.EVENT_READ, (lot, "out"))  # type: ignore[arg-type]
    job.selector.register(lot.child.stderr, selectors.EVENT_READ, (lot, "err"))  # type: ignore[arg-type]


def _own_env() -> dict[str, str]:
    """Without the variables of a job that this process may be in: srun would start a step of that one."""
    return {name: value for name, value in os.environ.items() if not name.startswith("SLURM_") or name in _USERS}


def _passed_on() -> str:
    """What of the user's environment the ranks of a pair get."""
    names = sorted(name for name in os.environ if name.startswith(_PASSED_ON) and re.fullmatch(r"[A-Z0-9_]+", name))
    return f"--export={','.join(names) or 'NONE'}"


def _submit_waiting(job: _Job) -> None:
    while job.later:
        lot = job.later[0]
        most = _MOST_PAIRS if lot.pair else _MOST_WAITING
        if sum(one.waits_until is not None for one in job.lots.values()) >= most:
            return
        job.later.popleft()
        if lot.pair:
            lot.waits_until = monotonic() + _PAIR_S
            _submit(job, lot)
        elif monotonic() > (lot.waits_until or 0.0):
            job.events += [Event(node, "ended", reason=_STILL_BUSY) for node in lot.nodes]
        else:
            _submit(job, lot)


def _read(job: _Job, lot: _Lot, stream: str, data: bytes) -> None:
    *lines, rest = (lot.buffers[stream] + data).split(b"\n")
    lot.buffers[stream] = rest[:_LONGEST]
    for line in lines:
        if stream == "out":
            _out(job, lot, line)
        else:
            _err(job, lot, line.decode("utf-8", "replace").strip())


def _out(job: _Job, lot: _Lot, line: bytes) -> None:
    """One line of a task. The first tells its node: tasks are numbered as Slurm likes."""
    if lot.pair:
        _out_of_pair(job, lot, line)
        return
    found = _LABEL.fullmatch(line)
    if found is None:
        return
    task, text = int(found[1]), found[2]
    words = text.split()
    if words[:2] == [BEGINS, job.probe.run.encode()] and len(words) == 3:
        node = words[2].decode("ascii", "replace")
        if node in lot.open and task not in lot.of_task:
            lot.of_task[task], lot.ran = node, True
            job.events.append(Event(node, "began"))
    elif task in lot.of_task:
        job.events.append(Event(lot.of_task[task], "line", text))


def _out_of_pair(job: _Job, lot: _Lot, line: bytes) -> None:
    words = line.split()
    if words[:2] == [BEGINS, job.probe.run.encode()]:
        lot.ran = True
        job.events.append(Event(lot.nodes[0], "began"))
    else:
        job.events.append(Event(lot.nodes[0], "line", line))


def _err(job: _Job, lot: _Lot, line: str) -> None:
    lot.err.append(line)
    found = _TASKS.search(line)
    if found is None:
        return
    for task in _numbers(found[1]):
        node = lot.of_task.get(task, "")
        if node in lot.open:
            lot.open.discard(node)
            killed = "exit code" not in found[2].lower()
            job.events.append(Event(node, "ended", reason=f"its task ended early: {found[2]}", lost=killed))


def _numbers(text: str) -> Iterator[int]:
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first.isdecimal():
            yield from range(int(first), min(int(last) if last.isdecimal() else int(first), int(first) + _LOT) + 1)


def _is_read(job: _Job, lot: _Lot) -> bool:
    """Whether more may come from its srun."""
    return any(key.data[0] is lot for key in job.selector.get_map().values())


def _ended(job: _Job, lot: _Lot, reason: str = "") -> None:
    """A job that is over: those of its nodes that are open have no answer."""
    last = next((line for line in reversed(lot.err) if line.startswith("srun:") and "error" in line), "")
    plain = re.sub(r"^srun: (?:error: )?", "", last)[:200]
    own = next((line for line in lot.err if lot.pair and line.startswith("gpudoctor: ")), "")
    why = reason or own[:400] or (f"srun: {plain}" if plain else "its job ended before it answered")
    job.events += [Event(node, "ended", reason=why, lost=lot.ran and not reason) for node in sorted(lot.open)]
    lot.open.clear()
    _kill(job, lot)
    del job.lots[lot.name]


def _kill(job: _Job, lot: _Lot) -> None:
    """End its srun: it does not end by itself for a dead step, and long after its job was cancelled."""
    if lot.child is None:
        return
    with suppress(OSError):
        os.killpg(lot.child.pid, signal.SIGKILL)
    lot.child.wait()
    for stream in (lot.child.stdout, lot.child.stderr):
        if stream is not None:
            with suppress(KeyError, ValueError):
                job.selector.unregister(stream)
            stream.close()
    lot.child = None


class _Queued(NamedTuple):
    """A job in the queue."""

    id: str
    state: str
    reason: str
    name: str


def _queue(own: Collection[str]) -> dict[str, _Queued] | None:
    """Those of these jobs that Slurm lists, by name; None where squeue does not answer."""
    found = run_command(["squeue", "-h", "-u", getpass.getuser(), "-o", "%i|%T|%r|%j"])
    if found.code:
        return None
    rows = [line.split("|", 3) for line in found.out.splitlines()]
    return {row[3]: _Queued(*row) for row in rows if len(row) == 4 and row[3] in own}


def _poll(job: _Job) -> None:
    """How the jobs go, for all of them at once."""
    queued = _queue(job.lots.keys())
    job.polled = now = monotonic()
    if queued is None:
        return
    for lot in list(job.lots.values()):
        one = queued.get(lot.name)
        lot.seen = lot.seen or one is not None
        if one is None and lot.seen:
            lot.gone_since = lot.gone_since or now
            if now - lot.gone_since > _GONE_S:
                _ended(job, lot)
        elif one is not None and one.state == "PENDING" and not lot.ran:
            if lot.waits_until is not None and now > lot.waits_until:
                run_command(["scancel", one.id])
                busy = f"busy: not free in {_PAIR_S:.0f} s" if lot.pair else _STILL_BUSY
                _ended(job, lot, f"{busy} ({one.reason})")
            elif lot.waits_until is None and now - lot.began > _PENDING_S:
                run_command(["scancel", one.id])
                _without_busy(job, lot, one.reason)


def _without_busy(job: _Job, lot: _Lot, reason: str) -> None:
    """A job for free nodes that waits: it is submitted again without those that are free no more."""
    now = list_nodes(lot.node.partition, folded(lot.nodes)).nodes
    free = tuple(node for node in lot.nodes if node in now and not now[node].why_not(False))
    if free == lot.nodes:
        _ended(job, lot, f"Slurm lets the job wait: {reason}")
        return
    lot.open -= set(free)
    for node in sorted(lot.open):
        why = now[node].why_not(False) if node in now else "Slurm does not list it any more"
        job.events.append(Event(node, "ended", reason=why))
    lot.open.clear()
    _kill(job, lot)
    del job.lots[lot.name]
    if free:
        _submit(job, _Lot("", free, lot.node, None))
