"""What the key of a `key: value` line means: by a table (keys.json), whatever its spelling and order of words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from pkgutil import get_data
from typing import Any

_NOISE = re.compile(r"[\s_\-]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SPLIT = re.compile(r"[ .()/,\[\]]+")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]{1,20}_[A-Z0-9_]{1,40}")
_INDEX = re.compile(r"\[\d{1,4}\]|\.\d{1,4}(?=\.)")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_FILLING = _set("version versions ver installed current my our the of used using is value in has info")
_SAME = {
    "pytorch": "torch", "libtorch": "torch", "gpus": "gpu", "cards": "card", "archs": "arch",
    "architectures": "arch", "architecture": "arch", "libraries": "library", "libs": "library", "lib": "library",
    "k8s": "kubernetes", "flavour": "flavor", "graphic": "graphics", "toolkits": "toolkit", "py": "python",
    "licence": "license", "devices": "device", "accelerators": "accelerator", "capabilities": "capability",
    "built": "build", "containerised": "containerized", "sys": "system", "env": "environment", "img": "image",
}  # fmt: skip
_AROUND = _set(
    "facts environment env system host machine setup hardware software info information versions version details"
    " config configuration specs report node data python nvidia platform container runtime packages libraries summary"
)
"""First parts of a dotted key that say where its value was noted, and nothing more."""
_BOARD = _set("gpu card video graphics accelerator vga dgpu")
_GPU = _set(
    "gpu dgpu vga card graphics video device accelerator model name type adapter product nvidia hardware details"
    " configuration list info"
)
_SYSTEM = _set("os distro distribution kernel uname operating")
_OF_A_SYSTEM = _set("system name release r a running host linux guest id pretty node wsl")
_NO_DRIVER = _set(
    "cuda models model dir lib library branch capability kernel module path loaded min minimum required needed api"
    " storage cgroup old userspace log graph build requires require new target recommended expected container wanted"
    " before after previous latest supported works error status mode csi state note flavor open"
)


@lru_cache(maxsize=1)
def tables() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(get_data(__package__, "keys.json") or b"{}")
    return found


@lru_cache(maxsize=1)
def kinds() -> dict[str, str]:
    """Normalised key to what it means."""
    return {plain(key): kind for kind, keys in tables()["means"].items() for key in keys}


@lru_cache(maxsize=1)
def _usual() -> dict[frozenset[str], str]:
    return {_words(plain(key)): usual for usual, keys in tables()["usual"].items() for key in (usual, *keys)}


@lru_cache(maxsize=1)
def _packages() -> dict[str, str]:
    return {plain(key): name for name, keys in tables()["packages"].items() for key in (name, *keys)}


@lru_cache(maxsize=1)
def _variables() -> dict[str, str]:
    return {plain(name): name for name in tables()["variables"]}


@lru_cache(maxsize=4096)
def variable(key: str) -> str:
    """The environment variable that this key spells; ''."""
    if _VARIABLE.fullmatch(key):
        return key
    return next((found for name in _shorter(key) if (found := _variables().get(name))), "")


@lru_cache(maxsize=4096)
def canonical(key: str) -> str:
    """The key as other readers and the catalogue know it; '' where it is none of those."""
    usual = next((usual for name in _shorter(key) if (usual := _usual().get(_words(name)))), "")
    return usual or ("torch" if kind_of(key) == "torch" else "")


@lru_cache(maxsize=4096)
def package_name(key: str) -> str:
    """The package whose version this key tells; ''."""
    for name in _shorter(key):
        name = name.removesuffix(" version").removeprefix("version of ").removesuffix(".version")
        if found := _packages().get(name):
            return found
        if re.fullmatch(r"nvidia [a-z]{3,20} cu1[123]", name):
            return name.replace(" ", "-")
    return ""


@lru_cache(maxsize=1)
def _kinds_by_words() -> dict[frozenset[str], str]:
    return {words: kind for key, kind in kinds().items() if (words := _words(key))}


def plain(key: str) -> str:
    """Lower case, one blank for blanks, dashes and underscores; no call brackets."""
    return _NOISE.sub(" ", key.strip().lower().replace("()", "")).strip(" ?")


def in_words(key: str) -> str:
    """`threadsPerProcess` and `threads-per-process` as `threads per process`."""
    return plain(_HUMP.sub(" ", key)).replace("py torch", "pytorch").replace("cu dnn", "cudnn")


def _words(key: str) -> frozenset[str]:
    words = [_SAME.get(word, word) for word in _SPLIT.split(key) if word]
    return frozenset(words) - _FILLING


@lru_cache(maxsize=4096)
def exact_kind(key: str) -> str:
    """The meaning of a key all of whose words the table has together."""
    for spoken in _shorter(key):
        words = _words(spoken)
        if kind := kinds().get(spoken) or _kinds_by_words().get(words) or _kinds_by_words().get(words - {"nvidia"}):
            return kind
    return ""


@lru_cache(maxsize=4096)
def kind_of(key: str) -> str:
    """The meaning of a key; '' where its words leave a doubt."""
    table = kinds()
    if kind := table.get(plain(key)):
        return kind
    if variable(key).endswith("_VISIBLE_DEVICES"):
        return ""  # which ones, not how many
    for spoken in _shorter(key):
        if kind := table.get(spoken) or table.get(spoken.replace(".", " ")) or _by_words(spoken):
            return kind
    return ""


def _shorter(key: str) -> Iterator[str]:
    """The key in plain words, then without the parts before it that say only where it was noted."""
    if "[" in key or "." in key:
        key = _INDEX.sub("", key)
    spoken = in_words(key)
    while True:
        yield spoken
        first, dot, rest = spoken.partition(".")
        if not dot or not set(first.split()) <= _AROUND:
            return
        spoken = rest


def _by_words(key: str) -> str:
    """The meaning of a key that is not in the table, from its words."""
    words = _words(key)
    if not words or len(words) > 6:
        return ""
    known = _kinds_by_words()
    if kind := known.get(words) or known.get(words - {"nvidia"}):
        return kind
    torch = "torch" in words
    if torch and "cuda" in words and (words & {"build"} or "version" in key):
        return "torch_cuda" if not words & {"available", "is"} else ""
    if torch and words <= {"torch", "release", "build", "package", "imported", "loaded", "running", "active"}:
        return "torch"
    if "driver" in words and not words & _NO_DRIVER:
        return "driver"
    if "smi" in words and "cuda" in words:
        return "driver_cuda"
    if words & {"module"} and words & {"loaded", "kernel", "nvrm"} and ("version" in key or "driver" in words):
        return "module_version"
    if words & _BOARD and words <= _GPU:
        return "gpu_name"
    if words & _SYSTEM and words <= _SYSTEM | _OF_A_SYSTEM:
        return "kernel" if words & {"kernel", "uname"} else "os"
    return ""
