"""Agent: a kernel of our own on every device, through libcuda alone: no torch, no toolkit. JSON lines on stdout.

Arguments: [--first N | --only N], N a device of libcuda's numbering. Lines:
{"begin": CALL, "device": "cuda:N"} before each call that can hang; {"proving": {...}} with what a device says of itself
before it gets work; {"driver_proof": {...}} its result; {"ended": {...}} for what failed before any device, or after
one; {"done": ...} the last. Random data goes up, is mixed by the kernel, and comes back over a poisoned output; every
element is held against the same arithmetic on the CPU. After an error inside a context the agent starts itself anew for
the devices that are left: the driver answers with that error until the process ends. The driver's cache of compiled PTX
is off, so that `module_ms` is always a compilation and a damaged cache spoils nothing.
"""

from __future__ import annotations

import ctypes
import os
import sys
from array import array
from math import isfinite
from time import perf_counter

from .agent_boot import again
from .driver_calls import Calls, Failed, address, dashed, since
from .driver_kernel import BLOCKS, PTX, ROUNDS, THREADS, mixed
from .driver_memory import Memory
from .noise import real_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
CAPABILITY_MAJOR, CAPABILITY_MINOR = 75, 76
JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES = 5, 6


class Agent(Calls):
    """Proves device by device."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor)
        self.inside = False
        self.memory: Memory | None = None
        self.seed = int.from_bytes(os.urandom(4), "little")
        self.source = self.right = array("I")

    def run(self, first: int, only: bool) -> None:
        """All devices from `first`, or it alone. With no device to prove on, a line says what failed."""
        count = ctypes.c_int()
        self.begin("dlopen " + LIBRARY)
        try:
            self.lib = getattr(ctypes, "WinDLL", ctypes.CDLL)(LIBRARY)  # WinDLL is Windows alone: stdcall
        except OSError as error:
            self.ended("dlopen " + LIBRARY, str(error)[:300])
            return
        try:
            self.call("cuInit", ctypes.c_uint(0))
            self.call("cuDeviceGetCount", ctypes.byref(count))
        except Failed as failed:
            self.ended(failed.call, failed.words)
            return
        if only and first >= count.value:
            self.ended("cuDeviceGetCount", "there is no device {}: libcuda counts {}".format(first, count.value))
        self.source.frombytes(os.urandom(4 * THREADS * BLOCKS))
        self.right = mixed(self.source, self.seed, ROUNDS)
        end = min(first + 1, count.value) if only else count.value
        for ordinal in range(first, end):
            self.device, self.inside = "cuda:{}".format(ordinal), False
            self.prove(ordinal)
            if self.inside and ordinal + 1 < end:
                self.start_anew(ordinal + 1)

    def start_anew(self, first: int) -> None:
        """This program again, in this process, from a device on; where that cannot be, the process goes on."""
        command, _ = again("driver_proof", own=True)
        if sys.platform == "win32" or not command:
            return
        if self.memory is not None:
            self.memory.end()
        os.dup2(self.descriptor, 1)
        try:
            os.execv(sys.executable, [*command, "--first", str(first)])
        except OSError:
            os.dup2(2, 1)

    def prove(self, ordinal: int) -> None:
        """One device: its result becomes a line before its context is given back."""
        proof: dict[str, Any] = {"device": ordinal}
        context = ctypes.c_void_p()
        try:
            handle = ctypes.c_int()
            self.call("cuDeviceGet", ctypes.byref(handle), ordinal)
            uuid = self.introduce(handle, proof)
            self.emit(proving=proof)
            before = self.memory.used(uuid) if self.memory is not None and uuid else None
            self.open(context, handle, before, proof)
            proof["context_mib"] = self.taken(before, uuid)
            self.compute(proof)
        except Failed as failed:
            proof["right"] = {"missing": "error", "detail": failed.words[:1000]}
            proof.update(failed_call=failed.call, error_name=failed.name)
            if failed.code is not None:
                proof["error_code"] = failed.code
        self.emit(driver_proof=proof)
        if "failed_call" not in proof:
            try:
                self.call("cuCtxDestroy_v2", context)
                self.inside = False
            except Failed as failed:
                self.ended(failed.call, failed.words)

    def introduce(self, handle: ctypes.c_int, proof: dict[str, Any]) -> str:
        """Name, capability and key, as far as the device tells them; returns NVML's UUID of it (a MIG device's own)."""
        name, major, minor = ctypes.create_string_buffer(256), ctypes.c_int(), ctypes.c_int()
        gpu, part = (ctypes.c_ubyte * 16)(), (ctypes.c_ubyte * 16)()
        if self.succeeds("cuDeviceGetName", name, 256, handle):
            proof["name"] = name.value.decode("utf-8", "replace")
        if self.succeeds("cuDeviceGetAttribute", ctypes.byref(major), CAPABILITY_MAJOR, handle) and self.succeeds(
            "cuDeviceGetAttribute", ctypes.byref(minor), CAPABILITY_MINOR, handle
        ):
            proof["capability"] = "{}.{}".format(major.value, minor.value)
        if not self.succeeds("cuDeviceGetUuid", ctypes.byref(gpu), handle):
            return ""
        proof["key"] = "GPU-" + dashed(bytes(gpu))
        # Version 2 of the call names the MIG device, version 1 the GPU that it is part of.
        if self.succeeds("cuDeviceGetUuid_v2", ctypes.byref(part), handle) and bytes(part) != bytes(gpu):
            return "MIG-" + dashed(bytes(part))
        return "GPU-" + dashed(bytes(gpu))

    def open(self, context: Any, handle: ctypes.c_int, before: list[int] | None, proof: dict[str, Any]) -> None:
        """A context, and how long it took."""
        start = perf_counter()
        try:
            self.call("cuCtxCreate_v2", ctypes.byref(context), ctypes.c_uint(0), handle)
        except Failed as failed:
            if failed.code == 2 and before is not None:  # out of memory: by whom?
                failed.words += "; NVML counts {} of {} MiB in use".format(before[0] >> 20, before[1] >> 20)
            raise
        proof["context_ms"] = since(start)
        self.inside = True

    def taken(self, before: list[int] | None, uuid: str) -> float | dict[str, str]:
        """MiB by which the device's memory in use grew with the context, where nobody else was at work on it."""
        after = None if before is None or self.memory is None else self.memory.used(uuid)
        if before is None or after is None:
            unknown = {"missing": "absent", "detail": "libcuda gives no UUID of this device"}
            return unknown if self.memory is None or not uuid else self.memory.why
        if before[2]:
            return {"missing": "absent", "detail": "other processes on this GPU: {}".format(before[2])}
        if after[0] <= before[0]:
            return {"missing": "absent", "detail": "the memory in use did not grow by NVML's count"}
        return round((after[0] - before[0]) / (1 << 20), 1)

    def compute(self, proof: dict[str, Any]) -> None:
        """Module, data, kernel, and every element of the result."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        log = ctypes.create_string_buffer(2048)
        options = (ctypes.c_int * 2)(JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), len(log))
        text = ctypes.c_char_p(PTX)
        start = perf_counter()
        try:
            self.call("cuModuleLoadDataEx", ctypes.byref(module), text, ctypes.c_uint(2), options, values)
        except Failed as failed:
            build_log = log.value.decode("utf-8", "replace").strip()
            failed.words += "; compiler: " + build_log if build_log else ""
            raise
        proof["module_ms"] = since(start)
        self.call("cuModuleGetFunction", ctypes.byref(function), module, ctypes.c_char_p(b"gpudoctor_mix"))
        size = ctypes.c_size_t(4 * len(self.source))
        source, result = ctypes.c_uint64(), ctypes.c_uint64()
        poison = array("I", [~value & 0xFFFFFFFF for value in self.right])  # wrong in every bit, wherever it stays
        self.call("cuMemAlloc_v2", ctypes.byref(source), size)
        self.call("cuMemAlloc_v2", ctypes.byref(result), size)
        self.call("cuMemcpyHtoD_v2", source, address(self.source), size)
        self.call("cuMemcpyHtoD_v2", result, address(poison), size)
        proof["kernel_ms"] = self.launch(function, source, result)
        self.call("cuMemcpyDtoH_v2", address(poison), result, size)
        wrong = sum(map(int.__ne__, poison, self.right)) if poison != self.right else 0
        proof.update(right=not wrong, elements=len(self.right), wrong_elements=wrong)

    def launch(self, function: Any, source: Any, result: Any) -> float:
        """The kernel, and milliseconds of the device's own time for it."""
        events = [ctypes.c_void_p(), ctypes.c_void_p()]
        for event in events:
            self.call("cuEventCreate", ctypes.byref(event), ctypes.c_uint(0))
        held = [source, result, ctypes.c_uint32(self.seed), ctypes.c_uint32(ROUNDS)]
        parameters = (ctypes.c_void_p * 4)(*[ctypes.addressof(value) for value in held])
        shape = [ctypes.c_uint(value) for value in (BLOCKS, 1, 1, THREADS, 1, 1, 0)]
        elapsed = ctypes.c_float()
        self.call("cuEventRecord", events[0], None)
        self.call("cuLaunchKernel", function, *shape, None, parameters, None)
        self.call("cuEventRecord", events[1], None)
        self.call("cuCtxSynchronize")
        self.call("cuEventElapsedTime", ctypes.byref(elapsed), *events)
        return round(elapsed.value, 6) if isfinite(elapsed.value) else 0.0


def main(arguments: Sequence[str] = ()) -> None:
    """Run as an agent; ends the process at once, so that no exit handler of the driver can hang or crash it."""
    flag, number = arguments if len(arguments) == 2 else ("--first", "" if arguments else "0")
    if flag not in ("--first", "--only") or not number.isdecimal():
        sys.exit("usage: driver_proof.py [--first N | --only N]")
    descriptor = real_output()
    os.environ["CUDA_CACHE_DISABLE"] = "1"
    os.environ.pop("CUDA_DISABLE_PTX_JIT", None)  # the user's own choice, which torch meets, not the driver's fault
    agent = Agent(descriptor)
    agent.memory = Memory(descriptor)
    agent.run(int(number), flag == "--only")
    agent.emit(done="driver_proof")
    agent.memory.end()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
