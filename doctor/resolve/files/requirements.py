"""requirements.txt: the lines for this platform."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from compat_matrix.installer import index_source
from compat_matrix.resolver import Question
from compat_matrix.wishes import KNOWN

from ..machine import Unclear
from .lines import MOST_LINES, Elsewhere, Found, IndexLine, Pinned, RequirementFile, Span, split
from .reading import applies, index_tag, line_of, not_read, other_python, package_of, pytorch_tag, requirement_of

_INDEX = re.compile(r"(-i|--index-url|--extra-index-url|-f|--find-links)[\s=]+(\S+)")
_GENERATED = re.compile(r"#\s+((?:uv pip compile|pip-compile)(?: [\w./=:+@-]+){0,20})\s*$", re.M)
_HASH = re.compile(r"^[^#\n]*\s--hash[=\s]", re.M)


def read_requirements(text: str, path: str, q: Question) -> RequirementFile:
    """The whole file. Raises Unclear."""
    file = of_rows(joined(text), path, q)
    return replace(file, regenerate=_regenerate(text), hashes=bool(_HASH.search(text)))


def of_rows(rows: Iterable[tuple[Span, str]], path: str, q: Question, strict: bool = True) -> RequirementFile:
    """rows: the place of each line, and its text without what is no part of it. Raises Unclear for a line that is no
    requirement; a part of a file (strict=False) is judged without it."""
    found: list[Found] = []
    pinned = 0
    index, default = "", "pypi"
    extra: list[str] = []
    indexes, unsolved = [], []
    for span, line in rows:
        if not line:
            continue
        if pinned > MOST_LINES:
            break  # whoever asks refuses it
        number = span.number
        option = _INDEX.match(line)
        if option:
            index = index_tag(option[2]) or index
            source = index_source(option[2])
            tag = pytorch_tag(option[2])
            indexes.append(IndexLine(number=number, text=line, option=option[1], tag=tag, at=span.at))
            if option[1] in ("-i", "--index-url"):
                default = source
            else:
                extra.append(source)
        if included := re.match(r"(?:-r|-c|--requirement|--constraint)[\s=]*(\S+)", line):
            found.append(not_read(number, included[1]))
        if editable := re.match(r"(?:-e\b|--editable\b)[\s=]*(.+)", line):
            unsolved.append(number)
            line = editable[1].strip()
        elif line.startswith("-"):
            continue
        try:
            need = requirement_of(re.split(r"\s--\w", line)[0].strip(), f"{path}, line {number}")
        except Unclear:
            if editable:
                found.append(not_read(number, line))
                continue
            if strict:
                raise
            found.append(f"line {number}: {line[:60]!r} is no requirement, so it is not judged")
            continue
        if need is None or need.url:
            unsolved += [] if editable else [number]
        if need is None:
            found += _unnamed(span, line)
        elif need.marker is None or applies(need.marker.evaluate, q):
            one = line_of(replace(span, text=line), need)
            found.append(one)
            pinned += isinstance(one, Pinned)
        else:
            found += other_python(replace(span, text=line), need.name, need.marker.evaluate, q)
    fields = split(found)
    fields["lines"] = tuple(_with_indexes(fields["lines"], index, (*extra, default)))
    return RequirementFile(kind="requirements", **fields, indexes=tuple(indexes), unsolved=tuple(unsolved))


def _unnamed(span: Span, line: str) -> Iterator[Found]:
    """A path, whose requirements are in another file, or an address, which is judged where its name is known."""
    if not re.match(r"(?:git|hg|svn|bzr)\+|https?:", line):
        yield not_read(span.number, line)
        return
    last = r"/(?:([\w.]+)-\d[^/]*|([\w.-]+?)(?:\.git)?(?:@[^#]*)?)(?:#.*)?$"
    named = re.search(r"[#&]egg=([\w.-]+)", line) or re.search(last, re.sub(r"^\S+?://[^/]*", "", line))
    name = package_of(next(one for one in named.groups() if one)) if named else ""
    name = _REPOSITORIES.get(name, name)
    if name in KNOWN:
        why = "comes from an address" if line.startswith("http") else "comes from a repository"
        yield Elsewhere(number=span.number, text=line, name=name, why=why)


_REPOSITORIES = {"pytorch": "torch", "vision": "torchvision", "audio": "torchaudio", "flash-attention": "flash-attn"}
"""Name of a repository on GitHub -> its package, where they differ."""


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


def joined(text: str) -> Iterator[tuple[Span, str]]:
    """Lines without comments, continued ones as one, each with the place of all its rows."""
    part, first, start, offset = "", 0, 0, 0
    for number, whole in enumerate(text.splitlines(keepends=True), 1):
        raw = whole.rstrip("\r\n")
        if not part:
            first, start = number, offset + len(raw) - len(raw.lstrip())
        if raw.rstrip().endswith("\\"):
            part += raw.rstrip()[:-1] + " "
            offset += len(whole)
            continue
        comment = re.search(r"(^|\s)\s*#.*$", raw) if "#" in raw else None
        bare = raw[: comment.start()] if comment else raw
        line = (part + bare).strip()
        yield Span(first, line, (start, max(start, offset + len(bare.rstrip())))), line
        part = ""
        offset += len(whole)
    if part:
        yield Span(first, part.strip(), (start, offset)), part.strip()
