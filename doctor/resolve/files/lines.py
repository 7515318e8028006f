"""What every kind of file is read to: lines that name a package, and lines that name one of PyTorch's indexes."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import TypedDict

from msgspec import Struct
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from compat_matrix.installer import index_source
from compat_matrix.resolver import Question
from compat_matrix.wish import Wish
from compat_matrix.wishes import KNOWN

from ..machine import Unclear

At = tuple[int, int]
"""Offsets in the text: of the first character, and of the one after the last. (0, 0): not known."""


class Place(Struct, frozen=True):
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


class Pinned(Struct, frozen=True, kw_only=True):
    """A line. wish: its package and version; local: 'cu126' of torch==2.8.0+cu126, or that of its index; indexes: what
    an installer chooses torch from where the line leaves that open: tags of PyTorch's indexes and 'pypi', last; tail:
    its marker with the sign before it ('; python_version < "3.12"')."""

    number: int
    text: str
    name: str
    wish: Wish
    local: str = ""
    indexes: tuple[str, ...] = ()
    extras: str = ""
    tail: str = ""
    group: str = ""
    """The extra or group that it is part of; '' where it is always installed."""
    at: At = (0, 0)
    entry: Entry | None = None


class Other(Struct, frozen=True, kw_only=True):
    """A line for a package that the matrix has no releases of. name: as PEP 503 writes it; specifier: '' for any."""

    number: int
    text: str
    name: str
    specifier: str
    extras: str = ""
    tail: str = ""
    at: At = (0, 0)
    entry: Entry | None = None


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
    """`index = "pytorch-cu128"` of a package; package '' for `name = "pytorch-cu128"` of the index itself."""

    package: str
    place: Place


class Source(Struct, frozen=True, kw_only=True):
    """An index that has a name, and every place where that name is written. tag: as IndexLine."""

    name: str
    tag: str
    url: Place
    words: tuple[Word, ...] = ()


class RequirementFile(Struct, frozen=True, kw_only=True):
    """A file. kind: how it is edited; python: the one Python that it allows ('' for several); regenerate: the command
    that makes it anew, for a file that a tool generates; unsolved: lines that no index can answer (paths,
    repositories)."""

    kind: str
    lines: tuple[Pinned, ...]
    others: tuple[Other, ...] = ()
    indexes: tuple[IndexLine, ...] = ()
    sources: tuple[Source, ...] = ()
    python: str = ""
    requires: Other | None = None
    """The line for Python itself, where its tool makes one lock file for every Python that it allows."""
    regenerate: str = ""
    unsolved: tuple[int, ...] = ()
    unread: tuple[str, ...] = ()
    """Sentences about the files that it includes."""
    elsewhere: tuple[Elsewhere, ...] = ()
    """Packages that the matrix knows, from paths and repositories."""
    pip: RequirementFile | None = None
    """What pip installs beside the packages of conda."""


MOST_LINES = 300
"""Of torch and what is built for one release of it: each is judged with all others."""


def requirement_of(line: str, where: str) -> Requirement | None:
    """None for a path or address without a name, which says nothing of a version. Raises Unclear."""
    if re.match(r"\.{0,2}/|file:|git\+|[A-Za-z]:\\|\.$", line):
        return None
    if re.match(r"https?://", line):
        name = line.partition("#")[0].rpartition("/")[2]
        try:
            project, version, _, _ = parse_wheel_filename(name.replace("%2B", "+").replace("%2b", "+"))
        except InvalidWheelFilename:
            return None
        return Requirement(f"{project}=={version}")
    try:
        return Requirement(line)
    except InvalidRequirement as error:
        raise Unclear(f"{where} is no requirement: {str(error).splitlines()[0]}") from None


def package_of(name: str) -> str:
    """The name in the matrix."""
    package: str = canonicalize_name(name)
    return "cupy" if re.fullmatch(r"cupy-cuda\d+x", package) else package


def line_of(place: Place, need: Requirement, entry: Entry | None = None) -> Pinned | Other | Elsewhere:
    """A requirement as a line of the file."""
    extras = f"[{','.join(sorted(need.extras))}]" if need.extras else ""
    tail = f" ; {need.marker}" if need.marker else ""
    package, specifier = package_of(need.name), str(need.specifier)
    number, text, at = place.number, place.text, place.at
    if package not in KNOWN:
        return Other(
            number=number, text=text, name=canonicalize_name(need.name), specifier=specifier, extras=extras, tail=tail,
            at=at, entry=entry,
        )  # fmt: skip
    if need.url:
        inner = requirement_of(need.url, "") if re.match(r"https?://", need.url) else None
        if inner is None:
            return Elsewhere(number=number, text=text, name=package, why=_origin(need.url))
        specifier = str(inner.specifier)
    exact = re.fullmatch(r"={2,3}(\d[^,*+]*)(?:\+(\w[\w.]*))?", specifier)
    own = package in ("torch", "torchvision", "torchaudio")
    return Pinned(
        number=number,
        text=text,
        name=canonicalize_name(need.name),
        wish=Wish(package, exact[1] if exact else specifier),
        local=(exact[2] or "" if exact else "") if own else "",
        extras=extras,
        tail=tail,
        at=at,
        entry=entry,
    )


def _origin(url: str) -> str:
    if re.match(r"(git|hg|svn|bzr)\+", url):
        return "comes from a repository"
    return "comes from an address" if re.match(r"https?://", url) else "comes from a path"


def not_read(number: int, what: str) -> str:
    """The sentence about a file that a file includes, or a folder with a project of its own."""
    where = f"line {number}: " if number else ""
    if re.search(r"\.(txt|in|toml|cfg|ya?ml|pip|reqs?)$", what):
        return f"{where}{what} is not read; ask about that file too"
    return f"{where}the requirements of {what} are not read; ask about its own file too"


def index_tag(url: str) -> str:
    """`cu126` of https://download.pytorch.org/whl/cu126."""
    found = re.search(r"/whl/(?:nightly/)?(cu\d+|cpu|rocm[\d.]+|xpu)/?", url)
    return found[1] if found else ""


