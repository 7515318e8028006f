"""What every kind of file is read into: lines that name a package, and lines that name one of PyTorch's indexes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict

from msgspec import Struct

from compat_matrix.wish import Wish

At = tuple[int, int]
"""Offsets in the text: of the first character, and of the one after the last. (0, 0): unknown."""


class Span(Struct, frozen=True):
    """Where something is in the file: its line, its text on one line, its offsets."""

    number: int = 0
    text: str = ""
    at: At = (0, 0)


class Entry(Struct, frozen=True, kw_only=True):
    """A requirement that is a TOML key or element. left: 'torch = ', '' in a list; keys: 'version' and so on, each with
    its `key = value`; rows: each of these is on its own row, and the position is that of the first."""

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
    """Those of `reading.PLATFORMS` that it applies to; empty for all."""
    table: str = ""
    """pixi's table for this platform alone, if the line is in a table for several platforms."""


class Pinned(Line, frozen=True, kw_only=True):
    """A line for a package in the matrix. wish: its package and version; local: 'cu126' of torch==2.8.0+cu126, or from
    its index; indexes: where an installer looks for torch if the line leaves that open: tags of PyTorch's indexes and
    'pypi', last; first: whether only the first of them that has torch is used, as by uv and pixi."""

    wish: Wish
    local: str = ""
    indexes: tuple[str, ...] = ()
    first: bool = False
    group: str = ""
    """The extra or group that it is part of; '' if it is always installed."""


class Other(Line, frozen=True, kw_only=True):
    """A line for a package without releases in the matrix. specifier: '' for any."""

    specifier: str


class Skipped(Struct, frozen=True):
    """A line only for other platforms. name: the package's name in the matrix."""

    name: str
    platforms: tuple[Platform, ...]


class Elsewhere(Struct, frozen=True, kw_only=True):
    """A line for a package that is not on an index. why: 'comes from a git repository'."""

    number: int
    text: str
    name: str
    why: str

    @property
    def sentence(self) -> str:
        where = f"line {self.number}: " if self.number else ""
        return f"{where}{self.name} {self.why}, so it was not judged"


class IndexLine(Struct, frozen=True, kw_only=True):
    """A line that names an index. option: '--index-url' as written; tag: of PyTorch's index, '' for any other."""

    number: int
    text: str
    option: str
    tag: str
    at: At = (0, 0)


class Word(Struct, frozen=True):
    """`index = "pytorch-cu128"` of a package; package '' for `name = "pytorch-cu128"` of the index itself. elsewhere:
    the whole entry, if it is only for other platforms; platforms: as in Line; marker: the entry's."""

    package: str
    span: Span
    elsewhere: Span | None = None
    platforms: tuple[Platform, ...] = ()
    marker: str = ""


class Source(Struct, frozen=True, kw_only=True):
    """An index with a name, and every place where that name appears. tag: as in IndexLine."""

    name: str
    tag: str
    url: Span
    words: tuple[Word, ...] = ()


class RequirementFile(Struct, frozen=True, kw_only=True):
    """A file. kind: how it is edited; python: the only Python that it allows ('' for several); regenerate: the command
    that regenerates it, for a file written by a tool; unsolved: lines that no index can resolve (paths,
    repositories)."""

    kind: str
    lines: tuple[Pinned, ...]
    others: tuple[Other, ...] = ()
    indexes: tuple[IndexLine, ...] = ()
    sources: tuple[Source, ...] = ()
    python: str = ""
    platform: str = ""
    """sys.platform of the machine, for an index named per platform."""
    requires: Other | None = None
    """The line for Python itself, if its tool writes one lock file for every Python that it allows."""
    regenerate: str = ""
    hashes: bool = False
    """Whether pip accepts only the wheels whose hashes it lists."""
    unsolved: tuple[int, ...] = ()
    unread: tuple[str, ...] = ()
    """Sentences about the files that it includes."""
    elsewhere: tuple[Elsewhere, ...] = ()
    """Packages in the matrix that come from paths and repositories."""
    skipped: tuple[Skipped, ...] = ()
    pip: RequirementFile | None = None
    """What pip installs in addition to the conda packages."""


MOST_LINES = 300
"""Lines for torch and for what is built for one release of it: each is judged together with all others."""


Found = Pinned | Other | Elsewhere | Skipped | str
"""What a reader finds: a line, or a sentence about something it does not read."""


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
