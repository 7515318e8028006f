"""What people call a GPU (H100, RTX4090, A100 80GB), compared with what a driver calls it."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING

from .gpus import gpu

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .store import Store

_QUALIFIER = re.compile(r"\d+gb|mig|\d+[cg]")
"""Memory and MIG profile: they may be separated from the model, as in A100-SXM4-80GB."""
_VENDOR = r"(?i)^(?:(?:nvidia|geforce|tesla|grid)\s+)+"
_ALIKE = str.maketrans("oil", "011")
_MOST, _NEAR = 3, 0.75


def is_model(m: Store, name: str, model: str) -> bool:
    """Whether the GPU that a driver calls `name` is a `model`: H100 and RTX4090 are part of a name; A100 is not an A10.

    Other names of the product that the matrix lists as `name` count too: an H100 SXM is an H100 80GB HBM3.
    """
    rows = gpu(m, name).rows if name else ()
    aliases = rows[0].aliases if len(rows) == 1 else ()
    return any(_holds(text, model) for text in (name, *aliases))


def lists_model(m: Store, model: str) -> bool:
    """Whether some product, or a MIG instance or virtual GPU of one, has this name."""
    answers: dict[str, bool] = m.memo("models", dict)
    if model not in answers:
        plain = re.sub(r"(?i)\bmig\b.*$", "", model).strip()
        answers[model] = not plain or bool(gpu(m, plain).rows) or any(_holds(name, plain) for name in _names(m))
    return answers[model]


def nearest_models(m: Store, model: str) -> list[str]:
    """Names close to a misspelled model, likeliest first: H200 and H20 for H20O."""
    short: dict[str, str] = m.memo("short names of models", lambda: _short(m))
    word = "".join(_words(model))
    alike = [key for key in short if key.translate(_ALIKE) == word.translate(_ALIKE)]
    found = dict.fromkeys([*alike, *get_close_matches(word, short, n=_MOST, cutoff=_NEAR)])
    return [short[key] for key in found][:_MOST]


def _holds(name: str, model: str) -> bool:
    words, wanted = _words(name), _words(model)
    more: list[str] = []
    while wanted and _QUALIFIER.fullmatch(wanted[-1]):
        more.append(wanted.pop())
    core = "".join(wanted)
    starts = range(len(words))
    runs = ("".join(words[i:j]) for i in starts for j in range(i + 1, len(words) + 1))
    return (not core or core in runs) and set(more).issubset(words)


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def _names(m: Store) -> Iterator[str]:
    for row in m.gpus:
        yield from (row.name, *row.aliases)
    for board in m.boards:
        yield board.name


def _short(m: Store) -> dict[str, str]:
    """The beginnings of all names without the vendor's words, by their letters and digits."""
    found: dict[str, str] = {}
    for name in _names(m):
        plain = re.sub(_VENDOR, "", name)
        for word in re.finditer(r"[A-Za-z0-9]+", plain):
            text = plain[: word.end()]
            if any(c.isdigit() for c in text) and any(c.isalpha() for c in text):
                found.setdefault("".join(_words(text)), text)
    return found
