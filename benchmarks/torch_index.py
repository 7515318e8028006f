"""An index on this machine in place of PyTorch's own, for where that cannot be reached.

It has torch, torchvision and torchaudio for x86-64 Linux: each CUDA build that the matrix lists, as a wheel of nothing
but metadata, with the requirements in the matrix. CUDA's own wheels are required only by the builds for which the
matrix knows them: those on PyPI.
"""

from __future__ import annotations

import io
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from compat_matrix import Matrix
from compat_matrix.torchs import pypi_tag, usable
from compat_matrix.versions import numbers

HOST = "https://download.pytorch.org"
_PLATFORM = "linux_x86_64"
_OWN = ("torchvision", "torchaudio")


@contextmanager
def torch_index(wanted: bool) -> Iterator[str]:
    """The address to write in place of HOST; '' if not wanted."""
    if not wanted:
        yield ""
        return
    wheels = {name: text for m in [Matrix.load()] for name, text in _wheels(m)}
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(wheels))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def _wheels(m: Matrix) -> Iterator[tuple[str, str]]:
    """(file name, metadata) of each."""
    for build in m.builds:
        if build.platform != _PLATFORM or not usable(build):
            continue
        row = next((row for row in m.requires_rows if row.torch == build.torch), None)
        release = next((row for row in m.releases if row.torch == build.torch), None)
        if row is None or release is None:
            continue
        cuda = row.cuda if pypi_tag(m, build.torch, _PLATFORM) == build.tag else ()
        for python in release.pythons_linux_x86_64:
            yield _wheel("torch", f"{build.torch}+{build.tag}", python, (*row.requires, *cuda))
            for one in m.companion_rows:
                if one.torch == build.torch and one.package in _OWN and one.relation == "==":
                    own = (f"torch=={build.torch}",)
                    yield _wheel(one.package, f"{one.version}+{build.tag}", python, own)


def _wheel(name: str, version: str, python: str, requires: tuple[str, ...]) -> tuple[str, str]:
    tag = "cp" + python.replace(".", "").rstrip("t")
    abi = tag + ("t" if python.endswith("t") else "m" if numbers(python) < (3, 8) else "")
    rows = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    rows += [f"Requires-Dist: {one}" for one in requires]
    return f"{name}-{version}-{tag}-{abi}-manylinux_2_28_x86_64.whl", "\n".join(rows) + "\n"


def _handler(wheels: dict[str, str]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.replace("%2B", "+").rstrip("/").split("/")
            if path[-1] in wheels:
                self._answer(_zipped(path[-1], wheels[path[-1]]), "application/octet-stream")
                return
            name, tag = path[-1], path[-2] if len(path) > 1 else ""
            every = name.endswith(".html")  # -f torch_stable.html lists all
            found = [
                one
                for one in wheels
                if every or (one.startswith(f"{name}-") and (not tag.startswith("cu") or f"+{tag}-" in one))
            ]
            links = "".join(f'<a href="/file/{one.replace("+", "%2B")}">{one}</a>\n' for one in found)
            self._answer(f"<html><body>\n{links}</body></html>".encode(), "text/html", 200 if found else 404)

        def do_HEAD(self) -> None:
            self.send_response(405)
            self.end_headers()

        def _answer(self, data: bytes, kind: str, status: int = 200) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *words: object) -> None:
            """Quiet."""

    return Handler


def _zipped(name: str, metadata: str) -> bytes:
    held = io.BytesIO()
    project, version, *tags = name.removesuffix(".whl").split("-")
    folder = f"{project}-{version}.dist-info"
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr(f"{folder}/METADATA", metadata)
        archive.writestr(f"{folder}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {'-'.join(tags)}\n")
        archive.writestr(f"{folder}/RECORD", "")
    return held.getvalue()
