"""Every row of the hand-written tables that masking reads, and the same tables without one of them.

A table is what a module that `redact` imports assigns at its top: a tuple, set or dict of texts, or a pattern that lists
words. It is found by itself, so that a new table or row needs a sample (`rows/MODULE.txt`) before its test passes.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from doctor.formats.lazy import lazy
from doctor.snapshot.redact import redact

PACKAGE = "doctor.snapshot"
DOOR = "redact"
"""The module that masking begins at."""
_WORD = re.compile(r"(?=.*[A-Za-z]{2})[\w./@:~ -]{2,}")
_VARIABLE = re.compile(r"(?:\\[bsdw]|\[[^\]]*\]|\\(?=[.]))(?:\{[\d,]+\})?|[?+*]")
"""An alternative of a pattern that is a word, and what stands in one beside its letters."""
_NEVER = "(?!)"
"""The pattern that nothing matches."""


class TableRow(NamedTuple):
    """One row: the module and name of its table, the row in words, and the table without it."""

    module: str
    table: str
    row: str
    without: Callable[[], Any]
    whole: bool = True
    """Not a word of a row's pattern."""


@cache
def modules() -> list[ModuleType]:
    """The modules that masking runs through: those of the package that the door imports, and theirs."""
    found: dict[str, ModuleType] = {}
    _follow(importlib.import_module(f"{PACKAGE}.{DOOR}"), found)
    return list(found.values())


