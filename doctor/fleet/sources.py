"""What `fleet load` is given, as pieces: one document of a file, or one line; bounded, and nothing that hangs."""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple, TypeAlias

from ..formats.given import Unopened, open_given, shown
from ..guard import Refusal
from ..judge.saved import MAX_BYTES, text_bytes
from .answer import MARK
from .foreign import FOLDER_LINK, HEAD_BYTES, OF_ANOTHER_KIND, foreign, is_database
from .kinds import Refused
from .lines import TOO_LARGE, Piece, is_lines, lines_of, prefixed, whole
from .names import is_name

MOST_FILES = 1_000_000
_BLOCK = 1 << 18
_RATIO = 200
"""Bytes that one of a compressed file may become, beyond 64 MiB; reports become 20 to 60."""
_LINES = (".jsonl", ".ndjson")
_HALF = (".tmp", ".part", ".partial", ".crdownload", ".swp", ".swo", ".bak", "~")
_PACKED = (".zst", ".xz", ".bz2", ".zip", ".tar", ".tgz", ".7z", ".lz4", ".z")
_OTHERS = (
    ".md", ".rst", ".html", ".htm", ".csv", ".tsv", ".pdf", ".db", ".db.part", ".db-journal", ".db-wal", ".db-shm",
    ".sqlite", ".sqlite3", ".py", ".sh", ".yml", ".yaml", ".toml", ".cfg", ".ini", ".conf", ".lock", ".pid", ".pem",
    ".key", ".pub", ".png", ".jpg", ".svg", ".sha256", ".md5", ".asc", ".sig",
)  # fmt: skip
"""Kinds of files that never contain a report, but are often stored next to reports."""
_LOGS = (".log", ".out", ".err")
"""Their names are those of jobs."""
_NO_REPORT = "was not read: it does not start like a report, and its name does not end in .json, .jsonl or .ndjson"

_Kind: TypeAlias = Literal["document", "lines", "half", "packed", "other", "unsure"]


class _Recording(NamedTuple):
    """The folder of a recording (`gpudoctor record`): the raw answers of a node, which has its name."""

    folder: str


Replay: TypeAlias = Callable[[str], bytes]
"""From the folder of a recording to its report without a verdict. Raises Refusal if it cannot be read."""


def pieces(paths: tuple[str, ...], replay: Replay, output: str = "") -> Iterator[Piece | Refused]:
    """Everything that these paths hold, in their order, folders by name, without the database that is written. Raises
    Refusal for a path that is none."""
    count = 0
    namesakes = _namesakes(paths)
    ours = tuple(os.path.realpath(output) + end for end in ("", ".part")) if output else ()
    ends = tuple(os.path.basename(name) for name in ours)  # noqa: PTH119
    for path in paths:
        for file in _files(path):
            if isinstance(file, Refused):
                if not (file.file.endswith(ends) and os.path.realpath(file.file) in ours):
                    yield file
                continue
            name = file if isinstance(file, str) else file.folder
            if name != path and name.endswith(ends) and os.path.realpath(name) in ours:
                continue
            count += 1
            if count > MOST_FILES:
                yield Refused(name, 0, f"over {MOST_FILES:,} files: this file and all later ones are not read")
                return
            found = _of_file(file, file != path) if isinstance(file, str) else iter((_replayed(name, replay),))
            for piece in found:
                many = namesakes.get(piece.hint, 0) if isinstance(piece, Piece) and not piece.line else 0
                yield piece._replace(namesakes=many) if many and isinstance(piece, Piece) else piece


def _namesakes(paths: tuple[str, ...]) -> dict[str, int]:
    """How many files have a name that occurs in several folders, as in Ansible's HOST/tmp/report.json."""
    first: dict[str, str] = {}
    several: dict[str, int] = {}
    found = (file for path in paths for file in _files(path) if isinstance(file, (str, _Recording)))
    for number, file in enumerate(found):
        if number > MOST_FILES:
            break
        folder, name = os.path.split(file if isinstance(file, str) else file.folder.rstrip("/"))
        hint = hint_of(name) if isinstance(file, str) else name
        if not hint:
            continue
        if hint in several:
            several[hint] += 1
        elif first.setdefault(hint, folder) != folder:
            several[hint] = 2
    return several


def hint_of(name: str) -> str:
    """The node that a file's name may be; empty for a file of lines and for a log."""
    plain = _without(name, ".gz")
    if plain.lower().endswith((*_LINES, *_LOGS)):
        return ""
    return _without(_without(plain, ".json"), ".txt")


def _without(name: str, end: str) -> str:
    return name[: -len(end)] if name.lower().endswith(end) else name


def _kind(name: str) -> _Kind:
    low = name.lower()
    plain = low.removesuffix(".gz")
    if plain.endswith(".json"):
        return "document"
    if plain.endswith(_LINES):
        return "lines"
    if low.startswith((".", "readme", "license")) or low.endswith(_OTHERS) or low == "makefile":
        return "other"
    if low.endswith(_HALF):
        return "half"
    return "packed" if low.endswith(_PACKED) else "unsure"


def refuse_unreadable(paths: tuple[str, ...]) -> None:
    """Raises Refusal if one of the paths is not there, is a FIFO, socket or device, or is itself a fleet database."""
    for path in paths:
        if os.path.isdir(path):  # noqa: PTH112
            continue
        try:
            descriptor = open_given(path)
        except Unopened as error:
            raise Refusal(str(error)) from None
        try:
            regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
            head = os.pread(descriptor, HEAD_BYTES, 0) if regular else b""
        except OSError:  # reading it will say so
            head = b""
        finally:
            os.close(descriptor)
        if is_database(head):
            raise Refusal(f"{shown(path)} {foreign(head)}")


