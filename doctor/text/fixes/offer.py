"""The fixes of a check that a message in a text decides: its own fixes, for the place the text comes from."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from ...findings import Finding, Fix, Matrix
from ...fixes.powershell import in_powershell
from ...fixes.where import RECHECK, guest
from ...guard import traced
from ...snapshot import Snapshot, Symptom, known
from ..decided import leading
from ..torch_cleared import NO_CODE, OF_NO_CODE
from ..tried import tried_last
from .parts import Builder, Evidence

_AGAIN = {"torch_run.first_call_code": RECHECK, "torch_run.cuda_available": RECHECK, "driver.nvml_init": RECHECK}

_HERE = ("shell", "environment", "code", "container-start")
"""Where a fix is in the hands of a guest, whom the host does not belong to."""


@lru_cache(maxsize=1)
def builders() -> dict[str, Builder]:
    """Check id to its fixes; a check that is not named has the catalogue's own words."""
    from . import (
        container,
        driver,
        extension,
        library,
        loader,
        machine,
        other_framework,
        python,
        toolchain,
    )

    found: dict[str, Builder] = {}
    for module in (
        driver,
        machine,
        other_framework,
        container,
        python,
        other_framework,
        library,
        loader,
        toolchain,
        extension,
    ):
        found.update(module.FIXES)
    return found


def made(finding: Finding, make: Callable[[], Finding]) -> tuple[Finding, ...]:
    """The finding that `make` returns; if that raises, the finding as it was, and a note that shows the bug.

    An odd fact in a text must not cost the report, and a bug in a fix must not go unnoticed.
    """
    try:
        return (make(),)
    except Exception as error:
        if traced():
            raise
        raised = f"{type(error).__name__}: {error}"
        remark = replace(
            finding,
            status="pass",
            severity="info",
            title=f"gpudoctor could not build a fix for {finding.id}",
            detail=f"This is a bug in gpudoctor; please report it: {raised[:300]}",
            facts={"internal": raised[:300]},
            fixes=(),
        )
        return finding, remark


def doable(finding: Finding, s: Snapshot, m: Matrix) -> Finding:
    """The finding with fixes for the place the text comes from; those that this user can carry out come first."""
    fixes = _offered(finding, s, m) or finding.fixes
    fixes = tried_last(map(_host_of_others(s), fixes), s)
    if known(s.host.system) == "windows":
        fixes = tuple(in_powershell(fix) for fix in fixes)
    return finding if fixes == finding.fixes else replace(finding, fixes=fixes)


def suspected_fixes(finding: Finding, line: str, s: Snapshot, m: Matrix) -> tuple[Fix, ...]:
    """The same for a cause that the text's words make likely, this line of it most."""
    build = builders().get(finding.id)
    if build is None:
        return ()
    symptom = Symptom(id="ranked", line=int(finding.facts["line"]), text=line)
    lines = "\n".join((line, *(other.text for other in s.symptoms)))
    found = [fix for fix in build(Evidence(s, m, symptom, lines)) if fix is not None and fix.steps]
    fixes = tried_last((_forgetting(fix, {"symptoms": (), "ranked": ()}) for fix in found), s)
    return tuple(in_powershell(fix) for fix in fixes) if known(s.host.system) == "windows" else fixes


def _offered(finding: Finding, s: Snapshot, m: Matrix) -> tuple[Fix, ...]:
    """The check's own fixes for a finding that a message decides; empty where it has none to offer."""
    return _built(finding, [symptom for symptom in s.symptoms if symptom.decides == finding.id], s, m)


def _built(finding: Finding, deciding: list[Symptom], s: Snapshot, m: Matrix) -> tuple[Fix, ...]:
    build = builders().get(finding.id) if deciding and "message" in finding.facts else None
    if build is None:
        return ()
    first = leading(deciding)
    if first.exact and first.fix and (first.where in _HERE or not guest(s)):
        return ()
    lines = "\n".join(symptom.text for symptom in (*deciding, *s.symptoms))
    gone = NO_CODE if finding.id in OF_NO_CODE else ()
    rest = tuple(symptom for symptom in s.symptoms if symptom not in deciding and symptom.id not in gone)
    found = [fix for fix in build(Evidence(s, m, first, lines)) if fix is not None and fix.steps]
    return tuple(_forgetting(fix, {"symptoms": rest}) for fix in found)


def _forgetting(fix: Fix, changes: dict[str, Any]) -> Fix:
    """The message tells of the time before the fix."""
    *before, last = fix.steps
    return replace(fix, steps=(*before, replace(last, changes={**_AGAIN, **last.changes, **changes})))


def _host_of_others(s: Snapshot) -> Callable[[Fix], Fix]:
    """The catalogue's steps do not know whose the host is."""
    others = guest(s)

    def owned(fix: Fix) -> Fix:
        if not others or not fix.id.startswith("by-"):
            return fix
        return replace(fix, steps=tuple(replace(x, possible_here=x.where != "host") for x in fix.steps))

    return owned
