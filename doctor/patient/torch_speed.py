"""Agent: how fast torch is on one device; JSON lines on stdout. Standard library and torch only.

Run under the patient's Python: `python torch_speed.py --device cuda:0|cpu --level quick|full [--seconds S]`.
`--seconds` is a hard budget after the import: measures come in the order of their worth, and those
that no longer fit are named. Lines: {"begin": STEP} before each step; {"rate": R} and {"training": T} with results;
{"ended": E} for a step that failed, was left out or was made smaller; {"phase": P, "start": S, "end": E} with the
seconds (time.monotonic) in which the device was at work, often several for one phase; {"field": "import_seconds"}.

How it measures: random data (the power that a product takes, and so its clock, depends on the data), inputs that
rotate so that the L2 cache does not hold them, a GPU woken from idle, a warm-up, then each run between two CUDA events
(perf_counter on the CPU); figures are medians, the spread is the 90th less the 10th percentile. A step that raises ends
alone; after an error that breaks the CUDA context the agent says so and stops.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import json
import math
import os
import re
import sys
import time
import warnings
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Sequence, Tuple

    Call = Callable[[int], Any]

TEXT_LIMIT = 500
MIB = 1 << 20
NO_TIME = "no time left"
TENSOR_CORES_FROM = {"fp16": (7, 0), "int8": (7, 2), "tf32": (8, 0), "bf16": (8, 0), "fp8": (8, 9)}
"""Compute capability from which a type has tensor cores (CUDA C++ Programming Guide, arithmetic throughput)."""
NEEDS = {"fp16": (5, 3), "int8": (6, 1), "tf32": (8, 0), "bf16": (8, 0), "fp8": (8, 9)}
"""Compute capability below which there is no such arithmetic; int8 is DP4A on CUDA cores at first."""
WITHOUT_TENSOR_CORES = re.compile(r"GTX 16\d\d|CMP 30HX|\bMX[45]50\b|\bT(400|500|550|600|1000|1200|2000)\b")
"""Names of GPUs of capability 7.5 without tensor cores (TU116, TU117)."""
ELEMENT_BYTES = {"fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2, "fp8": 1, "int8": 1}
WAKE_S = 0.3
TILE_ROWS, TILE_COLUMNS = 128, 256
"""The large tile of cuBLAS's tensor core kernels."""
RULE_MIXED, RULE_FP32 = 18.0, 16.0
"""Bytes a parameter. Weights 4, gradients 4, AdamW's two moments 8; under autocast a half copy of each weight, 2 more,
which lives from the forward pass, that makes it, to the backward pass, that uses it last."""


class Model(NamedTuple):
    """A transformer encoder and its input. On a GPU `batch` is multiplied by batch_factor."""

    batch: int
    sequence: int
    width: int
    heads: int
    layers: int


class Plan(NamedTuple):
    """Sizes and times of a level. Seconds; MiB; edges of matrices in elements."""

    budget_s: float
    each_s: float
    """Timed work of a measure; a third of it for the smaller ones."""
    training_s: float
    product_ms: float
    """Wanted time of one matrix product: long beside a launch, short beside the budget."""
    edge_probe: int
    edge_least: int
    edge_most: int
    edge_step: int
    memory_mib: int
    copy_mib: int
    model: Model


PLANS = {
    ("cuda", "quick"): Plan(14.0, 0.3, 1.2, 4.0, 2048, 1024, 8192, 256, 1024, 128, Model(4, 256, 512, 8, 6)),
    ("cuda", "full"): Plan(85.0, 2.0, 8.0, 10.0, 2048, 1024, 16384, 256, 2048, 256, Model(2, 512, 1024, 16, 8)),
    ("cpu", "quick"): Plan(7.0, 0.3, 0.8, 30.0, 256, 128, 1024, 64, 64, 0, Model(8, 64, 128, 4, 2)),
    ("cpu", "full"): Plan(30.0, 1.0, 4.0, 100.0, 256, 128, 2048, 64, 256, 0, Model(16, 128, 256, 4, 4)),
}


# ---- Arithmetic without torch ----


def units_of(what: str, capability: Sequence[int] | None, name: str) -> str:
    """Where a product of this type runs: cuda-cores, tensor-cores; cpu where there is no capability."""
    if capability is None:
        return "cpu"
    if what == "fp32" or (tuple(capability) == (7, 5) and WITHOUT_TENSOR_CORES.search(name)):
        return "cuda-cores"
    return "tensor-cores" if tuple(capability) >= TENSOR_CORES_FROM[what] else "cuda-cores"


def lacking(what: str, capability: Sequence[int] | None) -> str:
    """Why a GPU has no such arithmetic; empty where it has."""
    needed = NEEDS.get(what, (0, 0))
    if capability is None or tuple(capability) >= needed:
        return ""
    return what + " needs compute capability %d.%d, " % needed + "this GPU has %d.%d" % (capability[0], capability[1])