def _files(path: str) -> Iterator[str | _Recording | Refused]:
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
    if any(entry.name == "manifest.json" for entry in entries) and _is_recording(path):
        yield _Recording(path)
        return
    for entry in entries:
        kind = _kind(entry.name)
        if entry.is_dir(follow_symlinks=False):
            yield from _files(entry.path)
        elif entry.is_symlink() and os.path.isdir(entry.path):  # noqa: PTH112, is_dir of a link to itself raises
            yield Refused(entry.path, 0, FOLDER_LINK)
        elif kind == "other":
            yield Refused(entry.path, 0, OF_ANOTHER_KIND)
        elif kind == "half":
            end = next(end for end in _HALF if entry.name.lower().endswith(end))
            yield Refused(entry.path, 0, f"half-written ({end})", _named(hint_of(entry.name[: -len(end)])))
        elif kind == "packed":
            end = os.path.splitext(entry.name)[1]  # noqa: PTH122
            reason = f"was not read: unpack {end} first, or pack it as .gz"
            yield Refused(entry.path, 0, reason, _named(hint_of(entry.name[: -len(end)])))
        else:
            yield entry.path


def _replayed(folder: str, replay: Replay) -> Piece | Refused:
    name = os.path.basename(os.path.abspath(folder))  # noqa: PTH100, PTH119
    try:
        data = replay(folder)
        modified = os.stat(os.path.join(folder, "manifest.json")).st_mtime  # noqa: PTH116, PTH118
    except (Refusal, OSError) as error:
        reason = str(getattr(error, "strerror", None) or error)
        return Refused(folder, 0, reason.replace(f"{folder} ", "", 1), _named(name))
    return Piece(folder, 0, name, modified, data)


def _is_recording(folder: str) -> bool:
    from ..targets.recording import is_recording

    return is_recording(folder)


def _named(hint: str) -> str:
    return hint if is_name(hint) else ""


def _of_file(path: str, inside: bool) -> Iterator[Piece | Refused]:
    """`inside`: found in a folder, where what cannot be opened is refused and the rest goes on."""
    node = _named(hint_of(os.path.basename(path)))  # noqa: PTH119
    try:
        descriptor = open_given(path)
    except Unopened as error:
        if not inside:
            raise Refusal(str(error)) from None
        reason = str(error).replace(f"cannot read {path}: ", "cannot be read: ", 1).replace(f"{path} ", "", 1)
        yield Refused(path, 0, reason, node)
        return
    try:
        for one in _read(path, descriptor, inside):
            yield one if isinstance(one, Piece) or one.line or one.node else one._replace(node=node)
    except (OSError, zlib.error, EOFError) as error:
        yield Refused(shown(path), 0, f"cannot be read: {getattr(error, 'strerror', None) or error}", node)
    finally:
        os.close(descriptor)


def _read(path: str, descriptor: int, inside: bool) -> Iterator[Piece | Refused]:
    about = os.fstat(descriptor)
    regular = stat.S_ISREG(about.st_mode)
    modified = about.st_mtime if regular else 0.0
    name = os.path.basename(path)  # noqa: PTH119
    kind = _kind(name)
    blocks = iter(lambda: os.read(descriptor, _BLOCK), b"")
    first = next(blocks, b"")
    blocks = _joined(first, blocks)
    packed = name.lower().endswith(".gz") or first.startswith(_GZIP)
    document = kind == "document" or (inside and kind == "unsure" and not name.lower().endswith(_LOGS))
    if regular and not packed and document and about.st_size > MAX_BYTES:
        yield Refused(path, 0, f"{TOO_LARGE} ({about.st_size >> 20} MiB)")
        return
    blocks = _unpacked(blocks) if packed else blocks
    first = next(blocks, b"")
    what = foreign(first[:HEAD_BYTES])
    if what:
        yield Refused(shown(path), 0, what)
        return
    blocks = _joined(first, blocks)
    if inside and kind == "unsure":
        first = next(blocks, b"")
        if not _begins(first):
            yield Refused(path, 0, _NO_REPORT if first.strip() else "it is empty")
            return
        blocks = _joined(first, blocks)
    if not document:
        yield from lines_of(shown(path), modified, blocks)
        return
    data = whole(blocks)
    if data is None:
        yield Refused(path, 0, TOO_LARGE)
        return
    plain = data if data[:1] == b"{" else text_bytes(data)
    if is_lines(plain):
        yield from lines_of(path, modified, iter((plain,)))
    else:
        yield Piece(path, 0, hint_of(name), modified, plain)


_GZIP = b"\x1f\x8b"
"""How a gzip file begins. Source: RFC 1952, 2.3.1."""


def _begins(first: bytes) -> bool:
    """Whether a file with any name begins as reports do: with one, or with lines that hold some."""
    plain = text_bytes(first).lstrip()
    if plain[:1] == b"{" or MARK in plain:
        return True
    return any((found := prefixed(line)) is not None and found[2][:1] == b"{" for line in plain[:_BLOCK].split(b"\n"))


def _joined(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _unpacked(packed: Iterator[bytes]) -> Iterator[bytes]:
    """The blocks of a gzip file of any number of members. Raises zlib.error, EOFError."""
    taken, given = 0, 0
    inflate = zlib.decompressobj(31)
    for block in packed:
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
                raise EOFError("it unpacks to far more data than any report contains")
            if part:
                yield part
            block = inflate.unconsumed_tail or inflate.unused_data
    while not inflate.eof and (part := inflate.decompress(inflate.unconsumed_tail, _BLOCK)):
        yield part
    if not inflate.eof:
        raise EOFError("its compressed data is truncated")
