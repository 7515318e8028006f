"""What a text complains about, and what it says itself: facts that look like failures but are not."""

from __future__ import annotations

from msgspec.structs import replace

from ..findings import Finding, Status
from ..judge import Examined
from ..snapshot import Missing, Snapshot, known

ON_ANY_MACHINE = ("numpy-abi-mismatch", "python-version-without-wheel", "torch-companion-mismatch")
"""Causes that need no GPU: a Mac with one of them does not lack a GPU."""
_BUILD = ("torch-build-cpu", "no-driver-in-report")
"""Lines that every report of a machine without a GPU has."""


def complains(s: Snapshot) -> bool:
    """Whether a message in the text is about something that does not work."""
    return any((symptom.suggests or symptom.decides) and symptom.id not in _BUILD for symptom in s.symptoms)


def cpu_machine(s: Snapshot) -> bool:
    """Whether it is the report of a machine that has no NVIDIA driver and needs none."""
    seen = (s.gpus, s.driver.version, s.driver.nvml_driver_version)
    reported = any(symptom.id == "no-driver-in-report" for symptom in s.symptoms)
    return reported and all(isinstance(fact, Missing) or not known(fact) for fact in seen)


def not_missed(one: Examined, s: Snapshot) -> Examined:
    """A machine without a GPU whose text does not complain needs none; a list in a text may be truncated."""
    if one.check.id == "looked-at-in-part" and not one.findings:
        return one._replace(status="skipped", reason="a text was examined, not a machine", skip="does-not-apply")
    if one.check.id == "no-nvidia-gpu" and known(s.torch_run.cuda_available) is True and s.host.system != "darwin":
        why = "torch is using a GPU that is from another vendor or is missing from this list of PCI devices"
        return (
            one._replace(status="skipped", reason=why, skip="does-not-apply", findings=())
            if one.findings or one.status == "unknown"
            else one
        )
    decided = {symptom.decides for symptom in s.symptoms}
    if one.check.id == "no-nvidia-gpu" and "other-kernel-driver-bound" in decided:
        why = "the text names an NVIDIA GPU that is bound to another driver"
        return one._replace(status="skipped", reason=why, skip="does-not-apply", findings=()) if one.findings else one
    elsewhere = s.host.system == "darwin" and not decided.isdisjoint(ON_ANY_MACHINE)
    if one.status != "fail" or (complains(s) and not elsewhere):
        return one
    if one.check.id == "cpu-only-torch" and cpu_machine(s):
        return one._replace(status="pass", findings=tuple(map(_remark, one.findings)))
    if one.check.id == "no-nvidia-gpu" and s.host.system == "darwin":
        return one._replace(status="pass", findings=tuple(map(_remark, one.findings)))
    return one


def _remark(finding: Finding) -> Finding:
    detail = f"{finding.detail} The text does not ask for a GPU, so nothing is wrong."
    return replace(finding, status="pass", severity="info", detail=detail, fixes=())


def no_mismatch(one: Examined, s: Snapshot) -> Examined:
    """If `xformers.info` says that its kernels were compiled with this torch, then it fits."""
    if one.check.id != "extension-built-for-other-torch" or not one.findings:
        return one
    lines = [symptom.text for symptom in s.symptoms if symptom.id == "xformers-build-told"]
    if not any(line.rpartition(":")[2].strip() == known(s.torch.version) for line in lines):
        return one
    findings = tuple(f for f in one.findings if f.subject != "xformers" or "symbol" in f.facts)
    failing: tuple[Status, ...] = ("fail", "unknown", "warn")
    status: Status = next((name for name in failing if any(f.status == name for f in findings)), "pass")
    return one._replace(status=status, findings=findings)