def mixed_type(capability: Sequence[int] | None) -> str:
    """Type that mixed precision works in here: bf16, fp16; fp32 where neither gains anything."""
    if capability is None or tuple(capability) < (7, 0):
        return "fp32"
    return "bf16" if tuple(capability) >= (8, 0) else "fp16"


def median(values: Sequence[float]) -> float:
    return percentile(values, 50)


def percentile(values: Sequence[float], percent: float) -> float:
    """Percentile with linear interpolation between the two nearest values."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100.0
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def spread_percent(values: Sequence[float]) -> float:
    """90th less 10th percentile in percent of the median."""
    middle = median(values)
    return (percentile(values, 90) - percentile(values, 10)) / middle * 100.0 if middle > 0 else 0.0


def edge_for(flops_per_ms: float, wanted_ms: float, least: int, most: int, step: int) -> int:
    """Edge of a square product that takes the wanted time at this rate, a multiple of `step` within the bounds."""
    edge = float((flops_per_ms * wanted_ms / 2.0) ** (1 / 3.0))
    return max(least, min(most, round(edge / step) * step))


def edge_fitting(free_bytes: float, element_bytes: int, step: int) -> int:
    """Largest edge whose two sets of operands and one result of 4 bytes an element take 40 % of the free memory."""
    if math.isinf(free_bytes):
        return 1 << 20
    return int(math.sqrt(0.4 * free_bytes / (4 * element_bytes + 4)) / step) * step


def wave_shape(sms: int, edge: int) -> Tuple[int, int]:
    """(m, n) closest to (edge, edge) whose tiles fill every SM in whole waves; the square where none comes near."""
    best, chosen = 1.0, (edge, edge)
    for rows in range(1, 2 * edge // TILE_ROWS + 1):
        for columns in range(1, 2 * edge // TILE_COLUMNS + 1):
            if rows * columns % sms == 0:
                off = abs(math.log(rows * TILE_ROWS / edge)) + abs(math.log(columns * TILE_COLUMNS / edge))
                if off < best:
                    best, chosen = off, (rows * TILE_ROWS, columns * TILE_COLUMNS)
    return chosen


def batch_factor(sms: int) -> int:
    """A power of two that grows with the chip: 1 to 4 SMs give 1, 40 give 8, 132 give 32."""
    return 1 << max(0, min(6, round(math.log(max(sms, 1) / 4.0, 2))))


def operation_costs(batch: int, sequence: int, width: int, heads: int, size: int) -> Dict[str, Tuple[str, int, int]]:
    """Operations of a transformer layer: name to group, floating point operations, and the least bytes moved.

    `size`: bytes of an element. Every operand is read once and every result written once. Softmax counts 5 operations
    an element (maximum, subtract, exponential, sum, divide), a layer norm 7 (two for the mean and the difference, two
    for the variance, three for scale, weight and bias), GELU 5, an addition 1.
    """
    tokens, head = batch * sequence, width // heads
    rows, wide = batch * heads * sequence, tokens * 4 * width
    return {
        "linear": (
            "contraction",
            2 * wide * width,
            size * (tokens * width + 4 * width * width + wide),
        ),
        "attention-scores": (
            "contraction",
            2 * rows * sequence * head,
            size * (2 * tokens * width + rows * sequence),
        ),
        "attention": ("contraction", 4 * rows * sequence * head, size * 4 * tokens * width),
        "softmax": ("normalisation", 5 * rows * sequence, size * 2 * rows * sequence),
        "layer-norm": ("normalisation", 7 * wide, size * (2 * wide + 2 * 4 * width)),
        "gelu": ("element-wise", 5 * wide, size * 2 * wide),
        "residual-add": ("element-wise", wide, size * 3 * wide),
    }


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception of torch (1.13 to today) says that memory ran out, on the GPU or on the CPU."""
    text = str(error)
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"
        or "out of memory" in text
        or "can't allocate memory" in text
        or "STATUS_ALLOC_FAILED" in text
    )


def is_refusal(error: BaseException) -> bool:
    """Whether it says that this torch or this GPU has no such operation, rather than that one went wrong."""
    words = ("not supported", "NOT_SUPPORTED", "only supported", "not implemented", "not compiled", "has no attribute")
    return isinstance(error, (NotImplementedError, AttributeError)) or any(word in str(error) for word in words)


def text_of(error: BaseException) -> str:
    """First paragraph of an exception, with its type."""
    try:
        words = str(error).strip().split("\n\n")[0].replace("\n", " ")
    except Exception:
        words = ""
    return ("%s: %s" % (type(error).__name__, words) if words else type(error).__name__)[:TEXT_LIMIT]


def figure(value: float) -> float:
    """Six significant digits; raises ValueError for what is no finite number."""
    if not math.isfinite(value):
        raise ValueError("a figure that is no finite number")
    return float("%.6g" % value)


class NoRoom(Exception):
    """Too little free memory for a size that means anything."""


# ---- The two kinds of device ----


