"""The fake torch with GPUs that take time: copied as torch/__init__.py beside fake_torch.py as torch/base.py.

A tensor still holds one number in all its elements. Work on a GPU is put on its clock: it is over by the wall's clock
when a GPU of these figures were done with it, without any work of the CPU; who reads a result waits for it. FAKE_TORCH
also tells: tflops {dtype: TFLOP/s}, memory_gbs, link_gbs, peer_gbs, share {device: of the speed}, falls {device: [after
seconds, to a share]}, flips {device: after seconds} (then each fifth product is doubled), crowded {device: of the speed
while another GPU is at work} with `shared`, a folder for what the processes tell each other, hang_in {device: dtype, or
copy} (that never ends, a file `hangs` in `shared` tells), zeros {device: dtype} (its products are zero), other_bits
{device: dtype} (each seventh product is off by little), other_bytes {device: true} (copies inside its memory), import_s, free_mib, cpu_gflops, cpu_stalls [count of first
products of the CPU, seconds that each takes].
"""

from __future__ import annotations

import contextlib
import math
import operator
import os
import random
import time
from types import SimpleNamespace

from . import base
from .base import (
    Generator as Generator,
)
from .base import (
    OutOfMemoryError as OutOfMemoryError,
)
from .base import _told, backends, cuda, float32, float64, int32, nn, version

__all__ = ["backends", "cuda", "float32", "float64", "int32", "nn", "version"]
__version__ = base.__version__
float16, bfloat16, float8_e4m3fn = "float16", "bfloat16", "float8_e4m3fn"
int8, int16, uint8, int64 = "int8", "int16", "uint8", "int64"
BYTES = {
    float64: 8,
    int64: 8,
    float32: 4,
    int32: 4,
    float16: 2,
    bfloat16: 2,
    int16: 2,
    float8_e4m3fn: 1,
    int8: 1,
    uint8: 1,
}
TFLOPS = {
    bfloat16: 750.0,
    float16: 740.0,
    float32: 51.0,
    "tf32": 395.0,
    float8_e4m3fn: 1335.0,
    int8: 1280.0,
    float64: 60.0,
}
TFLOPS |= _told.get("tflops", {})
MEMORY_GBS, LINK_GBS = _told.get("memory_gbs", 4200.0), _told.get("link_gbs", 55.0)
PEER_GBS = _told.get("peer_gbs", 370.0)
_busy = {}
_calls = [0]
_touched = [0.0]
_began = time.perf_counter()
_products = [0]
time.sleep(_told.get("import_s", 0.0))


def _share(device):
    """Of the full speed, now."""
    share = _told.get("share", {}).get(device, 1.0)
    after, falls_to = _told.get("falls", {}).get(device, (math.inf, 1.0))
    share *= falls_to if time.perf_counter() > _began + after else 1.0
    folder, crowded = _told.get("shared"), _told.get("crowded", {})
    if not folder:
        return share
    now = time.time()
    if now > _touched[0] + 0.05:
        _touched[0] = now
        with open(os.path.join(folder, device), "w"):
            pass
    if device in crowded:
        for name in os.listdir(folder):
            if name != device and os.stat(os.path.join(folder, name)).st_mtime > now - 0.4:
                return crowded[device]
    return share


def _spend(device, seconds):
    """Put work on the GPU's clock."""
    if device != "cpu":
        _busy[device] = max(time.perf_counter(), _busy.get(device, 0.0)) + seconds


def _wait(device):
    """Until the GPU has done it."""
    time.sleep(max(0.0, _busy.get(device, 0.0) - time.perf_counter()))


def _hang(device, what):
    """Where it is told so, and leave a file `hangs`."""
    if what and _told.get("hang_in", {}).get(device) == what:
        with open(os.path.join(_told["shared"], "hangs"), "w"):
            time.sleep(600)


