"""user-site-shadows-packages: ~/.local before the image's own packages."""

from __future__ import annotations

from doctor.snapshot import Distribution, Missing, Snapshot, known

from ..healthy import healthy
from ..judging import assert_fix_works, ids, run
from ..torches import import_fails

ID = "user-site-shadows-packages"
USER = "/home/user-1/.local/lib/python3.11/site-packages"


def with_user_site(s: Snapshot, **versions: str) -> Snapshot:
    """Packages in the user's site folder, which comes first."""
    mine = tuple(Distribution(name=name, version=v, location=USER, requires=()) for name, v in versions.items())
    return s.replace({"python.distributions": (*mine, *(known(s.python.distributions) or ()))})


def test_no_user_site_passes() -> None:
    assert run(ID, healthy())[0] == "pass"


def test_another_numpy_in_the_user_site_is_a_warning() -> None:
    sick = with_user_site(healthy(), numpy="1.26.4")
    assert ids(sick) == [ID]
    finding = run(ID, sick)[2][0]
    assert finding.facts["numpy"] == {"imported": "1.26.4", "hidden": "2.2.6"}
    assert_fix_works(sick, finding)


def test_another_torch_is_told_once() -> None:
    sick = with_user_site(healthy(), torch="2.6.0").replace({"torch.version": "2.6.0+cu128"})
    assert "torch-installed-twice" not in ids(sick)
    assert_fix_works(sick, next(f for f in run(ID, sick)[2]))


def test_a_broken_import_makes_it_the_cause() -> None:
    sick = with_user_site(import_fails(healthy(), "ImportError: odd"), torch="2.6.0")
    assert ids(sick, status="fail")[:1] == [ID]


def test_the_same_version_and_other_packages_are_harmless() -> None:
    assert ids(with_user_site(healthy(), numpy="2.2.6", requests="2.0")) == []


def test_unknown_without_the_list() -> None:
    assert run(ID, healthy().replace({"python.distributions": Missing("denied")}))[0] == "unknown"
