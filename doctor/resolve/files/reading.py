"""A requirement, an address and a marker as written in any kind of file."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from compat_matrix.installer import index_source
from compat_matrix.resolver import Question
from compat_matrix.wish import Wish, distribution_of, is_prefix
from compat_matrix.wishes import KNOWN

from ..machine import Unclear
from .lines import Elsewhere, Entry, Found, Other, Pinned, Platform, Skipped, Span


def requirement_of(line: str, where: str) -> Requirement | None:
    """None for a path or address without a name, which gives no version. Raises Unclear."""
    if re.match(r"[\w.-]*/|(?:file|(?:git|hg|svn|bzr)\+\w+):|[A-Za-z]:\\|\.{1,2}(\[|$)", line):
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
        raise Unclear(f"{where} is not a valid requirement: {str(error).splitlines()[0]}") from None


def package_of(name: str) -> str:
    """The name in the matrix."""
    return distribution_of(canonicalize_name(name))[0]


def line_of(
    span: Span, need: Requirement, entry: Entry | None = None, on: tuple[Platform, ...] = ()
) -> Pinned | Other | Elsewhere:
    """A requirement as a line of the file. on: the platforms it applies to."""
    extras = f"[{','.join(sorted(need.extras))}]" if need.extras else ""
    tail = f" ; {need.marker}" if need.marker else ""
    (package, distribution), specifier = distribution_of(canonicalize_name(need.name), need.extras), str(need.specifier)
    number, text, at = span.number, span.text, span.at
    if package not in KNOWN:
        return Other(
            number=number, text=text, name=canonicalize_name(need.name), specifier=specifier, extras=extras, tail=tail,
            at=at, entry=entry, platforms=on,
        )  # fmt: skip
    if need.url:
        inner = requirement_of(need.url, "") if re.match(r"https?://", need.url) else None
        if inner is None:
            return Elsewhere(number=number, text=text, name=package, why=_origin(need.url))
        specifier = str(inner.specifier)
    exact = re.fullmatch(r"={2,3}(\d[^,*+]*)(?:\+(\w[\w.]*))?", specifier)
    own = package in ("torch", "torchvision", "torchaudio")
    pin = exact[1] if exact else ""
    if is_prefix(pin):  # here ==2.8 is 2.8.0 alone
        pin = ".".join((*pin.split("."), "0", "0")[:3])
    return Pinned(
        number=number,
        text=text,
        name=canonicalize_name(need.name),
        wish=Wish(package, pin or specifier, distribution),
        local=(exact[2] or "" if exact else "") if own else "",
        extras=extras,
        tail=tail,
        at=at,
        entry=entry,
        platforms=on,
    )


def _origin(url: str) -> str:
    if re.match(r"(git|hg|svn|bzr)\+", url):
        return "comes from a repository"
    return "comes from a URL" if re.match(r"https?://", url) else "comes from a path"


def not_read(number: int, what: str) -> str:
    """The sentence about a file that a file includes, or about a folder with its own project."""
    where = f"line {number}: " if number else ""
    if re.search(r"\.(txt|in|toml|cfg|ya?ml|pip|reqs?)$", what):
        return f"{where}{what} was not read; run resolve -r on it too"
    return f"{where}the requirements of {what} were not read; run resolve -r on its own file too"


def index_tag(url: str) -> str:
    """`cu126` of https://download.pytorch.org/whl/cu126."""
    found = re.search(r"/whl/(?:nightly/)?(cu\d+|cpu|rocm[\d.]+|xpu)/?", url)
    return found[1] if found else ""


def pytorch_tag(url: str) -> str:
    """The tag of a PyTorch index or find-links page; '' for any other address."""
    source = index_source(url)
    return index_tag(url) or (source if re.fullmatch(r"cu\d+|cpu|rocm[\d.]+|xpu", source) else "")


PYTHONS = tuple(f"3.{minor}" for minor in range(6, 16))
ASSUMED = "3.12"
"""The Python that markers are evaluated for if none is named."""
Holds = Callable[[dict[str, str]], bool]
"""Whether something applies to an environment of markers."""


PLATFORMS: tuple[Platform, ...] = (
    ("linux", "x86_64"), ("linux", "aarch64"), ("win32", "AMD64"), ("darwin", "arm64"), ("darwin", "x86_64"),
)  # fmt: skip
_SYSTEMS = {"linux": "Linux", "win32": "Windows", "darwin": "Darwin"}


def platform_of(q: Question) -> Platform:
    """The machine's platform."""
    return ("win32", "AMD64") if q.os == "windows" else ("linux", q.arch)


def environment(q: Question, python: str = "", extra: str = "", platform: Platform | None = None) -> dict[str, str]:
    """The machine's values for markers. python, platform: instead of its own; extra: the one installed with the
    project."""
    python = python or q.python.rstrip("t") or ASSUMED
    system, machine = platform or platform_of(q)
    return {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "sys_platform": system,
        "platform_system": _SYSTEMS[system],
        "os_name": "nt" if system == "win32" else "posix",
        "platform_machine": machine,
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "extra": extra,
    }


def applies(holds: Holds, q: Question, extras: Sequence[str] = ("",)) -> tuple[str, ...]:
    """The extras ('': none) with which something applies to this machine; empty if it does not apply."""
    return tuple(one for one in extras if holds(environment(q, extra=one)))


def extras_in(*markers: Any) -> tuple[str, ...]:
    """'' and the extras that markers name."""
    names = [name for one in markers for name in re.findall(r"extra\s*[=!]=\s*[\"']([^\"']+)", str(one))]
    names += [name for one in markers for name in re.findall(r"[\"']([^\"']+)[\"']\s*[=!]=\s*extra\b", str(one))]
    return tuple(dict.fromkeys(("", *names)))


def platforms(holds: Holds, q: Question, extras: Sequence[str] = ("",)) -> tuple[Platform, ...]:
    """The platforms that something applies to; empty for all."""
    found = tuple(p for p in PLATFORMS if any(holds(environment(q, extra=one, platform=p)) for one in extras))
    return () if found == PLATFORMS else found


def not_here(
    span: Span, name: str, holds: Holds, q: Question, extras: Sequence[str] = ("",), allowed: str = ""
) -> Iterator[Found]:
    """What to say about a line that does not apply: that it is for other platforms, or for Pythons other than the one
    assumed if none is named. allowed: the specifier of the file's Pythons."""
    if several := platforms(holds, q, extras):
        yield Skipped(package_of(name), several)
    if q.python or package_of(name) not in KNOWN:
        return
    for python in sorted(PYTHONS, key=lambda one: abs(int(one[2:]) - int(ASSUMED[2:]))):
        within = not allowed or any(allows(allowed, f"{python}.{patch}") for patch in (0, 5, 9, 20))
        if within and any(holds(environment(q, python, one)) for one in extras):
            where = f"line {span.number}: " if span.number else ""
            yield f"{where}{span.text} is not for Python {ASSUMED}, so it was not judged (try --python {python})"
            return


def allows(specifier: str, version: str) -> bool:
    """Whether a specifier allows a version; an invalid one does too."""
    try:
        return SpecifierSet(specifier).contains(version)
    except InvalidSpecifier:
        return True


def line_ends(text: str) -> list[int]:
    """The offset of each line's end."""
    return [found.start() for found in re.finditer("\n", text)]


def number_at(ends: Sequence[int], at: int) -> int:
    """The number of the line that an offset is in."""
    return bisect_left(ends, at) + 1
