"""What an extension was built for (torch, CUDA, C++ ABI), from its metadata and wheel tag, compared with a torch."""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct

from compat_matrix.versions import numbers, torch_version

from ..findings import Matrix
from ..findings.patterns import lazy
from ..snapshot import Distribution, Missing, Snapshot, known
from .pins import Pin, applies

_TORCH_LINE = lazy(
    r"\s*torch(?![\w.-])\s*(?:\[[^\]]{0,100}\])?\s*\(?\s*([<>=!~][^;()]{0,100}?)\s*\)?\s*(?:;(.{0,400}))?$", re.DOTALL
)
_BOUND = lazy(r"(>=|<=|==|!=|<|>|~=)\s*(\d+(?:\.\d+){0,3})(\.\*)?$")
_TAG_TORCH = lazy(r"(torch|pt)(?:(\d+)\.(\d+)|(\d)(\d{1,3})(?=cu|\b))")
_TAG_CUDA = lazy(r"cu(\d{2})\d?(?=torch|pt|\D|$)")
_PINNED = ("xformers", "vllm", "sglang")
"""Packages whose pins the matrix lists, for where their metadata was not read."""
_TAG_ABI = lazy(r"cxx11abi(TRUE|FALSE)", re.IGNORECASE)


class Torch(Struct, frozen=True):
    """The torch to fit: its version with its tag, its CUDA version ('' for none), its C++ ABI where known."""

    version: str
    cuda: str
    cxx11_abi: bool | None


class Misfit(Struct, frozen=True):
    """Why an extension does not fit. `certain`: its binary interface differs, not only a wish in its metadata."""

    reason: str
    facts: dict[str, Any]
    certain: bool


def torch_here(s: Snapshot) -> Torch:
    """The installed torch as extensions see it."""
    version = known(s.torch.version) or ""
    return Torch(version, known(s.torch.cuda) or "", _abi(s, version))


def _abi(s: Snapshot, version: str) -> bool | None:
    """torch's own word; else that of the published Linux x86_64 wheels: the old ABI to 2.5, the new one from 2.7."""
    known_abi, parts = known(s.torch.cxx11_abi), torch_version(version)
    if known_abi is not None or parts is None or parts.kind != "release":
        return known_abi
    if known(s.host.architecture) != "x86_64" or known(s.host.system) != "linux" or known(s.torch.installer) == "conda":
        return None
    return False if parts.release < (2, 6) else True if parts.release >= (2, 7) else None


def misfit(s: Snapshot, m: Matrix, d: Distribution, torch: Torch) -> Misfit | None:
    """Why this extension does not fit this torch; None where it does or nothing speaks against it.

    Nightly and vendor builds of torch are not judged by numbers: their versions say little.
    """
    have = torch_version(torch.version)
    if have is None or have.kind != "release" or d.editable:
        return None
    return _by_tag(d, have.release, torch) or _by_metadata(s, m, d, have.release)


def torch_of_tag(d: Distribution) -> tuple[int, int] | None:
    """The release of torch for which its wheel's tag says that it was built; None where it says none."""
    return _tagged_torch(_tag(d))


def _tag(d: Distribution) -> str:
    return (d.wheel.partition("+")[2] or d.version.partition("+")[2]).partition("-")[0]


def _by_tag(d: Distribution, have: tuple[int, ...], torch: Torch) -> Misfit | None:
    """flash_attn-2.5.5+cu118torch2.2cxx11abiTRUE, torch_scatter-2.1.2+pt21cu121 ..."""
    tag = _tag(d)
    if not tag:
        return None
    built, cuda, abi = _tagged_torch(tag), _TAG_CUDA.search(tag), _TAG_ABI.search(tag)
    if built and built != have[:2]:
        words = f"Its wheel ({tag}) is built for torch {built[0]}.{built[1]}"
        return Misfit(words, {"tag": tag, "built_for_torch": f"{built[0]}.{built[1]}"}, True)
    if built and cuda and torch.cuda and numbers(torch.cuda)[:1] not in ((), (int(cuda[1]),)):
        return Misfit(
            f"Its wheel ({tag}) is built for CUDA {cuda[1]}, but torch is built for CUDA {torch.cuda}",
            {"tag": tag, "torch_cuda": torch.cuda},
            True,
        )
    if abi and torch.cxx11_abi is not None and (abi[1].upper() == "TRUE") != torch.cxx11_abi:
        other = "the old C++ ABI" if torch.cxx11_abi else "the new C++ ABI (cxx11)"
        return Misfit(
            f"Its wheel ({tag}) uses {other}, but torch does not",
            {"tag": tag, "torch_cxx11_abi": torch.cxx11_abi},
            True,
        )
    return None


def _tagged_torch(tag: str) -> tuple[int, int] | None:
    """torch2.2 -> 2.2, pt21 -> 2.1, pt113 -> 1.13, torch240 -> 2.4; torch210 may be 2.1.0 or 2.10: None."""
    found = _TAG_TORCH.search(tag)
    if not found:
        return None
    if found[2]:
        return int(found[2]), int(found[3])
    major, rest = int(found[4]), found[5]
    if len(rest) == 2 and (int(rest) > 20 or rest == "10"):
        return (major, int(rest[0])) if rest != "10" else None if found[1] == "torch" else (major, 10)
    return major, int(rest[:2])


def _by_metadata(s: Snapshot, m: Matrix, d: Distribution, have: tuple[int, ...]) -> Misfit | None:
    lines = known(d.requires)
    if isinstance(d.requires, Missing) and d.requires.reason != "recheck" and d.name in _PINNED:
        row = next((r for r in m.extensions if r.package == d.name and r.version == d.version), None)
        lines = (f"torch{row.torch}",) if row and row.torch.startswith("==") else ()
    for line in lines or ():
        found = _TORCH_LINE.match(line)
        if not found or "extra" in (found[2] or ""):
            continue
        bounds = filter(None, (_BOUND.match(part.strip()) for part in found[1].split(",")))
        broken = [bound for bound in bounds if not _holds(bound, have)]
        if not broken or not applies(Pin("torch", "", (found[2] or "").strip()), s):
            continue
        exact = broken[0][1] == "==" and not broken[0][3]
        required = numbers(broken[0][2])
        certain = exact and required[:2] != have[:2]
        return Misfit(f"Its metadata requires torch{found[1].strip()}", {"asks_for": found[1].strip()}, certain)
    return None


def _holds(bound: re.Match[str], have: tuple[int, ...]) -> bool:
    other = numbers(bound[2])
    if bound[3] or bound[1] == "~=":
        width = len(other) if bound[3] else len(other) - 1
        same = have[:width] == other[:width]
        return same if bound[1] == "==" else not same if bound[1] == "!=" else same and have >= other
    width = max(len(have), len(other))
    a, b = have + (0,) * (width - len(have)), other + (0,) * (width - len(other))
    return {">=": a >= b, "<=": a <= b, "==": a == b, "!=": a != b, "<": a < b, ">": a > b}[bound[1]]
