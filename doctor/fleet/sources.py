"""What `fleet load` is given, as pieces: one document of a file, or one line; bounded, and nothing that hangs."""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..formats.given import Unopened, open_given, shown
from ..guard import Refusal
from ..judge.saved import MAX_BYTES
from .answer import MARK, Reader
from .kinds import Refused

MOST_FILES = 1_000_000
_BLOCK = 1 << 18
_DOCUMENTS = (".json", ".json.gz")
_LINES = (".jsonl", ".jsonl.gz")
_RATIO = 200
"""Bytes that one of a compressed file may become, beyond 64 MiB; reports become 20 to 60."""
_TOO_LARGE = "is over 64 MiB: no report is that large"


class Piece(NamedTuple):
    """One candidate for an answer."""

    file: str
    line: int
    """0 where the file is one document."""
    hint: str
    """The file's name without its ending; empty where it holds lines."""
    modified: float
    """When the file was written, by the clock of whoever reads it; 0 for a stream."""
    data: bytes
    namesakes: int = 0
    """Files of this name, where they stand in several folders; else 0."""


def pieces(paths: tuple[str, ...]) -> Iterator[Piece | Refused]:
    """Everything that these paths hold, in their order, folders by name. Raises Refusal for a path that is none."""
    count = 0
    namesakes = _namesakes(paths)
    for path in paths:
        for file in _files(path):
            if isinstance(file, Refused):
                yield file
                continue
            count += 1
            if count > MOST_FILES:
                yield Refused(file, 0, f"over {MOST_FILES:,} files: this one and all after it are not read")
                return
            for piece in _of_file(file, file != path):
                many = namesakes.get(piece.hint, 0) if isinstance(piece, Piece) and piece.hint else 0
                yield piece._replace(namesakes=many) if many and isinstance(piece, Piece) else piece


def _namesakes(paths: tuple[str, ...]) -> dict[str, int]:
    """How many files have a name that stands in several folders, as in Ansible's HOST/tmp/report.json."""
    first: dict[str, str] = {}
    several: dict[str, int] = {}
    for number, file in enumerate(file for path in paths for file in _files(path) if isinstance(file, str)):
        if number > MOST_FILES:
            break
        folder, name = os.path.split(file)
        hint = hint_of(name)
        if not hint:
            continue
        if hint in several:
            several[hint] += 1
        elif first.setdefault(hint, folder) != folder:
            several[hint] = 2
    return several


def hint_of(name: str) -> str:
    """The node that a file's name may be; empty for a file of lines."""
    plain = name.removesuffix(".gz")
    return plain.removesuffix(".json") if plain.endswith(".json") else ""


def refuse_unreadable(paths: tuple[str, ...]) -> None:
    """Raises Refusal where one of the paths is not there, or is a FIFO, socket or device."""
    for path in paths:
        if os.path.isdir(path):  # noqa: PTH112
            continue
        try:
            os.close(open_given(path))
        except Unopened as error:
            raise Refusal(str(error)) from None


def _files(path: str) -> Iterator[str | Refused]:
    """The file itself, or those below a folder; links to folders are not followed."""
    if not os.path.isdir(path):  # noqa: PTH112
        yield path
        return
    try:
        with os.scandir(path) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        yield Refused(path, 0, f"cannot be read: {error.strerror or error}")
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _files(entry.path)
        elif entry.name.endswith(".tmp"):
            yield Refused(entry.path, 0, "half-written (.tmp)")
        elif entry.name.endswith((*_DOCUMENTS, *_LINES)) and not entry.name.startswith("."):
            yield entry.path


def _of_file(path: str, inside: bool) -> Iterator[Piece | Refused]:
    """`inside`: found in a folder, where what cannot be opened is refused and the rest goes on."""
    try:
        descriptor = open_given(path)
    except Unopened as error:
        if not inside:
            raise Refusal(str(error)) from None
        yield Refused(path, 0, str(error).replace(f"{path} ", "", 1))
        return
    try:
        yield from _read(path, descriptor)
    except (OSError, zlib.error, EOFError) as error:
        yield Refused(shown(path), 0, f"cannot be read: {getattr(error, 'strerror', None) or error}")
    finally:
        os.close(descriptor)


