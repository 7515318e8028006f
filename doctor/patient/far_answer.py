"""Agent that gathers as `far` does, and gives all of its lines at once, as lines of the wire format.

When its time is over, it answers with what it has gathered by then; if its reader is gone, it ends without an answer.
Python 3.8, standard library.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import threading
import time

from .answer_lines import CHUNK, lines
from .far import Far, limit_of
from .noise import real_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List


class Collected(Far):
    """The whole run, whose lines are kept."""

    def __init__(self, descriptor: int, settings: "Dict[str, Any]") -> None:
        Far.__init__(self, descriptor, settings)
        self.kept: "List[bytes]" = []

    def emit(self, line: "Dict[str, Any]") -> None:
        """One line of JSON, kept until the end."""
        self.kept.append(json.dumps(line).encode() + b"\n")

    def start(self, name: str, work: "Callable[[], Any]", limit_s: float) -> None:
        """A child at work, which does not hold the answer's way out open: it may hang where nothing ends it."""

        def alone() -> None:
            os.close(self.descriptor)
            work()

        Far.start(self, name, alone, limit_s)

    def give(self) -> None:
        """Write the answer, and by this machine's clock when."""
        self.emit({"clock": time.time()})
        for line in lines(b"".join(self.kept), self.settings["run"], self.settings.get("chunk", CHUNK)):
            while line:
                line = line[os.write(self.descriptor, line) :]

    def stop(self, number: int, frame: object) -> None:
        """Give what there is, and leave nothing behind."""
        self.kill()
        self.give()
        os._exit(0)

    def kill(self) -> None:
        """End the children, each with its group."""
        for child in list(self.children):
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except OSError:
                continue

    def watch(self) -> None:
        """Wait until the reader of the answer is gone, then end everything."""
        poll = select.poll()
        poll.register(self.descriptor, 0)
        poll.poll()
        self.kill()
        os._exit(1)


def main(arguments: "Any" = ()) -> None:
    """Run as an agent."""
    settings = json.loads(sys.modules["gpudoctor_agents"].sent)
    run = Collected(real_output(), settings)
    signal.signal(signal.SIGALRM, run.stop)
    signal.alarm(limit_of(settings))
    threading.Thread(target=run.watch, daemon=True).start()
    run.run()
    run.give()
    os._exit(0)


if __name__ == "__main__":
    main()