class Cpu:
    """The CPU, with the interface of Cuda."""

    kind, name, key, model, capability, sms, l2_bytes = "cpu", "cpu", "", "", None, 1, 0

    def mark(self) -> float:
        return time.perf_counter()

    def between_ms(self, start: float, end: float) -> float:
        return (end - start) * 1e3

    def sync(self) -> None:
        pass

    empty_cache = sync

    def free_bytes(self) -> float:
        return math.inf


class Cuda:
    """One GPU or MIG slice as torch shows it."""

    kind = "cuda"

    def __init__(self, torch: Any, ordinal: int) -> None:
        self.cuda = torch.cuda
        self.ordinal = ordinal
        self.name = "cuda:%d" % ordinal
        self.key = driver_key(ordinal)
        self.before = nvml_used(self.key)
        self.cuda.set_device(ordinal)
        self.cuda.synchronize()
        properties = self.cuda.get_device_properties(ordinal)
        if not self.key and getattr(properties, "uuid", None) is not None:
            self.key = "GPU-" + str(properties.uuid)
        self.model = str(properties.name)
        self.capability: Tuple[int, int] | None = (int(properties.major), int(properties.minor))
        self.sms = int(properties.multi_processor_count)
        l2 = getattr(properties, "L2_cache_size", 0)
        self.l2_bytes = int(l2) or (64 * MIB if properties.major >= 8 else 8 * MIB)

    def mark(self) -> Any:
        event = self.cuda.Event(enable_timing=True)
        event.record()
        return event

    def between_ms(self, start: Any, end: Any) -> float:
        """Milliseconds between two marks, once the device has passed them."""
        return float(start.elapsed_time(end))

    def sync(self) -> None:
        self.cuda.synchronize()

    def empty_cache(self) -> None:
        self.cuda.empty_cache()

    def free_bytes(self) -> float:
        """Bytes that torch could still get, those that it holds and does not use among them."""
        held = self.cuda.memory_reserved() - self.cuda.memory_allocated()
        return float(self.cuda.mem_get_info(self.ordinal)[0] + max(0, held))

    def used_bytes(self) -> int:
        """Bytes that tensors asked for; before torch 2.0 what they were given, a little more."""
        stats = self.cuda.memory_stats()
        return int(stats.get("requested_bytes.all.current") or self.cuda.memory_allocated())

    def context_bytes(self) -> int | None:
        """What this process holds beyond torch's tensors and cache: context, kernels, library handles. None where
        NVML does not answer, or where another process changed the figure meanwhile."""
        now = nvml_used(self.key)
        if now is None or self.before is None:
            return None
        taken = now - self.before - int(self.cuda.memory_reserved())
        return taken if taken > 0 else None


def driver_key(ordinal: int) -> str:
    """GPU-UUID of a device in libcuda's order, which is torch's; of a MIG slice the whole GPU's. Makes no context."""
    try:
        cuda = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        handle, uuid = ctypes.c_int(), (ctypes.c_ubyte * 16)()
        if cuda.cuInit(0) or cuda.cuDeviceGet(ctypes.byref(handle), ordinal):
            return ""
        if cuda.cuDeviceGetUuid(ctypes.byref(uuid), handle):
            return ""
        digits = bytes(uuid).hex()
        return "GPU-" + "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    except (OSError, AttributeError):
        return ""


def nvml_used(key: str) -> int | None:
    """Bytes in use on a GPU by all processes, from NVML; None where it does not answer."""
    try:
        nvml = ctypes.CDLL("nvml.dll" if sys.platform == "win32" else "libnvidia-ml.so.1")
        handle, memory = ctypes.c_void_p(), (ctypes.c_ulonglong * 3)()
        if not key or nvml.nvmlInit_v2():
            return None
        if nvml.nvmlDeviceGetHandleByUUID(key.encode("ascii"), ctypes.byref(handle)):
            return None
        return None if nvml.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)) else int(memory[2])
    except (OSError, AttributeError):
        return None


# ---- The agent ----


