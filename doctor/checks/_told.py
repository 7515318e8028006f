"""What a pasted text complains of: a cause is a failure there only where something is missed."""

from __future__ import annotations

from ..snapshot import Missing, Snapshot, known

_BUILD = ("torch-build-cpu", "no-driver-in-report")
"""Lines that every report of a machine without a GPU has."""


def complains(s: Snapshot) -> bool:
    """Whether a message of the text speaks of something that does not work."""
    return any((symptom.suggests or symptom.decides) and symptom.id not in _BUILD for symptom in s.symptoms)


def cpu_machine(s: Snapshot) -> bool:
    """Whether a text is the report of a machine without NVIDIA driver that misses none."""
    if s.target.kind != "text" or complains(s):
        return False
    seen = (s.gpus, s.driver.version, s.driver.nvml_driver_version)
    reported = any(symptom.id == "no-driver-in-report" for symptom in s.symptoms)
    return reported and all(isinstance(fact, Missing) or not known(fact) for fact in seen)
