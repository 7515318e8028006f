"""Agent: what a training is made of, in time; JSON lines on stdout. Standard library and torch (1.13 on), no numpy.

Run under the patient's Python: `python -m doctor.patient.training_speed --device cuda:N|cpu [--level standard|full]
[--seconds S]`. Judges nothing. Lines: {"begin": STEP} before each step that can hang; {"cpu": {...}} before torch is
imported and again, with torch's threads, after; {"field": "import_seconds", "value": V}; {"field": "pids", "value":
[ours]}; {"batch": {...}} once a batch size; {"rate": {...}} of kinds `loader` and `copies`; {"phase":
"sweep"|"training", "device": D, "key": K, "start": T, "end": T} (seconds of the monotonic clock; one for each batch of
the sweep, which it names as "batch_size"); {"ended": {...}} for what failed or was left out. S counts without the
import.

This process never uses CUDA: each measurement is a fork of it with an end of its own, so that a crash or a hang costs
that measurement alone, torch is imported once, and several trainings can use the device. All of them die with it.

The training: two towers of small MLPs, 256 and 128 features to an embedding of 128, and the symmetric cross-entropy of
the batch's similarity matrix (contrastive loss, as SimCLR's and CLIP's), float32, AdamW, 32768 samples in memory. A
turn of the loop draws a batch by index into pinned memory, copies it to the device and makes a step. By batch size:
step_ms and graph_ms are whole turns, issue_ms the step's launches alone, load_ms the drawing, copy_ms the copy.
device_ms and launches are the profiler's (kernels and memsets of a step), but device_ms is never more than the time
between two events around a step that was queued behind a sleeping kernel, which is all there is without the profiler.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
import time
import warnings

from .noise import real_output, unbuffered
from .training_copies import Copying, copy_of
from .training_cpu import available_cores, cpu_score
from .training_loader import loader, worker_counts
from .training_model import cuda_touched
from .training_processes import AGENT, running, serve, words
from .training_sweep import LEAST_S, profile, sweep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, List, Optional, Sequence

    from .training_sweep import Profiled

BUDGET_S = {("cuda", "standard"): 25.0, ("cuda", "full"): 90.0, ("cpu", "standard"): 15.0, ("cpu", "full"): 60.0}
PARTS = {
    "cuda": (("profile", 0.16), ("sweep", 0.56), ("loader", 0.76), ("copies", 1.0)),
    "cpu": (("sweep", 0.5), ("loader", 0.75), ("copies", 1.0)),
}
"""Until which share of the budget each measurement may go on; what one leaves over is the next one's."""
BATCHES = {"cuda": (64, 256, 1024, 4096, 16384, 128, 512, 2048, 8192), "cpu": (64, 256, 1024, 128, 512)}
"""The coarse series first; the standard level has no other."""
COARSE = {"cuda": 5, "cpu": 3}
POINT_S = {"standard": 1.8, "full": 5.0}
MOST_WORKERS = {"standard": 8, "full": 16}
WORKERS_S = {"standard": 1.0, "full": 2.5}