class Agent:
    """Writes lines, keeps the budget, and runs each measure in its own guarded step."""

    def __init__(self, descriptor: int, device: str) -> None:
        self.descriptor = descriptor
        self.device = device
        self.deadline = math.inf

    def emit(self, **line: Any) -> None:
        """Write one line at once."""
        data = (json.dumps(line, default=str) + "\n").encode("ascii", "replace")
        while data:
            data = data[os.write(self.descriptor, data) :]

    def ended(self, step: str, fault: str, detail: str) -> None:
        """Say that a step failed, was left out, or was made smaller."""
        self.emit(ended={"agent": "torch_speed", "step": step, "device": self.device, "fault": fault, "detail": detail})

    def left(self) -> float:
        """Seconds of the budget."""
        return self.deadline - time.monotonic()

    def load(self) -> Any:
        """Import torch; None where that raises."""
        self.emit(begin="import torch", device=self.device)
        begun = time.monotonic()
        try:
            import torch
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit too: some packages end the process in their import
            self.ended("import torch", "failed", text_of(error))
            return None
        self.emit(field="import_seconds", value=round(time.monotonic() - begun, 3))
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

    def run(self, level: str, seconds: float | None) -> None:
        """All measures of a level, within the budget (seconds after the import)."""
        torch = self.load()
        if torch is None:
            return
        self.deadline = time.monotonic() + (seconds or 0.0)
        place = self.open(torch)
        if place is None:
            return
        plan = PLANS[place.kind, level]
        if seconds is None:
            seconds = plan.budget_s
            self.deadline += seconds
        share = min(1.0, seconds / plan.budget_s)  # a smaller budget: less time for each, so that more is measured
        plan = plan._replace(each_s=plan.each_s * share, training_s=plan.training_s * share)
        steps = Measures(self, torch, place, plan).steps()
        for number, (step, least_s, measure) in enumerate(steps):
            if self.left() < least_s:
                self.ended(step, "skipped", NO_TIME)
            elif not self.guarded(step, measure, place):
                for later, _, _ in steps[number + 1 :]:
                    self.ended(later, "skipped", "not measured after the error in %s" % step)
                return

    def guarded(self, step: str, measure: Callable[[], None], place: Any) -> bool:
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
            place.sync()
            place.empty_cache()
        except Exception as error:
            self.ended("device", "failed", "the CUDA context is broken: " + text_of(error))
            return False
        return True


# ---- The measures ----


