"""Agent that is sent as one text to another machine's or container's Python: all that a live run gathers, as lines.

It reads the files itself, asks libcuda and NVML in children, and lets the patient's Python import torch; each has its
deadline, and an alarm ends everything. Nothing is written on that side. Lines: {"hello": [3, 11]}, {"file": {...}} of
the file gatherer, {"agent": name, "line": {...}}, {"agent": name, "end": code, "hung": bool, "seconds": s,
"stderr": text}, {"bye": true}. Python 3.8, standard library; settings, the binding of NVML and the text of torch_facts
come with it (`gpudoctor_agents.sent`).
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time

from .cuda_driver import main as ask_libcuda
from .gather import gather, gather_devices
from .interpreters import STARTS
from .noise import real_output
from .nvml import main as ask_nvml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional

_MOST = 8 << 20
"""Bytes of one child's output."""


class Child:
    """A forked child and its two pipes."""

    def __init__(self, name: str, work: "Callable[[], Any]", limit_s: float) -> None:
        self.name, self.began, self.limit_s = name, time.monotonic(), limit_s
        out, to_out = os.pipe()
        err, to_err = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            try:
                os.setsid()
                os.dup2(to_out, 1)
                os.dup2(to_err, 2)
                for descriptor in (out, err, to_out, to_err):
                    os.close(descriptor)
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(int(limit_s) + 5)
                work()
            finally:
                os._exit(1)
        os.close(to_out)
        os.close(to_err)
        self.open = {out: bytearray(), err: bytearray()}
        self.out, self.err = out, err
        self.buffer, self.tail = self.open[out], self.open[err]

    def left(self) -> float:
        """Seconds to its deadline."""
        return self.began + self.limit_s - time.monotonic()


class Far:
    """The whole run on the far side."""

    def __init__(self, descriptor: int, settings: "Dict[str, Any]") -> None:
        self.descriptor, self.settings = descriptor, settings
        self.children: "List[Child]" = []
        self.patient: "Optional[str]" = None

    def emit(self, line: "Dict[str, Any]") -> None:
        """One line of JSON, whole."""
        data = json.dumps(line).encode() + b"\n"
        while data:
            data = data[os.write(self.descriptor, data) :]

    def run(self) -> None:
        """Device nodes first (a library of the driver would make them), then all else side by side."""
        limit = float(self.settings["limit_s"])
        self.emit({"hello": list(sys.version_info[:3])})
        gather_devices(self.file)
        if hasattr(os, "fork"):
            self.start("cuda_driver", lambda: ask_libcuda(()), limit)
            self.start("nvml", lambda: ask_nvml(("",)), limit)
        options = {"devices": False, "cwd": self.settings.get("cwd", ""), "python": self.settings.get("python")}
        gather(self.file, "/", dict(os.environ), None, options)
        if self.patient:
            self.start("python", self.start_patient, limit)
        if self.patient and self.settings["torch"]:
            self.start("torch", self.import_torch, 3 * limit)
        while self.children:
            self.read()
        self.emit({"bye": True})

    def file(self, line: "Dict[str, Any]") -> None:
        """A line of the file gatherer; which Python is the patient's is kept."""
        if line.get("at") == "python" and line.get("role") == "patient":
            self.patient = line.get("executable")
        self.emit({"file": line})

    def start(self, name: str, work: "Callable[[], Any]", limit_s: float) -> None:
        """A child at work."""
        try:
            self.children.append(Child(name, work, limit_s))
        except OSError as error:
            self.emit({"agent": name, "end": None, "hung": False, "seconds": 0.0, "stderr": str(error)})

    def become(self, *arguments: str) -> None:
        """Become the patient's Python. It and its children write no compiled form of what they import."""
        assert self.patient
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        os.execv(self.patient, [self.patient, *arguments])

    def start_patient(self) -> None:
        """Become the patient's Python, which only says that it starts."""
        try:
            self.become("-S", "-c", STARTS)
        except OSError as error:
            os.write(2, str(error).encode("utf-8", "replace"))

    def import_torch(self) -> None:
        """Become the patient's Python, which reads the agent from a pipe."""
        source, sink = os.pipe()
        if os.fork():
            os.close(sink)
            os.dup2(source, 0)
            self.become("-")
        os.close(source)
        data = self.settings["torch"].encode()
        while data:
            data = data[os.write(sink, data) :]
        os._exit(0)

    def read(self) -> None:
        """What has come from the children, and the end of those that ended or are late."""
        wait = max(0.0, min(child.left() for child in self.children))
        descriptors = [number for child in self.children for number in child.open]
        ready = select.select(descriptors, [], [], wait)[0] if descriptors else []
        for child in list(self.children):
            for number in [one for one in ready if one in child.open]:
                data = os.read(number, 1 << 16)
                if data:
                    child.open[number].extend(data)
                else:
                    del child.open[number]
                    os.close(number)
            self.lines(child)
            late = child.left() <= 0 or len(child.buffer) > _MOST
            if late or not child.open:
                self.end(child, late)

    def lines(self, child: Child) -> None:
        """The whole lines of a child, passed on."""
        *whole, rest = bytes(child.buffer).split(b"\n")
        child.buffer[:] = rest
        for line in whole:
            try:
                found = json.loads(line)
            except ValueError:
                continue
            if isinstance(found, dict):
                self.emit({"agent": child.name, "line": found})

    def end(self, child: Child, late: bool) -> None:
        """Its end is told; one that is late is killed with its group, and not waited for where it cannot be killed."""
        self.children.remove(child)
        code: "Optional[int]" = None
        if late:
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except OSError:
                pass
        until = time.monotonic() + 2
        while code is None and time.monotonic() < until:
            pid, status = os.waitpid(child.pid, os.WNOHANG)
            if pid:
                code = -(status & 127) if status & 127 else status >> 8
            else:
                time.sleep(0.01)
        seconds = round(time.monotonic() - child.began, 3)
        tail = bytes(child.tail[-4096:]).decode("utf-8", "replace")
        self.emit({"agent": child.name, "end": code, "hung": late, "seconds": seconds, "stderr": tail})
        for number in child.open:
            os.close(number)


def limit_of(settings: "Dict[str, Any]") -> int:
    """Seconds after which nothing more is waited for."""
    return int(4 * float(settings["limit_s"])) + 15


def main(arguments: "Any" = ()) -> None:
    """Run as an agent."""
    settings = json.loads(sys.modules["gpudoctor_agents"].sent)
    descriptor = real_output()
    if hasattr(signal, "alarm"):
        signal.alarm(limit_of(settings))
    Far(descriptor, settings).run()
    os._exit(0)


if __name__ == "__main__":
    main()
