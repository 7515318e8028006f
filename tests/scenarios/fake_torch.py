"""A torch that answers as the real one would on this driver: copied into a scenario's site-packages as torch/__init__.py.

It asks the libcuda that the loader gives it, judges by the build's own architectures (build.json beside it) and raises
what torch raises. It computes nothing.
"""

from __future__ import annotations

import ctypes
import json
import os
from types import SimpleNamespace

from . import version

__version__ = version.__version__
with open(os.path.join(os.path.dirname(__file__), "build.json"), encoding="utf-8") as _file:
    _build = json.load(_file)
if _build.get("import_error"):
    raise ImportError(_build["import_error"])

_NO_KERNEL = "CUDA error: no kernel image is available for execution on the device"
_NO_DRIVER = "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver"
_TOO_OLD = "The NVIDIA driver on your system is too old (found version {}). Please update your GPU driver"
_WORDS = {
    802: "system not yet initialized", 803: "system has unsupported display driver / cuda driver combination",
    804: "forward compatibility was attempted on non supported HW", 999: "unknown error",
    34: "CUDA driver is a stub library", 46: "CUDA-capable device(s) is/are busy or unavailable",
}  # fmt: skip
_TEGRA = ((3, 2), (5, 3), (6, 2), (7, 2), (8, 7))


class _Driver:
    """libcuda as the CUDA runtime of this build sees it: `problem` is empty where there are devices."""

    def __init__(self) -> None:
        self.count, self.problem = 0, ""
        if version.cuda is None:
            self.problem = "Torch not compiled with CUDA enabled"
            return
        try:
            self.library = ctypes.CDLL("libcuda.so.1")
        except OSError:
            self.problem = _NO_DRIVER
            return
        number = ctypes.c_int()
        self.library.cuDriverGetVersion(ctypes.byref(number))
        if number.value // 1000 < int(version.cuda.split(".")[0]):
            self.problem = _TOO_OLD.format(number.value)
            return
        code = self.library.cuInit(0)
        if code == 0:
            self.library.cuDeviceGetCount(ctypes.byref(number))
            self.count = number.value
        elif code == 100:
            self.problem = "No CUDA GPUs are available"
        else:
            words = "Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before? Error {}: {}"
            self.problem = words.format(code, _WORDS.get(code, "unknown error"))

    def attribute(self, number: int, device: int) -> int:
        value = ctypes.c_int()
        self.library.cuDeviceGetAttribute(ctypes.byref(value), number, device)
        return value.value

    def name(self, device: int) -> str:
        text = ctypes.create_string_buffer(256)
        self.library.cuDeviceGetName(text, 256, device)
        return text.value.decode()


_driver: _Driver | None = None


def _cuda() -> _Driver:
    global _driver
    _driver = _driver or _Driver()
    return _driver


def _init() -> None:
    if _cuda().problem:
        raise RuntimeError(_cuda().problem)


def _capability(device: int) -> tuple[int, int]:
    return _cuda().attribute(75, device), _cuda().attribute(76, device)


def _runs_on(device: int) -> bool:
    """SASS of the same major and no higher minor (chips of Tegra boards: their own alone), or PTX that is no newer."""
    here = _capability(device)
    for target in _build["archs"]:
        kind, _, digits = target.partition("_")
        there = int(digits[:-1]), int(digits[-1])
        fits = there == here if here in _TEGRA else there[0] == here[0] and there <= here
        if fits or (kind == "compute" and there <= here):
            return True
    return False


class _Tensor:
    """Values are not kept: on a device without code for it every operation raises."""

    def __init__(self, device: int | None = None) -> None:
        self.device = device

    def _same(self, *_: object) -> _Tensor:
        if self.device is not None and not _runs_on(self.device):
            raise RuntimeError(_NO_KERNEL)
        return self

    reshape = __truediv__ = __add__ = __matmul__ = _same

    def to(self, place: tuple[str, int]) -> _Tensor:
        return _Tensor(place[1])

    def cpu(self) -> _Tensor:
        return _Tensor()


def arange(*_: object, **__: object) -> _Tensor:
    return _Tensor()


def equal(*_: object) -> bool:
    return True


def allclose(*_: object, **__: object) -> bool:
    return True


def device(kind: str, index: int) -> tuple[str, int]:
    return kind, index


def _cudnn_version() -> int | None:
    if _build.get("cudnn_error"):
        raise RuntimeError(_build["cudnn_error"])
    number = _build.get("cudnn")
    return None if number is None else int(number)


float32 = "float32"
_C = SimpleNamespace(_cuda_getArchFlags=lambda: " ".join(_build["archs"]))
if _build.get("nccl"):
    _C._nccl_version = lambda: _build["nccl"]
backends = SimpleNamespace(cudnn=SimpleNamespace(version=_cudnn_version))
cuda = SimpleNamespace(
    is_available=lambda: _cuda().count > 0,
    device_count=lambda: _cuda().count,
    init=_init,
    synchronize=_init,
    get_device_name=lambda index: _cuda().name(index),
    get_device_capability=_capability,
    get_arch_list=lambda: _build["archs"] if _cuda().count else [],
)
