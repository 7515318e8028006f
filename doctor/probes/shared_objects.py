"""Which shared libraries are not as they were installed, from the `objects` lines of the gatherer."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from ..snapshot import NOT_ASKED, ChangedFile, Missing
from .raw import Raw, number, string, strings

State: TypeAlias = Literal[
    "missing", "empty", "zeros", "cut", "pointer", "not-elf", "machine", "needs", "size", "content"
]
_PROCESSORS = ("x86_64", "aarch64", "ppc64")


def parse_shared_objects(raw: Raw) -> tuple[ChangedFile, ...] | Missing:
    """All that differ; Missing where no library was looked at."""
    rows = raw.rows("objects")
    if not rows:
        return Missing("absent", "no library of torch, CUDA or Triton is installed") if raw.complete else raw.unasked
    found: list[ChangedFile] = []
    for row in rows:
        odd = row.get("odd")
        found += [_changed(row, one) for one in (odd if isinstance(odd, list) else []) if isinstance(one, dict)]
        found += _of_another_machine(raw, row)
    return tuple(found)


def parse_deep(raw: Raw) -> tuple[ChangedFile, ...] | Missing:
    """What differs from RECORD; not-asked where no hashes were asked for, timeout where they were not all compared."""
    row = raw.row("deep")
    if isinstance(row, Missing):
        return Missing("timeout", "not all hashes were computed in time") if raw.rows("hashed") else NOT_ASKED
    changed, found = row.get("changed"), []
    for one in changed if isinstance(changed, list) else []:
        if isinstance(one, dict) and one.get("state") in ("missing", "empty", "size", "content"):
            sizes = {"size": number(one.get("size")) or 0, "whole": number(one.get("whole"))}
            found.append(_library({**one, "listed": True}, string(one.get("path")), one["state"], **sizes))
    return tuple(found)


def _library(row: dict[str, Any], path: str, state: State, **more: Any) -> ChangedFile:
    names: dict[str, Any] = {name: string(row.get(name)) for name in ("package", "version", "site")}
    return ChangedFile(path=path, state=state, recorded=row.get("listed") is True, **names, **more)


def _changed(row: dict[str, Any], odd: dict[str, Any]) -> ChangedFile:
    size, end = number(odd.get("size")) or 0, number(odd.get("end"))
    needs, problem, link = strings(odd.get("needs")), string(odd.get("problem")), string(odd.get("link"))
    state: State = "size"
    if needs:
        state = "needs"
    elif size < 0:
        state = "missing"
    elif not size:
        state = "empty"
    elif odd.get("pointer") is True:
        state = "pointer"
    elif odd.get("empty_bytes") is True:
        state = "zeros"
    elif end is not None or problem.endswith("cut off"):
        state = "cut"
    elif problem:
        state = "not-elf"
    recorded = number(odd.get("recorded"))
    return _library(
        row,
        string(odd.get("path")),
        state,
        size=max(size, 0),
        whole=end if recorded is None else recorded,
        detail=", ".join(needs) or link or problem,
        elsewhere=string(odd.get("elsewhere")),
    )


def _of_another_machine(raw: Raw, row: dict[str, Any]) -> list[ChangedFile]:
    """The first library that is made for another processor than this one."""
    process, machines = raw.row("process"), row.get("machines")
    here = "" if isinstance(process, Missing) else string(process.get("machine")).replace("arm64", "aarch64")
    if here not in _PROCESSORS or not isinstance(machines, dict):
        return []
    site = string(row.get("site")) + "/"
    return [
        _library(row, string(path).removeprefix(site), "machine", detail=str(machine))
        for machine, path in machines.items()
        if machine in _PROCESSORS and machine != here
    ]