def _read(path: str, descriptor: int) -> Iterator[Piece | Refused]:
    about = os.fstat(descriptor)
    regular = stat.S_ISREG(about.st_mode)
    modified = about.st_mtime if regular else 0.0
    name = os.path.basename(path)  # noqa: PTH119
    packed = name.endswith(".gz")
    if regular and packed is False and name.endswith(_DOCUMENTS) and about.st_size > MAX_BYTES:
        yield Refused(path, 0, f"{_TOO_LARGE} ({about.st_size >> 20} MiB)")
        return
    blocks = _unpacked(descriptor) if packed else iter(lambda: os.read(descriptor, _BLOCK), b"")
    if not name.endswith(_DOCUMENTS):
        yield from _lines(shown(path), modified, blocks)
        return
    data = _whole(blocks)
    if data is None:
        yield Refused(path, 0, _TOO_LARGE)
    elif (data[:1] != b"{" and MARK in data[:_BLOCK]) or _is_lines(data):
        yield from _lines(path, modified, iter((data,)))
    else:
        yield Piece(path, 0, hint_of(name), modified, data)


def _whole(blocks: Iterator[bytes], first: bytes = b"") -> bytes | None:
    """All of it; None where it is over 64 MiB."""
    parts, size = [first] if first else [], len(first)
    for block in blocks:
        size += len(block)
        if size > MAX_BYTES:
            return None
        parts.append(block)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _is_lines(data: bytes) -> bool:
    """Whether a `.json` holds one document a line: its first line ends what it opens, and others follow."""
    end = data.find(b"\n")
    if end < 0 or end > len(data) - 3:
        return False
    first = data[:end].strip()
    return first[:1] == b"{" and first[-1:] == b"}" and data[end:].lstrip()[:1] == b"{"


def _unpacked(descriptor: int) -> Iterator[bytes]:
    """The blocks of a gzip file of any number of members. Raises zlib.error, EOFError."""
    taken, given = 0, 0
    inflate = zlib.decompressobj(31)
    while block := os.read(descriptor, _BLOCK):
        taken += len(block)
        while block:
            if inflate.eof:
                block = block.lstrip(b"\0")
                if not block:
                    break
                inflate = zlib.decompressobj(31)
            part = inflate.decompress(block, _BLOCK)
            given += len(part)
            if given > MAX_BYTES + _RATIO * taken:
                raise EOFError("it unpacks to far more than any reports do")
            if part:
                yield part
            block = inflate.unconsumed_tail or inflate.unused_data
    while not inflate.eof and (part := inflate.decompress(inflate.unconsumed_tail, _BLOCK)):
        yield part
    if not inflate.eof:
        raise EOFError("its compressed data is cut")


def _lines(file: str, modified: float, blocks: Iterator[bytes]) -> Iterator[Piece | Refused]:
    """A piece a line; of lines of the wire format a piece for each answer, and then other lines are noise."""
    reader: Reader | None = None
    noise: list[Refused] = []
    number = 0
    for number, line, more in _split(blocks):
        if number > _MOST_LINES:
            yield Refused(file, number, f"over {_MOST_LINES:,} lines: this one and all after it are not read")
            break
        if line is None:
            yield Refused(file, number, _TOO_LARGE)
            continue
        if MARK in line:
            reader = reader or Reader()
            yield from (Piece(file, number, "", modified, answer) for answer in reader.feed(line))
            continue
        text = line.strip()
        if not text:
            continue
        if text[:1] != b"{":
            if len(noise) < _MOST_NOISE and reader is None:
                noise.append(Refused(file, number, "it is not JSON"))
            continue
        if text == b"{":  # a document that goes over many lines
            whole = more()
            if whole is None:
                yield Refused(file, number, _TOO_LARGE)
            else:
                yield Piece(file, 0, "", modified, line + whole)
            return
        yield Piece(file, number, "", modified, text)
    if reader is not None:
        yield from (Refused(file, number, reason) for reason in reader.rest())
    else:
        yield from noise
    if not number:
        yield Refused(file, 0, "it is empty")


_MOST_NOISE = 1000
"""Lines of one file that are no JSON and are named one by one."""
_MOST_LINES = 2_000_000


def _split(blocks: Iterator[bytes]) -> Iterator[tuple[int, bytes | None, Callable[[], bytes | None]]]:
    """(number, line, what gives all that follows) of each; None in place of a line that is too long."""
    buffer, number, skipping = bytearray(), 0, False
    for block in blocks:
        start = 0
        while (end := block.find(b"\n", start)) >= 0:
            number += 1
            buffer += block[start:end]
            start = end + 1
            line = None if skipping or len(buffer) > MAX_BYTES else bytes(buffer)
            skipping = False
            buffer.clear()
            rest = block[start:]
            yield number, line, lambda rest=rest: _whole(blocks, rest)  # type: ignore[misc]
        if not skipping:
            buffer += block[start:]
            if len(buffer) > MAX_BYTES:
                skipping = True
                buffer.clear()
    if skipping or buffer:
        yield number + 1, None if skipping else bytes(buffer), lambda: b""