class Tensor(base.Tensor):
    def __init__(self, value, shape, device="cpu", dtype=float32):
        super().__init__(value, shape, device)
        self.dtype = dtype

    far = False
    """In host memory that a core of `far_cpus` touched first: copies have a share of the link, `far_share`."""

    def _new(self, value, shape=None, device=None, dtype=None):
        return Tensor(value, self.shape if shape is None else shape, device or self.device, dtype or self.dtype)

    def to(self, where):
        if where in BYTES:
            return self._new(self.value, dtype=where)
        _wait(self.device)
        return self._new(self.value, device=where)

    def double(self):
        return self._new(float(self.value), dtype=float64)

    def view(self, dtype):
        return self._new(self.value, dtype=dtype)

    def t(self):
        return self._new(self.value, self.shape[::-1])

    def reshape(self, rows, _, width=None):
        if width is None:
            return self._new(self.value, (rows, self.numel() // rows))
        return self._new(self.value, (rows, self.numel() // rows // width, width))

    def __matmul__(self, other):
        return self._new(self.value * other.value * self.shape[1])

    def flatten(self):
        return self._new(self.value, (self.numel(),))

    def numel(self):
        return math.prod(self.shape)

    def element_size(self):
        return BYTES[self.dtype]

    def sum(self, dim=None):
        if dim is None:
            return self._new(self.value * self.numel(), ())
        shape = list(self.shape)
        return self._new(self.value * shape.pop(dim), shape)

    def norm(self, dim=None):
        count = self.numel() if dim is None else self.shape[dim]
        return self._new(abs(self.value) * math.sqrt(count), self.shape[:-1] if dim is not None else ())

    def sqrt(self):
        return self._new(math.sqrt(self.value))

    def all(self):
        return self._new(bool(self.value), ())

    def nonzero(self):
        return self._new(0, (self.numel() if self.value else 0, 2))

    def __getitem__(self, at):
        if at is None:
            return self._new(self.value, (1, *self.shape))
        rows = at[0] if isinstance(at, tuple) else at
        if isinstance(rows, slice):
            count = len(range(*rows.indices(self.shape[0])))
        else:
            count = rows.shape[0]
        return self._new(self.value, (count,) if isinstance(at, tuple) else (count, *self.shape[1:]))

    def __setitem__(self, at, other):
        self.value = other.value

    def _with(self, other, function):
        return self._new(function(self.value, getattr(other, "value", other)), dtype=float64)

    def __mul__(self, other):
        return self._with(other, lambda a, b: a * b)

    __rmul__ = __mul__

    def __sub__(self, other):
        return self._with(other, lambda a, b: a - b)

    def __truediv__(self, other):
        return self._with(other, lambda a, b: a / b)

    def __le__(self, other):
        return self._with(other, lambda a, b: a <= b)

    def __lt__(self, other):
        return self._with(other, lambda a, b: a < b)

    def __and__(self, other):
        return self._with(other, lambda a, b: a and b)

    def __ne__(self, other):
        return self._with(other, lambda a, b: a != b)

    def __invert__(self):
        return self._new(not self.value)

    def __bool__(self):
        return bool(self.value)

    def __int__(self):
        _wait(self.device)
        return int(self.value)

    def __float__(self):
        _wait(self.device)
        return float(self.value)

    __hash__ = None

    def copy_(self, other, non_blocking=False):
        size = self.numel() * self.element_size()
        if other.device == self.device:
            _spend(self.device, 2 * size / MEMORY_GBS / 1e9 / _share(self.device))
        elif "cpu" not in (self.device, other.device):
            _spend(other.device, size / PEER_GBS / 1e9)
        else:
            gpu = other.device if self.device == "cpu" else self.device
            _hang(gpu, "copy" if size > 1 << 24 else "")
            _spend(gpu, size / LINK_GBS / 1e9 / (_told["far_share"] if self.far or other.far else 1.0))
            if not non_blocking:
                _wait(gpu)
        super().copy_(other)
        if other.device == self.device and _told.get("other_bytes", {}).get(self.device):
            self.value += 1
        return self

    def add_(self, other):
        _spend(self.device, 2e-6)
        return self

    def mul_(self, other):
        self.value *= other
        return self

    def bitwise_xor_(self, other):
        self.value ^= other
        return self

    def bitwise_and_(self, other):
        return self

    def uniform_(self):
        self.value = random.uniform(1, 2)
        return self

    def zero_(self):
        return self.fill_(0)


base.Tensor = Tensor


def _shape(shape):
    """The numbers of elements: whole ones, as torch takes no others."""
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    for size in sizes:
        operator.index(size)
    return sizes


def randn(*shape, generator=None, dtype=float32, device="cpu"):
    return Tensor((generator.random if generator else random).uniform(1, 2), _shape(shape), device, dtype)


def randint(low, high=None, size=None, generator=None, dtype=int32, device="cpu"):
    low, high, size = (0, low, high) if size is None else (low, high, size)
    return Tensor((generator.random if generator else random).randrange(low, high), size, device, dtype)


def empty(*shape, dtype=float32, device="cpu", pin_memory=False):
    made = Tensor(0.0, _shape(shape), device, dtype)
    made.far = device == "cpu" and os.sched_getaffinity(0) == set(_told.get("far_cpus", ()))
    return made


def full(size, value, dtype=float32, device="cpu"):
    return Tensor(value, size, device, dtype)


def zeros(*shape, dtype=float32, device="cpu"):
    return Tensor(0, _shape(shape), device, dtype)


def ones(shape, dtype=float32, device="cpu"):
    return Tensor(1.0, shape, device, dtype)


def empty_like(other):
    return other._new(0)


def arange(count, dtype=None, out=None):
    if out is None:
        return Tensor(1.0, (count,), dtype=dtype or float32)
    out.value = 1
    return out


def device(kind, index):
    return f"{kind}:{index}"


def equal(one, other):
    return one.value == other.value


def allclose(one, other, rtol=0.0, atol=0.0):
    return abs(one.value - other.value) <= atol + rtol * abs(other.value)


def add(b, c, alpha=1.0, out=None):
    _spend(out.device, 3 * out.numel() * out.element_size() / MEMORY_GBS / 1e9 / _share(out.device))
    return out


def mm(a, b, out=None, dtype=None):
    fault = base._at("mm", a.device)
    _hang(a.device, a.dtype)
    dtype = dtype or a.dtype
    kind = "tf32" if a.dtype == float32 and backends.cuda.matmul.fp32_precision == "tf32" else a.dtype
    if a.device != "cpu":
        work = 2 * a.shape[0] * a.shape[1] * b.shape[1] / (TFLOPS[kind] * 1e12)
        _spend(a.device, work / _share(a.device))
    elif "cpu_gflops" in _told:
        stalls, seconds = _told.get("cpu_stalls", (0, 0.0))
        work = 2 * a.shape[0] * a.shape[1] * b.shape[1] / (_told["cpu_gflops"] * 1e9)
        time.sleep(seconds if _products[0] < stalls else work)
    value = a.value * b.value * a.shape[1] * (1.01 if fault == "wrong" else 1)
    if _told.get("zeros", {}).get(a.device) == a.dtype:
        value = 0.0
    after = _told.get("flips", {}).get(a.device, math.inf)
    _products[0] += 1
    if a.dtype != float64 and time.perf_counter() > _began + after and _products[0] % 5 == 0:
        value *= 2.0
    if _told.get("other_bits", {}).get(a.device) == a.dtype:
        _calls[0] += 1
        value *= 1 + 1e-4 * (_calls[0] % 7 == 0)
    out = out if out is not None else Tensor(0, (a.shape[0], b.shape[1]), a.device, dtype)
    out.value = value
    return out


def where(condition, one, other):
    return one._new(one.value if condition.value else other.value)


def _int_mm(a, b):
    return mm(a, b, dtype=int32)


def _scaled_mm(a, b, out_dtype, scale_a, scale_b, use_fast_accum):
    return mm(a, b, dtype=out_dtype)


class _Event:
    def __init__(self, enable_timing):
        self.at = 0.0

    def record(self):
        self.device = _current[0]
        self.at = max(time.perf_counter(), _busy.get(self.device, 0.0))

    def synchronize(self):
        time.sleep(max(0.0, self.at - time.perf_counter()))

    def elapsed_time(self, other):
        return (other.at - self.at) * 1000


_current = ["cuda:0"]


def _set_device(index):
    _current[0] = f"cuda:{index}"


def _synchronize(index=None):
    device = _current[0] if index is None else f"cuda:{index}"
    base._at("context", device)
    _wait(device)


class _Device:
    def __init__(self, index):
        self.index = index

    def __enter__(self):
        self.before = _current[0]
        _set_device(self.index)

    def __exit__(self, *error):
        _current[0] = self.before


no_grad = contextlib.nullcontext
_C = base._C
vars(cuda).update(
    Event=_Event,
    device=_Device,
    set_device=_set_device,
    synchronize=_synchronize,
    memory_reserved=lambda: 0,
    memory_allocated=lambda: 0,
    mem_get_info=lambda index: (_told.get("free_mib", 120 << 10) << 20, 140 << 30),
    get_device_name=lambda index: _told.get("name", "NVIDIA H200"),
    get_device_properties=lambda index: SimpleNamespace(
        name=_told.get("name", "NVIDIA H200"),
        major=9,
        minor=0,
        multi_processor_count=132,
        L2_cache_size=50 << 20,
        total_memory=140 << 30,
    ),
)
