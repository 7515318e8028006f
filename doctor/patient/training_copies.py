"""Part of the agent training_speed: several trainings at once."""

from __future__ import annotations

import json
import time

from .figures import median, spread_percent
from .training_model import Training, open_device
from .training_processes import GRACE_S, Child, lines_of
from .training_steps import Steps
from .training_sweep import warm_up

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List

COPIES = {"cuda": (4, 1024), "cpu": (2, 256)}
"""Most copies, and their batch."""
INTERVAL_S = {"standard": 0.4, "full": 1.0}
INTERVALS = 3


class Copying(Steps):
    """Steps with those of several copies."""

    def copies(self, cores: float, until: float) -> None:
        """Samples a second of several copies at once, of all together."""
        most, batch = COPIES[self.kind]
        share = 0
        if self.kind == "cpu":
            most = max(1, min(most, int(cores)))
            share = max(1, min(int(cores), self.torch.get_num_threads()))
        self.emit(begin="copies")
        children: List[Child] = []
        ready: List[Child] = []
        key = ""
        started = time.monotonic()
        try:
            for _ in range(most):
                children.append(Child(copy_of, self.torch, self.device, batch, share, fresh=self.fresh))
            self.emit(field="pids", value=[child.pid for child in children])
            gone: Dict[int, Dict[str, Any]] = {}
            for child, line in lines_of(children, started + 0.7 * (until - started)):
                if "ready" in line:
                    key = line["ready"]
                    ready.append(child)
                elif child not in ready:
                    gone[child.pid] = line
                if len(ready) + len(gone) == most:
                    break
            began = time.monotonic()
            for number, line in enumerate(gone.values()):
                self.missed("copies %d" % (len(ready) + 1 + number), line, began - started)
            interval = min(INTERVAL_S[self.level], (until - began) / (INTERVALS * max(1, len(ready))) - 0.04)
            for count in range(1, len(ready) + 1):
                if interval < 0.05 or until - time.monotonic() < interval:
                    self.ended("copies %d" % count, "skipped", "its time was over")
                elif not self.at_once(ready[:count], batch, interval, share, until):
                    for more in range(count + 1, len(ready) + 1):
                        self.ended("copies %d" % more, "skipped", "one of fewer copies did not answer")
                    break
            if ready:
                self.emit(phase="training", device=self.device, key=key, start=began, end=time.monotonic())
        finally:
            for child in children:
                child.kill()
            for child in children:
                child.close()

    def at_once(self, children: List[Child], batch: int, interval: float, share: int, until: float) -> bool:
        """Some copies for a few intervals; False where one did not answer."""
        count = len(children)
        self.emit(begin="copies %d" % count)
        found: List[float] = []
        turns = 0
        while len(found) < INTERVALS and (not found or time.monotonic() + interval < until):
            began = time.monotonic() + 0.02
            for child in children:
                child.order(json.dumps([began, began + interval, max(1, share // count) if share else 0]))
            total = 0.0
            for child in children:
                for _, line in lines_of([child], until + GRACE_S):
                    if "turns" not in line:
                        self.missed("copies %d" % count, line, time.monotonic() - began)
                        return False
                    total += batch * line["turns"] / line["seconds"]
                    turns += line["turns"]
                    break
            found.append(total)
        row = {"kind": "copies", "device": self.device, "what": str(count), "unit": "samples/s", "runs": len(found),
               "value": median(found), "spread_percent": spread_percent(found),
               "detail": {"batch": batch, "seconds": interval, "turns": turns}}  # fmt: skip
        self.emit(rate=row)
        return True


def copy_of(say: Callable[..., None], orders: Any, torch: Any, device: str, batch: int, threads: int) -> None:
    """A child: one copy of the training. It works from one moment to another, as ordered line by line."""
    if threads:
        torch.set_num_threads(threads)
    key = open_device(torch, device)
    training = Training(torch, device, batch)
    warm_up(training)
    say(ready=key)
    for line in orders:
        began, until, threads = json.loads(line)
        if threads:
            torch.set_num_threads(threads)
        time.sleep(max(0.0, began - time.monotonic()))
        started, turns = time.monotonic(), 0
        while time.monotonic() < until:
            for _ in range(4 if training.cuda else 1):
                training.turn()
                turns += 1
            training.wait()
        say(turns=turns, seconds=time.monotonic() - started)
