"""Run an agent on a GPU that is not there: `python gpu_on_cpu.py AGENT [ARGUMENTS]` under the CPU build of torch.

What is asked of `cuda:0` is computed on the CPU by the real torch, autocast and autograd among it; its memory is what
the tensors' storages take. FAKE_GPU (JSON) tells of the GPU: name, capability, sms, l2_mib, free_mib, largest_mib (of
one tensor: above it memory runs out), old_scaled_mm (that of torch 2.1: no use_fast_accum, two results), without (names that this torch lacks), fault {CALL: words} (raised by that
function of torch; words with "illegal memory access" break everything after them too), sick {CALL: {how, dtype,
every}}: results of that dtype (of every so many calls alone) are changed: `zeros`; `flip`, an exponent bit of one
element; `infinite`, one element; `tile`, 64 x 64 elements are too large by a 2000th; `order`, the sums of a product are
made in another order; `byte`, the last bit of one element. Only results of SICK_FROM elements on are.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import time
from types import SimpleNamespace
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

TOLD = {
    "name": "NVIDIA A100-SXM4-40GB",
    "capability": [8, 0],
    "sms": 8,
    "l2_mib": 4,
    "free_mib": 2048,
    "largest_mib": 1 << 20,
}
TOLD.update(json.loads(os.environ.get("FAKE_GPU", "{}")))  # Python 3.8 too
FAULT: dict[str, str] = TOLD.get("fault", {})
SICK: dict[str, dict[str, Any]] = TOLD.get("sick", {})
SICK_FROM = 1 << 16
IN_PLACE = ("bitwise_and_", "bitwise_xor_")
"""Before torch 2.2 a dispatch mode gets the overload for a tensor, with the number that was given."""
EXPONENT = {"bfloat16": 7, "float16": 10, "float32": 23, "int32": 23}
"""The lowest bit of it; in int32, of a float32 that counts."""
calls: dict[str, int] = {}
MIB = 1 << 20
storages: dict[int, tuple[StorageWeakRef, int]] = {}
broken: list[str] = []
peak = [0]


def sound() -> None:
    if broken:
        raise RuntimeError(broken[0])


def used(stats: bool = False) -> Any:
    for number in [number for number, (seen, _) in storages.items() if seen.expired()]:
        del storages[number]
    total = sum(size for _, size in storages.values())
    peak[0] = max(peak[0], total)
    return {"requested_bytes.all.current": total} if stats else total


def sicken(name: str, result: Any, args: Any) -> None:
    """Change a result as FAKE_GPU tells."""
    sick = SICK[name]
    kind = str(result.dtype).rpartition(".")[2]
    if kind != sick.get("dtype", kind) or result.numel() < SICK_FROM:
        return
    calls[name] = calls.get(name, 0) + 1
    if calls[name] % sick.get("every", 1):
        return
    if sick["how"] == "zeros":
        result.zero_()
        return
    if sick["how"] == "infinite":
        result.flatten()[result.numel() // 3] = float("inf")
        return
    if sick["how"] == "tile":
        result[:64, :64] *= 1.0005
        return
    if sick["how"] == "order":
        result.copy_(torch.mm(args[0].flip(1), args[1].flip(0)))
        return
    bits = result.view(torch.int16 if result.element_size() == 2 else torch.int32).flatten()
    place = int(result.abs().argmax()) if sick["how"] == "flip" else calls[name] % bits.numel()
    bits[place] ^= 1 << (EXPONENT[kind] if sick["how"] == "flip" else 0)


def fp4_numbers(packed: Any, scales: Any) -> Any:
    """What 4-bit floats stand for, rows x k: by the fields of E2M1, and by the formula of cuBLAS's documentation for
    where the scale of a row and a block of 16 lies."""
    stored = packed.view(torch.uint8)
    codes = torch.stack((stored & 15, stored >> 4), -1).flatten(1).int()
    exponent, mantissa = (codes >> 1) & 3, codes & 1
    size = torch.where(exponent == 0, mantissa / 2, (1 + mantissa / 2) * 2.0 ** (exponent - 1))
    row = torch.arange(codes.shape[0])[:, None]
    column = torch.arange(codes.shape[1] // 16)[None, :]
    tile = row // 128 * (-(-codes.shape[1] // 64)) + column // 4
    offset = tile * 512 + row % 32 * 16 + row % 128 // 32 * 4 + column % 4
    each = scales.view(torch.float8_e4m3fn).float()[offset].repeat_interleave(16, 1)
    return torch.where(codes >= 8, -size, size) * each


def fp4_product(a: Any, b: Any, scale_a: Any, scale_b: Any, out_dtype: Any, use_fast_accum: bool = False) -> Any:
    """As the CUDA build's, with its conditions; the CPU build has none."""
    if use_fast_accum or TOLD["capability"][0] < 10:
        raise RuntimeError("`use_fast_accum` is not supported here, or this is no Blackwell")
    for scale, rows in ((scale_a, a.shape[0]), (scale_b, b.shape[1])):
        assert scale.dtype == torch.float8_e4m3fn and scale.is_contiguous(), scale.dtype
        assert scale.numel() == -(-rows // 128) * 128 * (-(-a.shape[1] * 2 // 64) * 4), "size of the scales"
    assert a.stride(1) == 1 and b.stride(0) == 1 and a.shape[1] % 16 == 0, "cuBLAS takes one layout"
    return (fp4_numbers(a, scale_a) @ fp4_numbers(b.t(), scale_b).t()).to(out_dtype)


def storage_of(tensor: Any) -> Any:
    """Its untyped storage; before torch 2.0 through the typed one."""
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage().untyped()


class Counting(TorchDispatchMode):
    """Keeps an eye on every storage that an operation makes, in the backward pass too."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for tensor in made if isinstance(made, (tuple, list)) else (made,):
            if isinstance(tensor, torch.Tensor):
                storage = storage_of(tensor)
                storages[storage._cdata] = (StorageWeakRef(storage), storage.nbytes())
                if storage.nbytes() > TOLD["largest_mib"] * MIB:
                    raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate much (GPU 0)")
        return made


class OnCpu(TorchFunctionMode):
    """Puts what is for the GPU on the CPU."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        sound()
        name = getattr(func, "__name__", "")
        if name == "_scaled_mm" and "old_scaled_mm" in TOLD and "use_fast_accum" in (kwargs or {}):
            raise TypeError("_scaled_mm() got an unexpected keyword argument 'use_fast_accum'")
        if name in FAULT:
            if "illegal memory access" in FAULT[name]:
                broken.append(FAULT[name])
            raise RuntimeError(FAULT[name])
        kwargs = dict(kwargs or {})
        if str(kwargs.get("device", "")).startswith("cuda"):
            kwargs["device"] = "cpu"
        kwargs.pop("pin_memory", None)
        if name in IN_PLACE and isinstance(args[1], int):
            args = (args[0], torch.tensor(args[1], dtype=args[0].dtype))
        fp4 = name == "_scaled_mm" and args[0].dtype == getattr(torch, "float4_e2m1fn_x2", None)
        result = fp4_product(*args, **kwargs) if fp4 else func(*args, **kwargs)
        if name in SICK:
            sicken(name, result, args)
        return (result, result.abs().max()) if name == "_scaled_mm" and "old_scaled_mm" in TOLD else result


class Event:
    def __init__(self, enable_timing: bool = False) -> None:
        assert enable_timing

    def record(self) -> None:
        sound()
        self.time = time.perf_counter()

    def elapsed_time(self, end: Event) -> float:
        return (end.time - self.time) * 1e3


class CUDAGraph:
    def replay(self) -> None:
        sound()


def pretend() -> None:
    """Put the GPU into torch.cuda."""
    cuda: Any = torch.cuda
    cuda.is_available = lambda: True
    cuda.device_count = lambda: 1
    cuda.set_device = lambda ordinal: None
    cuda.synchronize = sound
    cuda.empty_cache = sound
    cuda.get_device_properties = lambda ordinal: SimpleNamespace(
        name=TOLD["name"],
        major=TOLD["capability"][0],
        minor=TOLD["capability"][1],
        L2_cache_size=TOLD["l2_mib"] * MIB,
        multi_processor_count=TOLD["sms"],
        uuid="5f3a9c1e-1111-2222-3333-444455556666",
    )
    cuda.mem_get_info = lambda ordinal: (TOLD["free_mib"] * MIB, 40960 * MIB)
    cuda.memory_allocated = cuda.memory_reserved = used
    cuda.max_memory_allocated = lambda: max(peak[0], used())
    cuda.reset_peak_memory_stats = lambda: peak.__setitem__(0, 0)
    cuda.memory_stats = lambda: used(stats=True)
    cuda.Event, cuda.CUDAGraph, cuda.graph = Event, CUDAGraph, lambda graph: contextlib.nullcontext()
    cuda.Stream = cuda.current_stream = lambda: SimpleNamespace(wait_stream=lambda other: None)
    cuda.stream = lambda stream: contextlib.nullcontext()
    cuda.is_current_stream_capturing = lambda: False  # a CUDA build's optimizers ask, since 2.15 by the accelerator
    if hasattr(torch, "accelerator"):
        stream = SimpleNamespace(is_capturing=lambda: False)
        torch.accelerator.current_stream = lambda device=None: stream  # type: ignore[assignment,return-value]
    autocast = torch.autocast
    torch.autocast = lambda kind, dtype: autocast("cpu", dtype=dtype)  # type: ignore[assignment,misc]
    for name in TOLD.get("without", ()):
        where, _, last = name.rpartition(".")
        delattr(getattr(torch, where) if where else torch, last)


if hasattr(
    torch, "_streambase"
):  # before torch 2.6 dynamo, which optimizers load, asks that these classes derive from it
    importlib.import_module("torch._dynamo.device_interface")
pretend()
folder, name = os.path.split(sys.argv[1])
sys.path.append(folder)
agent = importlib.import_module("agent_boot").agent(folder, os.path.splitext(name)[0])
with OnCpu(), Counting():
    agent.main(sys.argv[2:])
