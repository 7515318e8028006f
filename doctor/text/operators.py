"""Conditions of a message on the rest of its text: each is an operator with its argument.

`training/conditions.py` says which argument each takes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from ..formats.lazy import lazy
from ..snapshot import Missing, Snapshot, known
from .boards import capabilities, is_jetson, lacks, list_against_gpus, memory_held, numbers, two_sources


class Facts(NamedTuple):
    """What a condition is asked of."""

    s: Snapshot
    names: Collection[str]
    """Ids of the messages that the text holds, and its topics."""
    groups: tuple[str, ...] = ()
    """What the message's own pattern took out."""

    @property
    def packages(self) -> dict[str, str]:
        """Versions of the packages by name."""
        return {d.name: d.version for d in known(self.s.python.distributions) or ()}

    @property
    def boards(self) -> str:
        """Names of the GPUs."""
        return " ".join(known(g.name) or "" for g in known(self.s.gpus) or ())


def _versions_differ(value: list[str], f: Facts) -> bool:
    first, second = (f.s.fact(path) for path in value)
    return isinstance(first, str) and isinstance(second, str) and numbers(first)[:2] != numbers(second)[:2]


def _nvjitlink(value: str, f: Facts) -> bool:
    """Against the version in the symbol's name: __nvJitLinkCreate_12_5."""
    have = next((version for name, version in f.packages.items() if name.startswith("nvidia-nvjitlink")), "")
    needed = tuple(int(group) for group in f.groups if group.isdecimal())
    return bool(have and len(needed) == 2) and ((numbers(have)[:2] < needed) is (value == "older"))


def _compiler_apart(f: Facts) -> bool:
    """The wheels of nvcc and of the runtime are of two CUDA versions."""
    have = f.packages
    pairs = ((have[name], have.get(name.replace("nvcc", "runtime"), "")) for name in have if "cuda-nvcc" in name)
    return any(other and numbers(one)[:2] != numbers(other)[:2] for one, other in pairs)


def _two_kinds(value: str, f: Facts) -> bool:
    """Wheels that write the same files: of one library and major, for two CUDAs."""
    wheels = {name: version for name, version in f.packages.items() if name.startswith(value)}
    return len(wheels) > 1 and len({version.partition(".")[0] for version in wheels.values()}) == 1


_NVSWITCH = lazy(r"\b(?:V100|[AH][128]00|H20|B[123]00|GB[23]00|HGX|DGX)\b(?!.{0,20}(?:PCIe|NVL\b))", re.I)
"""Boards that NVSwitches may connect; PCIe cards and pairs with a bridge have none."""


def _nvswitch(value: bool, f: Facts) -> bool:
    names = [known(g.name) or "" for g in known(f.s.gpus) or ()]
    return (not names or any(_NVSWITCH.search(name) for name in names)) is value


def _group_above(value: str, f: Facts) -> bool:
    fact = f.s.fact(value)
    return bool(f.groups and f.groups[0].isdecimal() and isinstance(fact, int) and int(f.groups[0]) > fact)


def _group_not_start_of(value: str, f: Facts) -> bool:
    fact = f.s.fact(value)
    return bool(f.groups) and isinstance(fact, str) and not f"{fact}.".startswith(f"{f.groups[0]}.")


def _libc_below_group(value: bool, f: Facts) -> bool:
    libc, wanted = numbers((known(f.s.host.libc) or "").removeprefix("glibc ")), numbers("".join(f.groups))
    return (bool(libc and wanted) and libc < wanted) is value


def _of_torch(f: Facts) -> bool | None:
    """Whether the library that is not found is of torch's CUDA: its number is the major; None where that is unknown."""
    cuda = known(f.s.torch.cuda)
    return cuda.partition(".")[0] == f.groups[0] if cuda and f.groups and f.groups[0] else None


def _container(value: bool, f: Facts) -> bool:
    inside = known(f.s.container.kind) not in (None, "none") or known(f.s.host.scheduler) == "kubernetes"
    return inside is value


def _every_gpu(value: str, f: Facts, compare: Callable[[tuple[int, ...], tuple[int, ...]], bool]) -> bool:
    caps = capabilities(f.s)
    return bool(caps) and all(compare(cap, numbers(value)) for cap in caps)