class Agent(Copying):
    """Plans the measurements within the budget."""

    def __init__(self, descriptor: int, device: str, level: str, seconds: Optional[float]) -> None:
        kind = "cpu" if device == "cpu" else "cuda"
        super().__init__(descriptor, device, level, BUDGET_S[kind, level] if seconds is None else seconds)

    def run(self) -> None:
        """All measurements."""
        started = time.monotonic()
        self.emit(begin="cpu")
        cores = available_cores()
        score = cpu_score(cores)
        self.emit(cpu=score)
        spent = time.monotonic() - started
        if not self.load():
            return
        began = time.monotonic() - spent
        score["torch_threads"] = int(self.torch.get_num_threads())
        self.emit(cpu=score)
        if not hasattr(os, "fork"):
            self.ended("sweep", "skipped", "needs fork, which this system has not")
            return
        batches = BATCHES[self.kind] if self.level == "full" else BATCHES[self.kind][: COARSE[self.kind]]
        profiled: Profiled = []
        works = True
        for part, share in PARTS[self.kind]:
            until = began + self.seconds * share
            try:
                if until - time.monotonic() < LEAST_S:
                    self.ended(part, "skipped", "no time was left of %g s" % self.seconds)
                elif part == "profile":
                    self.supervise(part, until, profiled, profile, self.torch, self.device, batches, until)
                elif part == "sweep":
                    works = self.sweep(batches, until, profiled)
                elif part == "loader":
                    self.loaders(worker_counts(cores, MOST_WORKERS[self.level]), until)
                elif not works:
                    self.ended(part, "skipped", "no batch of the training worked")
                else:
                    self.copies(cores, until)
            except OSError as error:  # no more processes, or no more memory for one
                self.ended(part, "failed", words(error))

    def load(self) -> bool:
        """Import torch; False where that raises."""
        started = time.monotonic()
        self.emit(begin="import torch")
        error: Optional[BaseException] = None
        try:
            import torch
            import torch.utils.data

            self.torch = torch
            torch.get_num_threads()
        except KeyboardInterrupt:
            raise
        except BaseException as raised:  # SystemExit too: some packages end the process in their import
            error = raised
        self.emit(field="import_seconds", value=time.monotonic() - started)
        if error is not None:
            self.ended("import torch", "failed", words(error))
            return False
        self.emit(begin="import torch.optim")
        try:
            torch.optim.AdamW([torch.zeros(1)])  # imports another second of torch: here once, not in each child
        except Exception:
            pass  # the training will say so
        self.fresh = self.kind == "cuda" and cuda_touched()
        return True

    def sweep(self, batches: Sequence[int], until: float, profiled: Profiled) -> bool:
        """The batch sweep; whether the training works on this device as far as one can tell."""
        arguments = (self.torch, self.device, batches, POINT_S[self.level], until, profiled)
        fault = self.supervise("sweep", until, [], sweep, *arguments)
        for batch in batches if fault == "skipped" or (fault and self.last.startswith("sweep ")) else ():
            if batch not in self.measured and "sweep %d" % batch not in self.ended_steps:
                self.ended("sweep %d" % batch, "skipped", "the sweep ended before it")
        return fault in ("", "skipped") or bool(self.measured)

    def loaders(self, counts: List[int], until: float) -> None:
        """The loader, in a new process for the counts that are left where one of them failed."""
        seconds = WORKERS_S[self.level]
        while counts and until - time.monotonic() > LEAST_S:
            fault = self.supervise("loader", until, [], loader, self.torch, self.device, counts, seconds, until)
            if not fault or not self.last.startswith("loader "):
                return
            counts = [count for count in counts if count > int(self.last.partition(" ")[2])]
        for count in counts:
            self.ended("loader %d" % count, "skipped", "its time was over")


def serve_fresh(name: str, arguments: str, out: str, orders: str) -> None:
    """The same in a new Python."""
    works = {work.__name__: work for work in (profile, sweep, loader, copy_of)}

    def work(say: Callable[..., None], lines: Any) -> None:
        import torch
        import torch.utils.data

        works[name](say, lines, torch, *json.loads(arguments))

    serve(work, int(out), int(orders), ())


def stop(number: int, frame: Any) -> None:
    """SIGTERM, SIGINT: nothing is left running."""
    for child in running:
        child.kill()
    os._exit(128 + number)


def main(arguments: Sequence[str]) -> None:
    """Run as an agent; ends the process at once, so that no exit handler can hang or crash it."""
    warnings.simplefilter("ignore")
    if arguments and arguments[0] == "--child":  # this program starts itself so; its stdout is not the real one
        unbuffered()
        serve_fresh(*arguments[1:5])
    parser = argparse.ArgumentParser(prog=AGENT, description="What a training here is made of, in time.")
    parser.add_argument("--device", required=True, help="cuda:N or cpu")
    parser.add_argument("--level", choices=("standard", "full"), default="standard")
    parser.add_argument("--seconds", type=float, help="all of it, without the import of torch")
    flags = parser.parse_args(arguments)
    if not re.match(r"(cuda(:\d{1,3})?|cpu)$", flags.device):
        parser.error("--device takes cuda:N or cpu")
    if flags.seconds is not None and not 0 < flags.seconds < 1e6:
        parser.error("--seconds takes a positive number")
    descriptor = real_output()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    Agent(descriptor, "cuda:0" if flags.device == "cuda" else flags.device, flags.level, flags.seconds).run()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
