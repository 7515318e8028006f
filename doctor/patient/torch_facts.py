"""Agent: how torch behaves in this Python; JSON lines on stdout. Standard library and torch only.

Run under the patient's Python: `python -m doctor.patient.torch_facts [--no-kernel]`. Lines: {"begin": STEP} before
each step, then {"field": NAME, "value": V} or {"field": NAME, "error": TYPE, "text": T}, with "device": N for a
device's. Errors of CUDA calls have "code" where a number could be had. {"cap": WHAT, "looked": N, "listed": M} says
that only the first N are asked.
"""

from __future__ import annotations

import os
import re
import sys
import time
import warnings

from .json_lines import write_line
from .noise import real_output
from .torch_settings import backend, setting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Sequence

TEXT_LIMIT = 2000
MAX_DEVICES = 64
MAX_LIBRARIES = 200
MAX_WARNINGS = 20
CODE_NAMES = {
    "cudaErrorInsufficientDriver": 35,
    "cudaErrorDevicesUnavailable": 46,
    "cudaErrorNoDevice": 100,
    "cudaErrorInvalidDevice": 101,
    "cudaErrorNoKernelImageForDevice": 209,
    "cudaErrorUnsupportedPtxVersion": 222,
    "cudaErrorSystemNotReady": 802,
    "cudaErrorSystemDriverMismatch": 803,
    "cudaErrorCompatNotSupportedOnDevice": 804,
    "cudaErrorUnknown": 999,
}
"""CUDA runtime numbers of the names that newer torch prints in its messages."""
SENTENCES = (
    ("No CUDA GPUs are available", 100),
    ("no kernel image is available", 209),
    ("Found no NVIDIA driver", 35),
    ("driver on your system is too old", 35),
)
"""Likewise for torch's own words."""
LIBRARY = re.compile(
    r"lib(cuda|cudart|cudnn|nccl|cublas|cufft|curand|cusparse|cusolver|nvrtc|nvJitLink|nvidia|cupti|nvToolsExt|torch|c10)"
)


