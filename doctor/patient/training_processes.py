"""Part of the agent training_speed: the forks that its measurements run in, and their lines."""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import time

from .agent_boot import again
from .json_lines import write_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

AGENT = "training_speed"
TEXT_LIMIT = 500
GRACE_S = 1.0

running: List[Child] = []  # for the signal handler


class Child:
    """A fork that runs `work(say, orders, *arguments)`; `say(**line)` writes into a pipe, `orders` reads from one.

    `fresh`: in a new Python, for work whose first argument is torch: CUDA does not work in a fork of a process that has
    initialised it, as some package may have done at torch's import.
    """

    def __init__(self, work: Callable[..., None], *arguments: Any, fresh: bool = False) -> None:
        self.pipe, out = os.pipe()
        orders, self.orders = os.pipe()
        parent = os.getpid()
        self.status: Optional[int] = None
        self.data = b""
        self.pid = os.fork()
        if self.pid == 0:
            try:
                for number in (signal.SIGTERM, signal.SIGINT):
                    signal.signal(number, signal.SIG_DFL)
                die_with(parent)
                for other in running:
                    os.close(other.pipe)
                    os.close(other.orders)
                running.clear()
                if fresh:
                    os.set_inheritable(out, True)
                    os.set_inheritable(orders, True)
                    command, _ = again(AGENT, own=False)
                    if not command:
                        write_line(out, {"raised": "this Python cannot be started once more"})
                    command += ["--child", work.__name__, json.dumps(arguments[1:]), str(out), str(orders)]
                    os.execv(command[0], command)
                serve(work, out, orders, arguments)
            finally:
                os._exit(1)
        os.close(out)
        os.close(orders)
        running.append(self)

    def order(self, line: str) -> None:
        """Send a line; a child that is gone is found out when it is read."""
        try:
            os.write(self.orders, line.encode("ascii") + b"\n")
        except OSError:
            pass

    def ended(self) -> bool:
        """Whether the process is over; its exit status is `status`."""
        if self.status is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                self.status = status if pid else None
            except OSError:
                self.status = 0
        return self.status is not None

    def kill(self) -> None:
        if self.status is None:
            try:
                os.kill(self.pid, signal.SIGKILL)
            except OSError:
                pass

    def reap(self) -> None:
        """Wait for its end; one that hangs in the driver is left behind."""
        until = time.monotonic() + GRACE_S
        while not self.ended() and time.monotonic() < until:
            time.sleep(0.005)

    def close(self) -> None:
        """End it."""
        self.kill()
        self.reap()
        for pipe in (self.pipe, self.orders):
            os.close(pipe)
        running.remove(self)


def serve(work: Callable[..., None], out: int, orders: int, arguments: Sequence[Any]) -> None:
    """Do a child's work, and end its process."""
    try:
        work(lambda **line: write_line(out, line), os.fdopen(orders), *arguments)
        write_line(out, {"done": True})
    except BaseException as error:
        write_line(out, {"raised": words(error)})
    os._exit(0)


def lines_of(children: Sequence[Child], until: float) -> Iterator[Tuple[Child, Dict[str, Any]]]:
    """Lines as they come, until every child has ended or said that it is done; {"hang": True} of those that had not."""
    left = list(children)
    while left:
        poller = select.poll()
        for child in left:
            poller.register(child.pipe, select.POLLIN)
        remaining = until - time.monotonic()
        if remaining <= 0:
            for child in left:
                yield child, {"hang": True}
            return
        ready = {number for number, _ in poller.poll(min(remaining, 0.25) * 1000 + 1)}
        for child in list(left):
            over = child.ended()
            data = os.read(child.pipe, 1 << 16) if child.pipe in ready else b""
            *whole, child.data = (child.data + data).split(b"\n")
            for text in whole:
                line = json.loads(text)
                if "done" in line or "raised" in line:
                    left.remove(child)
                yield child, line
            if child in left and not data and (over or child.pipe in ready):
                left.remove(child)
                child.reap()
                number = (child.status or 0) & 127
                yield child, {"crash": "signal %d" % number if number else "it ended the process"}


def die_with(parent: int) -> None:
    """Have the kernel end this process when its parent ends (PR_SET_PDEATHSIG; Linux)."""
    try:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)
    except (AttributeError, OSError, TypeError):
        pass
    if os.getppid() != parent:
        os._exit(1)


def words(error: BaseException) -> str:
    """Type and first line of an exception, with the last of one that comes with the traceback of another process."""
    text, _, more = str(error).strip().partition("\n")
    text = "%s %s" % (text, more.rpartition("\n")[2]) if "Traceback" in more else text
    return ("%s: %s" % (type(error).__name__, text) if text else type(error).__name__)[:TEXT_LIMIT]
