"""Part of the agent collective_proof: it once more, as a child, and what ends a child with it."""

from __future__ import annotations

import json
import os
import subprocess
import threading

from .agent_boot import again
from .movement import FAULTS, WORDS, moves

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Sequence

    from .movement import Waits

    Line = Dict[str, Any]

GRACE_S = 0.5


class Child:
    """This agent again in a process of its own; its lines come through a file, so nobody waits for a pipe."""

    def __init__(self, folder: str, name: str, flags: Any, *arguments: str) -> None:
        self.path = os.path.join(folder, name)
        self.offset = 0
        self.lines: List[Line] = []
        self.waits: Waits = ""
        """What it waited for when its time was over; empty where it stood still."""
        command, inherited = again("collective_proof", own=False)
        if not command:
            raise OSError("this Python cannot be started once more")
        try:
            with open(self.path, "wb") as output:
                self.process = subprocess.Popen(
                    [*command, "--device", flags.device, *arguments],
                    stdin=subprocess.PIPE,  # its end tells the child that nobody waits for it any more
                    stdout=output,
                    pass_fds=inherited,
                )
        finally:
            for number in inherited:
                os.close(number)

    def read(self) -> List[Line]:
        """Whole lines that came since the last look."""
        with open(self.path, "rb") as file:
            file.seek(self.offset)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self.offset += len(whole)
        fresh = [json.loads(line) for line in whole.splitlines()]
        self.lines += fresh
        return fresh

    @property
    def step(self) -> str:
        """What it began last."""
        return next((line["begin"] for line in reversed(self.lines) if "begin" in line), "start")

    def ended(self) -> bool:
        return self.process.poll() is not None

    def how(self) -> str:
        """How it ended, in words."""
        code = self.process.returncode
        words = "signal %d" % -code if code is not None and code < 0 else "exit code %s" % code
        return "ended with %s in %s" % (words, self.step)

    def slow(self) -> str:
        """What a child does that is not over and not dead, in words."""
        return "%s: %s" % (self.step, WORDS[self.waits])

    def waited(self) -> bool:
        """Whether it gave up because another rank did not come: an error of what they do together."""
        return any(line.get("in") in ("init_process_group", "all_reduce") for line in self.lines if "error" in line)

    def kill(self) -> None:
        self.process.kill()
        try:
            self.process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            pass  # inside the driver: nothing ends it


def slowest(silent: Sequence[Child]) -> str:
    """The fault of ranks without an answer; slow or starved where one of them still moves."""
    for child in silent:
        child.waits = moves(child.process.pid, child.step)
        if child.waits == "slow" and not child.step.startswith(("import", "start")):
            child.waits = ""  # the threads of the backend read a little for ever
    found = [FAULTS[child.waits] for child in silent]
    return next((fault for fault in ("slow", "starved") if fault in found), "hang")


def leave_with_parent() -> None:
    """End with the process that started this one, whatever the main thread waits for."""

    def wait() -> None:
        os.read(0, 1)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
