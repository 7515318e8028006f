"""Part of the agent training_speed: samples out of a DataLoader, and several trainings at once; each a child's work."""

from __future__ import annotations

import json
import os
import signal
import time

from .figures import spread_percent
from .training_processes import die_with
from .training_sweep import LEAST_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, List, Sequence, Tuple

IMAGE = 256
CROP = 224
LOADER_BATCH = 32


class Images:
    """About a millisecond a sample: a packed picture to unpack, a record to read, a crop, a flip, floats."""

    def __init__(self, torch: Any) -> None:
        import random
        import zlib

        self.torch, self.unpack = torch, zlib.decompress
        size = 3 * IMAGE * IMAGE
        noise = random.Random(0).getrandbits(8 * size).to_bytes(size, "little")
        self.packed = zlib.compress(bytes(value & 63 for value in noise), 1)  # a quarter less, by Huffman codes alone
        self.record = json.dumps([{"label": number, "box": [number] * 4, "name": "x" * 9} for number in range(20)])

    def __len__(self) -> int:
        return 1 << 20

    def __getitem__(self, index: int) -> Tuple[Any, int]:
        image = self.torch.frombuffer(bytearray(self.unpack(self.packed)), dtype=self.torch.uint8)
        top, left = index % (IMAGE - CROP), index * 7 % (IMAGE - CROP)
        image = image.view(3, IMAGE, IMAGE)[:, top : top + CROP, left : left + CROP]
        label = sum(entry["label"] + sum(entry["box"]) for entry in json.loads(self.record))
        return (image.flip(2) if index % 2 else image).float().div_(255).sub_(0.45).div_(0.22), label


def worker_counts(cores: float, most: int) -> List[int]:
    """0, 1, 2, 4 ... up to the whole cores available, and those themselves."""
    top = min(most, max(1, int(cores)))
    return sorted({0, 1, top, *(1 << power for power in range(10) if 1 << power <= top)})


def loader(
    say: Callable[..., None], orders: Any, torch: Any, device: str, counts: Sequence[int], seconds: float, end: float
) -> None:
    """Samples a second out of a DataLoader by its number of workers, with nothing behind it."""
    pinned = device != "cpu" and torch.cuda.is_available()
    if pinned:
        torch.cuda.set_device(device)  # pinning makes a context on the current one
    images = Images(torch)
    for number, workers in enumerate(counts):
        part = min(seconds, (end - time.monotonic()) / (len(counts) - number))
        step = "loader %d" % workers
        if part < LEAST_S:
            say(ended={"step": step, "fault": "skipped", "detail": "its time was over"})
            continue
        say(begin=step)
        try:
            rounds = batches_of(torch, images, workers, pinned, time.monotonic() + part)
        except Exception:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # torch's handler raises where a worker is killed
            kill_workers()
            raise
        of_round = LOADER_BATCH * max(1, workers)
        row = {"kind": "loader", "device": device, "what": str(workers), "unit": "samples/s", "runs": len(rounds),
               "value": of_round * len(rounds) / sum(rounds), "spread_percent": spread_percent(rounds),
               "detail": {"batch": LOADER_BATCH, "pinned": int(pinned)}}  # fmt: skip
        say(rate=row)


def batches_of(torch: Any, images: Images, workers: int, pinned: bool, until: float) -> List[float]:
    """Seconds of each round: one batch of every worker. What the workers had made ahead is not counted."""
    patience = max(2.0, until - time.monotonic())
    parent = os.getpid()
    more = {"multiprocessing_context": "fork", "timeout": patience, "worker_init_fn": lambda _: die_with(parent)}
    rows = iter(
        torch.utils.data.DataLoader(
            images, batch_size=LOADER_BATCH, num_workers=workers, pin_memory=pinned, **(more if workers else {})
        )
    )
    for _ in range(max(1, 2 * workers)):
        next(rows)
    found: List[float] = []
    while len(found) < 2 or time.monotonic() < until:
        started = time.monotonic()
        for _ in range(max(1, workers)):
            next(rows)
        found.append(time.monotonic() - started)
    del rows
    kill_workers()
    return found


def kill_workers() -> None:
    import multiprocessing

    for worker in multiprocessing.active_children():
        worker.kill()
