"""A job of `fleet run --on slurm`: the srun that starts it and runs the probe on its nodes, how it is ended, and what a
killed run leaves."""

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
from collections.abc import Collection
from contextlib import suppress
from time import monotonic, sleep, time
from typing import NamedTuple

from ..guard import Refusal
from .gather import Event, Probe
from .sinfo import SlurmNode, run_command
from .whose import as_words, of_words, own_annotations

_OTHERS_S = 30
"""How long the other ranks of a pair may go on once the first one has ended."""
_PASSED_ON = ("NCCL_", "GLOO_", "TORCH_", "UCX_", "FI_", "MASTER_")
"""Variables that choose interfaces and addresses for the ranks of a pair begin with these."""
_USERS = ("SLURM_CONF", "SLURM_ACCOUNT", "SLURM_QOS", "SLURM_CLUSTERS", "SLURM_RESERVATION")
"""Variables with which users choose how their jobs start."""
_TAIL = 20
_NAME = re.compile(r"gpudoctor-[0-9a-f]{12}-\d{1,9}")
_CLEAN_S = 20.0
_WAITS_S = 300.0
"""For nodes that others use or clean up, and for clocks that differ."""
ENDING = "COMPLETING"
"""The state of a job that Slurm is cleaning up: a minute long where a slurmstepd has died."""


class Lot:
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


class Job:
    """All jobs of a run. wait_s: how long busy nodes may take to become free."""

    def __init__(self, probe: Probe, wait_s: float = 0.0) -> None:
        self.probe, self.wait_s = probe, wait_s
        self.lots: dict[str, Lot] = {}
        self.later: deque[Lot] = deque()
        self.events: list[Event] = []
        self.selector = selectors.DefaultSelector()
        self.polled = monotonic()
        self.count = 0


def submit(job: Job, lot: Lot) -> None:
    """Start its srun. Raises Refusal if there is none."""
    job.count += 1
    lot.name = f"gpudoctor-{job.probe.run}-{job.count}"
    lot.began = monotonic()
    count = len(lot.nodes)
    each = max(1, lot.node.gpus) if lot.pair else 1
    minutes = math.ceil(job.probe.node_s / 60) + 2
    until = time() + max(0.0, (lot.waits_until or lot.began) - lot.began) + _WAITS_S + 60 * minutes
    words = [
        "srun", f"--job-name={lot.name}", f"--comment={as_words(own_annotations(until))}",
        f"--partition={lot.node.partition}", f"--nodelist={','.join(lot.nodes)}",
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


def is_read(job: Job, lot: Lot) -> bool:
    """Whether more may come from its srun."""
    return any(key.data[0] is lot for key in job.selector.get_map().values())


def kill(job: Job, lot: Lot) -> None:
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


def cancel(ids: Collection[str]) -> None:
    """End these jobs, at once what runs of them."""
    run_command(["scancel", "--signal=KILL", *ids])
    run_command(["scancel", *ids])


class Queued(NamedTuple):
    """A job in the queue."""

    id: str
    state: str
    reason: str
    name: str


def queue(own: Collection[str]) -> dict[str, Queued] | None:
    """Those of these jobs that Slurm lists, by name; None where squeue does not answer."""
    found = run_command(["squeue", "-h", "-u", getpass.getuser(), "-o", "%i|%T|%r|%j"])
    if found.code:
        return None
    rows = [line.split("|", 3) for line in found.out.splitlines()]
    return {row[3]: Queued(*row) for row in rows if len(row) == 4 and row[3] in own}


class Left(NamedTuple):
    """A job of some run of this user. about: whose it is, for `why_going_on`; empty where the job does not say so."""

    id: str
    name: str
    state: str
    submitted: str
    about: dict[str, str]


def left_jobs() -> list[Left]:
    """All jobs of this user with the names that runs give them, but for those that Slurm is ending. Raises Refusal."""
    found = run_command(["squeue", "-h", "-u", getpass.getuser(), "-o", "%i|%j|%T|%V|%k"])
    if found.code:
        last = next((line for line in reversed(found.err.splitlines()) if line.strip()), "it says nothing")
        raise Refusal(f"squeue does not answer: {last.strip()[:200]}")
    rows = [line.split("|", 4) for line in found.out.splitlines()]
    own = [row for row in rows if len(row) == 5 and _NAME.fullmatch(row[1]) and row[2] != ENDING]
    return [Left(id_, name, state, submitted, of_words(words)) for id_, name, state, submitted, words in own]


def cancel_left(jobs: Collection[Left]) -> str:
    """Cancel these, and wait until they have ended; returns what may be left, in one line."""
    ids = {job.id for job in jobs}
    until = monotonic() + _CLEAN_S
    while ids:
        cancel(sorted(ids))
        sleep(0.3)
        ids &= {job.id for job in left_jobs()}
        if monotonic() > until:
            return f"Slurm has not ended these jobs: {', '.join(sorted(ids))}"
    return ""
