"""What words mean, whatever their spelling and order: which fact a key names, and which words say 'not here'.

All of it is data: tables/grammar.toml, built into grammar.json.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from pkgutil import get_data
from typing import Any

from ...formats.lazy import lazy

_NOISE = lazy(r"[\s_\-]+")
_HUMP = lazy(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SPLIT = lazy(r"[ .()/,\[\]]+")
_PARTS = lazy(r"[ .()/,_-]+")
_VARIABLE = lazy(r"[A-Z][A-Z0-9]{1,20}_[A-Z0-9_]{1,40}")
_INDEX = lazy(r"\[\d{1,4}\]|\.\d{1,4}(?=\.)")
_NO_STATE = ("earlier", "elsewhere", "wanted", "asked", "tried", "compared", "subject")
"""Groups of words of which one in a key tells that its value is not what is here."""


@lru_cache(maxsize=1)
def table() -> dict[str, Any]:
    """The grammar as data, by the sections of its file."""
    found: dict[str, Any] = json.loads(get_data(__package__.rpartition(".")[0], "grammar.json") or b"{}")
    return found


@lru_cache(maxsize=32)
def words(name: str) -> frozenset[str]:
    """A list of words of the table."""
    return frozenset(table()["words"][name])


@lru_cache(maxsize=4)
def _by_name(section: str) -> dict[str, str]:
    """Each spelling of a section, in plain words, to what it stands for."""
    named = section != "means"  # a name of `means` is ours, no key that anybody writes
    return {plain(key): name for name, keys in table()[section].items() for key in ([name] * named + keys)}


@lru_cache(maxsize=4)
def _by_words(section: str) -> dict[frozenset[str], str]:
    return {found: name for key, name in _by_name(section).items() if (found := _words(key))}


@lru_cache(maxsize=1)
def _packages() -> dict[str, str]:
    return {**{plain(name): name for name in words("packages")}, **_by_name("packages")}


def package_named(name: str) -> str:
    """The package that this word is the name of, or another word for; ''."""
    usual = name.lower().replace("_", "-")
    known = usual in words("packages") or usual.startswith("nvidia-") or usual in table()["packages"]
    return usual if known else package_name(name)


@lru_cache(maxsize=1)
def _same() -> dict[str, str]:
    return {word: name for name, many in table()["same"].items() for word in many}


def plain(key: str) -> str:
    """Lower case, one blank for blanks, dashes and underscores; no call brackets."""
    return _NOISE.sub(" ", key.strip().lower().replace("()", "")).strip(" ?")


def in_words(key: str) -> str:
    """`threadsPerProcess` and `threads-per-process` as `threads per process`."""
    return plain(_HUMP.sub(" ", key)).replace("py torch", "pytorch").replace("cu dnn", "cudnn")


def _words(key: str) -> frozenset[str]:
    return frozenset(_same().get(word, word) for word in _SPLIT.split(key) if word) - words("filling")


def _shorter(key: str) -> Iterator[str]:
    """The key in plain words, then without the parts before it that say only where it was noted."""
    spoken = in_words(_INDEX.sub("", key) if "[" in key or "." in key else key)
    while True:
        yield spoken
        first, dot, rest = spoken.partition(".")
        if not dot or not set(first.split()) <= words("around"):
            return
        spoken = rest


@lru_cache(maxsize=4096)
def variable(key: str) -> str:
    """The environment variable that this key spells; ''."""
    if _VARIABLE.fullmatch(key):
        return key
    names = _variables()
    return next((names[name] for name in _shorter(key) if name in names), "")


@lru_cache(maxsize=1)
def _variables() -> dict[str, str]:
    return {plain(name): name for name in words("variables")}


@lru_cache(maxsize=4096)
def canonical(key: str) -> str:
    """The key as other readers and the catalogue know it; '' where it is none of those."""
    usual = next((name for spoken in _shorter(key) if (name := _by_words("usual").get(_words(spoken)))), "")
    return usual or ("torch" if kind_of(key) == "torch" else "")


@lru_cache(maxsize=4096)
def package_name(key: str) -> str:
    """The package that this key names, or whose version it tells; ''."""
    for spoken in (plain(key), *_shorter(key)) if not exact_kind(key) else ():
        name = spoken.partition("(")[0].removesuffix(".version")
        name = " ".join(word for word in name.split() if word not in words("beside_package"))
        if found := _packages().get(name):
            return found
    return ""


@lru_cache(maxsize=4096)
def exact_kind(key: str) -> str:
    """The meaning of a key all of whose words the table has together."""
    return next((kind for spoken in _shorter(key) if (kind := _by_name("means").get(spoken) or _together(spoken))), "")


@lru_cache(maxsize=4096)
def kind_of(key: str) -> str:
    """The meaning of a key; '' where its words leave a doubt."""
    means = _by_name("means")
    if kind := means.get(plain(key)):
        return kind
    if variable(key).endswith("_VISIBLE_DEVICES"):
        return ""  # which ones, not how many
    for spoken in _shorter(key):
        if kind := means.get(spoken) or means.get(spoken.replace(".", " ")) or _inferred(spoken):
            return kind
    return ""


def _together(key: str) -> str:
    found = _words(key)
    return _by_words("means").get(found) or _by_words("means").get(found - {"nvidia"}) or ""


def _inferred(key: str) -> str:
    """The meaning of a key that is not in the table, from its words."""
    found = _words(key)
    if not found or len(found) > 6:
        return ""
    if kind := _together(key):
        return kind
    if "torch" in found and "cuda" in found and ("build" in found or "version" in key):
        return "torch_cuda" if not found & {"available", "is"} else ""
    if "torch" in found and found <= words("beside_torch"):
        return "torch"
    if "driver" in found and not found & words("no_driver"):
        return "driver"
    if found >= {"smi", "cuda"}:
        return "driver_cuda"
    if "module" in found and found & {"loaded", "kernel", "nvrm"} and ("version" in key or "driver" in found):
        return "module_version"
    if found & words("board") and found <= words("beside_board"):
        return "gpu_name"
    if found & words("system") and found <= words("system") | words("beside_system"):
        return "kernel" if found & {"kernel", "uname"} else "os"
    return ""


def not_here(*groups: str, then: str = "") -> re.Pattern[str]:
    """A pattern of the words of these groups, and of what follows them."""
    found = sorted({word for group in groups for word in table()["not_here"][group]}, key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(found)})\b{then}", re.I)


@lru_cache(maxsize=4096)
def key_of_here(key: str) -> bool:
    """Whether a key may speak of the machine as it is."""
    return _no_state().isdisjoint(_PARTS.split(key.lower()))


@lru_cache(maxsize=1)
def _no_state() -> frozenset[str]:
    return frozenset(word for group in _NO_STATE for word in table()["not_here"][group])
