"""Which source a reference means: a file or folder, else an engine on this machine that has it, else a registry."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..formats.given import Unopened, file_given, is_stream, near_names
from .source import ImageError, Source

if TYPE_CHECKING:
    from .engine import Engine

_DISK = ("oci:", "oci-archive:", "docker-archive:", "dir:")
_INDEXES = ("index.json", "manifest.json")


class Opened(NamedTuple):
    """A source, and registry, docker, podman, archive or folder. `root`: an unpacked root folder without a config."""

    kind: str
    source: Source | None
    root: str = ""


def open_image(
    text: str, where: str = "", *, plain_http: bool = False, ca: str = "", timeout_s: float = 30.0
) -> Opened:
    """The source of what `text` names; `where`: only registry, docker or podman.

    Raises ImageError, and ModuleNotFoundError if an extra is not installed.
    """
    if not text or not text.isprintable() or len(text) > 4096:
        raise ImageError(f"{text[:80]!r} is not a valid image name")
    if not where and (found := _on_disk(text)):
        return found
    from .reference import parse_reference

    reference = parse_reference(text)
    if where != "registry" and (held := _in_engine(text.removeprefix("docker://"), where, timeout_s)):
        return held
    if ca:
        try:
            file_given(ca).close()
        except Unopened as error:
            raise ImageError(f"--ca: {error}") from None
    from .http import Access
    from .registry import RegistrySource

    return Opened("registry", RegistrySource(reference, Access(plain_http, ca, timeout_s)))


def _in_engine(name: str, where: str, timeout_s: float) -> Opened | None:
    """The engine that has it; without `where`, an engine that does not answer or lacks the image is skipped."""
    from .engine import EngineSource, addresses

    engines: tuple[Engine, ...] = (
        ("docker", "podman") if not where else ("podman",) if where == "podman" else ("docker",)
    )
    for engine in engines:
        for address in addresses(engine):
            try:
                source = EngineSource(name, engine, address, timeout_s)
                source.image("")
            except ImageError:
                if where:
                    raise
                continue
            return Opened(engine, source)
    if where:
        raise ImageError(f"{where.capitalize()} socket not found", unknown=True)
    return None


def _on_disk(text: str) -> Opened | None:
    """A path is recognized by its first characters, or because the file exists; a folder only by the first."""
    prefix = next((one for one in _DISK if text.startswith(one)), "")
    rest = text.removeprefix(prefix)
    is_path = bool(prefix) or rest.startswith(("/", "./", "../", "~")) or rest in (".", "..")
    if is_stream(rest):
        return _archive(rest)
    for name, tag in ((rest, ""), (rest.rpartition(":")[0], rest.rpartition(":")[2])):
        path = Path(name).expanduser()
        if not name or not path.exists() or (path.is_dir() and not is_path):
            continue
        if path.is_dir() and not any((path / index).is_file() for index in _INDEXES):
            if tag:
                raise ImageError(f"{name} is an unpacked root file system, so it has no tags")
            return Opened("folder", None, str(path))
        return _archive(str(path), tag)
    if is_path:
        raise ImageError(f"{rest}: no such file or folder{near_names(rest)}")
    return None


def _archive(path: str, tag: str = "") -> Opened:
    from .layout import LayoutSource

    return Opened("archive", LayoutSource(path, tag))
