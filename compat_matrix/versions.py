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


_RELEASE = r"\s*v?(?:(\d{1,9})!)?(\d{1,18}(?:\.\d{1,18}){0,9})([^+]*)(?:\+(.*))?"


@lru_cache(maxsize=512)
def is_same(version: str, pinned: str) -> bool:
    """Whether `==pinned` accepts a version, as PEP 440 has it: 13.0.3.0 is 13.0.3, and 2.9.1+cu128 is 2.9.1.

    A local part (after '+') counts only if the pin has one.
    """
    have, want = (re.fullmatch(_RELEASE, text.strip().lower(), re.DOTALL) for text in (version, pinned))
    if not have or not want:
        return version == pinned
    mine, theirs = ([int(part) for part in found[2].split(".")] for found in (have, want))
    width = max(len(mine), len(theirs))
    padded = [part + [0] * (width - len(part)) for part in (mine, theirs)]
    same = padded[0] == padded[1] and (have[1] or "0", have[3]) == (want[1] or "0", want[3])
    return same and (want[4] is None or have[4] == want[4])


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
