"""Agent: how fast torch is on one device; JSON lines on stdout. Standard library and torch only.

Run under the patient's Python: `python -m doctor.patient.torch_speed --device cuda:0|cpu --level quick|full [--seconds
S] [--only "matmul bf16,memory copy"]`. `--seconds` is a hard budget after the import: measures come in the order of
their worth, and those that no longer fit are named. Lines: {"begin": STEP} before each step; {"rate": R} and
{"training": T} with results; {"ended": E} for a step that failed, was left out or was made smaller; {"phase": P,
"start": S, "end": E} with the seconds (time.monotonic) in which the device was at work, often several for one phase;
{"field": "import_seconds"}.

How it measures: random data (the power that a product takes, and so its clock, depends on the data), inputs that
rotate so that the L2 cache does not hold them, a GPU woken from idle, a warm-up, then each run between two CUDA events
(perf_counter on the CPU); figures are medians, the spread is the 90th less the 10th percentile. A step that raises ends
alone; after an error that breaks the CUDA context the agent says so and stops.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import re
import sys
import time
import warnings

from .noise import real_output
from .speed_devices import Cpu, Cuda
from .speed_lines import Lines, NoRoom, is_out_of_memory, is_refusal, text_of
from .speed_measures import Measures
from .speed_plan import NO_TIME, PLANS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Sequence, Tuple

    Step = Tuple[str, float, Callable[[], None]]


class Agent(Lines):
    """Runs each measure in its own guarded step."""

    def load(self) -> Any:
        """Import torch; None where that raises."""
        self.emit(begin="import torch", device=self.device)
        started = time.monotonic()
        try:
            import torch
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit too: some packages end the process in their import
            self.ended("import torch", "failed", text_of(error))
            return None
        self.emit(field="import_seconds", value=round(time.monotonic() - started, 3))
        return torch

    def open(self, torch: Any) -> Any:
        """The device, initialised; None where it cannot be had."""
        self.emit(begin="device", device=self.device)
        try:
            if self.device == "cpu":
                return Cpu()
            ordinal = int(self.device.partition(":")[2] or 0)
            self.device = "cuda:%d" % ordinal
            count = int(torch.cuda.device_count())
            if not torch.cuda.is_available() or ordinal >= count:
                self.ended("device", "skipped", "torch offers %d GPUs" % count)
                return None
            return Cuda(torch, ordinal)
        except Exception as error:
            self.ended("device", "failed", text_of(error))
            return None

    def run(self, level: str, seconds: float | None, only: Sequence[str] = (), orders: int = -1) -> None:
        """All measures of a level, or the named ones, within the budget (seconds after the import).

        `orders`: a descriptor from which lines come. With the first the GPU is taken; the others are {"steps": [...],
        "seconds": S, "at_once": N, "brief": B}: the steps whose names begin so are run, without any those that were in
        no order before, while N GPUs do the same; each is measured for B of the time.
        """
        torch = self.load()
        if torch is None:
            return
        stream = None
        if orders >= 0:
            stream = os.fdopen(orders)
            self.emit(ready=self.device)
            if not stream.readline():  # the first one: take your GPU
                return
        self.deadline = time.monotonic() + (seconds or 0.0)
        processor = self.open(torch)
        if processor is None:
            return
        plan = PLANS[processor.kind, level]
        if seconds is None:
            seconds = plan.budget_s
            self.deadline += seconds
        share = min(1.0, seconds / plan.budget_s)  # a smaller budget: less time for each, so that more is measured
        plan = plan._replace(each_s=plan.each_s * share, training_s=plan.training_s * share)
        steps = Measures(self, torch, processor, plan).steps()
        if stream is not None:
            self.ordered(steps, processor, stream)
        else:
            self.measured([step for step in steps if not only or step[0] == "warm-up" or step[0] in only], processor)

    def ordered(self, steps: Sequence[Step], processor: Any, orders: Any) -> None:
        """Steps as they are ordered; `ready` before each order is waited for."""
        done: set[str] = set()
        while True:
            self.emit(ready=processor.name)
            line = orders.readline()
            if not line:
                return
            order = json.loads(line)
            self.deadline = time.monotonic() + order["seconds"]
            self.at_once, self.brief = int(order["at_once"]), float(order["brief"])
            begin = tuple(order["steps"])
            chosen = [step for step in steps if (step[0].startswith(begin) if begin else step[0] not in done)]
            done.update(step for step, _, _ in chosen)
            if not self.measured(chosen, processor):
                return

    def measured(self, steps: Sequence[Step], processor: Any) -> bool:
        """Run these. False where the CUDA context broke."""
        for number, (step, least_s, measure) in enumerate(steps):
            if self.left() < least_s:
                self.ended(step, "skipped", NO_TIME)
            elif not self.guarded(step, measure, processor):
                for later, _, _ in steps[number + 1 :]:
                    self.ended(later, "skipped", "not measured after the error in %s" % step)
                return False
        return True

    def guarded(self, step: str, measure: Callable[[], None], processor: Any) -> bool:
        """Run one measure. False where its error broke the CUDA context, so that nothing more can run."""
        self.emit(begin=step, device=self.device)
        try:
            measure()
            return True
        except Exception as error:
            skipped = isinstance(error, NoRoom) or is_out_of_memory(error) or is_refusal(error)
            self.ended(step, "skipped" if skipped else "failed", text_of(error))
        gc.collect()  # here, where the traceback no longer holds the tensors
        try:
            processor.sync()
            processor.empty_cache()
        except Exception as error:
            self.ended("device", "failed", "the CUDA context is broken: " + text_of(error))
            return False
        return True


def device_name(text: str) -> str:
    """cpu, cuda, cuda:N."""
    if not re.fullmatch(r"cpu|cuda(:\d{1,3})?", text):
        raise argparse.ArgumentTypeError("%r is none of cpu, cuda:N" % text)
    return text


def positive(text: str) -> float:
    """A positive, finite number of seconds."""
    value = float(text)
    if not (math.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError("%r is no positive number of seconds" % text)
    return value


def main(arguments: Sequence[str]) -> None:
    """Run as an agent; ends the process at once, so that no exit handler can hang or crash it."""
    parser = argparse.ArgumentParser(prog="torch_speed.py", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--device", type=device_name, required=True)
    parser.add_argument("--level", choices=("quick", "full"), default="quick")
    parser.add_argument("--seconds", type=positive, help="hard budget after the import of torch")
    parser.add_argument("--only", default="", help="names of steps, as in their lines, with commas")
    parser.add_argument("--root", default="/", help=argparse.SUPPRESS)
    parser.add_argument("--orders", type=int, default=-1, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    descriptor = real_output()
    warnings.simplefilter("ignore")
    agent = Agent(descriptor, options.device)
    agent.root = options.root
    try:
        only = [name for name in options.only.split(",") if name]
        agent.run(options.level, options.seconds, only, options.orders)
    except Exception as error:  # a package named torch that is no torch
        agent.ended("all", "failed", text_of(error))
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
