"""On a real GPU: a program with a context through libcuda alone, and one without. `pytest -m gpu`."""

from __future__ import annotations

from pathlib import Path

import pytest

from .run import measured, python

pytestmark = pytest.mark.gpu
HOLDS = """
import ctypes, time
cuda = ctypes.CDLL("libcuda.so.1")
context, memory = ctypes.c_void_p(), ctypes.c_uint64()
assert cuda.cuInit(0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(512 << 20)) == 0
end = time.monotonic() + 5
while time.monotonic() < end:
    assert cuda.cuMemsetD8_v2(memory, ctypes.c_ubyte(1), ctypes.c_size_t(512 << 20)) == 0
    assert cuda.cuCtxSynchronize() == 0
"""


def test_a_program_that_holds_memory_and_works(tmp_path: Path) -> None:
    facts, said, code = measured(tmp_path, [], python(HOLDS))
    assert code == 0, said
    watch = facts["watch"]
    assert watch["uses_gpu"] is True and len(watch["gpu_keys"]) == 1
    assert watch["gpu_busy_percent"] > 30
    assert any(name.startswith("libcuda.so") for name in watch["libraries"])
    if not isinstance(watch["gpu_memory_max_mib"], dict):  # a container whose processes NVML does not show
        assert watch["gpu_memory_max_mib"] > 512
    (load,) = facts["loads"]
    assert load["key"] == watch["gpu_keys"][0] and load["samples"] >= 3 and load["power_w"] > 0
    assert facts.get("ended", []) == []


def test_a_program_that_does_not(tmp_path: Path) -> None:
    facts, _, _ = measured(tmp_path, [], ["sleep", "4"])
    assert facts["watch"]["uses_gpu"] is False
    assert isinstance(facts["loads"], list) and facts["loads"]
