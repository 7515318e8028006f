"""torch-not-installed: a warning with the line that fits, a failure only where torch is required."""

from __future__ import annotations

from doctor.findings import Expect, Policy
from doctor.snapshot import Environment, Missing

from ..healthy import healthy
from ..judging import assert_fix_works, ids, run
from ..torches import without_torch

ID = "torch-not-installed"


def test_an_installed_torch_passes() -> None:
    assert run(ID, healthy())[0] == "pass"


def test_a_missing_torch_is_a_warning_with_the_line_that_fits() -> None:
    sick = without_torch(healthy("v100"))
    assert ids(sick) == [ID]
    finding = run(ID, sick)[2][0]
    assert finding.status == "warn"
    assert "whl/cu126" in finding.fixes[0].steps[-1].command
    assert_fix_works(sick, finding)


def test_the_line_fits_the_driver_too() -> None:
    sick = without_torch(healthy("a100", driver="535.129.03", cuda="12.2"))
    command = run(ID, sick)[2][0].fixes[0].steps[-1].command
    assert "whl/cu12" in command


def test_required_it_is_a_failure() -> None:
    policy = Policy(require=("torch",))
    sick = without_torch(healthy())
    assert ids(sick, policy, status="fail") == [ID]
    assert_fix_works(sick, run(ID, sick, policy)[2][0], policy)


def test_an_image_without_torch_is_a_remark() -> None:
    status, _, findings = run(ID, without_torch(healthy()), Policy(expect=Expect(kind="none")))
    assert (status, [f.severity for f in findings]) == ("pass", ["info"])


def test_other_environments_with_torch_are_named() -> None:
    other = Environment(prefix="/opt/conda", torch_version="2.6.0")
    sick = without_torch(healthy()).replace({"python.others": (other,)})
    assert "/opt/conda (torch 2.6.0)" in run(ID, sick)[2][0].detail


def test_a_managed_or_read_only_environment_gets_a_venv_first() -> None:
    for fact in ({"python.patient.externally_managed": True}, {"python.patient.writable": False}):
        sick = without_torch(healthy()).replace(fact)
        finding = run(ID, sick)[2][0]
        steps = finding.fixes[0].steps
        assert "-m venv" in steps[0].command
        assert "venv-gpu/bin/python" in steps[-1].command
        assert_fix_works(sick, finding)


def test_an_environment_without_pip_gets_uv() -> None:
    sick = without_torch(healthy()).replace({"python.distributions": (healthy().python.distributions[3],)})  # type: ignore[index]
    assert run(ID, sick)[2][0].fixes[0].steps[-1].command.startswith("uv pip install --python /opt/venv/bin/python ")


def test_a_container_gets_its_dockerfile_line() -> None:
    sick = without_torch(healthy(container=True))
    assert "RUN pip install torch==" in run(ID, sick)[2][0].fixes[0].note


def test_unreadable_is_unknown() -> None:
    assert run(ID, healthy().replace({"torch.version": Missing("denied")}))[0] == "unknown"
