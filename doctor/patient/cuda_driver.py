"""Agent: what libcuda itself says. Makes no context; JSON lines on stdout.

Run alone: `python -I -S cuda_driver.py`. Lines: {"begin": CALL} before each call; {"field": NAME, "value": V} or
{"field": NAME, "error": CODE, "name": "CUDA_ERROR_...", "text": T} after it, with "device": N for a device's; the
library's line has "error": -1 and the loader's words where it cannot be loaded. Memory in bytes. Raw: judges nothing.
"""

from __future__ import annotations

import ctypes
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # the typing module is not worth its start-up time here
    from collections.abc import Callable, Sequence
    from typing import Any

try:
    from _json import encode_basestring_ascii as _quote
except ImportError:
    from json import dumps as _quote

LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
MAX_DEVICES = 256
ATTRIBUTES = (("integrated", 18), ("compute_mode", 20), ("pci_domain", 50), ("tcc_driver", 35))
ATTRIBUTE_MAJOR, ATTRIBUTE_MINOR = 75, 76


def dumps(value: Any) -> str:
    """JSON of None, bool, int, str, list and dict, without the cost of importing json."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, (list, tuple)):
        return "[" + ",".join([dumps(item) for item in value]) + "]"
    if isinstance(value, dict):
        return "{" + ",".join([_quote(str(key)) + ":" + dumps(item) for key, item in value.items()]) + "}"
    return _quote(str(value))


def real_output() -> int:
    """The real stdout's descriptor; stdout itself then goes to stderr, so that a library's noise spoils nothing."""
    descriptor = os.dup(1)
    os.dup2(2, 1)
    return descriptor


class Agent:
    """Asks libcuda call by call."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.lib: Any = None

    def emit(self, **line: Any) -> None:
        data = (dumps(line) + "\n").encode("ascii", "replace")
        while data:
            data = data[os.write(self.descriptor, data) :]

    def text(self, function: str, code: int) -> str | None:
        """cuGetErrorName or cuGetErrorString of a code; None where libcuda does not know it."""
        words = ctypes.c_char_p()
        try:
            if getattr(self.lib, function)(ctypes.c_int(code), ctypes.byref(words)) == 0 and words.value:
                return text_of(words.value)
        except AttributeError:
            pass
        return None

    def call(
        self, field: str, names: Sequence[str], arguments: Sequence[Any], read: Callable[[], Any], **where: int
    ) -> Any:
        """The first of `names` that libcuda has, called; its value or its error becomes a line."""
        function = name = None
        for name in names:
            function = getattr(self.lib, name, None)
            if function is not None:
                break
        if function is None:
            self.emit(field=field, error=-2, name="", text="libcuda has no " + names[0], **where)
            return None
        self.emit(begin=name, **where)
        try:
            code = function(*arguments)
            if code == 0:
                value = read()
                self.emit(field=field, value=value, **where)
                return value
        except Exception as error:
            self.emit(field=field, error=-3, name=type(error).__name__, text=str(error), **where)
            return None
        words = {"name": self.text("cuGetErrorName", code), "text": self.text("cuGetErrorString", code)}
        self.emit(field=field, error=code, **words, **where)
        return None

    def load(self) -> bool:
        """Load the library; False where the loader cannot."""
        self.emit(begin="dlopen " + LIBRARY)
        try:
            self.lib = getattr(ctypes, "WinDLL", ctypes.CDLL)(LIBRARY)  # WinDLL is Windows alone: stdcall
        except OSError as error:
            self.emit(field="library", error=-1, name=LIBRARY, text=str(error))
            return False
        self.emit(field="library", value=mapped_path(self.lib, "cuInit", "libcuda.so") or LIBRARY)
        return True

    def run(self) -> None:
        """All questions, in the order of their worth."""
        if not self.load():
            return
        number = ctypes.c_int()
        pointer = ctypes.byref(number)
        self.call("version", ["cuDriverGetVersion"], [pointer], lambda: number.value)
        if self.call("init", ["cuInit"], [ctypes.c_uint(0)], lambda: 0) is None:
            return
        count = self.call("count", ["cuDeviceGetCount"], [pointer], lambda: number.value)
        for ordinal in range(min(count or 0, MAX_DEVICES)):
            self.device(ordinal)

    def device(self, ordinal: int) -> None:
        """One device: its line `handle` first, then what it says of itself."""
        number = ctypes.c_int()
        where = {"device": ordinal}
        if self.call("handle", ["cuDeviceGet"], [ctypes.byref(number), ordinal], lambda: number.value, **where) is None:
            return
        handle = ctypes.c_int(number.value)
        name = ctypes.create_string_buffer(256)
        self.call("name", ["cuDeviceGetName"], [name, 256, handle], lambda: text_of(name.value), **where)
        uuid = (ctypes.c_ubyte * 16)()
        names = ["cuDeviceGetUuid_v2", "cuDeviceGetUuid"]
        self.call("uuid", names, [ctypes.byref(uuid), handle], lambda: bytes(uuid).hex(), **where)
        parent = (ctypes.c_ubyte * 16)()
        arguments = [ctypes.byref(parent), handle]
        self.call("gpu_uuid", ["cuDeviceGetUuid"], arguments, lambda: bytes(parent).hex(), **where)
        bus = ctypes.create_string_buffer(32)
        self.call("pci", ["cuDeviceGetPCIBusId"], [bus, 32, handle], lambda: text_of(bus.value), **where)
        size = ctypes.c_size_t()
        names = ["cuDeviceTotalMem_v2", "cuDeviceTotalMem"]
        self.call("memory_total", names, [ctypes.byref(size), handle], lambda: size.value, **where)
        major = self.attribute("major", ATTRIBUTE_MAJOR, handle, where)
        if major is not None:
            self.attribute("minor", ATTRIBUTE_MINOR, handle, where)
        for field, attribute in ATTRIBUTES:
            self.attribute(field, attribute, handle, where)

    def attribute(self, field: str, attribute: int, handle: Any, where: dict[str, int]) -> Any:
        """One CUdevice_attribute."""
        value = ctypes.c_int()
        arguments = [ctypes.byref(value), attribute, handle]
        return self.call(field, ["cuDeviceGetAttribute"], arguments, lambda: value.value, **where)


