"""requirements.txt: the lines for this platform."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from compat_matrix.installer import index_source
from compat_matrix.resolver import Question

from .lines import (
    MOST_LINES,
    IndexLine,
    Other,
    Pinned,
    RequirementFile,
    environment,
    index_tag,
    line_of,
    pytorch_tag,
    requirement_of,
    split,
)

_INDEX = re.compile(r"(-i|--index-url|--extra-index-url|-f|--find-links)[\s=]+(\S+)")
_GENERATED = re.compile(r"#\s+((?:uv pip compile|pip-compile)(?: [\w./=:+@-]+){0,20})\s*$", re.M)
_HASH = re.compile(r"^[^#\n]*\s--hash[=\s]", re.M)


def read_requirements(text: str, path: str, q: Question) -> RequirementFile:
    """The whole file. Raises Unclear."""
    found: list[Pinned | Other] = []
    pinned = 0
    index, default = "", "pypi"
    extra: list[str] = []
    indexes, unsolved, unread = [], [], []
    about = environment(q)
    for number, line in joined(text):
        if not line:
            continue
        if pinned > MOST_LINES:
            break  # whoever asks refuses it
        option = _INDEX.match(line)
        if option:
            index = index_tag(option[2]) or index
            source = index_source(option[2])
            indexes.append(IndexLine(number=number, text=line, option=option[1], tag=pytorch_tag(option[2])))
            if option[1] in ("-i", "--index-url"):
                default = source
            else:
                extra.append(source)
        if included := re.match(r"(?:-r|-c|--requirement|--constraint)[\s=]*(\S+)", line):
            unread.append(f"line {number}: {included[1]} is not read; ask about that file too")
        if line.startswith("-"):
            unsolved += [number] if re.match(r"-e\b|--editable\b", line) else []
            continue
        need = requirement_of(re.split(r"\s--\w", line)[0].strip(), f"{path}, line {number}")
        if need is None or need.url:
            unsolved.append(number)
        if need is None or (need.marker and not need.marker.evaluate(about)):
            continue
        one = line_of(number, line, need)
        found.append(one)
        pinned += isinstance(one, Pinned)
    lines, others = split(found)
    return RequirementFile(
        kind="requirements",
        lines=tuple(_with_indexes(lines, index, (*extra, default))),
        others=others,
        indexes=tuple(indexes),
        regenerate=_regenerate(text),
        unsolved=tuple(unsolved),
        unread=tuple(unread),
    )


def _with_indexes(lines: Sequence[Pinned], index: str, indexes: tuple[str, ...]) -> Iterator[Pinned]:
    """`index`: the last of PyTorch's that the file names."""
    for one in lines:
        tagged = one
        if index and not one.local and one.wish.package.startswith("torch"):
            tagged = replace(one, local=index)
        yield replace(tagged, indexes=indexes) if one.name == "torch" and not one.local else tagged


def _regenerate(text: str) -> str:
    """The command that the file's head names; for hashes without one, the usual command."""
    named = _GENERATED.search(text[:4000])
    if named:
        return named[1]
    return "uv pip compile --generate-hashes requirements.in" if _HASH.search(text) else ""


def joined(text: str) -> Sequence[tuple[int, str]]:
    """Lines without comments, continued ones as one, each with the number of its first."""
    rows: list[tuple[int, str]] = []
    part, first = "", 0
    for number, raw in enumerate(text.splitlines(), 1):
        first = first if part else number
        if raw.rstrip().endswith("\\"):
            part += raw.rstrip()[:-1] + " "
            continue
        line = part + raw
        rows.append((first, (re.sub(r"(^|\s)#.*$", "", line) if "#" in line else line).strip()))
        part = ""
    return [*rows, (first, part.strip())] if part else rows
