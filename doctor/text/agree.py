"""Whether two statements about one fact agree, and which one is more exact."""

from __future__ import annotations

from typing import Any

from ..snapshot import Missing
from .statement import Statement

_VERSIONS = ("torch.version", "torch.cuda", "python.patient.version", "driver.nvml_driver_version", "host.os_name",
             "host.kernel", "cuda.nvcc_version", "cuda.gcc_version", "driver.kernel_version", "host.libc")  # fmt: skip


def agree(path: str, rows: list[Statement]) -> Any:
    """The value that all strong statements (else all weak ones) agree on; the more exact of two that agree."""
    if path == "container.kind":  # 'a container' and 'docker' are one thing
        rows = [row for row in rows if row.value != "other"] or rows
    strong = [row for row in rows if not row.weak] or rows
    best = strong[0]
    for row in strong[1:]:
        if row.value == best.value:
            continue
        if isinstance(row.value, Missing) or isinstance(best.value, Missing):
            return _conflict(best, row)
        if path in _VERSIONS or isinstance(row.value, str):
            same = finer(str(best.value), str(row.value))
            if same is None:
                return _conflict(best, row)
            best = row if same == row.value else best
        elif path == "torch_run.first_call_code":
            continue
        else:
            return _conflict(best, row)
    if best.weak is False:
        for row in rows:
            if row.weak and isinstance(best.value, str) and isinstance(row.value, str):
                best = row if finer(best.value, row.value) == row.value else best
    return best.value


def finer(a: str, b: str) -> str | None:
    """The longer of two spellings of one thing; None if they are two things."""
    left, right = a.lower().removeprefix("glibc "), b.lower().removeprefix("glibc ")
    if left == right:
        return a
    for short, long, value in ((left, right, b), (right, left, a)):
        if long.startswith(short) and not (long[len(short)].isdecimal() and short[-1:].isdecimal()):
            return value
    return None


def _conflict(a: Statement, b: Statement) -> Missing:
    a, b = sorted((a, b), key=lambda row: row.line)
    return Missing("conflict", f"line {a.line} says {_short(a.value)}, line {b.line} says {_short(b.value)}")


def _short(value: Any) -> str:
    return "none" if isinstance(value, Missing) else str(value)[:80]