def text_of(data: bytes) -> str:
    """Text of a C string, whatever its bytes."""
    return data.decode("utf-8", "replace")


class _Info(ctypes.Structure):
    _fields_ = [
        ("dli_fname", ctypes.c_char_p),
        ("dli_fbase", ctypes.c_void_p),
        ("dli_sname", ctypes.c_char_p),
        ("dli_saddr", ctypes.c_void_p),
    ]


def mapped_path(library: Any, symbol: str, name: str) -> str | None:
    """Real path of the file that a loaded library is mapped from: dladdr, else /proc/self/maps, else None."""
    try:
        info = _Info()
        dladdr = ctypes.CDLL(None).dladdr
        dladdr.argtypes = [ctypes.c_void_p, ctypes.POINTER(_Info)]
        address = ctypes.cast(getattr(library, symbol), ctypes.c_void_p)
        if dladdr(address, ctypes.byref(info)) and info.dli_fname:
            path = os.fsdecode(info.dli_fname)
            if os.path.isabs(path):
                return os.path.realpath(path)
    except Exception:
        pass
    try:
        with open("/proc/self/maps", errors="replace") as maps:
            for line in maps:
                path = line[line.find("/") :].rstrip("\n") if "/" in line else ""
                if os.path.basename(path).startswith(name):
                    return path
    except OSError:
        pass
    return None


def main(arguments: Sequence[str] = ()) -> None:
    """Run as an agent; ends the process at once, so that no exit handler of the driver can hang or crash it."""
    Agent(real_output()).run()
    os._exit(0)


if __name__ == "__main__":
    main()