class Agent:
    """Asks torch step by step."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.torch: Any = None

    def emit(self, **line: Any) -> None:
        """Write one line at once."""
        write_line(self.descriptor, line)

    def fail(self, field: str, error: BaseException, **where: Any) -> None:
        """Write the line of a step that raised."""
        try:
            text = str(error)
        except Exception:
            text = ""
        line: Dict[str, Any] = {"field": field, "error": type(error).__name__, "text": text[:TEXT_LIMIT]}
        code = error_code(error, text)
        if code is not None:
            line["code"] = code
        line.update(where)
        self.emit(**line)

    def ask(self, field: str, step: Callable[[], Any], **where: Any) -> Any:
        """Run a step; its value or its error becomes a line. Returns None where it raised."""
        self.emit(begin=field, **where)
        try:
            value = step()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit too: some packages end the process in their import
            self.fail(field, error, **where)
            return None
        self.emit(field=field, value=value, **where)
        return value

    def load(self) -> bool:
        """Import torch; False where that raises."""
        started = time.monotonic()
        self.emit(begin="import torch")
        try:
            import torch
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self.emit(field="import_seconds", value=round(time.monotonic() - started, 3))
            self.fail("import", error)
            return False
        self.torch = torch
        self.emit(field="import", value=True)
        self.emit(field="import_seconds", value=round(time.monotonic() - started, 3))
        return True

    def run(self, kernel: bool) -> None:
        """All steps, in the order of their worth."""
        self.emit(field="python", value=".".join(map(str, sys.version_info[:3])))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for category in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
                warnings.simplefilter("ignore", category)
            try:
                if not self.load():
                    return
                torch = self.torch
                self.ask("file", lambda: getattr(torch, "__file__", None))
                self.ask("version", lambda: str(torch.__version__))
                self.ask("cuda", lambda: torch.version.cuda)
                self.ask("hip", lambda: getattr(torch.version, "hip", None))
                self.ask("arch_list", lambda: arch_list(torch))
                available = self.ask("cuda_available", lambda: bool(torch.cuda.is_available()))
                count = self.ask("device_count", lambda: int(torch.cuda.device_count()))
                self.ask("cudnn_version", lambda: cudnn_version(torch))
                self.ask("nccl_version", lambda: nccl_version(torch))
                self.libraries()
                if torch.version.cuda is None and getattr(torch.version, "hip", None) is None:
                    return
                self.ask("runtime_code", runtime_code)
                first = self.ask("first_call", lambda: first_call(torch))
                count = count or 0 if first == 0 and available else 0
                self.capped("torch-devices", count, MAX_DEVICES)
                for device in range(min(count, MAX_DEVICES)):
                    self.device(device, kernel)
                self.libraries()
            except Exception as error:  # a package named torch that is no torch
                self.fail("torch", error)
            finally:
                self.capped("torch-warnings", len(caught), MAX_WARNINGS)
                messages = [str(entry.message)[:TEXT_LIMIT] for entry in caught[:MAX_WARNINGS]]
                self.emit(field="warnings", value=messages)

    def libraries(self) -> None:
        """What is mapped so far; the cap is told with it."""
        found = self.ask("libraries", lambda: mapped_libraries()[:MAX_LIBRARIES])
        if found is not None and len(found) == MAX_LIBRARIES:
            self.capped("torch-libraries", len(mapped_libraries()), MAX_LIBRARIES)

    def capped(self, what: str, listed: int, most: int) -> None:
        """Say where only the first `most` are looked at."""
        if listed > most:
            self.emit(cap=what, looked=most, listed=listed)

    def device(self, device: int, kernel: bool) -> None:
        """One device: name, capability, and a small computation."""
        cuda = self.torch.cuda
        self.ask("device_name", lambda: cuda.get_device_name(device), device=device)
        self.ask("device_capability", lambda: list(cuda.get_device_capability(device)), device=device)
        if kernel:
            self.ask("kernel", lambda: small_kernel(self.torch, device), device=device)


def first_call(torch: Any) -> int:
    """0 where CUDA initialises and a context can be made on the current device, else raises."""
    torch.cuda.init()
    torch.cuda.synchronize()
    return 0


def runtime_code() -> Any:
    """What the CUDA runtime in this process answers to cudaGetDeviceCount; None where it is linked statically."""
    import ctypes

    for path in mapped_libraries():
        if os.path.basename(path).startswith("libcudart"):
            return int(ctypes.CDLL(path).cudaGetDeviceCount(ctypes.byref(ctypes.c_int())))
    return None


def small_kernel(torch: Any, device: int) -> bool:
    """Whether an addition and a small float32 matrix product on the device equal those of the CPU."""
    a = torch.arange(64 * 64, dtype=torch.float32).reshape(64, 64) / 4096.0
    gpu = torch.device("cuda", device)
    there = a.to(gpu)
    total, product = (there + there).cpu(), (there @ there).cpu()
    close = torch.allclose(product, a @ a, rtol=1e-2, atol=1e-2)  # TF32 may be on
    return bool(torch.equal(total, a + a) and close)


def arch_list(torch: Any) -> List[str]:
    """Its own list (sm_86, compute_90), also where no GPU is there: torch.cuda.get_arch_list() is empty then."""
    flags = getattr(torch._C, "_cuda_getArchFlags", None)
    return (flags() or "").split() if flags is not None else list(torch.cuda.get_arch_list())


def nccl_version(torch: Any) -> Any:
    """NCCL's number as torch has it; None where it was built without. Imports no torch.distributed."""
    version = getattr(torch._C, "_nccl_version", None)
    return None if version is None else int(version())


def cudnn_version(torch: Any) -> Any:
    """cuDNN's number as torch has it; None where it was built without."""
    version = setting(backend(torch, "cudnn"), "version")
    return None if version is None else version()


def error_code(error: BaseException, text: str) -> Any:
    """CUDA's number in an exception: its own attribute, a name or `Error 803:` in its text; None without one."""
    for name in ("error_code", "code"):
        number = getattr(error, name, None)
        if isinstance(number, int) and not isinstance(number, bool) and "Cuda" in type(error).__name__:
            return number
    match = re.search(r"\b[Ee]rror (\d{1,4}):|cudaGetDeviceCount\(\) returned (\d+)|\(error (\d{1,4})\)", text)
    if match:
        return int(next(group for group in match.groups() if group))
    for name, number in CODE_NAMES.items():
        if name in text:
            return number
    for words, number in SENTENCES:
        if words in text:
            return number
    return None


def mapped_libraries() -> List[str]:
    """Paths of CUDA's and torch's libraries in this process, sorted; empty where /proc does not tell."""
    found = set()
    try:
        with open("/proc/self/maps", errors="replace") as maps:
            for line in maps:
                slash = line.find("/")
                path = line[slash:].rstrip("\n") if slash >= 0 else ""
                if LIBRARY.match(os.path.basename(path)):
                    found.add(path)
    except OSError:
        pass
    return sorted(found)


def main(arguments: Sequence[str]) -> None:
    """Run as an agent; ends the process at once, so that no exit handler can hang or crash it."""
    descriptor = real_output()
    Agent(descriptor).run("--no-kernel" not in arguments)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
