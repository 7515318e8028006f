"""Agent: proof that torch computes on a device; JSON lines on stdout. Standard library and torch (1.13 on), no numpy.

Run under the patient's Python: `python torch_proof.py --device cuda|cuda:N|cpu [--first N]`. `cuda` is
every device that torch offers, from N on. Lines: {"begin": STEP, "device": D, "so_far": {...}} before each step that
may hang, with what is known of the device by then; {"field": "import_seconds"|"pid"|"torch_devices", "value": V};
{"phase": "proof", "device": D, "key": K, "start": T, "end": T} (seconds of the monotonic clock); {"torch_proof": {...}}
once a device; {"ended": {...}} for what was left out. An error that sticks to the context ends the process early: the
devices that are left have no line, and a new process can go on with them.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import os
import re
import sys
import time
import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Sequence, Tuple

AGENT = "torch_proof"
TEXT_LIMIT = 2000
MAX_DEVICES = 64
MAX_CACHE_FILES = 50000
TOLERANCE = 1e-3
"""Largest error over the largest value. Float32 with TF32 off makes about 1e-6; TF32, which NVIDIA_TF32_OVERRIDE=1 can
force past torch, 5e-4; a wrong element about 1."""
TOLERANCE_BF16 = 2e-2
"""Where oneDNN was told by its variable to multiply float32 as bfloat16 on the CPU."""
LAUNCH_SIZES = (1 << 20, 1 << 10)
"""Elements that the first kernel fills; as below, the second where memory is out."""
SIZES = (512, 128)
"""Inner size of the product that is checked; the second where memory is out."""
WORK_SIZES = (2048, 1024, 512, 256)
"""Sizes of the product that is timed: the largest that takes this CPU less than WORK_CPU_MS."""
WORK_CPU_MS = 100.0
AT_WORK_S = 0.4
"""How long a GPU is kept at work, so that NVML's utilisation (a mean of 1/6 to 1 s) can show it."""
ROUND_MS = 20.0
CODES = (
    (2, "cudaErrorMemoryAllocation", "out of memory"),
    (35, "cudaErrorInsufficientDriver", "driver on your system is too old"),
    (46, "cudaErrorDevicesUnavailable", "busy or unavailable"),
    (100, "cudaErrorNoDevice", "No CUDA GPUs are available"),
    (209, "cudaErrorNoKernelImageForDevice", "no kernel image is available"),
    (214, "cudaErrorECCUncorrectable", "uncorrectable ECC error"),
    (220, "cudaErrorNvlinkUncorrectable", "uncorrectable NVLink error"),
    (221, "cudaErrorJitCompilerNotFound", "PTX JIT compiler library not found"),
    (222, "cudaErrorUnsupportedPtxVersion", "unsupported toolchain"),
    (700, "cudaErrorIllegalAddress", "illegal memory access"),
    (702, "cudaErrorLaunchTimeout", "launch timed out"),
    (710, "cudaErrorAssert", "device-side assert"),
    (715, "cudaErrorIllegalInstruction", "illegal instruction"),
    (716, "cudaErrorMisalignedAddress", "misaligned address"),
    (719, "cudaErrorLaunchFailure", "unspecified launch failure"),
    (802, "cudaErrorSystemNotReady", "system not yet initialized"),
    (999, "cudaErrorUnknown", "unknown error"),
)
"""CUDA runtime numbers, their names (newer torch prints them) and their words (older torch prints these alone)."""
TEGRA = ((3, 2), (5, 3), (6, 2), (7, 2), (8, 7))
"""Chips of Tegra boards run no machine code but their own (CUDA C++ Programming Guide, binary compatibility)."""


class Stop(Exception):
    """A device's step failed, and what follows has no sense on it."""