def _set(value: str, f: Facts) -> bool:
    return bool(f.s.host.env(value)) and not isinstance(f.s.host.env(value), Missing)


OPERATORS: dict[str, Callable[[Any, Facts], bool]] = {
    "all": lambda value, f: all(name in f.names for name in value),
    "any": lambda value, f: any(name in f.names for name in value),
    "none": lambda value, f: not any(name in f.names for name in value),
    "container": _container,
    "jetson": lambda value, f: (is_jetson(f.s) or "jetson" in f.names) is value,
    "memory-held": lambda value, f: memory_held(f.s) is value,
    "gpu-below": lambda value, f: _every_gpu(value, f, lambda cap, limit: cap < limit),
    "gpu-above": lambda value, f: _every_gpu(value, f, lambda cap, limit: cap > limit),
    "gpus-at-least": lambda value, f: len(known(f.s.gpus) or ()) >= value,
    "nvswitch": _nvswitch,
    "names": lambda value, f: any(word in f.boards.lower() for word in value),
    "names-none": lambda value, f: not any(re.search(rf"\b{word}", f.boards, re.I) for word in value),
    "versions-differ": _versions_differ,
    "packages": lambda value, f: set(value) <= f.packages.keys(),
    "any-package": lambda value, f: bool(set(value) & f.packages.keys()),
    "packages-not": lambda value, f: not set(value) & f.packages.keys(),
    "two-kinds": _two_kinds,
    "two-sources": lambda value, f: two_sources(f.s, value),
    "compiler-apart": lambda value, f: _compiler_apart(f) is value,
    "nvjitlink-wheel": _nvjitlink,
    "source-build": lambda value, f: bool(re.search(r"\+git|\da0", known(f.s.torch.version) or "")) is value,
    "set": _set,
    "code": lambda value, f: list_against_gpus(f.s) == value,
    "list-lacks-gpu": lambda value, f: (
        lacks(" ".join(known(f.s.torch_run.arch_list) or ()), capabilities(f.s)) is value
    ),  # torch.cuda.get_arch_list() against every GPU
    "group-lacks-gpu": lambda value, f: lacks(" ".join(f.groups), capabilities(f.s)) is value,
    "group-above": _group_above,
    "group-at-most": lambda value, f: bool(f.groups) and numbers(f.groups[0]) <= numbers(value),
    "group-not-start-of": _group_not_start_of,
    "libc-below-group": _libc_below_group,
    "library-of-torch": lambda value, f: _of_torch(f) is value,
    "library-of-torch-or-unknown": lambda value, f: _of_torch(f) in (value, None),
}
"""Conditions with a name of their own; every other is of one fact: its path and one of `OF_A_FACT`."""


def _is(value: Any, fact: Any) -> bool:
    return bool(fact in value if isinstance(value, list) else fact == value)


def _is_known(fact: Any) -> bool:
    return not isinstance(fact, Missing)


OF_A_FACT: dict[str, Callable[[Any, Any], bool]] = {
    "": lambda value, fact: _is_known(fact) and _is(value, fact),
    "not": lambda value, fact: _is_known(fact) and not _is(value, fact),
    "not-now": lambda value, fact: bool(fact not in value),
    "known": lambda value, fact: _is_known(fact) is value,
    "conflict": lambda value, fact: (isinstance(fact, Missing) and fact.reason == "conflict") is value,
    # a list of modules that holds what is beneath this one, and not this
    "lacks": lambda value, fact: isinstance(fact, tuple) and "nvidia" in fact and value not in fact,
    ">=": lambda value, fact: _is_known(fact) and numbers(str(fact)) >= numbers(value),
    "<": lambda value, fact: _is_known(fact) and numbers(str(fact)) < numbers(value),
}
"""`host.wsl`: is the value, or one of the list; `host.wsl not-now`: is neither that nor unknown counts against it."""


def holds(when: dict[str, Any], f: Facts) -> bool:
    """Whether every condition is true; a fact that is not known makes it false."""
    return all(_one(key, value, f) for key, value in when.items())


def _one(key: str, value: Any, f: Facts) -> bool:
    if operator := OPERATORS.get(key):
        return operator(value, f)
    path, _, how = key.partition(" ")
    return OF_A_FACT[how](value, f.s.fact(path))
