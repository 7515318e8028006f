"""Nodes by ssh: the user's own OpenSSH with its configuration, started by ClusterShell for many nodes at a time."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from contextlib import suppress
from queue import Empty, SimpleQueue
from shutil import which
from threading import Event as ThreadEvent
from threading import Thread
from typing import Any

from ...extra import extra_line
from ...guard import Refusal
from ...targets.far_refusals import reason
from ..gather import Event, Probe, Roster, Wish
from ..names import read_hostfile, unfold

_CONNECT_S = 10
_FANOUT = 64
_MOST_AT_ONCE = 10_000
"""Events, so that whoever reads them can look at the clock."""
_MOST_ERR = 20
"""Last lines of ssh's own that are kept."""


class _Job:
    """A run of ClusterShell, in a thread of its own: `port` takes the names whose ssh is to be killed, None for all."""

    def __init__(self, thread: Thread) -> None:
        self.thread = thread
        self.events: SimpleQueue[Event] = SimpleQueue()
        self.port: Any = None
        self.ready = ThreadEvent()


def nodes(wish: Wish) -> Roster:
    """Those that the user names. Raises Refusal."""
    try:
        import ClusterShell.Task  # noqa: F401
    except ImportError:
        raise Refusal(f"--on ssh needs the fleet extra: {extra_line('fleet')}") from None
    names = unfold(wish.nodes, groups=True) if wish.nodes else []
    names += read_hostfile(wish.hostfile) if wish.hostfile else []
    if not names:
        raise Refusal("--on ssh needs --nodes or --hostfile: which nodes should be examined?")
    if which("ssh") is None:
        raise Refusal("ssh is not on PATH: install the OpenSSH client")
    return Roster(tuple(dict.fromkeys(names)), {}, "ssh")


def start(roster: Roster, names: Collection[str], probe: Probe) -> _Job:
    """One ssh for each node, so many at a time."""
    logging.getLogger("ClusterShell").addHandler(logging.NullHandler())
    job = _Job(Thread(target=lambda: _work(job, tuple(names), probe), daemon=True))
    job.thread.start()
    try:
        job.ready.wait()
    except BaseException:
        job.ready.wait()
        stop(job)
        raise
    return job


def answers(job: _Job, wait_s: float) -> Iterator[Event]:
    """What has come."""
    try:
        yield job.events.get(timeout=wait_s)
        for _ in range(_MOST_AT_ONCE):
            yield job.events.get_nowait()
    except Empty:
        return


def stop(job: _Job, names: Collection[str] | None = None) -> str:
    """Kill the ssh of these nodes, or of all: sshd then closes the connection, and the agent ends by itself."""
    if job.port is not None:
        with suppress(AttributeError, KeyError, OSError):  # its end has just closed the port
            job.port.msg_send(None if names is None else tuple(names))
    if names is None:
        job.thread.join()
    return ""


def _work(job: _Job, names: tuple[str, ...], probe: Probe) -> None:
    """The thread: whatever ends it, no node is waited for any more."""
    why = "its ssh process was stopped"
    try:
        _run(job, names, probe)
    except Exception as error:
        why = f"ClusterShell failed: {error}"
    for name in names:
        job.events.put(Event(name, "ended", reason=why))
    job.ready.set()


def _run(job: _Job, names: tuple[str, ...], probe: Probe) -> None:
    """All of ClusterShell is used by this thread alone."""
    from ClusterShell.Event import EventHandler
    from ClusterShell.Task import task_cleanup, task_self

    class Handler(EventHandler):  # type: ignore[misc]
        def __init__(self) -> None:
            self.err: dict[str, list[str]] = {}

        def ev_pickup(self, worker: Any, node: str) -> None:
            job.events.put(Event(node, "began"))

        def ev_read(self, worker: Any, node: str, sname: str, msg: bytes) -> None:
            if sname == worker.SNAME_STDOUT:
                job.events.put(Event(node, "line", msg))
            else:
                err = self.err.setdefault(node, [])
                err.append(msg[:1000].decode("utf-8", "replace"))
                del err[:-_MOST_ERR]

        def ev_hup(self, worker: Any, node: str, rc: int) -> None:
            err = "\n".join(self.err.pop(node, ()))
            why = reason("ssh", "", rc, err, False, "OpenSSH")  # words that follow "ssh" are masked as a host's name
            job.events.put(Event(node, "ended", b"", why.words, why.lost))

    class Stop(EventHandler):  # type: ignore[misc]
        def ev_msg(self, port: Any, msg: tuple[str, ...] | None) -> None:
            if msg is None:
                task.abort()
            for name in msg or ():
                workers[name].abort()

    task = task_self()
    for name, value in (("stdout_msgtree", False), ("stderr_msgtree", False), ("auto_tree", False)):
        task.set_default(name, value)
    for name, setting in (("fanout", _FANOUT), ("connect_timeout", _CONNECT_S), ("ssh_options", "-T")):
        task.set_info(name, setting)
    job.port = task.port(handler=Stop(), autoclose=True)
    job.ready.set()
    handler, workers = Handler(), dict[str, Any]()
    for name in names:
        worker = workers[name] = task.shell(
            f"exec /bin/sh -c '{probe.command}'", nodes=name, handler=handler, stderr=True, tree=False
        )
        worker.write(probe.script)
        worker.set_write_eof()
    task.run()
    task_cleanup()
