"""What a check offers where a message of a text decides it: its own fixes, for the place that the text comes from."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ...findings import Finding, Fix
from ...fixes.place import RECHECK, guest
from ...fixes.powershell import in_powershell
from ...snapshot import Snapshot, Symptom, known
from .parts import Builder, Told

if TYPE_CHECKING:
    from compat_matrix import Matrix


_OWN_WORDS = frozenset((
    "cdi-spec-stale", "cli-rootless", "cuda-headers-missing", "cupy-two", "docker-too-old", "flashinfer-sm75",
    "gloo-interface", "headers-not-found", "jetson-nodes-denied", "k8s-class-not-found", "mig-no-room",
    "mig-not-uniform", "module-source-too-old", "ngc-driver-found", "ngc-gpu-unknown", "nvcc-no-compiler",
    "nvrm-bios", "operator-no-resource", "paddle-arch", "paddle-cudnn", "rapids-gpu-too-old", "slurm-fewer-gpus",
    "slurm-select-type", "tcnn-arch", "toolkit-hook-direct",
))  # fmt: skip
"""Messages whose own fix is more exact than the check's."""
_AGAIN = {"torch_run.first_call_code": RECHECK, "torch_run.cuda_available": RECHECK, "driver.nvml_init": RECHECK}


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
        python,
        toolchain,
    )

    found: dict[str, Builder] = {}
    for module in (
        driver,
        machine,
        container,
        python,
        library,
        loader,
        toolchain,
        extension,
    ):
        found.update(module.FIXES)
    return found


def at_place(finding: Finding, s: Snapshot, m: Matrix) -> Finding:
    """The finding with fixes for where the text comes from: those that this user can carry out come first."""
    fixes = _offered(finding, s, m) or finding.fixes
    fixes = tuple(sorted(map(_host_of_others(s), fixes), key=lambda fix: not fix.possible_here))
    if known(s.host.system) == "windows":
        fixes = tuple(in_powershell(fix) for fix in fixes)
    return finding if fixes == finding.fixes else replace(finding, fixes=fixes)


def suspected_fixes(finding: Finding, s: Snapshot, m: Matrix) -> tuple[Fix, ...]:
    """The same for a cause that messages suggest and do not decide; an odd fact of the text costs only the fix."""
    said = [symptom for symptom in s.symptoms if finding.id in symptom.suggests]
    try:
        fixes = _built(finding, said, s, m)
    except Exception:
        return ()
    return tuple(in_powershell(fix) for fix in fixes) if known(s.host.system) == "windows" else fixes


def _offered(finding: Finding, s: Snapshot, m: Matrix) -> tuple[Fix, ...]:
    """The check's own fixes for a finding that a message decides; empty where it has none to offer."""
    return _built(finding, [symptom for symptom in s.symptoms if symptom.decides == finding.id], s, m)


def _built(finding: Finding, said: list[Symptom], s: Snapshot, m: Matrix) -> tuple[Fix, ...]:
    build = builders().get(finding.id) if said and "message" in finding.facts else None
    if build is None or (said[0].id in _OWN_WORDS and said[0].fix and not guest(s)):
        return ()
    lines = "\n".join(symptom.text for symptom in (*said, *s.symptoms))
    rest = tuple(symptom for symptom in s.symptoms if symptom not in said)
    found = [fix for fix in build(Told(s, m, said[0], lines)) if fix is not None and fix.steps]
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
