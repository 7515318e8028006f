"""What every kind of file is read to: lines that name a package, and lines that name one of PyTorch's indexes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict

from msgspec import Struct

from compat_matrix.wish import Wish

At = tuple[int, int]
"""Offsets in the text: of the first character, and of the one after the last. (0, 0): not known."""


class Span(Struct, frozen=True):
    """Where something stands: its line, its text in one line, its offsets."""

    number: int = 0
    text: str = ""
    at: At = (0, 0)


class Entry(Struct, frozen=True, kw_only=True):
    """A requirement that is a key or element of TOML. left: 'torch = ', '' in a list; keys: 'version' and the like,
    each with its `key = value`; rows: each of these has a row of its own, and the place is that of the first."""

    left: str
    keys: tuple[tuple[str, str], ...] = ()
    rows: bool = False


Platform = tuple[str, str]
"""sys_platform and platform_machine of markers."""


class Line(Struct, frozen=True, kw_only=True):
    """A requirement. name: as PEP 503 writes it; tail: its marker with the sign before it ('; os_name == "nt"')."""

    number: int
    text: str
    name: str
    extras: str = ""
    tail: str = ""
    at: At = (0, 0)
    entry: Entry | None = None
    platforms: tuple[Platform, ...] = ()
    """Those that it is for, of `reading.PLATFORMS`; empty for all."""
    table: str = ""
    """pixi's table for this platform alone, where the line stands in one for all of several platforms."""


class Pinned(Line, frozen=True, kw_only=True):
    """A line for a package of the matrix. wish: its package and version; local: 'cu126' of torch==2.8.0+cu126, or that
    of its index; indexes: what an installer chooses torch from where the line leaves that open: tags of PyTorch's
    indexes and 'pypi', last; first: whether the first of them that has torch is asked alone, as uv and pixi do."""

    wish: Wish
    local: str = ""
    indexes: tuple[str, ...] = ()
    first: bool = False
    group: str = ""
    """The extra or group that it is part of; '' where it is always installed."""


class Other(Line, frozen=True, kw_only=True):
    """A line for a package that the matrix has no releases of. specifier: '' for any."""

    specifier: str


class Skipped(Struct, frozen=True):
    """A line for other platforms alone. name: of the package in the matrix."""

    name: str
    platforms: tuple[Platform, ...]


class Elsewhere(Struct, frozen=True, kw_only=True):
    """A line for a package that no index answers. why: 'comes from a git repository'."""

    number: int
    text: str
    name: str
    why: str

    @property
    def sentence(self) -> str:
        where = f"line {self.number}: " if self.number else ""
        return f"{where}{self.name} {self.why}, so it is not judged"


class IndexLine(Struct, frozen=True, kw_only=True):
    """A line that names an index. option: '--index-url' as it is written; tag: of PyTorch's, '' for another."""

    number: int
    text: str
    option: str
    tag: str
    at: At = (0, 0)


class Word(Struct, frozen=True):
    """`index = "pytorch-cu128"` of a package; package '' for `name = "pytorch-cu128"` of the index itself. elsewhere:
    the whole entry, where it is for other platforms only; platforms: as Line; marker: that of the entry."""

    package: str
    span: Span
    elsewhere: Span | None = None
    platforms: tuple[Platform, ...] = ()
    marker: str = ""


class Source(Struct, frozen=True, kw_only=True):
    """An index that has a name, and every place where that name is written. tag: as IndexLine."""

    name: str
    tag: str
    url: Span
    words: tuple[Word, ...] = ()


class RequirementFile(Struct, frozen=True, kw_only=True):
    """A file. kind: how it is edited; python: the one Python that it allows ('' for several); regenerate: the command
    that regenerates it, for a file that a tool writes; unsolved: lines that no index can resolve (paths,
    repositories)."""

    kind: str
    lines: tuple[Pinned, ...]
    others: tuple[Other, ...] = ()
    indexes: tuple[IndexLine, ...] = ()
    sources: tuple[Source, ...] = ()
    python: str = ""
    platform: str = ""
    """sys.platform of the machine, for an index that is named by platform."""
    requires: Other | None = None
    """The line for Python itself, where its tool makes one lock file for every Python that it allows."""
    regenerate: str = ""
    hashes: bool = False
    """Whether pip takes only the wheels whose hashes it names."""
    unsolved: tuple[int, ...] = ()
    unread: tuple[str, ...] = ()
    """Sentences about the files that it includes."""
    elsewhere: tuple[Elsewhere, ...] = ()
    """Packages that the matrix knows, from paths and repositories."""
    skipped: tuple[Skipped, ...] = ()
    pip: RequirementFile | None = None
    """What pip installs beside the packages of conda."""


MOST_LINES = 300
"""Of torch and what is built for one release of it: each is judged with all others."""


Found = Pinned | Other | Elsewhere | Skipped | str
"""What a reader finds: a line, or a sentence about what is not read."""


class Parts(TypedDict):
    """Fields of RequirementFile."""

    lines: tuple[Pinned, ...]
    others: tuple[Other, ...]
    elsewhere: tuple[Elsewhere, ...]
    unread: tuple[str, ...]
    skipped: tuple[Skipped, ...]


def split(found: Iterable[Found]) -> Parts:
    """What was found, as fields of the file."""
    several = list(found)
    return Parts(
        lines=tuple(one for one in several if isinstance(one, Pinned)),
        others=tuple(one for one in several if isinstance(one, Other)),
        elsewhere=tuple(one for one in several if isinstance(one, Elsewhere)),
        unread=tuple(dict.fromkeys(one for one in several if isinstance(one, str))),
        skipped=tuple(dict.fromkeys(one for one in several if isinstance(one, Skipped))),
    )
