"""What a message may ask of the rest of its text: each condition is an operator, with the argument that it takes."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any

from ..formats.lazy import lazy
from ..formats.record import Record
from ..snapshot import Missing, Snapshot, known
from .boards import capabilities, is_jetson, lacks, list_against_gpus, memory_held, numbers, two_sources


class Facts(Record):
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


class Operator(Record):
    """`holds(argument, facts)`; `takes` says what is wrong with an argument, '' where nothing is."""

    holds: Callable[[Any, Facts], bool]
    takes: Callable[[Any], str]


def _flag(value: Any) -> str:
    return "" if isinstance(value, bool) else "true or false is expected"


def _number(value: Any) -> str:
    return "" if type(value) is int else "a whole number is expected"


def _version(value: Any) -> str:
    return "" if isinstance(value, str) and re.fullmatch(r"\d+(\.\d+)*", value) else "a version is expected: '12.4'"


def _word(value: Any) -> str:
    return "" if isinstance(value, str) and value else "a word is expected"


def _list(value: Any) -> str:
    return "" if isinstance(value, list) and value else "a list is expected"


def _words(value: Any) -> str:
    return _list(value) or ("" if all(isinstance(word, str) for word in value) else "a list of words is expected")


def _one_of(*words: str) -> Callable[[Any], str]:
    return lambda value: "" if value in words else f"one of {', '.join(words)} is expected"


def _path(value: Any) -> str:
    try:
        Snapshot().fact(value)
    except (KeyError, AttributeError):
        return f"the Snapshot has no fact {value!r}"
    return ""


def _two_paths(value: Any) -> str:
    if not isinstance(value, list) or len(value) != 2:
        return "two facts are expected"
    return _path(value[0]) or _path(value[1])


def _any(value: Any) -> str:
    return ""


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


OPERATORS: dict[str, Operator] = {
    "all": Operator(lambda value, f: all(name in f.names for name in value), _words),
    "any": Operator(lambda value, f: any(name in f.names for name in value), _words),
    "none": Operator(lambda value, f: not any(name in f.names for name in value), _words),
    "container": Operator(_container, _flag),
    "jetson": Operator(lambda value, f: (is_jetson(f.s) or "jetson" in f.names) is value, _flag),
    "memory-held": Operator(lambda value, f: memory_held(f.s) is value, _flag),
    "gpu-below": Operator(lambda value, f: _every_gpu(value, f, lambda cap, limit: cap < limit), _version),
    "gpu-above": Operator(lambda value, f: _every_gpu(value, f, lambda cap, limit: cap > limit), _version),
    "gpus-at-least": Operator(lambda value, f: len(known(f.s.gpus) or ()) >= value, _number),
    "nvswitch": Operator(_nvswitch, _flag),
    "names": Operator(lambda value, f: any(word in f.boards.lower() for word in value), _words),
    "names-none": Operator(lambda value, f: not any(re.search(rf"\b{word}", f.boards, re.I) for word in value), _words),
    "versions-differ": Operator(_versions_differ, _two_paths),
    "packages": Operator(lambda value, f: set(value) <= f.packages.keys(), _words),
    "any-package": Operator(lambda value, f: bool(set(value) & f.packages.keys()), _words),
    "packages-not": Operator(lambda value, f: not set(value) & f.packages.keys(), _words),
    "two-kinds": Operator(_two_kinds, _word),
    "two-sources": Operator(lambda value, f: two_sources(f.s, value), _word),
    "compiler-apart": Operator(lambda value, f: _compiler_apart(f) is value, _flag),
    "nvjitlink-wheel": Operator(_nvjitlink, _one_of("older", "newer")),
    "source-build": Operator(
        lambda value, f: bool(re.search(r"\+git|\da0", known(f.s.torch.version) or "")) is value, _flag
    ),
    "set": Operator(_set, _word),
    "code": Operator(lambda value, f: list_against_gpus(f.s) == value, _one_of("older", "newer")),
    "list-lacks-gpu": Operator(  # torch.cuda.get_arch_list() against every GPU
        lambda value, f: lacks(" ".join(known(f.s.torch_run.arch_list) or ()), capabilities(f.s)) is value, _flag
    ),
    "group-lacks-gpu": Operator(lambda value, f: lacks(" ".join(f.groups), capabilities(f.s)) is value, _flag),
    "group-above": Operator(_group_above, _path),
    "group-at-most": Operator(lambda value, f: bool(f.groups) and numbers(f.groups[0]) <= numbers(value), _version),
    "group-not-start-of": Operator(_group_not_start_of, _path),
    "libc-below-group": Operator(_libc_below_group, _flag),
    "library-of-torch": Operator(lambda value, f: _of_torch(f) is value, _flag),
    "library-of-torch-or-unknown": Operator(lambda value, f: _of_torch(f) in (value, None), _flag),
}
"""Conditions with a name of their own; every other is of one fact: its path and one of `OF_A_FACT`."""


def _is(value: Any, fact: Any) -> bool:
    return bool(fact in value if isinstance(value, list) else fact == value)


def _is_known(fact: Any) -> bool:
    return not isinstance(fact, Missing)


OF_A_FACT: dict[str, Operator] = {
    "": Operator(lambda value, fact: _is_known(fact) and _is(value, fact), _any),
    "not": Operator(lambda value, fact: _is_known(fact) and not _is(value, fact), _any),
    "not-now": Operator(lambda value, fact: bool(fact not in value), _list),
    "known": Operator(lambda value, fact: _is_known(fact) is value, _flag),
    "conflict": Operator(lambda value, fact: (isinstance(fact, Missing) and fact.reason == "conflict") is value, _flag),
    "lacks": Operator(  # a list of modules that holds what is beneath this one, and not this
        lambda value, fact: isinstance(fact, tuple) and "nvidia" in fact and value not in fact, _word
    ),
    ">=": Operator(lambda value, fact: _is_known(fact) and numbers(str(fact)) >= numbers(value), _version),
    "<": Operator(lambda value, fact: _is_known(fact) and numbers(str(fact)) < numbers(value), _version),
}
"""`host.wsl`: is the value, or one of the list; `host.wsl not-now`: is neither that nor unknown counts against it."""


def holds(when: dict[str, Any], f: Facts) -> bool:
    """Whether every condition is true; a fact that is not known makes it false."""
    return all(_one(key, value, f) for key, value in when.items())


def _one(key: str, value: Any, f: Facts) -> bool:
    if operator := OPERATORS.get(key):
        return operator.holds(value, f)
    path, _, how = key.partition(" ")
    return OF_A_FACT[how].holds(value, f.s.fact(path))


def fault(key: str, value: Any, names: Collection[str]) -> str:
    """What is wrong with a condition, '' where nothing is. `names`: all messages and topics that there are."""
    if operator := OPERATORS.get(key):
        wrong = operator.takes(value)
        if not wrong and key in ("all", "any", "none"):
            wrong = "".join(f"nothing is called {name!r}" for name in value if name not in names)
        return f"{key}: {wrong}" if wrong else ""
    path, _, how = key.partition(" ")
    if how not in OF_A_FACT:
        return f"{key}: there is no operator {how!r}"
    if "." not in path and path != "gpus":
        return f"{key}: there is no such operator"
    wrong = _path(path) or OF_A_FACT[how].takes(value)
    return f"{key}: {wrong}" if wrong else ""