class Agent:
    """Writes the lines."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def emit(self, **line: Any) -> None:
        """Write one line at once."""
        data = (json.dumps(line, default=str) + "\n").encode("ascii", "replace")
        while data:
            data = data[os.write(self.descriptor, data) :]

    def fail(self, field: str, error: BaseException) -> None:
        """Write the line of a step that raised."""
        self.emit(field=field, error=type(error).__name__, text=text_of(error))

    def leave_out(self, step: str, device: str, detail: str, fault: str = "skipped") -> None:
        """Say what was left out or made smaller, and why."""
        self.emit(ended={"agent": AGENT, "step": step, "device": device, "fault": fault, "detail": detail})

    def run(self, asked: str, first: int) -> None:
        """The whole proof."""
        self.emit(field="pid", value=os.getpid())
        started = time.monotonic()
        self.emit(begin="import torch")
        try:
            import torch
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit too: some packages end the process in their import
            self.emit(field="import_seconds", value=round(time.monotonic() - started, 3))
            self.fail("import", error)
            return
        self.emit(field="import_seconds", value=round(time.monotonic() - started, 3))
        try:
            no_tf32(torch)
            work = Inputs(torch)
            if asked == "cpu":  # before torch's list of GPUs: a sick driver may hang there
                Proof(self, torch, work, "cpu").run()
            offered = self.offered(torch)
            wanted = offered[first:] if asked == "cuda" else [name for name in offered if name == asked]
            if asked not in ("cuda", "cpu") and not wanted:
                self.leave_out("device", asked, "torch offers %d CUDA devices" % len(offered), "failed")
            for name in wanted:
                if not Proof(self, torch, work, name).run():
                    return
        except Exception as error:  # a package named torch that is no torch
            self.fail("torch", error)

    def offered(self, torch: Any) -> List[str]:
        """CUDA devices by torch's names."""
        self.emit(begin="torch_devices")
        count = int(torch.cuda.device_count()) if torch.cuda.is_available() else 0
        names = ["cuda:%d" % index for index in range(min(count, MAX_DEVICES))]
        if count > MAX_DEVICES:
            self.emit(cap="measured-devices", looked=MAX_DEVICES, listed=count)
        self.emit(field="torch_devices", value=names)
        return names


def no_tf32(torch: Any) -> None:
    """Float32 in full; by the name that torch has had for it since 2.9 where it has dropped the older one."""
    for backend in (torch.backends.cuda.matmul, torch.backends.cudnn):
        try:
            backend.allow_tf32 = False
        except Exception:
            getattr(backend, "conv", backend).fp32_precision = "ieee"


