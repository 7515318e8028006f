"""Run parts of the training agent alone: `python training_parts.py FOLDER PLAN` under the CPU build of torch.

PLAN (JSON): parts (profile, sweep, loader), device, batches, counts, seconds (for a batch), budget_s; fresh (children that
import torch themselves); gpu: a GPU that is
not there, computed on the CPU by the real torch: out_of_memory (from this batch on), graph (`crash`, or the words that
it raises), kernels (names that the profiler saw in three steps).
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

PLAN = json.loads(sys.argv[2])
GPU = PLAN.get("gpu")


class OnCpu(TorchFunctionMode):
    """Puts what is for the GPU on the CPU."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        kwargs.pop("pin_memory", None)
        if str(kwargs.get("device", "")).startswith("cuda"):
            kwargs["device"] = "cpu"
            if getattr(func, "__name__", "") == "arange" and args[0] >= GPU.get("out_of_memory", 1 << 30):
                raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 1024.00 MiB\nmore words")
        return func(*args, **kwargs)


class Event:
    def __init__(self, enable_timing: bool = False) -> None: ...

    def synchronize(self) -> None: ...

    def record(self) -> None:
        self.time = time.perf_counter()

    def elapsed_time(self, end: Event) -> float:
        return (end.time - self.time) * 1e3


class CUDAGraph:
    def replay(self) -> None: ...


@contextlib.contextmanager
def captured(graph: CUDAGraph) -> Iterator[None]:
    if GPU.get("graph") == "crash":
        os.abort()
    if GPU.get("graph"):
        raise RuntimeError(GPU["graph"])
    yield


@contextlib.contextmanager
def traced(activities: Any) -> Iterator[Any]:
    def event(name: str) -> Any:
        return SimpleNamespace(
            name=name, device_type=torch.autograd.DeviceType.CUDA, time_range=SimpleNamespace(elapsed_us=lambda: 2.0)
        )

    runtime = SimpleNamespace(name="cudaLaunchKernel", device_type=torch.autograd.DeviceType.CPU)
    yield SimpleNamespace(events=lambda: [runtime, *(event(name) for name in GPU.get("kernels", ()))])


def pretend() -> None:
    """Put the GPU into torch.cuda."""
    cuda: Any = torch.cuda
    cuda.init = lambda: None
    cuda.set_device = lambda device: None
    cuda.current_device = lambda: 0
    cuda.synchronize = cuda.empty_cache = lambda: None
    cuda.get_device_properties = lambda index: SimpleNamespace(uuid="5f3a9c1e-1111-2222-3333-444455556666")
    cuda._sleep = lambda cycles: None
    cuda.Event, cuda.CUDAGraph, cuda.graph = Event, CUDAGraph, captured
    cuda.Stream = cuda.current_stream = lambda: SimpleNamespace(wait_stream=lambda other: None)
    cuda.stream = lambda stream: contextlib.nullcontext()
    adamw = torch.optim.AdamW
    torch.optim.AdamW = lambda weights, lr, capturable=False: adamw(weights, lr=lr)  # type: ignore[assignment,misc]
    torch.profiler.profile = traced  # type: ignore[assignment,misc]


def run() -> None:
    agent = module.Agent(1, PLAN["device"], "standard", 60.0)
    agent.torch = torch
    until = time.monotonic() + PLAN.get("budget_s", 60.0)
    agent.fresh = PLAN.get("fresh", False)
    profiled: list[tuple[int, float, int]] = []
    for part in PLAN["parts"]:
        batches = PLAN.get("batches", [8, 16])
        if part == "profile":
            agent.supervise(part, until, profiled, module.profile, torch, agent.device, batches, until)
        elif part == "sweep":
            arguments = (torch, agent.device, batches, PLAN.get("seconds", 0.2), until, profiled)
            agent.supervise(part, until, [], module.sweep, *arguments)
        else:
            agent.loaders(PLAN["counts"], until)


sys.path.append(sys.argv[1])
agent_boot: Any = importlib.import_module("agent_boot")
module = agent_boot.agent(sys.argv[1], "training_speed")
sys.path.remove(sys.argv[1])
if GPU is None:
    run()
else:
    pretend()
    with OnCpu():
        run()
