"""The versions that a team has agreed on: what a line of a spec allows, and whether a version meets it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from .expect import Expect
from .patterns import lazy

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

VERSIONS = ("torch", "driver", "cuda", "cudnn", "nccl", "python")
"""Keys whose value is a range of versions."""
KEYS = (*VERSIONS, "gpu", "os")
"""Keys in addition to the table of packages, in the order of their lines."""
MOST_CHARACTERS, MOST_LINES = 200, 1000
_NAME = lazy(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")
_OS = lazy(r"([A-Za-z][\w.-]{0,40}?)(?:\s+v?(\d[\w.]{0,20})|\s*([<>=!~].*))?")
WSL = "wsl"
_JOINED = lazy(
    r"(?i:(ubuntu|debian|rocky|almalinux|rhel|centos|fedora|sles|amzn|ol|opensuse-leap|windows)[-_]?v?)(\d[\d.]{0,20})"
)
"""A name with its version, without the blank between them."""
_WHOLE = {"os": 2, "package": 0}
"""From how many numbers on a version is complete; a shorter one may stand for any that begins so (CUDA 12.8)."""
_USUAL_WHOLE = 3
_CUDNN_WHEEL = 4
"""Numbers in the version of a cuDNN wheel (9.10.2.21). cuDNN itself reports three, and means the same release."""


class SpecLine(Struct, frozen=True):
    """One line of a spec. It is checked whenever one is made, also from a saved report: ValueError with one line."""

    key: Annotated[str, Meta(max_length=20)]
    """One of `KEYS`, or `package`."""
    allowed: Annotated[str, Meta(max_length=MOST_CHARACTERS)]
    """Versions by PEP 440; of `gpu` a count, a model or both (8xH100), of `os` a name and versions (ubuntu 24.04)."""
    package: Annotated[str, Meta(max_length=100)] = ""
    """Name of the distribution, normalised; empty for the other keys."""
    file: Annotated[str, Meta(max_length=4096)] = ""
    """The file that it comes from."""

    def __post_init__(self) -> None:
        if self.key not in (*KEYS, "package"):
            raise ValueError(f"{self.key!r} is not a key of a spec")
        if (self.key == "package") != bool(self.package) or (self.package and not _NAME.fullmatch(self.package)):
            raise ValueError(f"{self.package!r} is not a valid package name")
        if self.package == "torch":
            raise ValueError("torch belongs above [packages]")
        if not self.allowed.strip():
            raise ValueError(f'{self.name} is empty; ">=0" allows every version')
        if self.key == "gpu":
            gpus(self.allowed)
        elif self.key == "os":
            system(self.allowed)
        else:
            versions(self.allowed)

    @property
    def name(self) -> str:
        """What it is about, as people call it: `torch`, `driver`, `numpy`."""
        return self.package or self.key


def gpus(allowed: str) -> Expect:
    """What `gpu` expects. Raises ValueError with one line."""
    try:
        expected = Expect.parse(allowed)
    except ValueError:
        expected = Expect()
    if not expected.count and not expected.model:
        raise ValueError(f"{allowed!r} names no GPU: write a count, a model or both, such as 8xH100")
    return expected


def gpus_text(allowed: str) -> str:
    """`8xH100`; `2 GPUs` of a count alone."""
    expected = gpus(allowed)
    return allowed if expected.model else f"{expected.count} GPU{'s' * (expected.count != 1)}"


def system(allowed: str) -> tuple[str, SpecifierSet | None]:
    """Name of the operating system, lower case, and its versions (None for any); of WSL, which is no distribution, 1 or
    2. Raises ValueError with one line."""
    if wsl := re.fullmatch(r"(?i)\s*wsl[-_ ]?([12])\s*", allowed):
        return WSL, versions(f"=={wsl[1]}.*")
    found = _OS.fullmatch(" ".join(allowed.split()))
    if not found:
        raise ValueError(f"{allowed!r} is not an operating system: write a name and its versions, such as ubuntu 24.04")
    if joined := _JOINED.fullmatch(allowed.strip()):
        raise ValueError(f"{allowed!r} is not the name of an operating system: write {joined[1].lower()} {joined[2]}")
    text = f"=={found[2]}.*" if found[2] else found[3]
    return found[1].lower(), versions(text) if text else None


@lru_cache(maxsize=1024)
def versions(allowed: str) -> SpecifierSet:
    """A range of versions by PEP 440. Raises ValueError with one line, also for one that no version can meet."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    bare = re.fullmatch(r"[v=]?\s*(\d[\w.+]*?)(?:\.[*x])?", allowed.strip())
    hint = f"; to allow every {bare[1]} release, write =={bare[1]}.*" if bare else ""
    if bare and bare[1].count(".") >= _USUAL_WHOLE - 1:  # a release; it does not mean every 2.2.6
        hint = f"; write =={bare[1]}"
    elif re.search(r"[<>~][^,]*\+", allowed):
        hint = "; a build such as +cu128 can only follow == or !="
    if allowed.strip().lower() in ("*", "any"):
        hint = "; >=0 allows every version"
    try:
        found = SpecifierSet(allowed, prereleases=True)
        empty = not any(found.contains(point) for point in _points(found))
    except (InvalidSpecifier, ValueError):  # a number of more digits than Python reads is a plain ValueError
        raise ValueError(f"{allowed!r} is not a range of versions such as >=2.8,<2.10 or ==2.9.*{hint}") from None
    if empty:
        raise ValueError(f"{allowed!r}: no version can satisfy this range")
    return found


