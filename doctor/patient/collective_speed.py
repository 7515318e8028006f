"""Agent: how fast the ranks of a process group pass data to each other; JSON lines on stdout, of the first rank alone.

Standard library and torch (1.13 on). Each rank is a process of its own, started by torchrun or by the user's launcher,
which sets RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT: `python -m doctor.patient.collective_speed
[--device cpu] [--seconds S] [--largest BYTES]`. Lines: {"begin": STEP}; {"group": {...}}; {"collective_rate": {...}}
for each operation and size; {"send_rate": {...}} for each ordered pair; {"rank_wait": {...}} for each rank; {"ended":
{...}}. Seconds are the slowest rank's, as medians; bus bandwidths are those of nccl-tests.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
import warnings

from .collective_ddp import ddp
from .collective_group import Group, bytes_sent, end_with_stdin
from .collective_lines import words_of
from .collective_operations import OPERATIONS, AllReduce, Operation, bus_factor
from .collective_sends import pairs_of_ranks, rank_waits, send_pair
from .collective_teach import teach
from .collective_transport import begin_log, end_log
from .figures import figure, median, spread_percent
from .json_lines import Lines
from .noise import real_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Sequence

AGENT = "collective_speed"
SECONDS = 60.0
SMALLEST, FACTOR = 1 << 11, 8
LARGEST = 64 << 20
RUNS = 5
BATCH_S, IN_A_BATCH = 0.02, 50
"""One run is as many operations as take BATCH_S, IN_A_BATCH at most: so a barrier's own time counts little."""
_ABSENT = re.compile(r"support|implement|no attribute", re.I)
"""In the words of a backend that lacks an operation."""
PAIRS_SHARE = 0.3
"""Of the time, for messages from rank to rank; the collectives share the rest."""


