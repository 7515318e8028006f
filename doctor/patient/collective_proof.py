"""Agent: proof that data gets from device to device; JSON lines on stdout. Standard library and torch (1.13 on).

Run under the patient's Python: `python -m doctor.patient.collective_proof [--devices 0,1] [--seconds S]
[--only-pairs]`, or with `--device cpu --ranks N` for an all-reduce between processes on the CPU. It starts torch in
children of its own, so a copy that never ends costs one child: first the pairs (each ordered pair of up to eight
devices, neighbours in the ring above), then one all-reduce with a rank a device: NCCL, else gloo. Each of the two may
take S seconds. Lines: {"begin": STEP, "device": D}, again and again while a child is waited for; {"field": "pids",
"value": [...]} for the children's numbers; {"field": "import", "error": TYPE, "text": T}; {"pair": {...}},
{"collective": {...}}, {"ended": {...}}.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
import warnings

from .collective_children import MAX_RANKS, pairs_child, pairs_of, rank_child
from .collective_lines import AGENT, TEXT_LIMIT, Out
from .collective_processes import Child, leave_with_parent, slowest
from .movement import FAULTS, moves
from .noise import real_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Sequence

    Line = Dict[str, Any]

SECONDS = 45.0
TICK_S = 0.02
HEARTBEAT_S = 5.0


class Parent:
    """Starts the children, waits, tells."""

    def __init__(self, out: Out, flags: Any, folder: str) -> None:
        self.out, self.flags, self.folder = out, flags, folder
        self.beat = 0.0
        self.torch_answer: Line = {}

    def run(self) -> None:
        if self.flags.device == "cpu":
            names, backend = ["cpu"] * self.flags.ranks, "gloo"
        else:
            names, backend = self.pairs(), "nccl" if self.torch_answer.get("nccl") else "gloo"
            if not self.torch_answer:
                return
        if self.flags.only_pairs:
            return
        if len(names) < 2:
            self.out.leave_out("collective", "fewer than two devices: nothing to pass between them")
        elif self.torch_answer.get("distributed") is False:
            self.out.leave_out("collective", "this torch was built without torch.distributed")
        else:
            self.collective(names, backend)

    def waiting(self, step: str, device: str = "") -> None:
        """Say that a child is waited for, not too often, and sleep a little."""
        if time.monotonic() - self.beat > HEARTBEAT_S:
            self.begin(step, device)
        time.sleep(TICK_S)

    def begin(self, step: str, device: str = "") -> None:
        self.beat = time.monotonic()
        self.out.emit(begin=step, device=device)

    def pairs(self) -> List[str]:
        """Devices, after data went over each pair of them. Behind a pair that hangs a new child goes on."""
        first, until = 0, time.monotonic() + self.flags.seconds
        names: List[str] = []
        while True:
            arguments = ["--pairs-from", str(first), "--devices", self.flags.devices]
            child = Child(self.folder, "pairs-%d" % first, self.flags, *arguments)
            self.out.emit(field="pids", value=[child.process.pid])
            try:
                fault = self.watch_pairs(child, until)
            finally:
                child.kill()
            for line in child.lines:
                if "devices" in line:
                    self.torch_answer, names = line, line["devices"]
            pairs = pairs_of(names)
            before = first
            first += sum("pair" in line for line in child.lines)
            if fault is not None and fault != "over":
                late = fault in ("hang", "slow", "starved")
                words = "no answer in %s" % child.step if fault == "hang" else child.slow() if late else child.how()
                if first >= len(pairs) or child.step != "pair":
                    self.out.leave_out(child.step, words, fault)
                    return names
                source, target = pairs[first]
                error = {"missing": "timeout" if late else "error", "detail": words}
                self.out.emit(pair={"source": source, "target": target, "right": error, "error": words, "fault": fault})
                first += 1
            if first < len(pairs) and time.monotonic() > until:
                self.out.leave_out("pairs", "%d pairs were left when the time was over" % (len(pairs) - first))
                return names
            if first >= len(pairs) or first == before:
                return names

    def watch_pairs(self, child: Child, until: float) -> Optional[str]:
        """Pass the child's lines on to its end; the fault where it has one, or `over` when the time is."""
        heard = time.monotonic()
        last = until + self.flags.seconds  # for a child that is slow and not dead
        step, device = "import torch", ""
        self.begin(step)
        while True:
            over = child.ended()
            for line in child.read():
                heard = time.monotonic()
                step, device = line.get("begin", step), line.get("device", device)
                if "devices" not in line and "end" not in line:
                    self.out.emit(**line)
            if over:
                whole = child.lines and "end" in child.lines[-1]
                return None if whole else "crash" if (child.process.returncode or 0) < 0 else "failed"
            silence = self.flags.seconds / (1 if step == "import torch" else 3)
            now = time.monotonic()
            if now > heard + silence:
                child.waits = moves(child.process.pid, step)
                if not child.waits or now > last:
                    return FAULTS[child.waits]
                heard = now - 0.75 * silence
            if now > until and step == "pair":
                return "over"
            self.waiting(step, device)

    def collective(self, names: Sequence[str], backend: str) -> None:
        """One all-reduce over all devices."""
        fields: Line = {"backend": backend, "ranks": len(names)}
        self.begin("all-reduce")
        store, seed = os.path.join(self.folder, "store"), str(random.randrange(1 << 31))
        ranks: List[Child] = []
        try:
            for rank, name in enumerate(names):
                arguments = ["--rank", str(rank), "--ranks", str(len(names)), "--backend", backend, "--store", store]
                arguments += ["--devices", name[len("cuda:") :], "--seed", seed, "--seconds", str(self.flags.seconds)]
                ranks.append(Child(self.folder, "rank-%d" % rank, self.flags, *arguments))
            self.out.emit(field="pids", value=[child.process.pid for child in ranks])
            fields.update(self.watch_ranks(ranks))
        finally:
            for child in ranks:
                child.kill()
        self.out.emit(collective=fields)

    def watch_ranks(self, ranks: Sequence[Child]) -> Line:
        """Wait until every rank has its sum, one fails or the time is over."""
        until = time.monotonic() + self.flags.seconds
        last = until + self.flags.seconds  # for ranks that are slow and not dead
        while True:
            over = [child.ended() for child in ranks]
            for child in ranks:
                child.read()
            results = [next((line for line in child.lines if "seconds" in line), None) for child in ranks]
            if all(results):
                wrong = ["rank %d: %d elements" % (n, r["wrong"]) for n, r in enumerate(results) if r and r["wrong"]]
                fields = {"right": not wrong, "seconds": max(r["seconds"] for r in results if r)}
                return dict(fields, error="wrong sums: " + ", ".join(wrong)) if wrong else fields
            failed = self.failed(ranks, over)
            waited = failed is not None and failed["fault"] == "failed" and any(c.waited() for c in ranks)
            if failed and not waited:
                return failed
            now = time.monotonic()
            if waited or now > until:
                fault = slowest([c for n, c in enumerate(ranks) if not results[n] and not over[n]])
                if failed and fault == "hang":
                    return failed
                if fault == "hang" or now > (until if failed else last):
                    silent = ["rank %d in %s" % (n, c.step) for n, c in enumerate(ranks) if not results[n]]
                    words = "no answer in %.0f s: %s" % (self.flags.seconds, ", ".join(silent))
                    words += "".join("; %s" % c.slow() for c in ranks if c.waits)[: TEXT_LIMIT // 2]
                    gap = {"missing": "timeout", "detail": words}
                    return {"right": gap, "error": words[:TEXT_LIMIT], "fault": fault}
            self.waiting("all-reduce")

    def failed(self, ranks: Sequence[Child], over: Sequence[bool]) -> Optional[Line]:
        """What went wrong first: the others fail because of it."""
        fault, words, earliest = "failed", "", 0.0
        for rank, child in enumerate(ranks):
            error = next((line for line in child.lines if "error" in line), None)
            if error and (not words or error["at"] < earliest):
                earliest, words = error["at"], "rank %d in %s: %s" % (rank, error["in"], error["error"])
        for rank, child in enumerate(ranks):
            if over[rank] and not any("error" in line or "seconds" in line for line in child.lines):
                fault = "crash" if (child.process.returncode or 0) < 0 else "failed"
                words = "rank %d %s%s" % (rank, child.how(), "; " + words if words else "")
                break
        if not words:
            return None
        words = words[:TEXT_LIMIT]
        return {"right": {"missing": "error", "detail": words}, "error": words, "fault": fault}


def flags_of(arguments: Sequence[str]) -> Any:
    parser = argparse.ArgumentParser(prog=AGENT, description="Proof that data gets from device to device.")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--devices", default="", help="numbers of CUDA devices, 0,1,2; without it every one")
    parser.add_argument("--ranks", type=int, default=2, help="with --device cpu: how many processes")
    parser.add_argument("--only-pairs", action="store_true", help="no all-reduce")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="limit of the pairs, and of the all-reduce")
    for name, kind in (("--pairs-from", int), ("--rank", int), ("--seed", int), ("--backend", str), ("--store", str)):
        parser.add_argument(name, type=kind, help=argparse.SUPPRESS)
    flags = parser.parse_args(arguments)
    if not 0 < flags.seconds < 86400 or not 0 < flags.ranks <= MAX_RANKS:
        parser.error("--seconds takes a number above 0, --ranks 1 to %d" % MAX_RANKS)
    if not all(word.isdecimal() for word in flags.devices.split(",") if flags.devices):
        parser.error("--devices takes numbers: 0,1,2")
    return flags


def main(arguments: Sequence[str]) -> None:
    """Run as an agent, or as one of its children; ends at once, so that no exit handler can hang or crash it."""
    flags = flags_of(arguments)
    out = Out(real_output())
    warnings.simplefilter("ignore")
    if flags.pairs_from is not None:
        leave_with_parent()
        try:
            pairs_child(out, flags)
        except Exception as error:  # a package named torch that is no torch
            out.emit(field="torch", error=type(error).__name__, text=str(error)[:TEXT_LIMIT])
        out.emit(end=True)
    elif flags.rank is not None:
        leave_with_parent()
        rank_child(out, flags)
        threading.Event().wait()  # the others may still read from this rank: its parent ends it
    else:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        folder = tempfile.mkdtemp(prefix="gpudoctor-")
        try:
            Parent(out, flags, folder).run()
        except OSError as error:  # no more processes, or no room
            out.leave_out("start", str(error)[:TEXT_LIMIT], "failed")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