def contradiction(lines: Sequence[SpecLine]) -> tuple[SpecLine, ...]:
    """Lines of one key that no machine can meet together, for certain: two, or as few as there are of more; empty if
    there are none. Lines of different keys are not compared: a torch that somebody builds may have any CUDA."""
    groups: dict[tuple[str, str], list[SpecLine]] = {}
    for line in lines:
        groups.setdefault((line.key, line.package), []).append(line)
    for some in groups.values():
        two = next((two for two in combinations(some, 2) if _exclude(*two)), None)
        found = two or _together(some)
        if found:
            return found
    return ()


def _together(some: Sequence[SpecLine]) -> tuple[SpecLine, ...]:
    """Lines of one key of which only three or more exclude each other: none of them can be left out."""
    if some[0].key == "gpu" or len(some) < _FEWEST:
        return ()
    by_name: dict[str, list[SpecLine]] = {}
    for line in some:
        by_name.setdefault(system(line.allowed)[0] if line.key == "os" else "", []).append(line)
    for left in by_name.values():
        if _has_none(left):
            for line in tuple(left):
                if len(left) > _FEWEST and _has_none(rest := [one for one in left if one is not line]):
                    left = rest
            return tuple(left)
    return ()


_FEWEST = 3


def _has_none(some: Sequence[SpecLine]) -> bool:
    """Whether no version is in all of these ranges, for certain."""
    ranges = [system(line.allowed)[1] if line.key == "os" else versions(line.allowed) for line in some]
    return _is_empty(one for one in ranges if one is not None)


def _is_empty(ranges: Iterable[SpecifierSet]) -> bool:
    first, *more = (*ranges, None)
    if first is None:
        return False
    both = first
    for one in more:
        both = both & one if one is not None else both
    points = _points(both)
    if any(point.is_prerelease or point.is_postrelease for point in points):  # what lies between them is not tried
        return False
    return not any(both.contains(point) for point in points)


_SYSTEMS = {"linux": "linux", WSL: "linux", "windows": "windows", "darwin": "darwin", "macos": "darwin"}
"""Names that are no distribution's to the kernel that they mean; every distribution has that of Linux."""


def _exclude(one: SpecLine, other: SpecLine) -> bool:
    """Whether two lines of a key exclude each other."""
    if one.key == "gpu":
        first, second = gpus(one.allowed), gpus(other.allowed)
        same = (first.model or "").lower() == (second.model or "").lower()
        return bool(same and first.count and second.count and first.count != second.count)
    if one.key == "os":
        (name, some), (also, more) = system(one.allowed), system(other.allowed)
        if name != also:
            kernels = {_SYSTEMS.get(one, "linux") for one in (name, also)}
            return len(kernels) > 1 or (name not in _SYSTEMS and also not in _SYSTEMS)
        if some is None or more is None:
            return False
    else:
        some, more = versions(one.allowed), versions(other.allowed)
    return _is_empty((some, more))


def too_short(line: SpecLine) -> str:
    """Why a line allows no release, or only the one that ends in .0: ==580, while drivers are 580.82.07; else ''."""
    name, allowed = system(line.allowed) if line.key == "os" else (line.key, versions(line.allowed))
    from packaging.version import Version

    numbers = _NUMBERS.get(name)
    if not numbers or allowed is None:
        return ""
    points = _points(allowed)
    long = [Version(f"{point.epoch}!{'.'.join(map(str, point.release))}.0.0.1") for point in points]
    met = [point for point in (*points, *long) if allowed.contains(point)]
    short = [point for point in met if len(point.release) < numbers and point.base_version == point.public]
    if len(short) < len(met):
        return ""
    one = min(short).base_version
    if name not in _WITH_FIRST:
        lacks = f"{line.allowed!r} allows only {one}, but {name} versions have more parts"
        return f"{lacks}; to allow every {one} release, write {_for_every(line, one)}"
    first = ".".join([one, *["0"] * (numbers - len(min(short).release))])
    both = f"to allow every {one} release, write {_for_every(line, one)}; to allow only {first}, write =={first}"
    return f"{line.allowed!r} allows only {first}: {both}"


