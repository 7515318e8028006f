"""Packages with CUDA code whose releases name no torch: which do not support a GPU, and which to rebuild."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from compat_matrix.packages import plain
from compat_matrix.resolver import Question
from compat_matrix.versions import numbers

from .files.lines import Other, RequirementFile
from .instead import DeadLine, Instead

if TYPE_CHECKING:
    from compat_matrix import Matrix
    from compat_matrix.rows_more import Extension


def unsupported(m: Matrix, q: Question, file: RequirementFile) -> Iterator[tuple[DeadLine, Instead | None]]:
    """Pinned lines of packages such as TensorRT whose release does not support one of these GPUs, and what to write
    instead."""
    for one in file.others:
        pin = re.fullmatch(r"={2,3}([^*,]+)", one.specifier)
        rows = _rows(m, one.name)
        row = _in_force(rows, pin[1]) if pin else None
        lacks = _lacks(row, q) if row else ""
        if pin is None or not lacks:
            continue
        dead = DeadLine(one.number, one.text, f"{one.name} {pin[1]} does not support {lacks}")
        version = _better(rows, row, q) if row else ""
        write = f"{one.name}{one.extras}{version}{one.tail}"
        yield dead, Instead(one.number, write, f"with support for {lacks}", one.text) if version else None


def built_for_torch(m: Matrix, file: RequirementFile) -> Iterator[Other]:
    """Lines of packages that are compiled for the installed torch."""
    built = {plain(row.package) for row in m.extensions if row.torch.startswith("built ")}
    return (one for one in file.others if one.name in built)


def _rows(m: Matrix, name: str) -> list[Extension]:
    """Rows with a limit, oldest first. NVIDIA also has one package per CUDA major version: tensorrt-cu12."""
    package = _of_no_major(name)
    return sorted((row for row in m.extensions if row.package == package), key=lambda row: numbers(row.version))


def _of_no_major(name: str) -> str:
    return re.sub(r"^nvidia-(?=tensorrt$)|-cu\d+(?:-(?:libs|bindings))?$", "", name)


def _in_force(rows: list[Extension], version: str) -> Extension | None:
    """The row that applies to a release: the last one up to it."""
    return next((row for row in reversed(rows) if numbers(row.version) <= numbers(version)), None)


def _better(rows: list[Extension], row: Extension, q: Question) -> str:
    """Other releases that support the GPUs: later ones, else earlier ones; '' for none."""
    at = rows.index(row)
    later = next((one for one in rows[at + 1 :] if not _lacks(one, q)), None)
    if later:
        return f">={later.version}"
    return f"<{row.version}" if at and not _lacks(rows[at - 1], q) else ""


def _lacks(row: Extension, q: Question) -> str:
    """'sm_120' of a GPU that is beyond the release's limits."""
    floor = re.match(r"\d+\.\d", row.min_sm)
    for gpu in q.gpus:
        low = floor and numbers(gpu) < numbers(floor[0])
        if low or (row.max_sm and numbers(gpu) > numbers(row.max_sm)):
            return f"sm_{gpu.replace('.', '')}"
    return ""
