"""Lines of `key: value`: torch's collect_env, its relatives, and facts that people type, read by their meaning."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from pkgutil import get_data

from . import meanings
from .statement import Line, Statement

_KEY = re.compile(r"\s{0,12}([A-Za-z][\w .()/?,-]{0,60}?)\s{0,24}(?::|=(?!=))\s{0,8}(.{0,400})")
_MOST_KEYS = 20_000
_NOISE = re.compile(r"[\s_\-]+")


@lru_cache(maxsize=1)
def kinds() -> dict[str, str]:
    """Normalised key to what it means."""
    table = json.loads(get_data(__package__, "keys.json") or b"{}")
    return {plain(key): kind for kind, keys in table.items() for key in keys}


def plain(key: str) -> str:
    """Lower case, one blank for blanks, dashes and underscores; no call brackets."""
    return _NOISE.sub(" ", key.strip().lower().replace("()", "")).strip(" ?")


def read_keyed(lines: list[Line]) -> Iterator[Statement]:
    """Statements of every line whose key is known, or whose key and value together leave no doubt."""
    table = kinds()
    cache: dict[str, str] = {}
    for line in lines:
        text = line.text
        if (":" not in text and "=" not in text) or (text.startswith("GPU ") and text[4:5].isdigit()):
            continue
        found = _KEY.match(text)
        if not found or found[2].startswith("//"):
            continue
        key = found[1]
        if key.startswith("build."):
            continue  # xformers.info: of the machine that built the wheel
        if key not in cache:
            if len(cache) > _MOST_KEYS:
                continue  # a log, not a description of a machine
            cache[key] = table.get(plain(key)) or _by_words(plain(key))
        if kind := cache[key]:
            yield from meanings.statements(kind, found[2].strip(), line)


def _by_words(key: str) -> str:
    """The meaning of a key that is not in the table, from its words."""
    words = frozenset(re.split(r"[ .()/,]+", key))
    if len(words) > 6:
        return ""
    torch = bool(words & {"torch", "pytorch", "libtorch"})
    if torch and "cuda" in words and words & {"version", "build", "built", "used"}:
        return "torch_cuda"
    if torch and words <= {"torch", "pytorch", "version", "installed", "release", "build", "the", "of"}:
        return "torch"
    if "driver" in words and not words & {"cuda", "models", "model", "dir", "lib", "branch", "capabilities", "kernel",
                                          "module", "path", "loaded", "min", "minimum", "required", "needed", "api",
                                          "storage", "cgroup", "old", "userspace", "log", "graph"}:  # fmt: skip
        return "driver"
    if "smi" in words and "cuda" in words:
        return "driver_cuda"
    if words & {"module"} and words & {"loaded", "kernel", "nvrm"} and words & {"version", "driver"}:
        return "module_version"
    if words & _BOARD and words <= _BOARD | {"model", "name", "type", "used", "my", "the", "our", "list", "in", "use"}:
        return "gpu_name"
    if words & _SYSTEM and words <= _SYSTEM | _OF_A_SYSTEM:
        return "kernel" if "kernel" in words or "uname" in words else "os"
    return ""


_BOARD = frozenset(("gpu", "gpus", "card", "cards", "video", "graphics", "accelerator", "accelerators", "vga", "dgpu"))
_SYSTEM = frozenset(("os", "distro", "distribution", "kernel", "uname", "operating"))
_OF_A_SYSTEM = frozenset(("system", "name", "release", "version", "r", "a", "running", "host", "linux", "guest", "id",
                          "pretty", "the", "of", "node", "my", "our", "wsl"))  # fmt: skip
