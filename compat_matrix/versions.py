"""Version strings as numbers, without importing `packaging` (too slow for the check path).

Driver, CUDA, cuDNN and NCCL versions are compared field by field as integers, never as floats.
"""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

# Compiled on first use (by re's own cache): start-up time matters.
_NUMBERS = r"\s*v?(\d{1,9}(?:\.\d{1,9}){0,7})"
_TORCH = r"\s*v?(\d{1,4}(?:\.\d{1,4}){1,3})([^+\s]*)(?:\+(\S*))?\s*$"
_ARCH = r"\s*(?:sm_|compute_|lto_)?(?:(\d{1,2})\.(\d)|(\d{1,2})(\d))([af]?)\s*$"


@lru_cache(maxsize=4096)
def numbers(text: str | None) -> tuple[int, ...]:
    """The leading dotted integers of a version: '535.129.03' -> (535, 129, 3); () when there are none."""
    found = re.match(_NUMBERS, text or "")
    return tuple(int(part) for part in found.group(1).split(".")) if found else ()


_RELEASE = (
    r"\s*v?(?:(\d{1,9})!)?(\d{1,18}(?:\.\d{1,18}){0,19})"
    r"(?:[._-]?(alpha|beta|preview|pre|rc|a|b|c)[._-]?(\d{0,18}))?"
    r"(-\d{1,18}|[._-]?(?:post|rev|r)[._-]?\d{0,18})?([._-]?dev[._-]?\d{0,18})?(?:\+([a-z0-9]+(?:[._-][a-z0-9]+)*))?\s*"
)
_PRE = {"alpha": "a", "beta": "b", "c": "rc", "pre": "rc", "preview": "rc"}
_FINAL = "z"
"""Sorts after every letter of a pre-release."""
Order = tuple[int, tuple[int, ...], tuple[str, int], int, float]


@lru_cache(maxsize=8192)
def order(version: str) -> Order | None:
    """A version's position in the order of PEP 440, without its local part (after '+'); None if it is not a version.

    1.0.dev1 < 1.0a1 < 1.0rc1 < 1.0 == 1.0.0 < 1.0.post1 < 1.0.1.
    """
    found = re.fullmatch(_RELEASE, version.casefold())
    if not found:
        return None
    release = tuple(int(part) for part in found[2].split("."))
    while len(release) > 1 and not release[-1]:
        release = release[:-1]
    post, dev = (_counted(found[group]) for group in (5, 6))
    pre = (_PRE.get(found[3], found[3]), int(found[4] or 0)) if found[3] else (_FINAL, 0)
    if not found[3] and post is None and dev is not None:
        pre = ("", 0)  # a development release comes before every pre-release
    return int(found[1] or 0), release, pre, -1 if post is None else post, float("inf") if dev is None else dev


def _counted(text: str | None) -> int | None:
    """1 of '.post1', 0 of '.dev'."""
    return int("".join(filter(str.isdigit, text)) or 0) if text else None


def by_release(version: str) -> Order:
    """A key to sort versions with: `order`, or before all others if it is not a version."""
    return order(version) or (-1, (), ("", 0), -1, 0.0)


@lru_cache(maxsize=4096)
def is_same(version: str, pinned: str) -> bool:
    """Whether `==pinned` accepts a version, as PEP 440 has it: 13.0.3.0 is 13.0.3, and 2.9.1+cu128 is 2.9.1.

    A local part (after '+') counts only if the pin has one.
    """
    have, want = order(version), order(pinned)
    if have is None or want is None:
        return version == pinned
    return have == want and ("+" not in pinned or _local(version) == _local(pinned))


def _local(version: str) -> str:
    return re.sub(r"[_-]", ".", version.strip().casefold().partition("+")[2])


def minor(text: str | None) -> tuple[int, int] | None:
    """Major and minor of a CUDA version: '12.8.1' -> (12, 8); None unless both are present."""
    found = numbers(text)
    return (found[0], found[1]) if len(found) >= 2 else None


def tag_cuda(tag: str) -> str | None:
    """The CUDA version in a PyTorch index tag: 'cu128' -> '12.8', 'cu92' -> '9.2'; None for cpu, rocm and the rest."""
    found = re.fullmatch(r"cu(\d{1,2})(\d)", tag)
    return f"{found[1]}.{found[2]}" if found else None


class Arch(msgspec.Struct, frozen=True, order=True):
    """One compiled target: capability (major, minor) and variant '', 'a' (only that chip) or 'f' (family)."""

    major: int
    minor: int
    variant: str

    @property
    def capability(self) -> tuple[int, int]:
        return (self.major, self.minor)

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}{self.variant}"


@lru_cache(maxsize=512)
def arch(text: str) -> Arch | None:
    """'8.6', 'sm_86', 'compute_90', '10.0f', 'sm_100a' -> Arch; None when it is none of these."""
    found = re.match(_ARCH, text)
    if not found:
        return None
    return Arch(int(found[1] or found[3]), int(found[2] or found[4]), found[5])


class TorchVersion(msgspec.Struct, frozen=True):
    """A torch version taken apart.

    base: '2.6.0'; release: (2, 6, 0); kind: 'release', 'nightly', 'vendor' (NVIDIA's and other source builds) or
    'prerelease'; local: the part after '+' ('cu124', 'cpu', ''), tag: the CUDA tag in it or None.
    """

    base: str
    release: tuple[int, ...]
    kind: str
    local: str
    tag: str | None


@lru_cache(maxsize=256)
def torch_version(text: str | None) -> TorchVersion | None:
    """'2.6.0+cu124', '2.9.0.dev20250801+cu128', '2.8.0a0+34c6371d24.nv25.08' -> parts; None when unreadable."""
    found = re.match(_TORCH, text or "")
    if not found:
        return None
    release = tuple(int(part) for part in found[1].split("."))
    release += (0,) * (3 - len(release))
    pre, local = found[2], found[3] or ""
    if not pre or pre.startswith(".post"):
        kind = "release"
    elif "dev" in pre:
        kind = "nightly"
    elif re.match(r"a0\b", pre) or pre == "a0":
        kind = "vendor"
    else:
        kind = "prerelease"
    if "nv" in local.split("."):
        kind = "vendor"
    head = local.split(".")[0]
    return TorchVersion(".".join(map(str, release)), release, kind, local, head if tag_cuda(head) else None)
