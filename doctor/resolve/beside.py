"""The lines that must change along with torch: indexes, pins of its requirements, packages built for other torches."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from compat_matrix.companions import companion_matches
from compat_matrix.requires import Asks, agree, is_cuda_wheel, torch_asks
from compat_matrix.resolver import Question
from compat_matrix.versions import numbers

from .files.lines import IndexLine, Other, RequirementFile
from .instead import Answered, Instead
from .others import built_for_torch, unsupported

if TYPE_CHECKING:
    from compat_matrix import Matrix


def with_the_rest(m: Matrix, q: Question, file: RequirementFile, answered: Answered) -> Answered:
    """The answer for torch's lines, with dead lines of other packages and whatever else must change with them."""
    for dead, write in unsupported(m, q, file):
        more = (write,) if write else ()
        answered = replace(answered, dead=(*answered.dead, dead), instead=(*answered.instead, *more))
    if file.kind == "lock":
        return answered  # its tool chooses the rest
    if not answered.gives or not answered.instead or answered.gives == answered.takes:
        return answered
    torch, _, tag = answered.gives.partition("+")
    asks = torch_asks(m, torch, tag, q.platform, q.python)
    unknown = list(answered.unknown)
    if asks is None and file.others:
        unknown.append(f"The requirements of torch {torch} are not listed in this matrix.")
    changed = [*answered.instead]
    for one in file.others:
        changed += _other(m, torch, tag, asks or (), one, unknown)
    unknown += [
        f"line {one.number}: {one.name} is compiled for one torch version; get or build it for torch {answered.gives}."
        for one in built_for_torch(m, file)
    ]
    changed += _python(m, torch, file)
    lines, index = _indexes(file, tag, answered.index)
    return replace(answered, instead=(*changed, *lines), index=index, unknown=tuple(unknown))


def _other(
    m: Matrix, torch: str, tag: str, asks: tuple[Asks, ...], one: Other, unknown: list[str]
) -> Iterator[Instead]:
    if not one.specifier:
        return
    need = next((ask for ask in asks if ask.name == one.name), None)
    if need is not None and agree(one.specifier, need.specifier):
        return
    if is_cuda_wheel(one.name):
        yield Instead(one.number, "", f"torch {torch}+{tag} includes its own CUDA libraries", one.text)
    elif need is not None:
        exact = need.specifier.startswith("==")
        write = "" if exact else f"{one.name}{one.extras}{need.specifier}{one.tail}"
        verb = "installs" if exact else "needs"
        yield Instead(one.number, write, f"torch {torch} {verb} {one.name}{need.specifier}", one.text)
    else:
        yield from _companion(m, torch, one, unknown)


def _python(m: Matrix, torch: str, file: RequirementFile) -> Iterator[Instead]:
    """The project's oldest Python, if this torch has no wheel for it: uv, Poetry and PDM then find no solution."""
    row = m.torch_release(torch).release
    floor = re.search(r">=\s*(3\.\d+)", row.requires_python) if row else None
    if file.requires is None or floor is None:
        return
    low = re.search(r"(>=|\^|~=?)\s*(3\.\d+)(?:\.\d+)?", file.requires.text)
    if low and numbers(low[2]) < numbers(floor[1]):
        write = file.requires.text.replace(low[0], f"{low[1]}{floor[1]}", 1)
        yield Instead(
            file.requires.number, write, f"torch {torch} requires Python {floor[1]} or newer", file.requires.text
        )


def _companion(m: Matrix, torch: str, one: Other, unknown: list[str]) -> Iterator[Instead]:
    """torchtext, torchcodec, torchao and the like: the release for this torch."""
    pin = re.fullmatch(r"={2,3}([^*]+)", one.specifier)
    grade = companion_matches(m, torch, one.name, pin[1].partition("+")[0]) if pin else None
    if grade is None or grade.grade != "mismatch":
        return
    if grade.expected:
        write = f"{one.name}{one.extras}=={grade.expected[-1]}{one.tail}"
        yield Instead(one.number, write, f"matches torch {torch}", one.text)
    else:
        unknown.append(f"line {one.number}: {grade.reason}, and no {one.name} for torch {torch} is listed")


def _indexes(file: RequirementFile, tag: str, index: str) -> tuple[list[Instead], str]:
    """Lines naming PyTorch's other indexes, replaced with the new one or deleted; what is left to add."""
    urls = index.split()
    own = next((url for url in urls if url.endswith(f"/{tag}")), "")
    there = any(line.tag == tag for line in file.indexes)
    if there and own:
        urls.remove(own)
    changed = []
    for line in file.indexes:
        if not line.tag or line.tag == tag:
            continue
        if own in urls and own:
            changed.append(Instead(line.number, _moved(line, tag, own), f"the index for torch {tag}", line.text))
            urls.remove(own)
        else:
            changed.append(Instead(line.number, "", f"the index is not for {tag}", line.text))
    return changed, " ".join(urls)


def _moved(line: IndexLine, tag: str, url: str) -> str:
    """The line with the new index: on the same mirror if its address ends with the tag."""
    address = re.search(r"\S+$", line.text)
    if address and address[0].rstrip("/").endswith(f"/{line.tag}") and "/nightly/" not in address[0]:
        url = re.sub(rf"/{re.escape(line.tag)}/?$", f"/{tag}", address[0].partition("=")[2] or address[0])
    option = line.option if line.option in ("-i", "--index-url") else "--extra-index-url"
    return f"{option} {url}"
