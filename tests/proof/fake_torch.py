"""A torch 1.13 with GPUs that are not there: copied into a site-packages folder as torch/__init__.py.

Every tensor holds one number in all its elements, so products and convolutions come out right without any work. It has
no name that torch 1.13 lacks. FAKE_TORCH (JSON) tells what is there and what goes wrong:
  devices, capability ([9, 0]), archs, peer, jit (bytes that the first launch puts into CUDA_CACHE_PATH),
  renamed (allow_tf32 is gone, its later name is left),
  room (elements of the largest tensor that fits), faults {"cuda:0": {STEP: FAULT}} with the steps context, fill, mm,
  conv, copy, work (the square product that is timed) and the faults wrong, unwritten, slow, hang, crash; any other
  text is raised as torch raises it.
pair_gbs {"cuda:0>cuda:1": GB/s, "other": GB/s} with first_gbs (the same, in the first process) and `shared`, a folder.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import math
import os
import random
import signal
import time
from types import ModuleType, SimpleNamespace

_told = json.loads(os.environ.get("FAKE_TORCH", "{}"))
_faults = _told.get("faults", {})
_sticking = set()
_jitted = []
_clock = [0.0]

__version__ = "1.13.1+cu117"
version = SimpleNamespace(cuda="11.7")
float32, float64, int32 = "float32", "float64", "int32"


class OutOfMemoryError(RuntimeError):
    pass


def _init():
    """As the CUDA runtime does, where there is a libcuda."""
    with contextlib.suppress(OSError):
        ctypes.CDLL("libcuda.so.1").cuInit(0)


def _at(step, device):
    """Do to this step what was told; the word where the caller has to."""
    fault = _faults.get(device, {}).get(step, "")
    if device in _sticking:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")
    if fault == "hang":
        time.sleep(600)
    elif fault == "slow":
        time.sleep(0.06)
    elif fault == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif fault and fault not in ("wrong", "unwritten"):
        if "illegal memory access" in fault:
            _sticking.add(device)
        raise RuntimeError(fault)
    return fault


def _pass(pair, size):
    """Put a copy between two GPUs on the clock that events show."""
    rates = _told.get("pair_gbs", {"other": 380.0})
    if "first_gbs" in _told and _is_first():
        rates = {**rates, **_told["first_gbs"]}
    _clock[0] += 2e-6 + size / 1e9 / rates.get(pair, rates["other"])


def _is_first():
    """Whether this is the first process that copies, by a file in `shared`."""
    marker = os.path.join(_told["shared"], "first")
    with contextlib.suppress(FileExistsError), open(marker, "x") as file:
        file.write(str(os.getpid()))
    with open(marker) as file:
        return file.read() == str(os.getpid())


class Tensor:
    def __init__(self, value, shape, device="cpu"):
        self.value, self.shape, self.device = value, tuple(shape), str(device)
        if self.device != "cpu" and math.prod(self.shape) > _told.get("room", 1 << 40):
            raise OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 23.69 GiB total capacity)")

    def _new(self, value, shape=None, device=None):
        return Tensor(value, self.shape if shape is None else shape, device or self.device)

    def __getitem__(self, part):
        return self._new(self.value, (len(range(*part.indices(self.shape[0]))),))

    def to(self, device):
        return self._new(self.value, device=device)

    def cpu(self):
        return self.to("cpu")

    def clone(self):
        return self._new(self.value)

    double = float = clone

    def fill_(self, value):
        _at("fill", self.device)
        if _told.get("jit") and not _jitted:
            _jitted.append(True)
            os.makedirs(os.path.join(os.environ["CUDA_CACHE_PATH"], "a", "b"))
            with open(os.path.join(os.environ["CUDA_CACHE_PATH"], "a", "b", "code"), "wb") as file:
                file.write(b"0" * _told["jit"])
        self.value = value
        return self

    def copy_(self, other, non_blocking=False):
        pair = other.device + ">" + self.device
        fault = _at("copy", pair)
        if "cpu" not in pair:
            _clock[0] += 0.06 if fault == "slow" else 0.0
            _pass(pair, 4 * math.prod(self.shape))
        if fault != "unwritten":
            self.value = other.value + (fault == "wrong")
        return self

    def abs(self):
        return self._new(abs(self.value))

    def max(self):
        return self._new(self.value, ())

    def sum(self):
        return self._new(self.value * math.prod(self.shape), ())

    def __add__(self, other):
        return self._new(self.value + getattr(other, "value", other))

    __radd__ = __add__

    def __sub__(self, other):
        return self._new(self.value - other.value)

    def __truediv__(self, other):
        return self._new(self.value / getattr(other, "value", other))

    def __matmul__(self, other):
        return self._new(self.value * other.value * self.shape[1])

    def reshape(self, *shape):
        return self._new(self.value, shape)

    def __ne__(self, other):
        return self._new(self.value != getattr(other, "value", other))

    def __float__(self):
        return float(self.value)

    def __int__(self):
        return int(self.value)

    __hash__ = None


class Generator:
    def __init__(self):
        self.random = random.Random()

    def seed(self):
        self.random.seed()

    def manual_seed(self, seed):
        self.random.seed(seed)
        return self


def randn(*shape, generator):
    return Tensor(generator.random.uniform(1, 2), shape)


def randint(low, high=None, size=None, generator=None, dtype=None):
    """`randint(high, size)` too."""
    low, high, size = (0, low, high) if size is None else (low, high, size)
    return Tensor((generator.random if generator else random).randrange(low, high), size)


def full(size, value, device="cpu"):
    return Tensor(value, size, device)


def empty(*size, device="cpu"):
    return Tensor(0.0, size, device)


def arange(count, dtype=None):
    return Tensor(1.0, (count,))


def device(kind, index):
    return f"{kind}:{index}"


def equal(one, other):
    return one.value == other.value


def allclose(one, other, rtol=0.0, atol=0.0):
    return abs(one.value - other.value) <= atol + rtol * abs(other.value)


def zeros(size, dtype=None, device="cpu"):
    return Tensor(0, (size,), device)


def _coarse(tensor, fault, backend):
    """By what a result is off: much where told, a little in TF32."""
    return 1.01 if fault == "wrong" else 1.0005 if tensor.device != "cpu" and backend.fp32_precision == "tf32" else 1


def mm(a, b, out=None):
    fault = _at("mm", a.device)
    if a.shape == b.shape:
        _at("work", a.device)
    value = a.value * b.value * a.shape[1] * _coarse(a, fault, backends.cuda.matmul)
    if out is None:
        return Tensor(value, (a.shape[0], b.shape[1]), a.device)
    if fault != "unwritten":
        out.value = value
    return out


def _conv2d(x, w):
    fault = _at("conv", x.device)
    batch, channels, height, width = x.shape
    filters, _, high, wide = w.shape
    value = x.value * w.value * channels * high * wide * _coarse(x, fault, backends.cudnn.conv)
    return Tensor(value, (batch, filters, height - high + 1, width - wide + 1), x.device)


class _Event:
    def __init__(self, enable_timing):
        self.at = 0.0

    def record(self):
        self.at = _clock[0]

    def synchronize(self):
        pass

    def elapsed_time(self, other):
        return (other.at - self.at) * 1000


class _On:
    def __init__(self, index):
        pass

    def __enter__(self):
        pass

    def __exit__(self, *error):
        pass


class _Backend:
    fp32_precision = "tf32"

    def __setattr__(self, name, value):
        if name == "allow_tf32":
            if _told.get("renamed"):
                raise AttributeError("Unknown attribute allow_tf32")
            for part in (self, *vars(self).values()):
                object.__setattr__(part, "fp32_precision", "tf32" if value else "ieee")
        else:
            object.__setattr__(self, name, value)


def _module(name, **members):
    """As torch's own: what it has not is an attribute that a module lacks."""
    found = ModuleType("torch." + name)
    vars(found).update(members)
    return found


nn = _module("nn", functional=_module("nn.functional", conv2d=_conv2d))
_C = SimpleNamespace(_cuda_getArchFlags=lambda: " ".join(_told.get("archs", ["sm_80", "sm_90"])))
backends = _module("backends", cuda=_module("backends.cuda", matmul=_Backend()), cudnn=_Backend())
backends.cudnn.conv = _Backend()
cuda = _module(
    "cuda",
    OutOfMemoryError=OutOfMemoryError,
    Event=_Event,
    device=_On,
    is_available=lambda: _told.get("devices", 1) > 0,
    device_count=lambda: _told.get("devices", 1),
    init=_init,
    empty_cache=lambda: None,
    set_device=lambda index: None,
    synchronize=lambda index=0: _at("context", f"cuda:{index}") and None,
    get_device_name=lambda index: "NVIDIA A10",
    get_device_capability=lambda index: tuple(_told.get("capability", (9, 0))),
    get_device_properties=lambda index: SimpleNamespace(name="NVIDIA A10", total_memory=24 << 30),
    reset_peak_memory_stats=lambda index: None,
    max_memory_allocated=lambda index: 48 << 20,
    can_device_access_peer=lambda one, other: _told.get("peer", True),
)
