"""The causes that a text leaves open, likeliest first, and the commands whose output would decide them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from pkgutil import get_data
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..findings import Finding
from ..judge.report import CheckResult, Need
from ..snapshot import Snapshot, known
from .plausible import in_its_shell, is_answered, is_ruled_out, is_unlikely

if TYPE_CHECKING:
    from compat_matrix import Matrix

    from ..judge import Registered

_MOST_NEEDS = 2
_RUNS = ("hang-told", "collective-told", "low-utilization", "gpu-low-use-told", "slower-told")
"""Messages of a program that works on the GPU, though not well."""
_NOT_AVAILABLE = ("cpu-only-torch", "driver-too-old-for-cuda-build", "driver-not-loaded", "driver-not-installed",
                  "cuda-visible-devices-wrong", "uvm-device-missing")  # fmt: skip
"""Where `torch.cuda.is_available()` is False and the text says no more; for a GPU without code it would be True."""


def possible(s: Snapshot, findings: tuple[Finding, ...], results: Iterable[CheckResult]) -> tuple[str, ...]:
    """Check ids that the text allows and does not prove, likeliest first: by its messages, then by its place."""
    if any(f.status == "fail" for f in findings):
        return ()
    votes: dict[str, float] = {}
    for symptom in s.symptoms:
        for rank, name in enumerate(symptom.suggests):
            votes[name] = votes.get(name, 0.0) + 1.0 / (rank + 1)
    if "nvidia" in (modules := known(s.driver.modules) or ()) and "nvidia_uvm" not in modules:
        votes["uvm-device-missing"] = votes.get("uvm-device-missing", 0.0) + 1.5
    for rank, name in enumerate(_by_environment(s)):
        votes[name] = votes.get(name, 0.0) + 0.6 / (rank + 1)
    votes = {name: vote * (0.3 if is_unlikely(s, name) else 1.0) for name, vote in votes.items()}
    settled = {result.id for result in results if result.status == "pass"} | {f.id for f in findings if proven(f, s)}
    ids = [name for name in votes if name not in settled and not is_ruled_out(s, name)]
    return tuple(sorted(ids, key=lambda name: -votes[name]))[:6]


def proven(finding: Finding, s: Snapshot) -> bool:
    """Whether a message of the text decides it: a failure, or a warning that is not only likely."""
    return finding.status in ("fail", "warn") and any(symptom.decides == finding.id for symptom in s.symptoms)


def suspected(
    s: Snapshot, m: Matrix, open_causes: tuple[str, ...], catalogue: Iterable[Registered]
) -> tuple[Finding, ...]:
    """The likeliest cause, where a message of the text speaks of it and not only the place it comes from.

    A warning with a fix where the messages speak of this cause and of no other, else UNKNOWN; never a failure.
    """
    if not open_causes:
        return ()
    suggesting = next((symptom for symptom in s.symptoms if open_causes[0] in symptom.suggests), None)
    about = next((check.about for check in catalogue if check.id == open_causes[0]), None)
    if suggesting is None or about is None:
        return ()
    if any(symptom.of_program and symptom.line == suggesting.line for symptom in s.symptoms):
        return ()  # the program itself is likelier
    facts = {"message": suggesting.id, "line": suggesting.line}
    line = f"Line {suggesting.line}: {suggesting.text.removesuffix('.')}."
    fails = any(about.id in symptom.suggests and not symptom.mention for symptom in s.symptoms)
    if not fails or {name for symptom in s.symptoms for name in symptom.suggests} != {about.id}:
        title, detail = f"Likely, not proven: {about.title}", f"{line} The text allows it, and does not prove it."
        return (about.unknown(title, detail, facts=facts, downstream_of=(), direct=False),)
    from .fixes.offer import made, suspected_fixes

    detail = f"{line} The text speaks of this cause and of no other; it does not prove it."
    likely = about.warn(f"Likely: {about.title}", detail, facts=facts, downstream_of=(), direct=False)
    return made(likely, lambda: replace(likely, fixes=suspected_fixes(likely, s, m)))


def likely(findings: tuple[Finding, ...], open_causes: tuple[str, ...]) -> Finding | None:
    """The warning that `suspected` put first."""
    first = findings[0] if findings else None
    named = first is not None and first.status == "warn" and "message" in first.facts
    return first if named and first is not None and first.id in open_causes else None


def _by_environment(s: Snapshot) -> tuple[str, ...]:
    """What is likeliest where the text comes from, when it says no more than that."""
    available = known(s.torch_run.cuda_available)
    if available is True or any(symptom.id == "harmless-gpu-listed" for symptom in s.symptoms):
        return ()
    if available is None and any(symptom.id.startswith("program-") for symptom in s.symptoms):
        return ()  # CUDA runs: the program is past its start
    if any(symptom.id in _RUNS for symptom in s.symptoms):
        return ()
    if known(s.host.scheduler) == "kubernetes":
        return ("k8s-runtimeclass-missing", "k8s-gpu-not-advertised", "container-no-gpu-flag")
    kind = known(s.container.kind)
    if kind == "apptainer":
        return ("apptainer-without-nv", "driver-too-old-for-cuda-build")
    if kind not in (None, "none"):
        return ("container-no-gpu-flag", "container-runtime-not-configured", "libcuda-stub-loaded")
    if known(s.host.scheduler):
        return ("scheduler-gpu-allocation", "cuda-visible-devices-wrong")
    if known(s.host.wsl) in (1, 2):
        return ("wsl-version-without-gpu", "wsl-linux-driver-installed", "wsl-pinned-memory-limit")
    if known(s.host.system) == "windows":
        return ("cpu-only-torch", "driver-too-old-for-cuda-build")
    if known(s.host.secure_boot):
        return ("secure-boot-unsigned-module",)
    if available is False:
        return _NOT_AVAILABLE
    if known(s.torch.version):
        return (
            "driver-too-old-for-cuda-build",
            "torch-lacks-new-gpu-sm",
            "cpu-only-torch",
            "bundled-cuda-libs-missing",
        )
    return ()


def needs(open_causes: tuple[str, ...], s: Snapshot | None = None) -> tuple[Need, ...]:
    """The one or two commands that decide the most (and the likeliest) of these, and that the text does not hold."""
    left = list(open_causes)
    found: list[Need] = []
    rows = [need for need in _table() if s is None or not is_answered(s, need.command)]
    while left and len(found) < _MOST_NEEDS:
        weight = {name: 1.0 / (rank + 1) for rank, name in enumerate(left)}
        best = max(rows, key=lambda need: sum(weight.get(name, 0.0) for name in need.decides))
        decides = tuple(name for name in left if name in best.decides)
        if not decides:
            break
        found.append(replace(best, decides=decides))
        left = [name for name in left if name not in decides]
    found = found or [_table()[-1]]
    return tuple(found if s is None else [in_its_shell(s, need) for need in found])


@lru_cache(maxsize=1)
def _table() -> tuple[Need, ...]:
    rows = json.loads(get_data(__package__, "needs.json") or b"[]")
    return tuple(Need(command=row["command"], why=row["why"], decides=tuple(row["decides"])) for row in rows)