def _follow(module: ModuleType, found: dict[str, ModuleType]) -> None:
    found[module.__name__] = module
    for node in ast.walk(ast.parse(Path(str(module.__file__)).read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module:
            name = f"{PACKAGE}.{node.module}"
            if name not in found:
                _follow(importlib.import_module(name), found)


def rows_of(module: ModuleType) -> Iterator[TableRow]:
    """The rows of the tables that a module assigns and a function reads, and the words that a row's patterns list."""
    short = _short(module)
    for name in _assigned(module):
        value = vars(module)[name]
        if (short, name) not in _read_by_functions():
            continue  # a part of other tables, which have its rows
        if isinstance(value, (tuple, list, frozenset)) and len(value) > 1 and all(map(_has_text, value)):
            kind, items = type(value), sorted(value) if isinstance(value, frozenset) else list(value)
            for number, item in enumerate(items):
                before, after = items[:number], items[number + 1 :]
                yield TableRow(short, name, _in_words(item), partial(kind, [*before, *after]))
                for word, less in _shorter_item(item):
                    yield TableRow(
                        short, name, f"{_in_words(item)[:60]} {word}", partial(kind, [*before, less, *after]), False
                    )
        elif isinstance(value, dict) and value and all(isinstance(key, str) for key in value):
            for key in value:
                yield TableRow(short, name, key, partial(dict, [(k, v) for k, v in value.items() if k != key]))
        elif (text := _pattern(value)) is not None:
            kind = str if isinstance(value, str) else lazy
            yield TableRow(short, name, text, partial(kind, _NEVER))
            for word, less in shorter(text):
                yield TableRow(short, name, word, partial(kind, less))


def _shorter_item(item: object) -> Iterator[tuple[str, object]]:
    """(word, the row without it) of the patterns of a row that is a tuple."""
    for number, part in enumerate(item) if isinstance(item, tuple) else ():
        less: Iterable[tuple[str, object]] = ()
        if isinstance(part, str):
            less = shorter(part)
        elif isinstance(part, tuple) and len(part) > 1 and all(map(_has_text, part)):
            less = ((_in_words(one), (*part[:i], *part[i + 1 :])) for i, one in enumerate(part))
        for word, rest in less:
            yield word, (*item[:number], rest, *item[number + 1 :])  # type: ignore[index]


@cache
def _read_by_functions() -> frozenset[tuple[str, str]]:
    """(module, name) of what a function of these modules reads."""
    found = set()
    for module in modules():
        body = ast.parse(Path(str(module.__file__)).read_text("utf-8")).body
        home = {name.name: part.module for part in body if isinstance(part, ast.ImportFrom) for name in part.names}
        for part in body:
            if isinstance(part, (ast.FunctionDef, ast.ClassDef)):
                names = {node.id for node in ast.walk(part) if isinstance(node, ast.Name)}
                found |= {(home.get(name) or _short(module), name) for name in names}
    return frozenset(found)


def _short(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]


def _assigned(module: ModuleType) -> Iterator[str]:
    for node in ast.parse(Path(str(module.__file__)).read_text("utf-8")).body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        yield from (target.id for target in targets if isinstance(target, ast.Name) and target.id in vars(module))


def _has_text(item: object) -> bool:
    return isinstance(item, str) or (isinstance(item, tuple) and any(map(_has_text, item)))


def _in_words(item: object) -> str:
    return item if isinstance(item, str) else " ".join(map(_in_words, item)) if isinstance(item, tuple) else str(item)


def _pattern(value: object) -> str | None:
    text = value if isinstance(value, str) else vars(value).get("_text") if hasattr(value, "fullmatch") else None
    if not isinstance(text, str) or not re.search(r"[\\(\[]", text):
        return None
    try:
        re.compile(text)
    except re.error:
        return None  # a text of signs
    return text


def shorter(pattern: str) -> Iterator[tuple[str, str]]:
    """(word, the pattern without it) of every alternative that is a word."""
    for start, parts in alternatives(pattern):
        words = [bool(_WORD.fullmatch(_VARIABLE.sub("", part))) for part in parts]
        if sum(words) < 2:
            continue
        end = start + len("|".join(parts))
        for number, part in enumerate(parts):
            if words[number]:
                yield part, pattern[:start] + "|".join([*parts[:number], *parts[number + 1 :]]) + pattern[end:]


def alternatives(pattern: str) -> Iterator[tuple[int, list[str]]]:
    """(where it begins, its alternatives) of each group of a pattern, and of the pattern itself."""
    open_groups: list[tuple[int, list[str]]] = [(0, [])]
    last = [0]
    at = 0
    while at < len(pattern):
        sign = pattern[at]
        if sign == "\\":
            at += 1
        elif sign == "[":
            at = _class_end(pattern, at)
        elif sign == "(":
            head = re.compile(r"\((?:\?(?:[:=!]|<[=!]|P<\w+>|[a-z]+:|[a-z]+(?=\))))?").match(pattern, at)
            at = head.end() - 1 if head else at
            open_groups.append((at + 1, []))
            last.append(at + 1)
        elif sign in "|)":
            open_groups[-1][1].append(pattern[last[-1] : at])
            last[-1] = at + 1
            if sign == ")":
                last.pop()
                yield open_groups.pop()
        at += 1
    open_groups[0][1].append(pattern[last[0] :])
    yield open_groups[0]


def _class_end(pattern: str, at: int) -> int:
    """Where the class of characters ends that begins here."""
    at += 2 if pattern[at + 1] == "^" else 1
    first = at
    while pattern[at] != "]" or at == first:
        at += 2 if pattern[at] == "\\" else 1
    return at


@contextmanager
def without(row: TableRow) -> Iterator[None]:
    """While this lasts, no module has the row; what was kept of earlier answers is forgotten before and after."""
    whole = vars(importlib.import_module(f"{PACKAGE}.{row.module}"))[row.table]
    places = [(m, name) for m in modules() for name, value in vars(m).items() if value is whole]
    less = row.without()
    try:
        for module, name in places:
            setattr(module, name, less)
        _forget()
        yield
    finally:
        for module, name in places:
            setattr(module, name, whole)
        _forget()


def _forget() -> None:
    for kept in _caches():
        kept.cache_clear()


@cache
def _caches() -> list[Any]:
    compiled = sys.modules[f"{PACKAGE}.spans"].compiled  # by the pattern itself: nothing to forget
    found = {id(v): v for m in modules() for v in vars(m).values() if hasattr(v, "cache_clear") and v is not compiled}
    return [kept for kept in found.values() if inspect.signature(kept).parameters]  # the others read files


SAMPLES = Path(__file__).parent / "rows"
_MARKED = re.compile("«([^»]*)»|‹([^›]*)›")


class Sample(NamedTuple):
    """A text, what of it must be gone when it is masked, and what must be left."""

    text: str
    gone: tuple[str, ...]
    left: tuple[str, ...]

    def fails(self) -> str:
        """What is wrong with this sample's masks; empty where nothing is."""
        key, value = "", self.text
        if value.startswith("@"):
            key, _, value = value[1:].partition(" ")
        masked = redact({key: value})[key] if key else redact(value)
        leaks = [f"{secret} leaks" for secret in self.gone if secret in masked]
        if self.left and not self.gone and masked != value:
            return f"masked: {masked}"
        return "; ".join([*leaks, *(f"{word} is masked" for word in self.left if word not in masked)])


def samples_of(module: str) -> dict[str, list[str]]:
    """Table to its lines in the module's file of samples."""
    found: dict[str, list[str]] = {}
    path = SAMPLES / f"{module}.txt"
    for line in path.read_text("utf-8").splitlines() if path.exists() else ():
        if table := re.fullmatch(r"\[(\w+)\]", line):
            found[table[1]] = []
        elif line and not line.startswith("# "):
            found[list(found)[-1]].append(line)
    return found


def samples(line: str, rows: list[str]) -> Iterator[Sample]:
    """The samples of a line: `{a,b}` in it is each of these, `{}` each of the table's rows."""
    choice = re.search(r"\{([^{}\"]*)\}", line)
    if not choice:
        yield _sample(line)
    else:
        for word in choice[1].split(",") if choice[1] else rows:
            yield _sample(line[: choice.start()] + word + line[choice.end() :])


def _sample(line: str) -> Sample:
    whole = line.replace("⏎", "\n").replace("⇥", "\t").replace("␍", "\r")
    marks = _MARKED.findall(whole)
    text = _MARKED.sub(lambda found: found[1] or found[2], whole)
    return Sample(text, tuple(gone for gone, _ in marks if gone), tuple(left for _, left in marks if left))
