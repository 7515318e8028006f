"""Tiny valid wheels, and folders of them that serve as package indexes (PEP 503) under file://."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

ANY = "py3-none-any"


def make_wheel(
    folder: Path,
    name: str,
    version: str,
    requires: Sequence[str] = (),
    files: Mapping[str, bytes] | None = None,
    tag: str = ANY,
    extras: Sequence[str] = (),
    metadata: Sequence[str] = (),
) -> Path:
    """A wheel with these files under site-packages; one without files has an importable empty module."""
    stem = name.replace("-", "_")
    given = dict(files or {f"{stem}/__init__.py": b""})
    info = f"{stem}-{version}.dist-info"
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *metadata]
    lines += [f"Provides-Extra: {extra}" for extra in extras] + [f"Requires-Dist: {line}" for line in requires]
    pure = str(tag == ANY).lower()
    given[f"{info}/METADATA"] = ("\n".join(lines) + "\n\nWords.\n").encode()
    given[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: {pure}\nTag: {tag}\n".encode()
    rows = [f"{path},sha256={_digest(data)},{len(data)}" for path, data in given.items()]
    given[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,", ""]).encode()
    path = folder / f"{stem}-{version}-{tag}.whl"
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for inside, data in given.items():
            archive.writestr(inside, data)
    return path


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


class Index:
    """A folder with one folder a project and a page of links in it; `url` is what pip and uv are given."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.wheels = root / "wheels"
        self.url = (root / "simple").as_uri()
        self.names: dict[str, list[str]] = {}

    def add(
        self,
        name: str,
        version: str,
        requires: Sequence[str] = (),
        files: Mapping[str, bytes] | None = None,
        tag: str = ANY,
        extras: Sequence[str] = (),
        metadata: Sequence[str] = (),
    ) -> None:
        """Make a wheel and offer it."""
        self.offer(name, make_wheel(self.wheels, name, version, requires, files, tag, extras, metadata))

    def offer(self, name: str, wheel: Path) -> None:
        """Offer a wheel that is there already."""
        links = self.names.setdefault(name, [])
        links.append(f'<a href="{wheel.as_uri().replace("+", "%2B")}">{wheel.name}</a><br>')

    def write(self) -> None:
        """Write the pages: once all wheels are there."""
        for name, links in self.names.items():
            page = self.root / "simple" / name
            page.mkdir(parents=True, exist_ok=True)
            (page / "index.html").write_text("<!DOCTYPE html><html><body>\n" + "\n".join(links) + "\n</body></html>\n")
