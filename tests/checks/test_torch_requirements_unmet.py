"""torch-requirements-unmet: torch's own Requires-Dist lines against what is installed."""

from __future__ import annotations

from msgspec.structs import replace

from doctor.snapshot import Distribution, Missing, Snapshot

from ..healthy import healthy
from ..judging import assert_fix_works, ids, run

LINES = (
    "filelock", "typing-extensions>=4.10.0", 'setuptools; python_version >= "3.12"', "sympy>=1.13.3", "networkx>=2.5.1",
    'opt-einsum>=3.3; extra == "opt-einsum"', "jinja2 (<4,>=2.11)",
)  # fmt: skip


def with_requirements(**versions: str) -> Snapshot:
    """A healthy machine whose torch asks for LINES, and these packages beside it."""
    s = healthy()
    site = "/opt/venv/lib/python3.11/site-packages"
    have = {
        "filelock": "3.18.0",
        "typing-extensions": "4.14.1",
        "sympy": "1.14.0",
        "networkx": "3.5",
        "jinja2": "3.1.6",
    }
    have.update({name.replace("_", "-"): version for name, version in versions.items()})
    more = tuple(Distribution(name=n, version=v, location=site) for n, v in have.items() if v)
    torch = s.python.distribution("torch")
    assert isinstance(torch, Distribution) and isinstance(s.python.distributions, tuple)
    lines = (*torch.requires, *LINES)  # type: ignore[misc]
    rest = tuple(replace(d, requires=lines) if d.name == "torch" else d for d in s.python.distributions)
    return s.replace({"torch.requires": lines, "python.distributions": (*rest, *more)})


def test_met_requirements_pass() -> None:
    assert run("torch-requirements-unmet", with_requirements())[0] == "pass"
    assert ids(with_requirements()) == []


def test_a_version_below_the_bound_warns_and_the_fix_works() -> None:
    sick = with_requirements(sympy="1.12")
    assert ids(sick) == ["torch-requirements-unmet"]
    finding = run("torch-requirements-unmet", sick)[2][0]
    assert "1.12" in finding.title
    assert finding.fixes[0].steps[0].command == "/opt/venv/bin/python -m pip install 'sympy>=1.13.3'"
    assert_fix_works(sick, finding)


def test_an_absent_package_warns() -> None:
    assert "not installed" in run("torch-requirements-unmet", with_requirements(jinja2=""))[2][0].title


def test_a_marker_that_does_not_hold_asks_for_nothing() -> None:
    assert (
        run("torch-requirements-unmet", with_requirements().replace({"python.patient.version": "3.11.9"}))[0] == "pass"
    )
    sick = with_requirements().replace({"python.patient.version": "3.12.1"})
    assert "setuptools" in run("torch-requirements-unmet", sick)[2][0].title


def test_unread_facts_are_unknown() -> None:
    for path in ("torch.requires", "python.distributions"):
        s = with_requirements().replace({path: Missing("denied")})
        if path == "torch.requires":
            assert isinstance(s.python.distributions, tuple)
            lines = tuple(replace(d, requires=Missing("denied")) for d in s.python.distributions)
            s = s.replace({"python.distributions": lines})
        assert run("torch-requirements-unmet", s)[0] == "unknown", path


def test_after_the_install_the_lowest_version_within_the_bounds_is_expected() -> None:
    for bounds, lowest in (
        (">=4.10.0", "4.10.0"), ("==1.13.1", "1.13.1"), ("<4,>=2.11", "2.11"), (">2.11", "2.11.1"), ("<9,>2", "2.1"),
        ("!=3", "0"), ("", "0"),
    ):  # fmt: skip
        s = with_requirements()
        torch = s.python.distribution("torch")
        assert isinstance(torch, Distribution) and isinstance(s.python.distributions, tuple)
        lines = (f"absent-package{bounds}",)
        rest = tuple(replace(d, requires=lines) if d.name == "torch" else d for d in s.python.distributions)
        sick = s.replace({"torch.requires": lines, "python.distributions": rest})
        step = run("torch-requirements-unmet", sick)[2][0].fixes[0].steps[0]
        found = {d.name: d.version for d in step.changes["python.distributions"]}  # type: ignore[union-attr]
        assert found["absent-package"] == lowest, bounds
        assert f"absent-package{bounds}" in step.command
