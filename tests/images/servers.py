"""A web server that answers as a test says, and keeps what it was asked with."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple


class Answer(NamedTuple):
    """What is sent. `pause_s`: before each byte of the body; `length`: the announced one, where it is not the real."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = {}
    pause_s: float = 0.0
    length: int | None = None


class Server(NamedTuple):
    """A running one. `seen`: (path, Authorization) of each request."""

    address: str
    seen: list[tuple[str, str]]


@contextlib.contextmanager
def serving(answer: Callable[[str], Answer], certificate: tuple[Path, Path] | None = None) -> Iterator[Server]:
    """A server on loopback; `certificate` (certificate, key) makes it speak TLS."""
    seen: list[tuple[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            seen.append((self.path, self.headers.get("Authorization", "")))
            given = answer(self.path)
            self.send_response(given.status)
            for name, value in given.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(given.body) if given.length is None else given.length))
            self.send_header("Connection", "close")
            self.end_headers()
            with contextlib.suppress(OSError):
                for at in range(0, len(given.body), 1 if given.pause_s else len(given.body) or 1):
                    time.sleep(given.pause_s)
                    self.wfile.write(given.body[at : at + (1 if given.pause_s else len(given.body))])
            self.close_connection = True

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield Server(f"127.0.0.1:{server.server_address[1]}", seen)
    finally:
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def answering(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server on loopback of which each connection is `answer`'s, with its address; it hears nothing by itself."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with contextlib.suppress(OSError):
                answer(self.request)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


def drip(data: bytes, repeated: bytes, pause_s: float = 0.02) -> Callable[[socket.socket], None]:
    """After `data`, the same bytes again and again, as long as somebody listens."""

    def answer(client: socket.socket) -> None:
        client.recv(65536)
        client.sendall(data)
        while True:
            time.sleep(pause_s)
            client.sendall(repeated)

    return answer
