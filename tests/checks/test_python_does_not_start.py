"""python-does-not-start: a dead environment fails, and the mildest way back comes first."""

from __future__ import annotations

from typing import Any

from doctor.findings import Expect, Policy
from doctor.snapshot import Missing, Snapshot, TorchRun

from ..healthy import healthy
from ..judging import assert_fix_works, ids, report, run
from ..rows import for_each

ID = "python-does-not-start"
UV = "/home/user/.local/share/uv/python/cpython-3.11.7-linux-x86_64-gnu/bin/python3.11"


def dead(kind: str = "venv", fault: str = "gone", target: str | None = "/gone", **more: Any) -> Snapshot:
    """An environment of this kind whose interpreter does not start."""
    facts = {f"torch_run.{name}": Missing("error", "no Python") for name in TorchRun.__struct_fields__}
    return healthy().replace(
        {
            **facts,
            "torch_run.warnings": (),
            "python.patient.kind": kind,
            "python.patient.starts": False,
            "python.patient.start_fault": fault,
            "python.patient.start_error": "it ended with exit code 1",
            "python.patient.link_target": target if target else Missing("absent"),
            **more,
        }
    )


def commands(snapshot: Snapshot) -> list[str]:
    return [step.command for fix in run(ID, snapshot)[2][0].fixes for step in fix.steps]


def test_a_python_that_starts_passes() -> None:
    assert run(ID, healthy())[0] == "pass"
    assert run(ID, healthy().replace({"torch_run.imported": Missing("not-asked")}))[0] == "pass"


def test_it_fails_whatever_is_expected() -> None:
    for expect in ("gpu", "any", "none"):
        policy = Policy(expect=Expect.parse(expect))
        assert ids(dead(), policy, status="fail")[0] == ID
        assert_fix_works(dead(), run(ID, dead(), policy)[2][0], policy)


def test_what_nobody_tried_is_unknown() -> None:
    facts = {"python.patient.starts": Missing("timeout", "slow"), "torch_run.imported": Missing("timeout", "slow")}
    assert run(ID, healthy().replace(facts))[0] == "unknown"
    assert (
        run(ID, healthy().replace({"python.patient.prefix": Missing("absent", "no Python was found")}))[0] == "skipped"
    )


@for_each(
    "snapshot, expected",
    [
        (dead(), ["python3 -m venv --clear /opt/venv"]),
        (dead("uv"), ["uv venv --clear --python 3.11 /opt/venv"]),
        (dead("uv", target=UV), ["uv python install 3.11.7", "uv venv --clear --python 3.11 /opt/venv"]),
        (dead(target="/root/.pyenv/versions/3.12.1/bin/python3"), ["pyenv install 3.12.1", "venv --clear"]),
        (dead(fault="crash"), ["uv venv --clear --seed --managed-python --python 3.11 /opt/venv"]),
        (dead("conda", target=None), ["conda install --yes --prefix /opt/venv"]),
        (dead("system", "crash", None), ["uv venv --seed --managed-python --python 3.12 ~/venv-gpu"]),
    ],
)
def test_the_mildest_way_back_comes_first(snapshot: Snapshot, expected: list[str]) -> None:
    found = commands(snapshot)
    assert len(found) == len(expected)
    assert all(words in command for words, command in zip(expected, found, strict=True)), found
    assert_fix_works(snapshot, run(ID, snapshot)[2][0])


def test_what_is_repaired_by_that_python_waits_for_it() -> None:
    sick = dead().replace({"torch.version": "2.6.0+cpu", "torch.build": "cpu", "torch.cuda": Missing("absent")})
    findings = {f.id: f for f in report(sick).findings}
    assert findings["cpu-only-torch"].downstream_of == (ID,)
