"""Count a training step's floating-point operations and bytes by the real torch: `python count_step.py FOLDER BATCH...`."""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

sys.path.append(sys.argv[1])
agent_boot: Any = importlib.import_module("agent_boot")
agent = agent_boot.agent(sys.argv[1], "training_model")


class Bytes(TorchDispatchMode):
    """What every operation that is no view reads and writes."""

    total = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        if not func.is_view:
            touched = tree_leaves((args, kwargs or {}, made))
            self.total += sum(t.numel() * t.element_size() for t in touched if isinstance(t, torch.Tensor))
        return made


for word in sys.argv[2:]:
    training = agent.Training(torch, "cpu", int(word))
    training.turn()
    with FlopCounterMode(display=False) as flops:
        training.step()
    with Bytes() as moved:
        training.step()
    print(json.dumps({"flops": flops.get_total_flops(), "bytes": moved.total}))
