"""Part of the agent torch_speed: a transformer encoder in training."""

from __future__ import annotations

import contextlib
import time

from .figures import figure, spread_percent
from .speed_plan import MIB, NO_TIME, Model, mixed_type
from .speed_tools import Tools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Sequence, Tuple

RULE_MIXED, RULE_FP32 = 18.0, 16.0
"""Bytes a parameter. Weights 4, gradients 4, AdamW's two moments 8; under autocast a half copy of each weight, 2 more,
which lives from the forward pass, that makes it, to the backward pass, that uses it last."""


class Training:
    """A transformer encoder in training with AdamW and mixed precision, at one batch size."""

    def __init__(self, measures: Tools, batch: int, shrunk: bool) -> None:
        self.measures = measures
        self.torch = measures.torch
        self.processor = measures.processor
        self.gpu = self.processor.kind == "cuda"
        self.batch = batch
        self.shrunk = shrunk
        self.what = mixed_type(self.processor.capability)
        self.mixed = self.what != "fp32"
        self.model: Any = None
        self.optimizer: Any = None
        self.scaler: Any = None
        if self.what == "fp16":
            newer = getattr(self.torch.amp, "GradScaler", None)
            words = {"init_scale": 256.0}  # small enough that no step is left out for an overflow
            self.scaler = newer("cuda", **words) if newer else self.torch.cuda.amp.GradScaler(**words)

    def run(self) -> None:
        """Measure; write one training line and the rates of the two passes."""
        measures, processor, shape = self.measures, self.processor, self.measures.plan.model
        if self.gpu:  # so that the workspaces of the libraries, in this thread and autograd's, are not counted below
            self.first_step(shape._replace(width=64, heads=1, layers=1), 2)
            self.torch.cuda.reset_peak_memory_stats()
        result: Dict[str, Any] = {"device": processor.name, "batch": self.batch, "sequence": shape.sequence}
        started = time.monotonic()
        result.update(self.first_step(shape, self.batch))
        processor.sync()
        result.update(precision=self.what + "-mixed" if self.mixed else self.what, shrunk=self.shrunk)
        if time.monotonic() - started > measures.agent.left():
            result.update({name: {"missing": "timeout", "detail": NO_TIME} for name in ("step_ms", "samples_per_s")})
            measures.agent.emit(training=dict(result, **self.held()))
            return
        started = time.monotonic()
        starts, forward, backward = self.loop()
        measures.phase("training", started, time.monotonic())
        steps = [processor.between_ms(starts[number], starts[number + 1]) for number in range(len(starts) - 1)]
        step_ms = measures.typical(steps)
        result.update(step_ms=figure(step_ms), samples_per_s=figure(self.batch * 1e3 / step_ms))
        result.update(spread_percent=figure(spread_percent(steps)))
        measures.agent.emit(training=dict(result, **self.held()))
        detail = {"batch": self.batch, "parameters": result["parameters"]}
        for what, times in (("forward", forward), ("backward", backward)):
            measures.rate("pass", what, measures.typical(times), "ms", times, detail=detail)

    def held(self) -> Dict[str, Any]:
        """Fields of TrainingStep about what the process holds: peak of the tensors, torch's cache, the context."""
        if not self.gpu:
            return {}
        context = self.processor.context_bytes()
        missing = {"missing": "absent", "detail": "NVML does not tell what this process alone takes"}
        return {
            "peak_mib": figure(self.torch.cuda.max_memory_allocated() / MIB),
            "reserved_mib": figure(self.torch.cuda.memory_reserved() / MIB),
            "context_mib": missing if context is None else figure(context / MIB),
        }

    def first_step(self, shape: Model, batch: int) -> Dict[str, Any]:
        """Build the model and take one step, counting the tensors' memory after each part of it."""
        torch, device = self.torch, self.processor.name
        counted = [0] * 6
        self.model = self.optimizer = None  # a former one's memory must not be counted
        self.samples = torch.randn(batch, shape.sequence, shape.width, device=device)
        self.labels = torch.randint(0, shape.width, (batch,), device=device)
        counted[0] = self.used()
        layers = [
            torch.nn.TransformerEncoderLayer(
                shape.width, shape.heads, 4 * shape.width, 0.0, "gelu", batch_first=True, norm_first=True, device=device
            )
            for _ in range(shape.layers)
        ]
        self.model = torch.nn.Sequential(*layers, torch.nn.Linear(shape.width, shape.width, device=device)).train()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        counted[1] = self.used()
        with self.autocast():
            # One token makes the half copies of all weights; autocast keeps them to the end of this block, so what
            # the batch adds after them is activations.
            self.model(self.samples[:1, :1])
            counted[2] = self.used()
            loss = self.loss()
            counted[3] = self.used()
        self.backward(loss)
        del loss
        counted[4] = self.used()
        self.update()
        counted[5] = self.used()
        return self.split(counted, sum(parameter.numel() for parameter in self.model.parameters()))

    def split(self, counted: Sequence[int], parameters: int) -> Dict[str, Any]:
        """Fields of TrainingStep about memory, from the bytes before the model, with it, with the half copies, after
        the forward pass, after the backward pass, and after the optimizer's step."""
        start, built, cast, forward, backward, stepped = counted
        copies = cast - built if self.mixed else 0
        weights, gradients, optimizer = built - start, backward - built, stepped - backward
        if weights > 0:
            return {
                "parameters": parameters,
                "weights_mib": figure(weights / MIB),
                "gradients_mib": figure(gradients / MIB),
                "optimizer_mib": figure(optimizer / MIB),
                "activations_mib": figure((forward - built - copies) / MIB),
                "bytes_per_parameter": figure((weights + copies + gradients + optimizer) / parameters),
                "expected_bytes_per_parameter": RULE_MIXED if self.mixed else RULE_FP32,
            }
        why = "torch's allocator counted nothing" if self.gpu else "torch does not count memory on the CPU"
        parts = ["weights_mib", "gradients_mib", "optimizer_mib", "activations_mib", "bytes_per_parameter"]
        if not self.gpu:
            parts += ["expected_bytes_per_parameter", "context_mib", "peak_mib", "reserved_mib"]
        found: Dict[str, Any] = {name: {"missing": "absent", "detail": why} for name in parts}
        return dict(found, parameters=parameters)

    def loop(self) -> Tuple[List[Any], List[float], List[float]]:
        """Marks at the start of each step and at the end of the last; milliseconds of each forward and backward."""
        processor, agent = self.processor, self.measures.agent
        started = time.monotonic()
        self.step()
        processor.sync()
        each = max(time.monotonic() - started, 1e-6)
        seconds = max(0.0, min(self.measures.plan.training_s, agent.left()))
        least = 3 if 3 * each < agent.left() / 4 else 1
        marks = [self.step() for _ in range(max(least, min(300, int(seconds / each))))]
        end = processor.mark()
        processor.sync()
        forward = [processor.between_ms(start, middle) for start, middle, _ in marks]
        backward = [processor.between_ms(middle, last) for _, middle, last in marks]
        return [start for start, _, _ in marks] + [end], forward, backward

    def step(self) -> Tuple[Any, Any, Any]:
        """One step; marks before the forward pass, between the passes, and after the backward pass."""
        self.optimizer.zero_grad(set_to_none=True)
        start = self.processor.mark()
        with self.autocast():
            loss = self.loss()
        middle = self.processor.mark()
        self.backward(loss)
        last = self.processor.mark()
        self.update()
        return start, middle, last

    def loss(self) -> Any:
        return self.torch.nn.functional.cross_entropy(self.model(self.samples).mean(dim=1).float(), self.labels)

    def backward(self, loss: Any) -> None:
        (self.scaler.scale(loss) if self.scaler else loss).backward()

    def update(self) -> None:
        """The optimizer's step."""
        if self.scaler:
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            self.optimizer.step()

    def autocast(self) -> Any:
        if not self.mixed:
            return contextlib.nullcontext()
        return self.torch.autocast("cuda", dtype=self.measures.dtype(self.what))

    def used(self) -> int:
        """Bytes of tensors on the GPU; 0 on the CPU."""
        self.processor.sync()  # CUDA's own asynchronous allocator frees when the stream gets there
        return int(self.processor.used_bytes()) if self.gpu else 0
