"""Files with several torches, of which an installation has one: conflicting extras, and forks in a lock file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from compat_matrix.framework_wishes import FRAMEWORKS
from compat_matrix.resolver import Question
from compat_matrix.versions import numbers, tag_cuda

from .beside import with_the_rest
from .dead import dead_lines
from .files.dialect import spelled
from .files.lines import Pinned, RequirementFile
from .instead import Answered

if TYPE_CHECKING:
    from compat_matrix import Matrix


def every_fork(m: Matrix, q: Question, file: RequirementFile) -> Answered:
    """The answer for the fork that runs here, else for the first with a CUDA build, in the file's own syntax; dead
    lines in the others are named. Only the lines and indexes of the answered forks are changed."""
    if any(one.name == "torch" for one in file.elsewhere) and not any(one.name == "torch" for one in file.lines):
        free = tuple(one for one in file.lines if one.wish.package in FRAMEWORKS)
        return spelled(file, with_the_rest(m, q, replace(file, lines=free), dead_lines(m, q, free)))
    every = [(name, fork, with_the_rest(m, q, fork, dead_lines(m, q, fork.lines))) for name, fork in _forks(file)]
    runs = next((one for one in every if not one[2].dead), None)
    first = (_pin(every[0][1]), every[0][2].gives)
    same = [runs] if runs else [one for one in every if (_pin(one[1]), one[2].gives) == first]
    answered = _together([one for _, _, one in same])
    others = [
        (name, fork, dead)
        for name, fork, one in every
        if one not in [answer for _, _, answer in same]
        for dead in one.dead[:1]
        if dead not in answered.dead
    ]
    for_gpus = [dead for _, fork, dead in others if _pin(fork)[1] != "cpu"]
    # A variant for CPUs is not a problem.
    notes = [f"{name}: line {one.number} cannot work here: {one.text}" for name, _, one in others if one in for_gpus]
    ours = [line for _, fork, _ in same for line in fork.lines]
    judged = replace(file, lines=tuple(line for line in file.lines if line in ours))
    answered = replace(answered, unknown=(*answered.unknown, *notes), dead_elsewhere=tuple(for_gpus))
    return spelled(judged, answered)


def _order(torch: Pinned) -> tuple[int, list[int]]:
    cuda = numbers(tag_cuda(torch.local) or "") if torch.local.startswith("cu") else ()
    return 1 if cuda else 3 if torch.local else 2 if torch.group else 0, [-one for one in cuda]


def _pin(fork: RequirementFile) -> tuple[str, str]:
    """The version and build of the fork's torch."""
    return next(((one.wish.specifier, one.local) for one in fork.lines if one.wish.package == "torch"), ("", ""))


def _together(answers: list[Answered]) -> Answered:
    """Forks that pin the same torch are not alternatives: it is named in several groups, and changed in all of them."""
    return replace(
        answers[0],
        dead=tuple(dict.fromkeys(one for answered in answers for one in answered.dead)),
        instead=tuple(dict.fromkeys(one for answered in answers for one in answered.instead)),
    )


def _forks(file: RequirementFile) -> Iterator[tuple[str, RequirementFile]]:
    """(name, file with the lines for one torch): the one in every installation, CUDA ones from the newest on, ones from
    PyPI in other extras, CPU ones."""
    torches = [one for one in file.lines if one.wish.package == "torch"]
    if len(torches) < 2 or file.kind == "requirements":
        yield "", file
        return
    for torch in sorted(torches, key=_order):
        lines = [
            one
            for one in file.lines
            if one is torch
            or (one.wish.package != "torch" and one.group in ("", torch.group) and one.local in ("", torch.local))
        ]
        named = f"extra {torch.group}" if torch.group else f"torch {torch.wish.specifier}"
        yield named, replace(file, lines=tuple(lines))
