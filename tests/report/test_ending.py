"""The last lines of a report: they name commands that do what they are said to do."""

from __future__ import annotations

from msgspec.structs import replace

from doctor.findings import Policy
from doctor.report.ending import verdict
from doctor.report.lines import plain
from doctor.snapshot import Snapshot
from doctor.snapshot.measured import Measured, Watch

from ..healthy import healthy
from ..judging import POLICY, report
from ..torches import no_kernel_image, with_torch


def two_causes() -> Snapshot:
    """A V100 with a torch that dropped it, in an environment that --python names."""
    sick = no_kernel_image(with_torch(healthy("v100"), "2.11.0", "cu130"))
    return sick.replace({"python.chosen_because": "--python /opt/my venv"})


def end(s: Snapshot, policy: Policy = POLICY) -> str:
    return " ".join(plain(verdict(report(s, policy), 400, 0), False).split())


def test_fix_is_named_with_the_flags_that_find_the_same() -> None:
    s = two_causes()
    assert "gpudoctor fix" not in end(s), "one step is all, and it stands there"
    told = end(s, replace(POLICY, require=("apex",), building=True))
    assert "All steps: gpudoctor fix --require apex --building --python '/opt/my venv'. Then look again" in told


def test_watch_does_not_send_into_its_own_usage_error() -> None:
    """A bare `gpudoctor watch` only says what it lacks; the machine's own faults show by `check`."""
    s = two_causes().with_(measured=Measured(level="watch", watch=Watch(program="python", seconds=5.0)))
    told = end(s)
    assert "look again: gpudoctor check" in told
    assert "gpudoctor fix" not in told, "it measures nothing, so it would not find what was watched"
