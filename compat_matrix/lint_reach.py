"""Valid dates, and rows that a question reaches: a question with a row's key must be answered by that row."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from .code import compute_capability
from .drivers import driver_branch
from .frameworks import framework
from .gpus import gpu
from .libraries import cuda_error, cudnn, nccl, nvml_error, toolkit
from .resolver import Question, dominates, ranked
from .tables import TABLES, row_name, row_type
from .torchs import index_url, torch_release
from .versions import numbers

if TYPE_CHECKING:
    from .store import Store

_DATE = re.compile(r"(?:19|20)\d\d(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?")
_AHEAD = ("end_of_life",)
"""Dates that may be in the future."""

_FIRST_WITH_TORCH, _FIRST_CAPABILITY = 396, (3, 5)
"""The first driver branch and the first capability with any listed torch build (CUDA 9.2; sm_35)."""

QUESTIONS: dict[str, Callable[[Store, Any], Any]] = {
    "drivers": lambda m, row: driver_branch(m, f"{row.branch}.0").row,
    "toolkits": lambda m, row: toolkit(m, row.version),
    "cudnn": lambda m, row: cudnn(m, row.version),
    "nccl": lambda m, row: nccl(m, row.version),
    "torch_releases": lambda m, row: torch_release(m, row.torch).release,
    "compute_capability": lambda m, row: compute_capability(m, row.cc),
    "index_urls": lambda m, row: index_url(m, row.tag),
    "cuda_errors": lambda m, row: cuda_error(m, row.code),
    "nvml_errors": lambda m, row: nvml_error(m, row.name),
    "gpus": lambda m, row: gpu(m, row.name).rows or gpu(m, None, next(iter(row.device_ids), None)).rows,
    "frameworks": lambda m, row: framework(m, row.package, row.version),
}
"""Table -> the question that one of its rows answers."""


def _dates(m: Store) -> Iterator[str]:
    last = m.version.replace(".", "-")
    for table in TABLES:
        names = [f.name for f in msgspec.structs.fields(row_type(table)) if f.name.endswith("date") or f.name in _AHEAD]
        for row in m.rows(table) if names else ():
            for name in names:
                text = getattr(row, name)
                if text and not _DATE.fullmatch(text):
                    yield f"{table} {row_name(row)[1]}: {name} {text!r} is not a date"
                elif text and name not in _AHEAD and text > last:
                    yield f"{table} {row_name(row)[1]}: {name} {text} lies after the matrix' own {last}"


def _unread(m: Store) -> Iterator[str]:
    for table, question in QUESTIONS.items():
        for row in m.rows(table):
            found = question(m, row)
            if row not in (found if isinstance(found, tuple) else (found,)):
                yield f"{table} {row_name(row)[1]}: no question reaches it; another row is returned instead"


def questions(m: Store) -> list[Question]:
    """What can be asked about one GPU: each capability with each driver branch that runs a torch, and each system."""
    capabilities = sorted({row.cc for row in m.rows("compute_capability") if row.cc[-1].isdecimal()}, key=numbers)
    drivers = ["", *(str(row.branch) for row in m.rows("drivers") if row.branch >= _FIRST_WITH_TORCH)]
    systems = (("linux", "x86_64"), ("linux", "aarch64"), ("wsl", "x86_64"), ("windows", "x86_64"))
    return [
        Question(gpus=(cc,), driver=driver, os=os, arch=arch)
        for os, arch in systems
        for cc in capabilities
        if numbers(cc) >= _FIRST_CAPABILITY
        for driver in drivers
    ]


def dominated(m: Store, some: Iterable[Question]) -> list[str]:
    """Those of these questions whose first answer gives up more than a lower-ranked one with a newer torch."""
    problems = []
    for q in some:
        found = ranked(m, q)[0]
        for one in found[1:]:
            if dominates(one, found[0]):
                first, better = (f"{x.build.torch}+{x.build.tag}" for x in (found[0], one))
                problems.append(
                    f"resolve {q.gpus[0]}, driver {q.driver}, {q.platform}: {first} is ranked before {better}"
                )
    return problems


def dates(m: Store) -> list[str]:
    """Invalid dates, and dates after the matrix itself."""
    return list(_dates(m))


def unread(m: Store) -> list[str]:
    """Rows not found by their own key."""
    return list(_unread(m))


REACH = (dates, unread)
