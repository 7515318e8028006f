"""Nodes by Slurm: `sinfo` says which are free, one `srun` runs the probe on up to 256 of them, `squeue` how it goes.

A busy node gets a job of its own, which may wait. Nothing is scheduled beyond that, and all jobs are cancelled.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from resource import RLIM_INFINITY, RLIMIT_NOFILE, getrlimit
from time import monotonic, sleep
from typing import NamedTuple

from ...guard import Refusal
from ..gather import Event, Probe, Roster, Wish
from ..nodesets import folded
from ..sinfo import SlurmNode, list_nodes, list_switches, run_command
from ..slurm_jobs import ENDING, Job, Lot, Queued, cancel, is_read, kill, queue, submit
from ..slurm_lines import read

_LOT = 256
"""Nodes of one job: a peer loses everything in one of more than 300."""
_MOST_WAITING = 200
_POLL_S = 2.0
_PENDING_S = 10.0
"""After it, a job for free nodes still waits: some of them are not free any more."""
_EPILOG_S = 120.0
"""After it, nodes that still clean up after a job, perhaps one of this run, are not waited for any more."""
_GONE_S = 5.0
"""After the end of a job, for the last lines of its srun, which may stay for a minute."""
_STOP_S = 20.0
_PAIR_S = 60.0
"""After it, a pair's job still waits for its nodes."""
_MOST_PAIRS = 512
"""Jobs of pairs at once."""
_OTHER_FILES = 128
"""That this process has open, at most, beside what srun prints."""
_STILL_BUSY = "busy: not free within the --wait time"


class _Own(NamedTuple):
    """What `start` needs of `nodes`."""

    nodes: dict[str, SlurmNode]
    wait_s: float


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


def start(roster: Roster, names: Collection[str], probe: Probe) -> Job:
    """A job for each lot of free nodes of one kind, and one for each busy node."""
    own: _Own = roster.own
    job = Job(probe, own.wait_s)
    lots: dict[tuple[str, int], list[str]] = {}
    for name in names:
        node = own.nodes[name]
        if node.is_busy:
            job.later.append(Lot("", (name,), node, monotonic() + own.wait_s))
        else:
            lots.setdefault((node.partition, node.gpus), []).append(name)
    try:
        for same in lots.values():
            for at in range(0, len(same), _LOT):
                some = tuple(same[at : at + _LOT])
                submit(job, Lot("", some, own.nodes[some[0]], None))
        _submit_waiting(job)
    except BaseException:
        stop(job)
        raise
    return job


def start_pairs(roster: Roster, pairs: Collection[tuple[str, str]], probe: Probe) -> Job:
    """A job for each pair of nodes, with a task for each of their GPUs (one without GPUs): the ranks of one program.
    What they print are lines of the pair's first node."""
    job = Job(probe)
    own: _Own = roster.own
    job.later += [Lot("", pair, own.nodes[pair[0]], None, pair=True) for pair in pairs]
    try:
        _submit_waiting(job)
    except BaseException:
        stop(job)
        raise
    return job


def switches() -> dict[str, str]:
    """Node to its switch, where Slurm knows the topology."""
    return list_switches()


def answers(job: Job, wait_s: float) -> Iterator[Event]:
    """What has come."""
    for key, _ in job.selector.select(wait_s):
        lot, stream = key.data
        data = os.read(key.fd, 1 << 16)
        if data:
            read(job, lot, stream, data)
        else:
            job.selector.unregister(key.fileobj)
    if not job.selector.get_map():
        sleep(wait_s)
    for lot in list(job.lots.values()):
        if lot.child is not None and lot.child.poll() is not None and not is_read(job, lot):
            _ended(job, lot)
    if monotonic() - job.polled >= _POLL_S:
        _poll(job)
    _submit_waiting(job)
    events, job.events = job.events, []
    yield from events


