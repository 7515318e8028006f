"""A server on this machine that answers as publishers do: files, a package index with names and parts of wheels."""

from __future__ import annotations

import io
import json
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Publisher:
    """files: what is at each path; packages: the files of the package index (/simple/NAME/), by name."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.packages: dict[str, bytes] = {}
        self.faults: list[int] = []
        """Codes that the next answers have, one each."""
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_port}"

    def put(self, path: str, content: str | bytes) -> str:
        """Its address."""
        self.files[path] = content.encode() if isinstance(content, str) else content
        return f"{self.address}{path}"

    def wheel(self, file: str, *lines: str) -> None:
        """A wheel on the index, with these lines of metadata."""
        name, version = file.split("-")[:2]
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            archive.writestr("large", bytes(200_000))
            head = ("Metadata-Version: 2.4", f"Name: {name}", f"Version: {version}", *lines)
            archive.writestr(f"{name}-{version}.dist-info/METADATA", "\n".join(head) + "\n")
        self.packages[file] = content.getvalue()

    def listing(self, package: str) -> bytes | None:
        """The index's page of a package."""
        own = [name for name in self.packages if name.partition("-")[0].replace("_", "-") == package]
        files = [
            {"filename": name, "url": f"{self.address}/{name}", "requires-python": ">=3.11", "upload-time": "2026-11-25T09:00:00Z"}
            for name in own
        ]  # fmt: skip
        return json.dumps({"files": files}).encode() if files else None


def _handler(publisher: Publisher) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None: ...

        def do_HEAD(self) -> None:
            self.answer(body=False)

        def do_GET(self) -> None:
            self.answer()

        def answer(self, body: bool = True) -> None:
            if publisher.faults:
                return self.send_error(publisher.faults.pop(0))
            path = self.path.partition("?")[0]
            content = publisher.files.get(path) or publisher.packages.get(path[1:])
            if path.startswith("/simple/"):
                content = publisher.listing(path.split("/")[2])
            if content is None:
                return self.send_error(404)
            code = 200
            if span := self.headers["Range"]:
                first, _, last = span.removeprefix("bytes=").partition("-")
                content, code = content[int(first) : int(last) + 1], 206
            self.send_response(code)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if body:
                self.wfile.write(content)
            return None

    return Handler
