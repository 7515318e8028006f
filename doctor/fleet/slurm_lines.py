"""What srun prints of a lot of nodes: lines of their probes, by the number of the task, and tasks that ended early."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .gather import BEGINS, Event
from .slurm_jobs import Job, Lot

_LABEL = re.compile(rb"\s*(\d{1,7}): ?(.*)", re.S)
_TASKS = re.compile(r"tasks? ([\d,-]{1,2000}): (.{1,200})")
_LONGEST = 1 << 16
_MOST_TASKS = 256
"""That one line names."""


def read(job: Job, lot: Lot, stream: str, data: bytes) -> None:
    """Turn these bytes of its srun into events of the job. stream: `out` or `err`."""
    *lines, rest = (lot.buffers[stream] + data).split(b"\n")
    lot.buffers[stream] = rest[:_LONGEST]
    for line in lines:
        if stream == "out":
            _out(job, lot, line)
        else:
            _err(job, lot, line.decode("utf-8", "replace").strip())


def _out(job: Job, lot: Lot, line: bytes) -> None:
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


def _out_of_pair(job: Job, lot: Lot, line: bytes) -> None:
    words = line.split()
    if words[:2] == [BEGINS, job.probe.run.encode()]:
        lot.ran = True
        job.events.append(Event(lot.nodes[0], "began"))
    else:
        job.events.append(Event(lot.nodes[0], "line", line))


def _err(job: Job, lot: Lot, line: str) -> None:
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
            end = int(last) if last.isdecimal() else int(first)
            yield from range(int(first), min(end, int(first) + _MOST_TASKS) + 1)
