"""A deadline for a whole answer: when it expires, the sockets are shut, whatever still trickles in."""

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
    """For one session's requests, one after the other. `over`: the time is up, and the sockets are shut."""

    def __init__(self) -> None:
        self.over = False
        self.held = False
        """While the reader processes what arrived, the other side's time does not run."""
        self._seconds = self._until = 0.0
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self._timer: threading.Timer | None = None

    def start(self, seconds: float) -> None:
        """Start counting."""
        self.stop()
        self.over, self._seconds, self._until = False, seconds, monotonic() + seconds
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True
        self._timer.start()

    def stop(self) -> None:
        """The answer is complete."""
        if self._timer is not None:
            self._timer.cancel()

    def connected(self, connect: Callable[[], socket.socket]) -> socket.socket:
        """The socket that this connects. Raises TimeoutError if the time is up first: name resolution and the attempts
        at each address have no overall limit."""
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
            raise TimeoutError("could not connect in time") from None
        if isinstance(found, BaseException):
            raise found
        return found

    def add(self, one: socket.socket) -> None:
        """A socket to shut when the time is up."""
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
    """For a requests session: its connections, from the first TLS byte on, are within the deadline."""

    class Within(HTTPConnection):
        _handshake: socket.socket | None = None

        def _new_conn(self) -> socket.socket:
            made = deadline.connected(super()._new_conn)
            # TLS takes the descriptor from this object; this one is for the duration of the handshake.
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
