"""Which source a reference means: a file or folder, an engine on this machine, a registry."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from .source import ImageError, Source

_DISK = ("oci:", "oci-archive:", "docker-archive:", "dir:")
_INDEXES = ("index.json", "manifest.json")


class Opened(NamedTuple):
    """A source and its kind: registry, archive, folder. `root`: an unpacked root folder, which has no config."""

    kind: str
    source: Source | None
    root: str = ""


def open_image(text: str, *, plain_http: bool = False, ca: str = "", timeout_s: float = 30.0) -> Opened:
    """The source of what `text` names. Raises ImageError, and ModuleNotFoundError where an extra is not installed."""
    if not text or not text.isprintable() or len(text) > 4096:
        raise ImageError(f"{text[:80]!r} is no name of an image")
    if found := _on_disk(text):
        return found
    from .http import Access
    from .reference import parse_reference
    from .registry import RegistrySource

    if ca and not Path(ca).is_file():
        raise ImageError(f"--ca {ca}: there is no such file")
    return Opened("registry", RegistrySource(parse_reference(text), Access(plain_http, ca, timeout_s)))


def _on_disk(text: str) -> Opened | None:
    """A path is one by its first characters, or because such a file is here; a folder only by the first."""
    prefix = next((one for one in _DISK if text.startswith(one)), "")
    rest = text.removeprefix(prefix)
    is_path = bool(prefix) or rest.startswith(("/", "./", "../", "~")) or rest in (".", "..")
    for name, tag in ((rest, ""), (rest.rpartition(":")[0], rest.rpartition(":")[2])):
        path = Path(name).expanduser()
        if not name or not (path.is_file() or (is_path and path.exists())):
            continue
        if path.is_dir() and not any((path / index).is_file() for index in _INDEXES):
            if tag:
                raise ImageError(f"{name} is an unpacked root folder: it has no tags")
            return Opened("folder", None, str(path))
        from .layout import LayoutSource

        return Opened("archive", LayoutSource(str(path), tag))
    if is_path:
        raise ImageError(f"{rest}: there is no such file or folder")
    return None
