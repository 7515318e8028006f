"""What all agents' lines have in common: found by field, and why a field that has no line has none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol, TypeGuard

from ..formats.lazy import lazy
from ..snapshot import CallFault, Missing
from ..snapshot.fact import Reason

Line = Mapping[str, Any]


class AgentResult(Protocol):
    """What the parsers need of doctor/targets/agent.py's AgentResult."""

    @property
    def lines(self) -> list[dict[str, Any]]: ...
    @property
    def returncode(self) -> int | None: ...
    @property
    def fault(self) -> Literal["hang", "slow", "starved", "crash", "failed"] | None: ...
    @property
    def guilty(self) -> str | None: ...
    @property
    def stderr_tail(self) -> str: ...
    @property
    def seconds(self) -> float: ...
    @property
    def silent(self) -> float: ...
    @property
    def stuck(self) -> dict[str, Any] | None: ...
    @property
    def waits(self) -> str: ...


SLOW = ("slow", "starved")
"""Faults of a child that was not dead: they prove nothing."""
_VERSION = lazy(r"\.so\.(\d{3,4}\.\d+(?:\.\d+)?)$")


def fault_missing(result: AgentResult) -> Missing:
    """Why a fact is missing of which the agent wrote nothing."""
    if result.fault == "hang":
        return Missing("timeout", f"{result.guilty or 'the agent'} did not return")
    if result.fault in SLOW:
        return Missing("timeout", slow_words(result))
    if result.fault == "crash":
        return Missing("error", f"crashed in {result.guilty or 'the agent'}")
    if result.fault == "failed":
        last = result.stderr_tail.strip().rpartition("\n")[2][:200]
        if result.guilty and result.returncode == 0:
            return Missing("error", f"{result.guilty} returned no answer; the process exited with code 0")
        return Missing("error", f"stopped in {result.guilty}" if result.guilty else last or "the agent failed")
    return Missing("not-asked")


def slow_words(result: AgentResult) -> str:
    """Of a child that was slow, or had no core: what it did when the time was over, and what gives it more."""
    what, why = result.guilty or "it", result.waits or "it was slow"
    advice = "" if ";" in why else "; --timeout sets a longer limit"
    return f"{what} did not finish within {result.seconds:.{int(result.seconds < 1)}f} s: {why}{advice}"


def call_faults(result: AgentResult, library: Literal["nvml", "cuda"]) -> tuple[CallFault, ...]:
    """The driver call that did not come back, as a fact; empty if all did."""
    if (
        result.fault is None
        or result.fault in SLOW
        or result.guilty is None
        or (result.fault == "failed" and result.returncode == 0)  # it gave no answer, and did not crash
        or not result.guilty.startswith(("nvml", "cu", "dlopen"))
    ):
        return ()
    subject = [f"{word} {result.lines[-1][key]}" for key, word in _SUBJECTS if key in result.lines[-1]]
    if result.fault == "hang":
        subject.append(f"no answer in {max(1, int(result.silent or result.seconds))} s")
    elif result.returncode is not None:
        subject.append(f"signal {-result.returncode}" if result.returncode < 0 else f"exit code {result.returncode}")
    stuck = result.stuck or {}
    return (
        CallFault(
            library,
            result.guilty,
            "hang" if result.fault == "hang" else "crash",
            ", ".join(subject),
            stuck.get("pid", 0),
            stuck.get("wchan", ""),
        ),
    )


_SUBJECTS = (("gpu", "GPU"), ("other", "and GPU"), ("mig", "MIG device"), ("device", "device"))


def library_missing(text: str, soname: str) -> Missing:
    """Why the loader took no library, from its words: absent, denied, or error (wrong ELF class, a dependency ...)."""
    reason: Reason = "error"
    named = text.startswith(soname + ":") or f"library {soname}:" in text or "Could not find module" in text
    if named and ("No such file or directory" in text or "Could not find module" in text):
        reason = "absent"
    elif "Permission denied" in text:
        reason = "denied"
    return Missing(reason, text[:300])


def library_version(path: str) -> str | Missing:
    """Driver version in a library's file name; WSL and Windows name none."""
    match = _VERSION.search(path)
    return match.group(1) if match else Missing("absent", "no driver version in the file's name")


def is_whole(value: Any) -> TypeGuard[int]:
    """Whether a raw value is a whole number that a driver can have meant."""
    return isinstance(value, int) and -(1 << 63) <= value < 1 << 64


def cuda_version(number: int) -> str:
    """13000 as `13.0`."""
    return f"{number // 1000}.{number % 1000 // 10}"


def merge_changes(*several: Mapping[str, Any]) -> dict[str, Any]:
    """Changes of several parsers in one; the faults of all are kept, of other facts the last one's."""
    merged: dict[str, Any] = {}
    for changes in several:
        faults = merged.get("driver.faults", ()) + tuple(changes.get("driver.faults", ()))
        merged.update(changes)
        if faults:
            merged["driver.faults"] = faults
    return merged