class Measures:
    """The measures of one device. Each emits its lines, or raises."""

    def __init__(self, agent: Agent, torch: Any, place: Any, plan: Plan) -> None:
        self.agent = agent
        self.torch = torch
        self.place = place
        self.plan = plan
        self.short_s = plan.each_s / 3.0

    def steps(self) -> List[Tuple[str, float, Callable[[], None]]]:
        """Name, least seconds and function of each measure, the ones worth most first."""
        gpu = self.place.kind == "cuda"
        half, other = ("fp16", "bf16") if gpu and self.place.capability < (8, 0) else ("bf16", "fp16")
        found: List[Tuple[str, float, Callable[[], None]]] = []

        def add(step: str, least_s: float, function: Callable[..., None], *arguments: Any) -> None:
            found.append((step, least_s, lambda: function(*arguments)))

        if gpu:
            add("warm-up", 0.0, self.wake)
        for what in (half, "fp32") if gpu else ("fp32", half):
            add("matmul " + what, 0.25, self.matmul, what)
        add("memory copy", 0.2, self.memory, "copy")
        if gpu:
            add("copy h2d-pinned", 0.2, self.copy, "h2d", True)
            add("copy d2h-pinned", 0.2, self.copy, "d2h", True)
        add("launch eager", 0.1, self.launch_eager)
        add("training", 0.8, self.training)
        add("memory triad", 0.2, self.memory, "triad")
        for what in ("tf32", other, "fp8", "int8") if gpu else ():
            add("matmul " + what, 0.25, self.matmul, what)
        if gpu:
            add("launch graph", 0.15, self.launch_graph)
        names = ["linear", "softmax", "gelu", "layer-norm", "residual-add", "attention-scores"]
        if hasattr(self.torch.nn.functional, "scaled_dot_product_attention"):
            names.append("attention")
        for name in names:
            add("operation " + name, 0.1, self.operation, name)
        if gpu:
            add("copy h2d-pageable", 0.2, self.copy, "h2d", False)
            add("copy d2h-pageable", 0.2, self.copy, "d2h", False)
        return found

    # -- timing --

    def wake(self) -> None:
        """Keep the GPU at work until its clocks have risen from where they idle: sizes are chosen by time."""
        value = self.torch.zeros(1 << 20, device=self.place.name)
        until = time.monotonic() + min(WAKE_S, self.agent.left() / 20)
        while time.monotonic() < until:
            for _ in range(20):
                value.add_(1)
            self.place.sync()

    def times_ms(self, call: Call, seconds: float, phase: str = "", most: int = 1000) -> List[float]:
        """Milliseconds of each run of call(number) for about `seconds`, or what the budget leaves; after a warm-up."""
        place = self.place
        begun = time.monotonic()
        call(0)  # the first call loads kernels
        place.sync()
        tries = 3 if time.monotonic() - begun < 0.05 else 1
        started = time.monotonic()
        for number in range(tries):
            call(number)
        place.sync()
        each = max((time.monotonic() - started) / tries, 1e-7)
        seconds = max(0.0, min(seconds, self.agent.left()))
        for number in range(min(most, int(seconds * 0.2 / each))):
            call(number)
        marks = []
        least = 3 if 3 * each < self.agent.left() / 4 else 1
        for number in range(max(least, min(most, int(seconds / each)))):
            start = place.mark()
            call(number)
            marks.append((start, place.mark()))
        place.sync()
        if phase:
            self.phase(phase, started, time.monotonic())
        return [max(place.between_ms(start, end), 1e-6) for start, end in marks]

    def phase(self, name: str, start: float, end: float) -> None:
        """Say when the device was at work."""
        place = self.place
        self.agent.emit(phase=name, device=place.name, key=place.key, start=round(start, 6), end=round(end, 6))

    def rate(self, kind: str, what: str, value: float, unit: str, times: Sequence[float], **more: Any) -> None:
        """Write a Rate; `times` are what its spread is of."""
        detail = {name: (v if isinstance(v, int) else figure(v)) for name, v in more.pop("detail", {}).items()}
        rate = {"kind": kind, "device": self.place.name, "what": what, "value": figure(value), "unit": unit}
        rate.update(more, spread_percent=figure(spread_percent(times)), runs=len(times), detail=detail)
        self.agent.emit(rate=rate)

    def shrinking(self, step: str, size: int, least: int, measure: Callable[[int], None]) -> None:
        """Run measure(size), halving the size while memory runs out; says so where it was made smaller."""
        asked = size
        while True:
            try:
                measure(size)
                break
            except Exception as error:
                if not is_out_of_memory(error) or size // 2 < least:
                    raise
            size //= 2
            gc.collect()  # as in `guarded`
            self.place.empty_cache()
        if size < asked:
            self.agent.ended(step, "skipped", "out of memory: made smaller, %d instead of %d" % (size, asked))

    def sets(self, set_bytes: int) -> int:
        """How many sets of inputs must rotate so that the L2 cache (x 3) does not hold them; within free memory."""
        wanted = max(2, min(8, -(-3 * self.place.l2_bytes // max(set_bytes, 1))))
        fitting = self.place.free_bytes() * 0.4 / max(set_bytes, 1)
        return wanted if fitting >= wanted else max(1, int(fitting))

    def dtype(self, what: str) -> Any:
        names = {"fp32": "float32", "tf32": "float32", "fp16": "float16", "bf16": "bfloat16", "int8": "int8"}
        return getattr(self.torch, names.get(what, "float8_e4m3fn"))

    def random(self, what: str, *shape: int) -> Any:
        """A random tensor on the device: normal, or every byte for int8."""
        torch, device = self.torch, self.place.name
        if what == "int8":
            return torch.randint(-128, 128, shape, dtype=torch.int8, device=device)
        if what == "fp8":
            return torch.randn(shape, dtype=torch.float16, device=device).to(self.dtype(what))
        return torch.randn(shape, dtype=self.dtype(what), device=device)

    # -- matrix products --

    def matmul(self, what: str) -> None:
        """The best rate over a few shapes and layouts that fill the chip."""
        step, torch, place, plan = "matmul " + what, self.torch, self.place, self.plan
        reason = lacking(what, place.capability)
        if what == "int8" and not hasattr(torch, "_int_mm"):
            reason = reason or "this torch has no int8 product (torch._int_mm)"
        if what == "fp8" and not (hasattr(torch, "_scaled_mm") and hasattr(torch, "float8_e4m3fn")):
            reason = reason or "this torch has no fp8 product (torch._scaled_mm)"
        if what == "tf32" and os.environ.get("NVIDIA_TF32_OVERRIDE") == "0":
            reason = reason or "NVIDIA_TF32_OVERRIDE=0 forbids TF32"
        if reason:
            self.agent.ended(step, "skipped", reason)
            return
        free = place.free_bytes()
        most = min(plan.edge_most, edge_fitting(free, ELEMENT_BYTES[what], plan.edge_step))
        if most < plan.edge_least:
            raise NoRoom("%d MiB free: too little for a product that fills the GPU" % (free / MIB))
        if most < plan.edge_most and most < plan.edge_probe:
            self.agent.ended(step, "skipped", "%d MiB free: made smaller, edge at most %d" % (free / MIB, most))
        self.set_tf32(what == "tf32")
        try:
            with torch.no_grad():
                self.shrinking(step, most, plan.edge_least, lambda size: self.best_product(what, size))
        finally:
            self.set_tf32(False)

    def set_tf32(self, on: bool) -> None:
        """TF32 in float32 products on or off."""
        matmul = self.torch.backends.cuda.matmul
        try:
            matmul.allow_tf32 = on
        except Exception:  # torch means to give it another name
            matmul.fp32_precision = "tf32" if on else "ieee"

    def best_product(self, what: str, most: int) -> None:
        """Find a size that takes the wanted time, try the shapes, measure the fastest, write it down."""
        plan, place = self.plan, self.place
        # fp8 products want the second matrix by columns; for the others it is a matter of speed.
        layouts = (False,) if place.kind == "cpu" else (True,) if what == "fp8" else (True, False)
        edge = min(plan.edge_probe, most)
        probe = self.products(what, (edge, edge, edge), layouts[0])
        ms = median(self.times_ms(probe, plan.each_s / 10.0, most=5))
        del probe
        edge = edge_for(2.0 * edge**3 / ms, plan.product_ms, plan.edge_least, most, plan.edge_step)
        shapes = [(edge, edge, edge)]
        if place.kind == "cuda":
            shapes += [(*wave_shape(place.sms, edge), edge), (edge, edge, edge // 2)]
        best: Tuple[float, Tuple[int, int, int], bool] | None = None
        until = time.monotonic() + min(2 * plan.each_s, self.agent.left() / 4)
        for shape in dict.fromkeys(shapes):
            for layout in layouts:
                if best is not None and time.monotonic() > until:
                    continue
                if len(shapes) * len(layouts) > 1:
                    try:
                        ms = median(self.times_ms(self.products(what, shape, layout), plan.each_s / 10.0, most=8))
                    except Exception as error:  # older torch takes int8 in one layout alone; memory may be short
                        if best is None or not (is_refusal(error) or is_out_of_memory(error)):
                            raise
                        continue
                speed = 2.0 * shape[0] * shape[1] * shape[2] / ms
                if best is None or speed > best[0]:
                    best = (speed, shape, layout)
        assert best is not None
        (m, n, k), layout = best[1], best[2]
        times = self.times_ms(self.products(what, (m, n, k), layout), plan.each_s, "matmul")
        unit = "TOP/s" if what == "int8" else "TFLOP/s"
        detail = {"m": m, "n": n, "k": k, "transposed": int(layout)}
        if most < plan.edge_probe:
            detail["shrunk"] = 1
        units = units_of(what, place.capability, place.model)
        self.rate("matmul", what, 2.0 * m * n * k / median(times) / 1e9, unit, times, units=units, detail=detail)

    def products(self, what: str, shape: Tuple[int, int, int], transposed: bool) -> Call:
        """A call that multiplies one of several pairs of random matrices (m x k, k x n).

        `transposed`: the second matrix lies in memory by columns, as the weight of a linear layer does.
        """
        torch = self.torch
        m, n, k = shape
        pairs = []
        for _ in range(self.sets((m * k + k * n) * ELEMENT_BYTES[what])):
            second = self.random(what, n, k).t() if transposed else self.random(what, k, n)
            pairs.append((self.random(what, m, k), second))
        if what == "int8":
            return lambda number: torch._int_mm(*pairs[number % len(pairs)])
        if what == "fp8":
            words = self.scaled_mm_words(*pairs[0])
            return lambda number: torch._scaled_mm(*pairs[number % len(pairs)], **words)
        out = torch.empty(m, n, dtype=self.dtype(what), device=self.place.name)
        return lambda number: torch.mm(*pairs[number % len(pairs)], out=out)

    def scaled_mm_words(self, a: Any, b: Any) -> Dict[str, Any]:
        """Keywords that this torch's _scaled_mm takes: use_fast_accum came with 2.2, scales must be given since 2.5."""
        torch = self.torch
        one = torch.ones((), dtype=torch.float32, device=self.place.name)
        half = {"out_dtype": torch.bfloat16}
        scaled = dict(half, scale_a=one, scale_b=one)
        first: Exception | None = None
        for words in (dict(scaled, use_fast_accum=True), scaled, half):
            try:
                torch._scaled_mm(a, b, **words)
                return words
            except (TypeError, RuntimeError) as error:
                if is_out_of_memory(error):
                    raise
                first = first or error
        assert first is not None
        raise first

    # -- device memory, the bus, launches --

    def memory(self, what: str) -> None:
        """Bandwidth of the device's memory, of buffers that no cache holds: b = a, or a = b + s c (three buffers)."""
        torch, place = self.torch, self.place
        count = 2 if what == "copy" else 3

        def measure(mib: int) -> None:
            elements = mib * MIB // 4
            buffers = [torch.empty(elements, dtype=torch.float32, device=place.name).uniform_() for _ in range(count)]
            a, b, c = buffers[0], buffers[1], buffers[-1]
            if what == "copy":
                times = self.times_ms(lambda number: b.copy_(a), each_s, "memory")
            else:
                times = self.times_ms(lambda number: torch.add(b, c, alpha=3.0, out=a), each_s, "memory")
            moved = count * mib * MIB
            self.rate("memory", what, moved / median(times) / 1e6, "GB/s", times, detail={"mib": mib})

        each_s = self.plan.each_s
        with torch.no_grad():
            self.shrinking("memory " + what, self.fitting("memory " + what, self.plan.memory_mib, count), 8, measure)

    def fitting(self, step: str, mib: int, count: int) -> int:
        """MiB of a buffer, halved while `count` of them take more than half of the free memory; says so where the
        buffers come near the size of the L2 cache then."""
        free = self.place.free_bytes() / MIB
        while mib > 8 and mib * count > free / 2:
            mib //= 2
        if mib * MIB < 2 * self.place.l2_bytes:
            self.agent.ended(step, "skipped", "%d MiB free: made smaller, %d MiB, and the cache may help" % (free, mib))
        return mib

    def copy(self, direction: str, pinned: bool) -> None:
        """Between host memory and the device, one way."""
        torch, place = self.torch, self.place
        what = "%s-%s" % (direction, "pinned" if pinned else "pageable")

        def measure(mib: int) -> None:
            host = torch.empty(mib * MIB, dtype=torch.uint8, pin_memory=pinned).fill_(7)
            there = torch.empty(mib * MIB, dtype=torch.uint8, device=place.name).fill_(9)
            target, source = (there, host) if direction == "h2d" else (host, there)
            times = self.times_ms(lambda number: target.copy_(source, non_blocking=pinned), self.plan.each_s, "copy")
            self.rate("copy", what, mib * MIB / median(times) / 1e6, "GB/s", times, detail={"mib": mib})

        mib = self.plan.copy_mib
        while mib > 8 and mib * MIB > place.free_bytes() / 4:
            mib //= 2
        self.shrinking("copy " + what, mib, 8, measure)

    def launch_eager(self) -> None:
        """Host time of handing over one tiny kernel; fewer at a time than the launch queue holds."""
        value, launches = self.torch.zeros(1, device=self.place.name), 200

        def issue() -> None:
            for _ in range(launches):
                value.add_(1)

        with self.torch.no_grad():
            host, done = self.rounds_us(issue, launches)
        detail = {"launches": launches, "done_us": median(done)}
        self.rate("launch", "eager", median(host), "us", host, detail=detail)

    def launch_graph(self) -> None:
        """The same kernels as one CUDA graph: time for each until the device is done, by the host's clock."""
        torch, launches = self.torch, 200
        value = torch.zeros(1, device=self.place.name)
        if not hasattr(torch.cuda, "CUDAGraph"):
            self.agent.ended("launch graph", "skipped", "this torch has no CUDA graphs")
            return
        with torch.no_grad():
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                value.add_(1)
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                for _ in range(launches):
                    value.add_(1)
            host, done = self.rounds_us(graph.replay, launches)
        detail = {"launches": launches, "host_us": median(host)}
        self.rate("launch", "graph", median(done), "us", done, detail=detail)

    def rounds_us(self, issue: Callable[[], Any], launches: int) -> Tuple[List[float], List[float]]:
        """Microseconds a launch until issue() returned, and until the device was done, of each round."""
        host: List[float] = []
        done: List[float] = []
        issue()
        self.place.sync()
        until = time.perf_counter() + min(self.short_s, max(0.0, self.agent.left()))
        while len(host) < 5 or (time.perf_counter() < until and len(host) < 500):
            begun = time.perf_counter()
            issue()
            issued = time.perf_counter()
            self.place.sync()
            host.append((issued - begun) * 1e6 / launches)
            done.append((time.perf_counter() - begun) * 1e6 / launches)
        return host, done

    # -- operations of a transformer --

    def operation(self, name: str) -> None:
        """One operation in the type that mixed precision uses here: rate, bandwidth and arithmetic intensity."""
        what = mixed_type(self.place.capability)
        model = self.plan.model
        batch = batch_factor(self.place.sms) if self.place.kind == "cuda" else 2

        def measure(batch: int) -> None:
            costs = operation_costs(batch, model.sequence * 2, model.width * 2, model.heads * 2, ELEMENT_BYTES[what])
            group, flops, moved = costs[name]
            call = self.operation_call(name, what, batch, moved)
            times = self.times_ms(call, self.short_s)
            ms = median(times)
            detail = {"flops": flops, "bytes": moved, "ms": ms, "gb_s": moved / ms / 1e6, "intensity": flops / moved}
            self.rate("operation", name, flops / ms / 1e9, "TFLOP/s", times, group=group, detail=detail)

        with self.torch.no_grad():
            self.shrinking("operation " + name, batch, 1, measure)

    def operation_call(self, name: str, what: str, batch: int, moved: int) -> Call:
        """A call that works on one of several sets of random inputs; shapes as in operation_costs."""
        torch, model = self.torch, self.plan.model
        functional = torch.nn.functional
        sequence, width, heads = model.sequence * 2, model.width * 2, model.heads * 2
        head = width // heads
        shapes: Dict[str, Tuple[Tuple[int, ...], ...]] = {
            "linear": ((batch, sequence, width), (4 * width, width)),
            "attention-scores": ((batch * heads, sequence, head), (batch * heads, sequence, head)),
            "attention": ((batch, heads, sequence, head),) * 3,
            "softmax": ((batch * heads, sequence, sequence),),
            "layer-norm": ((batch, sequence, 4 * width), (4 * width,), (4 * width,)),
            "gelu": ((batch, sequence, 4 * width),),
            "residual-add": ((batch, sequence, 4 * width),) * 2,
        }
        functions: Dict[str, Any] = {
            "linear": functional.linear,
            "attention-scores": lambda q, k: torch.bmm(q, k.transpose(1, 2)),
            "attention": getattr(functional, "scaled_dot_product_attention", None),
            "softmax": lambda x: torch.softmax(x, -1),
            "layer-norm": lambda x, weight, bias: functional.layer_norm(x, weight.shape, weight, bias),
            "gelu": functional.gelu,
            "residual-add": torch.add,
        }
        function = functions[name]
        inputs = [tuple(self.random(what, *shape) for shape in shapes[name]) for _ in range(self.sets(moved))]
        return lambda number: function(*inputs[number % len(inputs)])

    # -- training --

    def training(self) -> None:
        """A small training step: samples/s, forward and backward time, and what the memory is used for."""
        model = self.plan.model
        batch = model.batch * (batch_factor(self.place.sms) if self.place.kind == "cuda" else 1)
        need = 24 * 12 * model.layers * model.width**2
        free, fits = self.place.free_bytes(), batch
        while fits > 1 and need + 40 * fits * model.sequence * model.width * model.layers > 0.8 * free:
            fits //= 2
        if fits < batch:
            detail = "%d MiB free: made smaller, batch %d instead of %d" % (free / MIB, fits, batch)
            self.agent.ended("training", "skipped", detail)
        self.shrinking("training", fits, 1, lambda size: Training(self, size, size < batch).run())


class Training:
    """A transformer encoder in training with AdamW and mixed precision, at one batch size."""

    def __init__(self, measures: Measures, batch: int, shrunk: bool) -> None:
        self.measures = measures
        self.torch = measures.torch
        self.place = measures.place
        self.gpu = self.place.kind == "cuda"
        self.batch = batch
        self.shrunk = shrunk
        self.what = mixed_type(self.place.capability)
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
        measures, place, shape = self.measures, self.place, self.measures.plan.model
        if self.gpu:  # so that the workspaces of the libraries, in this thread and autograd's, are not counted below
            self.first_step(shape._replace(width=64, heads=1, layers=1), 2)
            self.torch.cuda.reset_peak_memory_stats()
        result: Dict[str, Any] = {"device": place.name, "batch": self.batch, "sequence": shape.sequence}
        begun = time.monotonic()
        result.update(self.first_step(shape, self.batch))
        place.sync()
        result.update(precision=self.what + "-mixed" if self.mixed else self.what, shrunk=self.shrunk)
        if time.monotonic() - begun > measures.agent.left():
            result.update({name: {"missing": "timeout", "detail": NO_TIME} for name in ("step_ms", "samples_per_s")})
            measures.agent.emit(training=dict(result, **self.held()))
            return
        begun = time.monotonic()
        starts, forward, backward = self.loop()
        measures.phase("training", begun, time.monotonic())
        steps = [place.between_ms(starts[number], starts[number + 1]) for number in range(len(starts) - 1)]
        result.update(step_ms=figure(median(steps)), samples_per_s=figure(self.batch * 1e3 / median(steps)))
        result.update(spread_percent=figure(spread_percent(steps)))
        measures.agent.emit(training=dict(result, **self.held()))
        detail = {"batch": self.batch, "parameters": result["parameters"]}
        for what, times in (("forward", forward), ("backward", backward)):
            measures.rate("pass", what, median(times), "ms", times, detail=detail)

    def held(self) -> Dict[str, Any]:
        """Fields of TrainingStep about what the process holds: peak of the tensors, torch's cache, the context."""
        if not self.gpu:
            return {}
        context = self.place.context_bytes()
        missing = {"missing": "absent", "detail": "NVML does not tell what this process alone takes"}
        return {
            "peak_mib": figure(self.torch.cuda.max_memory_allocated() / MIB),
            "reserved_mib": figure(self.torch.cuda.memory_reserved() / MIB),
            "context_mib": missing if context is None else figure(context / MIB),
        }

    def first_step(self, shape: Model, batch: int) -> Dict[str, Any]:
        """Build the model and take one step, counting the tensors' memory after each part of it."""
        torch, device = self.torch, self.place.name
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
        place, agent = self.place, self.measures.agent
        begun = time.monotonic()
        self.step()
        place.sync()
        each = max(time.monotonic() - begun, 1e-6)
        seconds = max(0.0, min(self.measures.plan.training_s, agent.left()))
        least = 3 if 3 * each < agent.left() / 4 else 1
        marks = [self.step() for _ in range(max(least, min(300, int(seconds / each))))]
        end = place.mark()
        place.sync()
        forward = [place.between_ms(start, middle) for start, middle, _ in marks]
        backward = [place.between_ms(middle, last) for _, middle, last in marks]
        return [start for start, _, _ in marks] + [end], forward, backward

    def step(self) -> Tuple[Any, Any, Any]:
        """One step; marks before the forward pass, between the passes, and after the backward pass."""
        self.optimizer.zero_grad(set_to_none=True)
        start = self.place.mark()
        with self.autocast():
            loss = self.loss()
        middle = self.place.mark()
        self.backward(loss)
        last = self.place.mark()
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
        self.place.sync()  # CUDA's own asynchronous allocator frees when the stream gets there
        return int(self.place.used_bytes()) if self.gpu else 0


# ---- The command line ----


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
    asked = parser.parse_args(arguments)
    descriptor = os.dup(1)
    os.dup2(2, 1)
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != here]
    warnings.simplefilter("ignore")
    agent = Agent(descriptor, asked.device)
    try:
        agent.run(asked.level, asked.seconds)
    except Exception as error:  # a package named torch that is no torch
        agent.ended("all", "failed", text_of(error))
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
