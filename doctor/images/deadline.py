"""A deadline for all of an answer: when it is over the sockets are shut, whatever trickles through them meanwhile."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import weakref
from collections.abc import Callable
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection


class Deadline:
    """Of the requests of one session, one after the other. `over`: the time is over, and the sockets are shut."""

    def __init__(self) -> None:
        self.over = False
        self.held = False
        """While the reader is at work with what came, the other side owes nothing."""
        self._seconds = self._until = 0.0
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self._timer: threading.Timer | None = None

    def start(self, seconds: float) -> None:
        """Count from now."""
        self.stop()
        self.over, self._seconds, self._until = False, seconds, monotonic() + seconds
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True
        self._timer.start()

    def stop(self) -> None:
        """The answer is there."""
        if self._timer is not None:
            self._timer.cancel()

    def connected(self, connect: Callable[[], socket.socket]) -> socket.socket:
        """What this connects. Raises TimeoutError where the time is over first: the search for a name's addresses, and
        the attempts at each of them, have no limit for all of it."""
        made: SimpleQueue[socket.socket | BaseException] = SimpleQueue()

        def work() -> None:
            try:
                made.put(connect())
            except BaseException as error:
                made.put(error)

        threading.Thread(target=work, daemon=True).start()
        try:
            found = made.get(timeout=max(0.0, self._until - monotonic()))
        except Empty:
            self._end()
            raise TimeoutError("not connected in time") from None
        if isinstance(found, BaseException):
            raise found
        return found

    def add(self, one: socket.socket) -> None:
        """A socket to shut when the time is over."""
        self._sockets.add(one)
        if self.over:
            _shut(one)

    def _end(self) -> None:
        if self.held:
            self.start(self._seconds)
            return
        self.over = True
        for one in list(self._sockets):
            _shut(one)


def _shut(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        socket.socket.shutdown(one, socket.SHUT_RDWR)  # below TLS, which would wait for the other side


def adapter(deadline: Deadline) -> HTTPAdapter:
    """For a session of requests: its connections, from the first byte of TLS on, are within the deadline."""

    class Within(HTTPConnection):
        _handshake: socket.socket | None = None

        def _new_conn(self) -> socket.socket:
            made = deadline.connected(super()._new_conn)
            # TLS takes the descriptor from this object; this one is for the time of the handshake.
            self._handshake = socket.socket(fileno=os.dup(made.fileno()))
            deadline.add(self._handshake)
            return made

        def connect(self) -> None:
            try:
                super().connect()
                deadline.add(self.sock)
            finally:
                if self._handshake is not None:
                    self._handshake.close()

    class WithinTls(Within, HTTPSConnection):
        pass

    class Plain(HTTPConnectionPool):
        ConnectionCls = Within

    class Tls(HTTPSConnectionPool):
        ConnectionCls = WithinTls

    pools = {"http": Plain, "https": Tls}

    class Adapter(HTTPAdapter):
        def init_poolmanager(self, *arguments: Any, **named: Any) -> None:
            super().init_poolmanager(*arguments, **named)
            self.poolmanager.pool_classes_by_scheme = pools

        def proxy_manager_for(self, *arguments: Any, **named: Any) -> Any:
            manager = super().proxy_manager_for(*arguments, **named)
            manager.pool_classes_by_scheme = pools
            return manager

    return Adapter()
