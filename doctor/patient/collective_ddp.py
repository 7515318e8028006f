"""Part of the agent collective_speed: a small transformer trained by DDP, with and without its sums.

The same steps once as they are and once under `no_sync`, where no gradient leaves its rank: the difference is what the
links cost, beyond what the backward pass hides.
"""

from __future__ import annotations

import contextlib
import time

from .figures import figure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict

    from .collective_group import Group

SHAPES = {"cuda": (1024, 16, 12, 512, 4), "cpu": (128, 4, 2, 32, 4)}
"""Width, heads, layers, sequence, batch of a rank."""
MOST_STEPS, LEAST_STEPS = 200, 5


class Training:
    """One rank's copy of the model."""

    def __init__(self, group: Group) -> None:
        torch = group.torch
        self.group = group
        width, heads, layers, sequence, self.batch = SHAPES["cuda" if group.gpu else "cpu"]
        torch.manual_seed(0)  # the same weights on every rank
        parts = [
            torch.nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True)
            for _ in range(layers)
        ]
        model = torch.nn.Sequential(*parts, torch.nn.Linear(width, width)).to(group.device).train()
        self.parameters = sum(parameter.numel() for parameter in model.parameters())
        ids = [int(group.device.rpartition(":")[2])] if group.gpu else None
        self.model = torch.nn.parallel.DistributedDataParallel(model, device_ids=ids)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        torch.manual_seed(1 + group.rank)  # and samples of its own
        self.samples = torch.randn(self.batch, sequence, width, device=group.device)

    def seconds(self, steps: int, summed: bool) -> float:
        """What so many steps take, on the slowest rank."""
        self.group.barrier()
        started = time.monotonic()
        for _ in range(steps):
            with contextlib.nullcontext() if summed else self.model.no_sync():
                self.optimizer.zero_grad(set_to_none=True)
                self.model(self.samples).square().mean().backward()
            self.optimizer.step()
        self.group.sync()
        return max(row[0] for row in self.group.of_all([time.monotonic() - started]))

    def alike(self) -> bool:
        """Whether all ranks have the same weights: they had other samples, so only right sums keep them so."""
        own = [float(parameter.detach().double().sum()) for parameter in self.model.parameters()]
        rows = self.group.of_all(own)
        return all(row == rows[0] for row in rows)


def ddp(group: Group, seconds: float, say: Callable[[], None]) -> Dict[str, Any]:
    """Fields of DdpRun. `say` is called before each part."""
    say()
    training = Training(group)
    training.seconds(2, True)
    say()
    each = training.seconds(2, True) / 2
    steps = int(group.agree([max(LEAST_STEPS, min(MOST_STEPS, seconds / 2.5 / max(each, 1e-6)))])[0])
    say()
    with_sums = training.seconds(steps, True)
    right = training.alike()
    say()
    training.seconds(1, False)
    alone = training.seconds(steps, False)
    return {
        "backend": group.backend,
        "ranks": group.size,
        "nodes": group.nodes,
        "steps": steps,
        "batch": training.batch,
        "parameters": training.parameters,
        "seconds": figure(with_sums),
        "alone_seconds": figure(alone),
        "right": right,
    }
