"""Agent: GPUs that the driver holds and NVML does not list, asked of the kernel; one JSON line an answer on stdout.

Run alone: `python -m doctor.patient.unlisted_gpus ROOT ADDRESS...` (0000:3b:00.0). Lines, each with "gpu": ADDRESS:
{"field": "information", "minor": N or null, "excluded": bool or null}, the driver's file about it; {"field": "log",
"value": whether the kernel log says that it fell off the bus}; {"begin": "open /dev/nvidiaN"} and then {"field":
"open", "node": PATH, "value": "ok" or the name of the error}. Raw: judges nothing.

It is asked only where a GPU is missing from NVML's list, because reading `information` and opening a node wake a
sleeping GPU and may wait for the driver. Opening makes no node, and is tried on character devices alone.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # the typing module is not worth its start-up time here
    from collections.abc import Sequence
    from typing import Any

MAX_GPUS = 256
_LOG_BYTES = 32 << 20
_RECORD = 8192
_FELL = re.compile(r"NVRM.*?([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}).*fallen off the bus", re.I)
_RW = os.O_RDWR | getattr(os, "O_CLOEXEC", 0)
_WAITLESS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)


class Agent:
    """Asks the kernel about each GPU."""

    def __init__(self, root: str) -> None:
        self.root = root.rstrip("/")

    def emit(self, **line: Any) -> None:
        """Write one line at once."""
        from json import dumps

        data = (dumps(line) + "\n").encode("ascii")
        while data:
            data = data[os.write(1, data) :]

    def run(self, addresses: Sequence[str]) -> None:
        """What cannot hang first, then what may."""
        if len(addresses) > MAX_GPUS:
            self.emit(cap="unlisted-gpus", looked=MAX_GPUS, listed=len(addresses))
        addresses = addresses[:MAX_GPUS]
        fallen = self.fallen()
        for address in addresses:
            value = fallen if isinstance(fallen, str) else address[:-2] in fallen
            self.emit(field="log", gpu=address, **({"error": value} if isinstance(value, str) else {"value": value}))
        minors = {address: self.information(address) for address in addresses}
        for address, minor in minors.items():
            if minor is not None:
                self.open(address, "/dev/nvidia" + str(minor))

    def information(self, address: str) -> int | None:
        """The number in /dev/nvidiaN, as the driver tells it."""
        path = "/proc/driver/nvidia/gpus/" + address + "/information"
        self.emit(begin="read " + path, gpu=address)
        try:
            with open(self.root + path, errors="replace") as file:
                text = file.read(65536)
        except OSError as error:
            self.emit(field="information", gpu=address, error=name_of(error))
            return None
        fields = dict(line.partition(":")[::2] for line in text.split("\n"))
        minor, excluded = fields.get("Device Minor", "").strip(), fields.get("GPU Excluded", "").strip()
        number = int(minor) if minor.isdigit() and len(minor) < 6 else None
        left_out = {"Yes": True, "No": False}.get(excluded)
        self.emit(field="information", gpu=address, minor=number, excluded=left_out)
        return number

    def open(self, address: str, node: str) -> None:
        """Whether this session may open the GPU, and whether the driver then has it."""
        self.emit(begin="open " + node, gpu=address)
        try:
            if not stat.S_ISCHR(os.stat(self.root + node).st_mode):
                raise OSError(errno.ENOTTY, "no character device")
            os.close(os.open(self.root + node, _RW))
        except OSError as error:
            self.emit(field="open", gpu=address, node=node, value=name_of(error))
        else:
            self.emit(field="open", gpu=address, node=node, value="ok")

    def fallen(self) -> set[str] | str:
        """`0000:3b:00` of each GPU that fell off the bus by the kernel log; an error's name where that is closed."""
        found: set[str] = set()
        try:
            log = os.open(self.root + "/dev/kmsg", _WAITLESS)
        except OSError as error:
            return name_of(error)
        left = _LOG_BYTES
        while left > 0:
            try:
                record = os.read(log, _RECORD)
            except BlockingIOError:
                break  # the end of what was logged so far
            except BrokenPipeError:
                continue  # overwritten meanwhile: the next read goes on behind it
            except OSError as error:
                return found or name_of(error)
            if not record:
                break
            left -= len(record)
            for word in _FELL.findall(record.decode("utf-8", "replace")):
                domain, colon, rest = word.lower().partition(":")
                found.add(domain.lstrip("0").rjust(4, "0") + colon + rest)
        return found


def name_of(error: OSError) -> str:
    """`EPERM`."""
    return errno.errorcode.get(error.errno or 0, "error")


def main(arguments: Sequence[str]) -> None:
    """Run as an agent; ends the process at once."""
    Agent(arguments[0]).run(arguments[1:])
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
