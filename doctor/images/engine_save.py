"""What an engine streams when it saves an image: a tar that is read as it comes and not stored."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from typing import IO, cast

import msgspec

_MAX_MANIFEST = 4 << 20
_PIECE = 1 << 20


class _Stream:
    """Pieces as a file that can only be read forward."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._rest = pieces, b""

    def read(self, size: int = -1) -> bytes:
        found = [self._rest]
        have = len(self._rest)
        while size < 0 or have < size:
            piece = next(self._pieces, b"")
            if not piece:
                break
            found.append(piece)
            have += len(piece)
        whole = b"".join(found)
        self._rest = whole[size:] if size >= 0 else b""
        return whole[:size] if size >= 0 else whole


def layer_names(pieces: Iterator[bytes]) -> list[str]:
    """The members that are layers, base first, from the stream's manifest.json; empty if it has none."""
    with tarfile.open(fileobj=cast("IO[bytes]", _Stream(pieces)), mode="r|") as tar:
        links: dict[str, str] = {}
        names: list[str] = []
        for member in tar:
            if member.issym() or member.islnk():
                links[member.name] = member.linkname
            if member.name == "manifest.json" and (file := tar.extractfile(member)):
                found = msgspec.json.decode(file.read(_MAX_MANIFEST))
                layers = found[0].get("Layers") if isinstance(found, list) and found else None
                names = [name for name in layers or () if isinstance(name, str)]
        return [_target(name, links) for name in names]


def layer_pieces(pieces: Iterator[bytes], name: str, offset: int) -> Iterator[bytes]:
    """One member's bytes from `offset` on; IndexError if the stream has no such member."""
    with tarfile.open(fileobj=cast("IO[bytes]", _Stream(pieces)), mode="r|") as tar:
        for member in tar:
            file = tar.extractfile(member) if member.name == name and member.isfile() else None
            if file is None:
                continue
            while piece := file.read(_PIECE):
                kept, offset = piece[offset:], max(0, offset - len(piece))
                if kept:
                    yield kept
            return
    raise IndexError(name)


def _target(name: str, links: dict[str, str]) -> str:
    """`docker save` links a layer that it has already written: `../<id>/layer.tar`."""
    return links[name].removeprefix("../") if name in links else name
