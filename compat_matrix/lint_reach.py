"""Valid dates, and rows that a question reaches: a question with a row's key must be answered by that row."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from .code import compute_capability
from .driver_for_build import driver_for_tag, undriven
from .drivers import driver_branch
from .frameworks import framework
from .gpus import gpu
from .libraries import cuda_error, cudnn, nccl, nvml_error, toolkit
from .ranks import major_of
from .resolver import Question, resolve, uv_backend
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
                yield f"{table} {row_name(row)[1]}: no query reaches it; a different row is returned instead"


def questions(m: Store) -> list[Question]:
    """What can be asked about one GPU: each capability with the drivers that run a torch, and each system. Of drivers
    that no build and no GPU tells apart, one."""
    capabilities = sorted({row.cc for row in m.rows("compute_capability") if row.cc[-1].isdecimal()}, key=numbers)
    capabilities = [cc for cc in capabilities if numbers(cc) >= _FIRST_CAPABILITY]
    found = []
    for os, arch in (("linux", "x86_64"), ("linux", "aarch64"), ("wsl", "x86_64"), ("windows", "x86_64")):
        several = _drivers(m) if os == "linux" else _windows_drivers(m)
        unlike = {_effect(m, driver, os, capabilities): driver for driver in ("", *several)}
        found += [
            Question(gpus=(cc,), driver=driver, os=os, arch=arch) for cc in capabilities for driver in unlike.values()
        ]
    return found


def _effect(m: Store, driver: str, os: str, capabilities: list[str]) -> tuple[object, ...]:
    """All that a driver decides: how it runs each CUDA, which GPUs it supports, and uv's backend."""
    tags = {build.tag for build in m.builds}
    grades = tuple(driver_for_tag(m, driver, os, tag, eligible=False)[0] for tag in sorted(tags))
    held = tuple(bool(undriven(m, driver, os, (cc,))) for cc in capabilities)
    return grades, held, uv_backend(m, Question(gpus=(), driver=driver, os=os))


def _drivers(m: Store) -> list[str]:
    """The first and the newest release of each branch: a driver is not only a branch, which is below its own floors."""
    rows = [row for row in m.rows("drivers") if row.branch >= _FIRST_WITH_TORCH]
    found = {one for row in rows for one in (row.first_release, row.latest_seen) if one}
    return sorted(found, key=numbers)


def _windows_drivers(m: Store) -> list[str]:
    """Each toolkit's minimum, and a release beyond all of them in each branch, whose own releases are not listed."""
    rows = [row for row in m.rows("drivers") if row.branch >= _FIRST_WITH_TORCH and row.windows_first]
    found = {f"{number}.99" for row in rows for number in range(row.windows_first, row.windows_last + 1)}
    found |= {row.min_driver_windows for row in m.rows("toolkits") if row.min_driver_windows}
    return sorted((one for one in found if numbers(one)[0] >= _FIRST_WITH_TORCH), key=numbers)


def dominated(m: Store, some: Iterable[Question]) -> list[str]:
    """Those of these questions whose first answer gives up more, by what is printed, than a lower-ranked one whose
    torch is newer, or the same for no older CUDA major."""
    problems = []
    for q in some:
        found = [one for one in resolve(m, q).candidates if one.grade != "forward-compat"]
        lost = [{words for words in one.gives_up if not words.startswith("lacks what torch ")} for one in found]
        torch = [numbers(one.build.torch) for one in found]
        for n in range(1, len(found)):
            is_same = torch[n] == torch[0] and major_of(found[n]) >= major_of(found[0])
            if (torch[n] > torch[0] and lost[n] <= lost[0]) or (is_same and lost[n] < lost[0]):
                first, better = (f"{x.build.torch}+{x.build.tag}" for x in (found[0], found[n]))
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
