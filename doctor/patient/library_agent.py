"""Part of the agents that ask a C library: their lines, and where the library lies."""

from __future__ import annotations

import ctypes
import os
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:  # the typing module is not worth its start-up time here
    from typing import Any

try:
    from _json import encode_basestring_ascii as _quote
except ImportError:
    from json import dumps as _quote


def dumps(value: Any) -> str:
    """JSON of None, bool, int, str, list and dict, without the cost of importing json."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, (list, tuple)):
        return "[" + ",".join([dumps(item) for item in value]) + "]"
    if isinstance(value, dict):
        return "{" + ",".join([_quote(str(key)) + ":" + dumps(item) for key, item in value.items()]) + "}"
    return _quote(value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value))


class Lines:
    """Writes lines of JSON. One that names what begins has its time, in milliseconds of the monotonic clock: whoever
    reads it may have no core for seconds, and the call is not younger for it."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def emit(self, **line: Any) -> None:
        """Write one line at once."""
        if "begin" in line:
            line["ms"] = int(monotonic() * 1000)
        data = (dumps(line) + "\n").encode("ascii", "replace")
        while data:
            data = data[os.write(self.descriptor, data) :]


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
