"""python-version-without-wheel: too old for any torch, or for the builds that serve this GPU."""

from __future__ import annotations

from doctor.findings import Policy
from doctor.snapshot import Missing, Snapshot

from ..healthy import healthy
from ..judging import assert_fix_works, ids, run
from ..rows import for_each
from ..torches import with_other_build, without_torch

ID = "python-version-without-wheel"


def on_python(s: Snapshot, version: str) -> Snapshot:
    """Without torch, on this Python."""
    return without_torch(s).replace({"python.patient.version": version})


@for_each("version", ["3.10.12", "3.11.9", "3.13.1", "3.15.0"])
def test_pythons_with_wheels_pass(version: str) -> None:
    assert run(ID, on_python(healthy(), version))[0] == "pass"


@for_each(("model", "version"), [("h100", "3.5.2"), ("rtx5090", "3.8.10"), ("h100", "3.7.9")])
def test_no_wheel_for_this_python_leads_and_the_fix_brings_another(model: str, version: str) -> None:
    sick = on_python(healthy(model), version)
    assert ids(sick) == [ID, "torch-not-installed"]
    finding = run(ID, sick)[2][0]
    assert finding.status == "warn"
    assert finding.fixes[0].steps[0].command.startswith("uv venv --seed --python 3.1")
    assert_fix_works(sick, finding)


def test_required_or_a_cpu_build_makes_it_a_failure() -> None:
    sick = on_python(healthy("rtx5090"), "3.8.10")
    assert run(ID, sick, Policy(require=("torch",)))[0] == "fail"
    cpu = with_other_build(healthy("rtx5090")).replace({"python.patient.version": "3.8.10"})
    assert ids(cpu, status="fail")[0] == ID


def test_a_python_newer_than_the_matrix_is_unknown() -> None:
    status, reason, _ = run(ID, on_python(healthy(), "3.19.0"))
    assert (status, "newer than this matrix" in reason) == ("unknown", True)


def test_skipped_and_unknown() -> None:
    assert run(ID, healthy())[0] == "skipped"
    assert run(ID, without_torch(healthy()).replace({"python.patient.version": Missing("error")}))[0] == "unknown"