class Inputs:
    """Random inputs, the same for every device of this process, with their results in float64 from the CPU."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.random = torch.Generator()
        self.random.seed()
        self.made: Dict[Any, Any] = {}

    def normal(self, *shape: int) -> Any:
        return self.torch.randn(*shape, generator=self.random)

    def product(self, size: int) -> Tuple[Any, Any, Any]:
        """Matrices of size x size and size x size/2+8, and their product in float64."""
        if ("product", size) not in self.made:
            a, b = self.normal(size, size), self.normal(size, size // 2 + 8)
            self.made["product", size] = a, b, self.torch.mm(a.double(), b.double())
        return self.made["product", size]  # type: ignore[no-any-return]

    def convolution(self, size: int) -> Tuple[Any, Any, Any]:
        """Images (4, 16, side, side), 32 filters of 3 x 3, and their convolution in float64."""
        if ("convolution", size) not in self.made:
            side = size // 16 + 14
            x, w = self.normal(4, 16, side, side), self.normal(32, 16, 3, 3)
            self.made["convolution", size] = x, w, self.torch.nn.functional.conv2d(x.double(), w.double())
        return self.made["convolution", size]  # type: ignore[no-any-return]

    def work(self, size: int) -> Tuple[Any, Any, float]:
        """Two square matrices, and the milliseconds that the CPU takes for their product."""
        if size not in self.made:
            a, b = self.normal(size, size), self.normal(size, size)
            times = []
            for _ in range(3):  # the first one loads the library
                started = time.perf_counter()
                self.torch.mm(a, b)
                times.append((time.perf_counter() - started) * 1000)
            self.made[size] = a, b, min(times)
        return self.made[size]  # type: ignore[no-any-return]

    def work_sizes(self) -> Tuple[int, int]:
        """The size for this CPU, and the smallest, for where memory is out."""
        small = WORK_SIZES[-1]
        fitting = [size for size in WORK_SIZES if self.work(small)[2] * (size / small) ** 3 < WORK_CPU_MS]
        return (fitting or [small])[0], small


class Proof:
    """One device: what is known of it fills `self.said`, the object of its line."""

    def __init__(self, agent: Agent, torch: Any, inputs: Inputs, device: str) -> None:
        self.agent, self.torch, self.inputs, self.device = agent, torch, inputs, device
        self.cuda = device != "cpu"
        self.index = int(device[len("cuda:") :]) if self.cuda else -1
        self.said: Dict[str, Any] = {"device": device}
        self.checks: List[bool] = []
        self.began = 0.0
        self.cache: Optional[Dict[str, int]] = None

    def run(self) -> bool:
        """All steps, and the device's line. False where CUDA is spoiled for this process."""
        spoiled = False
        try:
            if self.cuda:
                self.step("context", self.context)
                self.cache = jit_cache()
                self.began = time.monotonic()
                self.step("first launch", lambda: self.at_sizes("first launch", self.first_launch, LAUNCH_SIZES))
            else:
                self.said.update(name="cpu", code={"missing": "absent", "detail": "the CPU compiles no kernels"})
            self.said["tolerance"] = self.tolerance()
            self.step("matmul", lambda: self.at_sizes("matmul", self.matmul, SIZES))
            self.step("convolution", lambda: self.at_sizes("convolution", self.convolution, SIZES), go_on=True)
            self.step("work", lambda: self.at_sizes("work", self.work, self.inputs.work_sizes()))
        except Stop:
            spoiled = self.cuda and self.said["failed_step"] != "context" and self.spoiled()
        now = time.monotonic()
        if self.began:
            key = self.said.get("key", "")
            self.agent.emit(phase="proof", device=self.device, key=key, start=self.began, end=now)
        self.verdict(spoiled)
        self.agent.emit(torch_proof=self.said)
        return not spoiled

    def step(self, name: str, function: Any, go_on: bool = False) -> None:
        """Run a step. Its error is noted, the first one; Stop unless the device can go on."""
        self.agent.emit(begin=name, device=self.device, so_far=self.said)
        try:
            function()
            return
        except KeyboardInterrupt:
            raise
        except Exception as error:
            if "failed_step" not in self.said:
                text = text_of(error)
                self.said.update(failed_step=name, error="%s: %s" % (type(error).__name__, text), fault="failed")
                code = error_code(error, text)
                if code is not None:
                    self.said["error_code"] = code
        if not go_on or (self.cuda and self.spoiled()):
            raise Stop

    def context(self) -> None:
        """The context of this device: made here, so that the first launch is timed without it."""
        cuda = self.torch.cuda
        cuda.init()
        cuda.set_device(self.index)  # else torch goes back to device 0 now and then, and that one may be another's
        self.said["name"] = cuda.get_device_name(self.index)
        self.said["key"] = gpu_key(self.torch, self.index)
        cuda.synchronize(self.index)
        cuda.reset_peak_memory_stats(self.index)

    def first_launch(self, size: int) -> None:
        """Time the first kernel on this context, and see how its code got there."""
        place = self.torch.empty(size, device=self.device)
        self.torch.cuda.synchronize(self.index)
        started = time.perf_counter()
        place.fill_(math.nan)
        self.torch.cuda.synchronize(self.index)
        self.said["first_launch_ms"] = round((time.perf_counter() - started) * 1000, 3)
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
            self.said["code"] = {"missing": "conflict", "detail": detail}
        elif found is None and (grown or not archs):
            self.said["code"] = "ptx-jit" if grown else {"missing": "absent", "detail": "torch lists no architectures"}
        elif found is None:
            detail = "kernels run, but torch lists none that fit: " + " ".join(archs)
            self.said["code"] = {"missing": "conflict", "detail": detail[:TEXT_LIMIT]}
        else:
            self.said["code"] = found

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
        self.said["tensor_device"] = str(out.device)
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
        self.checks.append(math.isfinite(error) and error <= self.said["tolerance"])
        if math.isfinite(error):
            self.said[field] = error
        else:
            odd = int((result - result != 0).sum())
            self.said[field] = {"missing": "error", "detail": "%d elements are NaN or infinite" % odd}

    def tolerance(self) -> float:
        modes = [os.environ.get(name, "") for name in ("ONEDNN_DEFAULT_FPMATH_MODE", "DNNL_DEFAULT_FPMATH_MODE")]
        narrowed = not self.cuda and any(mode.upper() in ("BF16", "F16", "ANY") for mode in modes)
        return TOLERANCE_BF16 if narrowed else TOLERANCE

    def work(self, size: int) -> None:
        """Time the product, and keep a GPU at it for AT_WORK_S."""
        a, b, cpu_ms = self.inputs.work(size)
        self.said["cpu_ms"] = round(cpu_ms, 4)
        a, b = a.to(self.device), b.to(self.device)
        out = self.torch.empty(a.shape[0], b.shape[1], device=self.device)
        self.timed(a, b, out, 1)  # loads its kernel
        turns = max(1, min(1000, int(ROUND_MS / max(self.timed(a, b, out, 1), 1e-3))))
        until = time.monotonic() + (AT_WORK_S if self.cuda else AT_WORK_S / 4)
        rounds: List[float] = []
        while not rounds or time.monotonic() < until:
            rounds.append(self.timed(a, b, out, turns))
        self.said["work_ms"] = round(sorted(rounds)[len(rounds) // 2], 4)

    def timed(self, a: Any, b: Any, out: Any, turns: int) -> float:
        """Milliseconds of one product, by events on a GPU."""
        if not self.cuda:
            started = time.perf_counter()
            for _ in range(turns):
                self.torch.mm(a, b, out=out)
            return (time.perf_counter() - started) * 1000 / turns
        with self.torch.cuda.device(self.index):
            start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            for _ in range(turns):
                self.torch.mm(a, b, out=out)
            end.record()
            end.synchronize()
            return float(start.elapsed_time(end)) / turns

    def verdict(self, spoiled: bool) -> None:
        """Fill in what follows from the steps."""
        if not all(self.checks):
            self.said["right"] = False
        elif len(self.checks) == 2:
            self.said["right"] = True
        else:
            self.said["right"] = {"missing": "error", "detail": self.said.get("error", "")}
        if self.began:
            grown = growth(self.cache, jit_cache())
            unkept = grown is None or (self.said.get("code") == "ptx-jit" and not os.path.isdir(cache_folder()))
            absent = {"missing": "absent", "detail": "the driver keeps no JIT cache here"}
            self.said["jit_cache_bytes"] = absent if unkept else grown
        if self.began and not spoiled:
            self.said["peak_mib"] = round(self.torch.cuda.max_memory_allocated(self.index) / 2**20, 3)

    def spoiled(self) -> bool:
        """Whether the error sticks to the context, which then fails every call (cudaErrorIllegalAddress and such)."""
        self.agent.emit(begin="after an error", device=self.device, so_far=self.said)
        try:
            self.torch.cuda.synchronize(self.index)
        except Exception:
            return True
        return False


def text_of(error: BaseException) -> str:
    """An exception's words, bounded; empty where it has none to tell."""
    try:
        return str(error)[:TEXT_LIMIT]
    except Exception:
        return ""


def out_of_memory(error: BaseException) -> bool:
    """Of the device: torch's own exception, CUDA's error 2, or a library's that could not allocate."""
    text = text_of(error)
    return "OutOfMemory" in type(error).__name__ or "out of memory" in text or "ALLOC_FAILED" in text


def error_code(error: BaseException, text: str) -> Optional[int]:
    """CUDA's runtime number in an exception: its own attribute, a number, a name or CUDA's words in its text."""
    number = getattr(error, "error_code", None)
    if isinstance(number, int) and not isinstance(number, bool):
        return number
    match = re.search(r"\b[Ee]rror (\d{1,4}):|cudaGetDeviceCount\(\) returned (\d+)|\(error (\d{1,4})\)", text)
    if match:
        return int(next(group for group in match.groups() if group))
    for known, name, words in CODES:
        if name in text or words in text:
            return known
    return None


def arch_list(torch: Any) -> List[str]:
    """`sm_86`, `compute_90` ... of torch's own kernels; empty where torch does not tell."""
    flags = getattr(torch._C, "_cuda_getArchFlags", None)
    return (flags() or "").split() if flags is not None else list(torch.cuda.get_arch_list())


def code_kind(archs: Sequence[str], capability: Tuple[int, ...]) -> Optional[str]:
    """`native` or `ptx-jit`: how kernels of these architectures get onto a GPU; None where none fits.

    Machine code runs on the same major version from its minor on (`sm_90a` on 9.0 alone, `sm_100f` on its family), PTX
    on every later one (CUDA C++ Programming Guide, binary and PTX compatibility).
    """
    kind = None
    for arch in archs:
        match = re.match(r"(sm|compute)_(\d+)(\d)([af]?)$", arch)
        if not match:
            continue
        there, suffix = (int(match.group(2)), int(match.group(3))), match.group(4)
        exact = suffix == "a" or (match.group(1) == "sm" and capability in TEGRA)
        family = suffix == "f" or match.group(1) == "sm"
        if there > capability or (exact and there != capability) or (family and there[0] != capability[0]):
            continue
        if match.group(1) == "sm":
            return "native"
        kind = "ptx-jit"
    return kind


def cache_folder() -> str:
    """Folder of the driver's JIT cache (CUDA C++ Programming Guide, environment variables)."""
    if os.environ.get("CUDA_CACHE_PATH"):
        return os.environ["CUDA_CACHE_PATH"]
    if sys.platform == "win32":
        return os.path.join(os.environ.get("APPDATA", ""), "NVIDIA", "ComputeCache")
    return os.path.join(os.path.expanduser("~"), ".nv", "ComputeCache")


def jit_cache() -> Optional[Dict[str, int]]:
    """Bytes of each file in the driver's JIT cache; None where it is switched off or too large to be looked at."""
    if os.environ.get("CUDA_CACHE_DISABLE") == "1":
        return None
    sizes: Dict[str, int] = {}
    for folder, _, names in os.walk(cache_folder()):
        for name in names:
            path = os.path.join(folder, name)
            try:
                sizes[path] = os.stat(path).st_size
            except OSError:
                continue
        if len(sizes) > MAX_CACHE_FILES:
            return None
    return sizes


def growth(before: Optional[Dict[str, int]], after: Optional[Dict[str, int]]) -> Optional[int]:
    """Bytes by which files grew or came; those that the driver threw out to make room do not count."""
    if before is None or after is None:
        return None
    return sum(max(0, size - before.get(path, 0)) for path, size in after.items())


def gpu_key(torch: Any, index: int) -> str:
    """`GPU-` and the UUID of the whole GPU, as NVML writes it; empty where nobody tells.

    libcuda is asked first: its older call names the GPU where the newer one, and torch, may name a MIG instance.
    """
    try:
        library = getattr(ctypes, "WinDLL", ctypes.CDLL)("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        handle, uuid = ctypes.c_int(), (ctypes.c_ubyte * 16)()
        code = library.cuDeviceGet(ctypes.byref(handle), index) or library.cuDeviceGetUuid(ctypes.byref(uuid), handle)
        if code == 0:
            digits = bytes(uuid).hex()
            return "GPU-" + "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    except (OSError, AttributeError):
        pass
    uuid_text = str(getattr(torch.cuda.get_device_properties(index), "uuid", "") or "")
    return uuid_text if not uuid_text or uuid_text.startswith(("GPU-", "MIG-")) else "GPU-" + uuid_text


def main(arguments: Sequence[str]) -> None:
    """Run as an agent; ends the process at once, so that no exit handler can hang or crash it."""
    parser = argparse.ArgumentParser(prog=AGENT, description="Proof that torch computes on a device.")
    parser.add_argument("--device", required=True, help="cuda (every device), cuda:N or cpu")
    parser.add_argument("--first", type=int, default=0, help="with --device cuda: the first device")
    flags = parser.parse_args(arguments)
    if not re.match(r"(cuda(:\d{1,3})?|cpu)$", flags.device) or flags.first < 0:
        parser.error("--device takes cuda, cuda:N or cpu, --first no negative number")
    descriptor = os.dup(1)
    os.dup2(2, 1)
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != here]
    warnings.simplefilter("ignore")
    Agent(descriptor).run(flags.device, flags.first)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