def pytorch_tag(url: str) -> str:
    """The tag of one of PyTorch's indexes or find-links pages; '' for any other address."""
    source = index_source(url)
    return index_tag(url) or (source if re.fullmatch(r"cu\d+|cpu|rocm[\d.]+|xpu", source) else "")


def environment(q: Question) -> dict[str, str]:
    """What markers ask of the machine."""
    python = q.python.rstrip("t") or "3.12"
    windows = q.os == "windows"
    return {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "sys_platform": "win32" if windows else "linux",
        "platform_system": "Windows" if windows else "Linux",
        "os_name": "nt" if windows else "posix",
        "platform_machine": "AMD64" if windows else q.arch,
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "extra": "",
    }


Found = Pinned | Other | Elsewhere | str
"""What a reader finds: a line, or a sentence about what is not read."""


class Parts(TypedDict):
    """Fields of RequirementFile."""

    lines: tuple[Pinned, ...]
    others: tuple[Other, ...]
    elsewhere: tuple[Elsewhere, ...]
    unread: tuple[str, ...]


def split(found: Iterable[Found]) -> Parts:
    """What was found, as fields of the file."""
    several = list(found)
    return Parts(
        lines=tuple(one for one in several if isinstance(one, Pinned)),
        others=tuple(one for one in several if isinstance(one, Other)),
        elsewhere=tuple(one for one in several if isinstance(one, Elsewhere)),
        unread=tuple(dict.fromkeys(one for one in several if isinstance(one, str))),
    )


def line_ends(text: str) -> list[int]:
    """The offset of each end of a line."""
    return [found.start() for found in re.finditer("\n", text)]


def number_at(ends: Sequence[int], at: int) -> int:
    """The number of the line that an offset is in."""
    return bisect_left(ends, at) + 1
