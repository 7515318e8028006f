"""A release line in a question: '2.9' is every 2.9.* that the matrix lists, and the answer is for each of them."""

from __future__ import annotations

from collections.abc import Callable

import click

from compat_matrix import Matrix
from compat_matrix.versions import numbers

from .matrix_answer import Found, Query

Question = Callable[[Matrix, Query], Found]


def of_line(m: Matrix, kind: str, value: str) -> tuple[str, ...]:
    """The listed releases of a line, newest first: '2.9' of torch is 2.9.1 and 2.9.0; any other value is itself."""
    wanted = numbers(value)
    if len(wanted) != 2 or value != ".".join(map(str, wanted)):
        return (value,)
    rows = {
        "torch": lambda: [row.torch for row in m.releases],
        "cudnn": lambda: [one for row in m.cudnn_rows for one in (row.version, row.until)],
        "nccl": lambda: [row.version for row in m.nccl_rows],
    }.get(kind, list)()
    found = {one for one in rows if one and numbers(one)[: len(wanted)] == wanted}
    return tuple(sorted(found, key=numbers, reverse=True)) or (value,)


def of_each_release(kind: str, question: Question) -> Question:
    """The question, asked for each release of a line; releases that nothing works with are left out if others do."""

    def for_each(m: Matrix, query: Query) -> Found:
        several = of_line(m, kind, query.value)
        if len(several) == 1:
            return question(m, Query(several[0], query.os, query.wheels))
        found: list[Found] = []
        refused: list[click.ClickException] = []
        for one in several:
            try:
                found.append(question(m, Query(one, query.os, query.wheels)))
            except click.ClickException as unlisted:
                refused.append(unlisted)
        if not found:
            raise refused[0]
        found = [one for one in found if one.values] or found
        return Found(
            tuple(dict.fromkeys(value for one in found for value in one.values)),
            tuple(dict.fromkeys(line for one in found for line in one.lines)),
            tuple(dict.fromkeys(key for one in found for key in one.sources)),
        )

    return for_each
