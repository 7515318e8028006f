"""Part of the agent driver_proof: libcuda's calls, with a line before each and words for what fails."""

from __future__ import annotations

import ctypes
from time import perf_counter

from .json_lines import Lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from array import array
    from typing import Any


class Failed(Exception):
    """A call of libcuda that did not succeed. `code` is None where the library has no such call."""

    def __init__(self, call: str, code: int | None, name: str = "", text: str = "") -> None:
        Exception.__init__(self, call)
        self.call, self.code, self.name = call, code, name
        words = "{} {}".format(code, name).rstrip() if code is not None else "libcuda has no such call"
        self.words = call + ": " + words + (": " + text if text else "")


class Calls(Lines):
    """Calls libcuda for one device after the other."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor)
        self.lib: Any = None
        self.device = ""

    def begin(self, step: str) -> None:
        self.emit(begin=step, **({"device": self.device} if self.device else {}))

    def ended(self, step: str, detail: str) -> None:
        row = {"agent": "driver_proof", "step": step, "device": self.device, "fault": "failed", "detail": detail}
        self.emit(ended=row)

    def text(self, function: str, code: int) -> str:
        """cuGetErrorName or cuGetErrorString of a code; empty where libcuda does not know it."""
        words = ctypes.c_char_p()
        try:
            if getattr(self.lib, function)(ctypes.c_int(code), ctypes.byref(words)) == 0 and words.value:
                return words.value.decode("utf-8", "replace")
        except AttributeError:
            pass
        return ""

    def call(self, name: str, *arguments: Any) -> None:
        """One call. Raises Failed."""
        function = getattr(self.lib, name, None)
        if function is None:
            raise Failed(name, None)
        self.begin(name)
        code = function(*arguments)
        if code:
            raise Failed(name, code, self.text("cuGetErrorName", code), self.text("cuGetErrorString", code))

    def succeeds(self, name: str, *arguments: Any) -> bool:
        """Whether a call succeeded that the proof can do without."""
        try:
            self.call(name, *arguments)
        except Failed:
            return False
        return True


def since(start: float) -> float:
    """Milliseconds since a time of perf_counter."""
    return round((perf_counter() - start) * 1000, 3)


def address(data: array[int]) -> ctypes.c_void_p:
    """Where an array's elements lie."""
    return ctypes.c_void_p(data.buffer_info()[0])


def dashed(data: bytes) -> str:
    """16 bytes as NVML writes a UUID: 8-4-4-4-12 digits."""
    digits = data.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
