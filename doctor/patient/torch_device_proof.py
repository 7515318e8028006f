"""Part of the agent torch_proof: one device, step by step."""

from __future__ import annotations

import math
import os
import time

from .cuda_keys import gpu_key
from .torch_devices import arch_list, cache_folder, code_kind, growth, jit_cache
from .torch_errors import TEXT_LIMIT, error_code, out_of_memory, text_of
from .torch_inputs import Inputs
from .torch_lines import Lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Sequence

TOLERANCE = 1e-3
"""Largest error over the largest value. Float32 with TF32 off makes about 1e-6; TF32, which NVIDIA_TF32_OVERRIDE=1 can
force past torch, 5e-4; a wrong element about 1."""
TOLERANCE_BF16 = 2e-2
"""Where oneDNN was told by its variable to multiply float32 as bfloat16 on the CPU."""
LAUNCH_SIZES = (1 << 20, 1 << 10)
"""Elements that the first kernel fills; as below, the second where memory is out."""
SIZES = (512, 128)
"""Inner size of the product that is checked; the second where memory is out."""


class Stop(Exception):
    """A device's step failed, and what follows has no sense on it."""


class Proof:
    """One device: what is known of it fills `self.said`, the object of its line."""

    def __init__(self, agent: Lines, torch: Any, inputs: Inputs, device: str) -> None:
        self.agent, self.torch, self.inputs, self.device = agent, torch, inputs, device
        self.cuda = device != "cpu"
        self.index = int(device[len("cuda:") :]) if self.cuda else -1
        self.facts: Dict[str, Any] = {"device": device}
        self.checks: List[bool] = []
        self.began = 0.0
        self.able = False
        """All steps before the work were made."""
        self.cache: Optional[Dict[str, int]] = None

    def compute(self) -> bool:
        """All steps but the work, and the device's line. False where CUDA is spoiled for this process."""
        spoiled = False
        try:
            if self.cuda:
                self.step("context", self.context)
                self.cache = jit_cache()
                self.began = time.monotonic()
                self.step("first launch", lambda: self.at_sizes("first launch", self.first_launch, LAUNCH_SIZES))
            else:
                self.facts.update(name="cpu", code={"missing": "absent", "detail": "the CPU compiles no kernels"})
            self.facts["tolerance"] = self.tolerance()
            self.step("matmul", lambda: self.at_sizes("matmul", self.matmul, SIZES))
            self.step("convolution", lambda: self.at_sizes("convolution", self.convolution, SIZES), go_on=True)
            self.able = True
        except Stop:
            spoiled = self.cuda and self.facts["failed_step"] != "context" and self.spoiled()
        if not self.able:
            self.end_phase()
        self.verdict(spoiled)
        self.agent.emit(torch_proof=self.facts)
        return not spoiled

    def end_phase(self) -> None:
        """Say from when to when the device was at work."""
        if self.began:
            key, now = self.facts.get("key", ""), time.monotonic()
            self.agent.emit(phase="proof", device=self.device, key=key, start=self.began, end=now)

    def step(self, name: str, function: Any, go_on: bool = False) -> None:
        """Run a step. Its error is noted, the first one; Stop unless the device can go on."""
        self.agent.emit(begin=name, device=self.device, so_far=self.facts)
        try:
            function()
            return
        except KeyboardInterrupt:
            raise
        except Exception as error:
            if "failed_step" not in self.facts:
                text = text_of(error)
                self.facts.update(failed_step=name, error="%s: %s" % (type(error).__name__, text), fault="failed")
                code = error_code(error, text)
                if code is not None:
                    self.facts["error_code"] = code
        if not go_on or (self.cuda and self.spoiled()):
            raise Stop

    def context(self) -> None:
        """The context of this device: made here, so that the first launch is timed without it."""
        cuda = self.torch.cuda
        cuda.init()
        cuda.set_device(self.index)  # else torch goes back to device 0 now and then, and that one may be another's
        self.facts["name"] = cuda.get_device_name(self.index)
        self.facts["key"] = gpu_key(self.torch, self.index)
        cuda.synchronize(self.index)
        cuda.reset_peak_memory_stats(self.index)

    def first_launch(self, size: int) -> None:
        """Time the first kernel on this context, and see how its code got there."""
        buffer = self.torch.empty(size, device=self.device)
        self.torch.cuda.synchronize(self.index)
        started = time.perf_counter()
        buffer.fill_(math.nan)
        self.torch.cuda.synchronize(self.index)
        self.facts["first_launch_ms"] = round((time.perf_counter() - started) * 1000, 3)
        self.code()

    def code(self) -> None:
        """Machine code or PTX: torch's list of architectures, held against what the driver's cache took in."""
        archs = arch_list(self.torch)
        found = code_kind(archs, tuple(self.torch.cuda.get_device_capability(self.index)))
        if found == "native" and os.environ.get("CUDA_FORCE_PTX_JIT") == "1":
            found = "ptx-jit"
        grown = growth(self.cache, jit_cache())
        if found == "native" and grown:
            detail = "torch lists machine code for this GPU, but the JIT cache grew at the first launch"
            self.facts["code"] = {"missing": "conflict", "detail": detail}
        elif found is None and (grown or not archs):
            self.facts["code"] = "ptx-jit" if grown else {"missing": "absent", "detail": "torch lists no architectures"}
        elif found is None:
            detail = "kernels run, but torch lists none that fit: " + " ".join(archs)
            self.facts["code"] = {"missing": "conflict", "detail": detail[:TEXT_LIMIT]}
        else:
            self.facts["code"] = found

    def at_sizes(self, step: str, function: Any, sizes: Sequence[int]) -> None:
        """Run with the first size for which there is memory."""
        for size in sizes:
            try:
                function(size)
                return
            except RuntimeError as error:
                if size == sizes[-1] or not out_of_memory(error):
                    raise
            if self.cuda:
                self.torch.cuda.empty_cache()
            self.agent.leave_out(step, self.device, "out of memory with size %d: made smaller" % size)

    def matmul(self, size: int) -> None:
        a, b, expected = self.inputs.product(size)
        out = self.poisoned(expected.shape)
        self.torch.mm(a.to(self.device), b.to(self.device), out=out)
        self.facts["tensor_device"] = str(out.device)
        self.hold("matmul_error", out, expected)

    def convolution(self, size: int) -> None:
        x, w, expected = self.inputs.convolution(size)
        x, w = x.to(self.device), w.to(self.device)
        poison = self.poisoned(expected.shape)  # freed at once: torch gives this block to the result
        del poison
        self.hold("conv_error", self.torch.nn.functional.conv2d(x, w), expected)

    def poisoned(self, shape: Any) -> Any:
        return self.torch.full(tuple(shape), math.nan, device=self.device)

    def hold(self, field: str, result: Any, expected: Any) -> None:
        """Hold a result against float64: the relative error under `field`, and whether it is small enough."""
        result = result.cpu().double()
        error = float((result - expected).abs().max()) / float(expected.abs().max())
        self.checks.append(math.isfinite(error) and error <= self.facts["tolerance"])
        if math.isfinite(error):
            self.facts[field] = error
        else:
            odd = int((result - result != 0).sum())
            self.facts[field] = {"missing": "error", "detail": "%d elements are NaN or infinite" % odd}

    def tolerance(self) -> float:
        modes = [os.environ.get(name, "") for name in ("ONEDNN_DEFAULT_FPMATH_MODE", "DNNL_DEFAULT_FPMATH_MODE")]
        narrowed = not self.cuda and any(mode.upper() in ("BF16", "F16", "ANY") for mode in modes)
        return TOLERANCE_BF16 if narrowed else TOLERANCE

    def verdict(self, spoiled: bool) -> None:
        """Fill in what follows from the steps."""
        if not all(self.checks):
            self.facts["right"] = False
        elif len(self.checks) == 2:
            self.facts["right"] = True
        else:
            self.facts["right"] = {"missing": "error", "detail": self.facts.get("error", "")}
        if self.began:
            grown = growth(self.cache, jit_cache())
            unkept = grown is None or (self.facts.get("code") == "ptx-jit" and not os.path.isdir(cache_folder()))
            absent = {"missing": "absent", "detail": "the driver keeps no JIT cache here"}
            self.facts["jit_cache_bytes"] = absent if unkept else grown
        if not spoiled:
            self.peak()

    def peak(self) -> None:
        """Memory that torch allocated on the GPU, at most."""
        if self.began:
            self.facts["peak_mib"] = round(self.torch.cuda.max_memory_allocated(self.index) / 2**20, 3)

    def spoiled(self) -> bool:
        """Whether the error sticks to the context, which then fails every call (cudaErrorIllegalAddress and such)."""
        self.agent.emit(begin="after an error", device=self.device, so_far=self.facts)
        try:
            self.torch.cuda.synchronize(self.index)
        except Exception:
            return True
        return False
