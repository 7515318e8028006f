"""Agent: what libcuda itself says. Makes no context; JSON lines on stdout.

Lines: {"begin": CALL} before each call; {"field": NAME, "value": V} or
{"field": NAME, "error": CODE, "name": "CUDA_ERROR_...", "text": T} after it, with "device": N for a device's; the
library's line has "error": -1 and the loader's words where it cannot be loaded. Memory in bytes. Raw: judges nothing.
"""

from __future__ import annotations

import ctypes
import os
import sys

from .library_agent import Lines, mapped_path
from .noise import real_output

TYPE_CHECKING = False
if TYPE_CHECKING:  # the typing module is not worth its start-up time here
    from collections.abc import Callable, Sequence
    from typing import Any

LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
MAX_DEVICES = 256
MAX_PEERS = 16
ATTRIBUTES = (("integrated", 18), ("compute_mode", 20), ("pci_domain", 50), ("tcc_driver", 35))
ATTRIBUTE_MAJOR, ATTRIBUTE_MINOR = 75, 76


class Agent(Lines):
    """Asks libcuda call by call."""

    def __init__(self, descriptor: int) -> None:
        Lines.__init__(self, descriptor)
        self.lib: Any = None
        self.handles: dict[int, int] = {}

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
        self.peers(min(count or 0, MAX_PEERS))

    def peers(self, count: int) -> None:
        """Of each device, the others whose memory it may read; a call that fails ends the list of that device."""
        can_access = getattr(self.lib, "cuDeviceCanAccessPeer", None)
        for ordinal in range(count if count > 1 else 0):
            if can_access is None:
                self.emit(field="peers", error=-2, name="", text="libcuda has no cuDeviceCanAccessPeer", device=ordinal)
                continue
            found, can = [], ctypes.c_int()
            self.emit(begin="cuDeviceCanAccessPeer", device=ordinal)
            for other in range(count):
                code = (
                    can_access(ctypes.byref(can), self.handles.get(ordinal, ordinal), self.handles.get(other, other))
                    if other != ordinal
                    else None
                )
                if code:
                    self.emit(field="peers", error=code, name=self.text("cuGetErrorName", code), device=ordinal)
                    break
                if code == 0 and can.value:
                    found.append(other)
            else:
                self.emit(field="peers", value=found, device=ordinal)

    def device(self, ordinal: int) -> None:
        """One device: its line `handle` first, then what it says of itself."""
        number = ctypes.c_int()
        where = {"device": ordinal}
        if self.call("handle", ["cuDeviceGet"], [ctypes.byref(number), ordinal], lambda: number.value, **where) is None:
            return
        handle = ctypes.c_int(number.value)
        self.handles[ordinal] = number.value
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


def main(arguments: Sequence[str] = ()) -> None:
    """Run as an agent; ends the process at once, so that no exit handler of the driver can hang or crash it."""
    Agent(real_output()).run()
    os._exit(0)


if __name__ == "__main__":
    main()