def _for_every(line: SpecLine, version: str) -> str:
    return f"{system(line.allowed)[0]} {version}" if line.key == "os" else f"=={version}.*"


_NUMBERS = {
    "torch": 3, "driver": 2, "cuda": 3, "cudnn": 3, "nccl": 3, "python": 3, "ubuntu": 2, "rhel": 2, "rocky": 2,
    "almalinux": 2,
}  # fmt: skip
"""Numbers that each version has at least, by key or system; a key or system that is not here has no fixed number."""
_WITH_FIRST = ("torch", "cuda", "cudnn", "nccl", "python")
"""Those that have releases whose last number is 0, such as 2.9.0."""


def meets(line: SpecLine, version: str) -> bool | None:
    """Whether a version is in the line's range; None if it is not a version, or too short to tell (12.8 of 12.8.1)."""
    from packaging.version import InvalidVersion, Version

    allowed = system(line.allowed)[1] if line.key == "os" else versions(line.allowed)
    if allowed is None:
        return True
    try:
        have = Version(version)
    except (InvalidVersion, ValueError):
        return None
    if line.key == "os" and system(line.allowed)[0] == WSL:  # it has one number
        return allowed.contains(have)
    whole = _whole(allowed, line.key)
    if line.key == "cudnn":
        have = Version(".".join(map(str, have.release[:whole])))
    answers = {allowed.contains(one) for one in (have, *_longer(have, allowed, whole))}
    return answers.pop() if len(answers) == 1 else None


def example(allowed: str) -> str:
    """Some version within a range, the lowest of those that it names or that lie next to them."""
    found = versions(allowed)
    return str(min(point for point in _points(found) if found.contains(point)))


def _whole(allowed: SpecifierSet, key: str) -> int:
    """From how many numbers on a version is complete for this range: of cuDNN's wheels the fourth counts only if the
    range names one."""
    if key == "cudnn" and _names_wheel(allowed):
        return _CUDNN_WHEEL
    return _WHOLE.get(key, _USUAL_WHOLE)


def names_wheel(line: SpecLine) -> bool:
    """Whether a line of cuDNN names the fourth number, which only its wheels have."""
    return line.key == "cudnn" and _names_wheel(versions(line.allowed))


def _names_wheel(allowed: SpecifierSet) -> bool:
    return any(len(point.release) >= _CUDNN_WHEEL for point in _bounds(allowed))


def _longer(have: Version, allowed: SpecifierSet, whole: int) -> Iterator[Version]:
    """The versions that a short one may stand for: enough of them to find out whether the range tells them apart."""
    if len(have.release) >= whole or have.is_prerelease or have.local:
        return
    for point in _points(allowed):
        if point.release[: len(have.release)] == have.release:
            yield point
    from packaging.version import Version

    yield Version(f"{have.base_version}.{_HIGH}")


_HIGH = 10**9


def _bounds(allowed: SpecifierSet) -> Iterator[Version]:
    """The versions that a range names."""
    from packaging.version import Version

    for one in allowed:
        if one.operator == "===":
            raise ValueError("=== is not a range")
        yield Version(one.version.removesuffix(".*"))


def _points(allowed: SpecifierSet) -> list[Version]:
    """Versions that stand for all others of a range: its bounds, and what lies below, between and above them."""
    from packaging.version import Version

    found = [Version("0"), Version(str(_HIGH))]
    for bound in _bounds(allowed):
        *head, last = bound.release
        next_ = ".".join(map(str, (*head, last + 1)))
        found += [bound, Version(f"{bound.epoch}!{bound.base_version.partition('!')[2] or bound.base_version}.0.0.1")]
        found.append(Version(f"{bound.epoch}!{next_}"))
    return found


def instead(found: str, allowed: str, unknown: bool = False) -> str:
    """`535.104.05 (the spec requires >=570)`; of what is unknown with the reason."""
    return f"{f'unknown, {found}' if unknown else found} (the spec requires {allowed})"


def unmet(name: str, found: str, allowed: str) -> str:
    """`driver does not meet the spec: 535.104.05 instead of >=570`: the title of one deviation."""
    return f"{name} does not meet the spec: {found} instead of {allowed}"


def not_known(names: str) -> str:
    """The title of lines that cannot be judged."""
    return f"Unknown whether this machine meets the spec: {names}"


def files_of(spec: Sequence[SpecLine]) -> list[str]:
    """The files that the lines come from, each once."""
    return list(dict.fromkeys(line.file for line in spec if line.file))