def stop(job: Job, names: Collection[str] | None = None) -> str:
    """Cancel the jobs, kill their srun, and wait until Slurm has ended them. One task of a job cannot be cancelled:
    of some nodes, the jobs are that have no other nodes."""
    lots = [lot for lot in job.lots.values() if names is None or lot.open.issubset(names) or not lot.open]
    if names is None:
        job.later.clear()
    for lot in lots:
        kill(job, lot)
    until = monotonic() + _STOP_S
    own = {lot.name for lot in lots}
    ids: list[str] | None = []
    while own and monotonic() < until:
        queued = queue(own)
        ids = None if queued is None else [one.id for one in queued.values() if one.state != ENDING]
        if ids:
            cancel(ids)
        if ids == [] or names is not None:
            return ""
        sleep(0.3)
    if ids == []:
        return ""
    which = f" ({', '.join(ids)})" if ids else ", which does not answer"
    return f"jobs of this run may be left in Slurm{which}: later, gpudoctor fleet clean --on slurm ends them"


def _submit_waiting(job: Job) -> None:
    while job.later:
        lot = job.later[0]
        most = min(_MOST_PAIRS if lot.pair else _MOST_WAITING, _most_files())
        if sum(one.waits_until is not None for one in job.lots.values()) >= most:
            return
        job.later.popleft()
        if lot.pair:
            lot.waits_until = monotonic() + _PAIR_S
            submit(job, lot)
        elif monotonic() > (lot.waits_until or 0.0):
            job.events += [Event(node, "ended", reason=_STILL_BUSY) for node in lot.nodes]
        else:
            submit(job, lot)


def _most_files() -> int:
    """Jobs for which this process can have files open, two each. It does not raise its limit: Slurm hands that on."""
    limit, _ = getrlimit(RLIMIT_NOFILE)
    return _MOST_PAIRS if limit == RLIM_INFINITY else max(1, (limit - _OTHER_FILES) // 2)


def _ended(job: Job, lot: Lot, reason: str = "") -> None:
    """A job that is over: those of its nodes that are open have no answer."""
    last = next((line for line in reversed(lot.err) if line.startswith("srun:") and "error" in line), "")
    plain = re.sub(r"^srun: (?:error: )?", "", last)[:200]
    own = next((line for line in lot.err if lot.pair and line.startswith("gpudoctor: ")), "")
    why = reason or own[:400] or (f"srun: {plain}" if plain else "its job ended before it answered")
    job.events += [Event(node, "ended", reason=why, lost=lot.ran and not reason) for node in sorted(lot.open)]
    lot.open.clear()
    kill(job, lot)
    del job.lots[lot.name]


def _poll(job: Job) -> None:
    """How the jobs go, for all of them at once."""
    queued = queue(job.lots.keys())
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
                busy = f"busy: not free within {_PAIR_S:.0f} s" if lot.pair else _STILL_BUSY
                _ended(job, lot, f"{busy} ({one.reason})")
            elif lot.waits_until is None and now - lot.began > _PENDING_S:
                _without_busy(job, lot, one)


def _without_busy(job: Job, lot: Lot, queued: Queued) -> None:
    """A job for free nodes that waits: it is submitted again without those that are free no more, but for an epilog,
    which ends. Where there is time to wait, these then have jobs of their own."""
    try:
        now = list_nodes(lot.node.partition, folded(lot.nodes)).nodes
    except Refusal:  # Slurm does not answer this time
        return
    is_cleaning = any(node in now and now[node].state == "completing" for node in lot.nodes)
    if is_cleaning and monotonic() - lot.began < _EPILOG_S:
        return
    run_command(["scancel", queued.id])
    free = tuple(node for node in lot.nodes if node in now and not now[node].why_not(False))
    if free == lot.nodes:
        _ended(job, lot, f"Slurm is not starting the job: {queued.reason}")
        return
    lot.open -= set(free)
    for node in sorted(lot.open):
        if job.wait_s and node in now and now[node].is_busy:
            job.later.append(Lot("", (node,), now[node], monotonic() + job.wait_s))
            continue
        why = now[node].why_not(False) if node in now else "Slurm no longer lists it"
        job.events.append(Event(node, "ended", reason=why))
    lot.open.clear()
    kill(job, lot)
    del job.lots[lot.name]
    if free:
        submit(job, Lot("", free, lot.node, None))