class Ranks(Lines):
    """The measurements of all ranks; the first one writes them."""

    def __init__(self, descriptor: int, flags: Any) -> None:
        super().__init__(descriptor)
        self.flags = flags
        self.step = "start"
        self.speaks = not flags.lifeline or os.environ.get("LOCAL_RANK") == "0"
        """Whether who started it hears from this rank that it is alive: one on each node."""

    def begin(self, step: str) -> None:
        """What comes next."""
        self.step = step
        if self.speaks:
            self.emit(begin=step)

    def write(self, **line: Any) -> None:
        """A result, by the first rank alone."""
        if self.group.rank == 0:
            self.emit(**line)

    def leave_out(self, step: str, detail: str, fault: str = "skipped") -> None:
        ended = {"agent": AGENT, "step": step, "device": self.group.device, "fault": fault, "detail": detail}
        self.write(ended=ended)

    def run(self) -> None:
        """Everything, in an order that all ranks keep."""
        self.begin("import torch")
        import torch
        import torch.distributed

        log = begin_log() if self.flags.device != "cpu" else -1
        self.group = group = Group(torch, self.flags.device, self.flags.seconds)
        self.write(group=dict(group.about(), variant=self.flags.variant))  # where they do not meet, it says over what
        self.begin("init_process_group")
        group.join(self.flags.seconds, self.flags.store)
        if log >= 0 and group.size > 1:
            AllReduce(group, self.flags.largest).run()  # NCCL connects what an operation of this size needs, then tells
            group.sync()
        ways = self.ways(log)
        self.in_network = bool(ways.get("in_network"))
        self.write(group=dict(group.about(), variant=self.flags.variant, **ways))
        if group.size < 2:
            return self.leave_out("collectives", "one rank alone: nothing to pass between them")
        if not self.flags.variant:
            self.sends()
            self.begin("who waits")
            for wait in rank_waits(group):
                self.write(rank_wait=wait)
        names = [name for name in OPERATIONS if not self.flags.variant or name == "all_reduce"]
        if self.flags.ddp:
            share = 0.5 if self.flags.variant else 0.3
            run = ddp(group, group.left() * share, lambda: self.begin("training by DDP"))
            self.write(ddp=dict(run, variant=self.flags.variant))
        if self.flags.teach:
            self.begin("one sum in three ways")
            for way in teach(group):
                self.write(way=way)
        for number, name in enumerate(names):
            self.sizes(name, group.left() * 0.9 / (len(names) - number))
        group.barrier()
        if self.speaks:
            self.emit(field="done", value=True)
        return None

    def ways(self, log: int) -> Dict[str, Any]:
        """What NCCL wrote on all ranks of how it connects them."""
        if log < 0:
            return {}
        found = [json.loads(text) for text in self.group.texts_of_all(json.dumps(end_log(log)))]
        names = ("transports", "interfaces")
        merged: Dict[str, Any] = {n: sorted({word for one in found for word in one.get(n, ())}) for n in names}
        return dict(merged, in_network=any(one.get("in_network") for one in found))

    def sizes(self, name: str, seconds: float) -> None:
        """One operation from the smallest size to the largest that its share of the time allows."""
        until, size = time.monotonic() + seconds, SMALLEST
        while size <= self.flags.largest:
            self.begin("%s of %s" % (name, in_words(size)))
            try:
                operation = OPERATIONS[name](self.group, size)
                operation.run()
                self.group.sync()
            except (RuntimeError, NotImplementedError, AttributeError) as error:
                if size > SMALLEST or not _ABSENT.search(str(error)):
                    raise
                reason = words_of(error).partition("\n")[0][:200]  # alike on every rank: it has no such operation
                return self.leave_out(name, "%s of this torch does not have it: %s" % (self.group.backend, reason))
            each = self.measure(name, operation)
            left = until - time.monotonic()
            size *= FACTOR
            over = each * FACTOR * (RUNS + 4) > min(left, self.group.left())
            if self.group.agree([float(over)])[0] and size <= self.flags.largest:
                return self.leave_out("%s of %s and more" % (name, in_words(size)), "no time was left for it")
        return None

    def measure(self, name: str, operation: Operation) -> float:
        """Time one size and write its line; the median seconds of one operation."""
        group = self.group
        group.barrier()
        started = time.monotonic()
        operation.run()
        group.sync()
        first = max(time.monotonic() - started, 1e-6)
        batch = int(group.agree([max(1.0, min(float(IN_A_BATCH), BATCH_S / first))])[0])
        times: List[float] = []
        before = bytes_sent(group.interface) if group.nodes > 1 else -1
        for _ in range(RUNS):
            group.barrier()
            started = time.monotonic()
            for _ in range(batch):
                operation.run()
            group.sync()
            times.append((time.monotonic() - started) / batch)
        group.barrier()
        sent = bytes_sent(group.interface) - before if before >= 0 else 0
        each_run = [max(row) for row in zip(*group.of_all(times))]  # noqa: B905 (Python 3.8)
        wrong = sum(row[0] for row in group.of_all([float(operation.wrong())]))
        seconds = median(each_run)
        algorithm = operation.bytes / seconds / 1e9
        line: Dict[str, Any] = {
            "operation": name,
            "backend": group.backend,
            "ranks": group.size,
            "nodes": group.nodes,
            "variant": self.flags.variant,
            "bytes": operation.bytes,
            "us": figure(seconds * 1e6),
            "algorithm_gb_s": figure(algorithm),
            "bus_gb_s": figure(algorithm * bus_factor(name, group.size)),
            "in_network_gb_s": figure(algorithm * bus_factor(name, group.size, True)) if self.in_network else 0.0,
            "right": not wrong,
            "runs": RUNS * batch,
            "spread_percent": figure(spread_percent(each_run)),
        }
        if sent:
            line["sent_bytes"] = sent // (RUNS * batch)
        if wrong:
            line["error"] = "%d elements came wrong" % wrong
        self.write(collective_rate=line)
        return seconds

    def sends(self) -> None:
        """Each ordered pair of ranks, as far as the time allows."""
        pairs = pairs_of_ranks(self.group.size)
        for number, (source, target) in enumerate(pairs):
            if self.group.agree([float(self.group.left() < (1 - PAIRS_SHARE) * self.flags.seconds)])[0]:
                left = len(pairs) - number
                return self.leave_out("send", "%d of %d pairs were left when the time was over" % (left, len(pairs)))
            self.begin("send from rank %d to rank %d" % (source, target))
            found = send_pair(self.group, source, target)
            self.write(send_rate=found)
        return None


def in_words(size: int) -> str:
    """`8 KiB`, `64 MiB`."""
    return "%d MiB" % (size >> 20) if size >= 1 << 20 else "%d KiB" % (size >> 10)


def flags_of(arguments: Sequence[str]) -> Any:
    parser = argparse.ArgumentParser(prog=AGENT, description="How fast ranks pass data to each other.")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for all of it")
    parser.add_argument("--largest", type=int, default=LARGEST, help="the largest size, in bytes")
    parser.add_argument("--variant", default="", help="what its results are called: all-reduce alone is measured")
    parser.add_argument("--ddp", action="store_true", help="also train a small transformer by DDP")
    parser.add_argument("--teach", action="store_true", help="also sum in three ways, every byte counted")
    parser.add_argument("--store", default="", help="a file in which the ranks meet, all on this node")
    parser.add_argument("--lifeline", action="store_true", help="end when stdin does")
    flags = parser.parse_args(arguments)
    if not 0 < flags.seconds < 86400 or flags.largest < SMALLEST:
        parser.error("--seconds takes a number above 0, --largest %d or more" % SMALLEST)
    return flags


def main(arguments: Sequence[str]) -> None:
    """Run as one rank; ends at once, so that no exit handler can hang or crash it."""
    flags = flags_of(arguments)
    if flags.lifeline:
        end_with_stdin()
    ranks = Ranks(real_output(), flags)
    warnings.simplefilter("ignore")
    try:
        ranks.run()
    except Exception as error:
        rank = os.environ.get("RANK", "?")
        ended = {"agent": AGENT, "step": ranks.step, "device": "rank " + rank, "fault": "failed"}
        ranks.emit(ended=dict(ended, detail=words_of(error)[:500]))
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
