"""What `sinfo` says of nodes: which are free, and why the others are not."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..guard import Refusal
from ..targets.fed import run_fed
from .names import not_listed, unfold

_COMMAND_S = 60.0
_MOST_BYTES = 64 << 20
_FORMAT = "%N|%T|%P|%a|%G|%H|%E"
_GPUS = re.compile(r"(?:^|,)gpu(?::[^:,(]+)?:(\d{1,3})")
_FREE = ("idle", "planned")
_BUSY = ("allocated", "mixed", "completing")
_SIGNS = "*~#!%$@^-+"
"""Behind a state: not responding, powered down, and the like."""
_SWITCH = re.compile(r"\b(?:SwitchName|BlockName)=(\S{1,200})")
_LEVEL = re.compile(r"\bLevel=(\d{1,4})")
_NODES = re.compile(r"\bNodes=(\S+)")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class Output(NamedTuple):
    """What a command of Slurm's printed."""

    code: int | None
    out: str
    err: str


def run_command(words: list[str]) -> Output:
    """Run it to its end. Raises Refusal if it cannot be started."""
    try:
        done = run_fed(words, b"", _COMMAND_S, _MOST_BYTES)
    except OSError:
        raise Refusal(f"{words[0]} is not on PATH: run this where Slurm's commands are installed") from None
    return Output(done.code, done.out.decode("utf-8", "replace"), done.err.decode("utf-8", "replace"))


class SlurmNode(NamedTuple):
    """A node in a partition. state: without its signs; since: of the reason, ISO 8601."""

    state: str
    signs: str
    partition: str
    up: bool
    gpus: int
    since: str
    reason: str

    @property
    def is_busy(self) -> bool:
        return self.state in _BUSY

    def why_not(self, waits: bool) -> str:
        """Why no job is started there; empty if one is. `waits`: busy nodes may become free."""
        if "drain" in self.state or "down" in self.state or self.state in ("fail", "failing"):
            word = "down" if "down" in self.state else "drained" if "drain" in self.state else self.state
            since = f" since {day}" if (day := _day(self.since)) else ""
            why = f': "{self.reason}"' if self.reason not in ("", "none") else ""
            return f"{word} in Slurm{since}{why}"
        if "*" in self.signs:
            return "does not respond to Slurm"
        if not self.up:
            return f"partition {self.partition} is down in Slurm"
        if self.is_busy:
            return "" if waits else "busy: jobs are running there (--wait 10m waits until it is free)"
        return "" if self.state in _FREE and "~" not in self.signs else f"{self.state}{self.signs} in Slurm"


class Listing(NamedTuple):
    """Nodes by name; unknown: requested ones that Slurm does not list, and why."""

    nodes: dict[str, SlurmNode]
    unknown: dict[str, str]


def list_nodes(partition: str, nodeset: str) -> Listing:
    """All nodes of a partition (empty: of any), or those of a nodeset. Raises Refusal."""
    wanted = unfold(nodeset) if nodeset else []
    found = run_command(["sinfo", "-h", "-N", "-o", _FORMAT, *(["-p", partition] if partition else [])])
    if found.code:
        last = next((line for line in reversed(found.err.splitlines()) if line.strip()), "it printed no error")
        raise Refusal(f"sinfo failed: {last.strip()[:200]}")
    listed: dict[str, SlurmNode] = {}
    for line in found.out.splitlines():
        name, node = _node(line)
        old = listed.get(name)
        if node is not None and (old is None or (not old.up and node.up) or line.split("|")[2].endswith("*")):
            listed[name] = node
    where = f" in partition {partition}" if partition else ""
    if not listed:
        raise Refusal(f"Slurm lists no nodes{where}")
    kept = {name: listed[name] for name in wanted if name in listed} if wanted else listed
    unknown = not_listed(wanted, listed, f"Slurm does not list it{where}")
    if not wanted and any(node.gpus for node in kept.values()):
        kept = {name: node for name, node in kept.items() if node.gpus}
    return Listing(kept, unknown)


def list_switches() -> dict[str, str]:
    """Node to the switch (or block) that Slurm's topology puts it on; empty where it has none."""
    found = run_command(["scontrol", "show", "topology"])
    switches: dict[str, str] = {}
    for line in found.out.splitlines() if not found.code else ():
        switch = _SWITCH.search(line)
        level, nodes = _LEVEL.search(line), _NODES.search(line)
        if switch and nodes and (level is None or level[1] == "0"):
            try:
                names = unfold(nodes[1])
            except Refusal:
                continue
            switches |= dict.fromkeys(names, switch[1])
    return switches


def _node(line: str) -> tuple[str, SlurmNode | None]:
    parts = line.split("|", 6)
    if len(parts) < 7:
        return "", None
    name, state, partition, up, gres, since, reason = (part.strip() for part in parts)
    plain = state.rstrip(_SIGNS).lower()
    gpus = sum(int(count) for count in _GPUS.findall(gres))
    return name, SlurmNode(plain, state[len(plain) :], partition.rstrip("*"), up == "up", gpus, since, reason[:200])


def _day(since: str) -> str:
    """`24 Nov` of 2026-11-24T10:02:03; empty for anything else."""
    found = re.match(r"\d{4}-(\d\d)-(\d\d)T", since)
    return f"{int(found[2])} {_MONTHS[int(found[1]) - 1]}" if found and 1 <= int(found[1]) <= 12 else ""
