"""torch-installed-twice: two dist-infos, or two folders of sys.path with a torch each."""

from __future__ import annotations

from doctor.snapshot import Distribution, Missing, Snapshot, known

from ..healthy import healthy
from ..judging import assert_fix_works, ids, run
from ..rows import for_each
from ..torches import SITE, import_fails, without_torch

ID = "torch-installed-twice"


def with_second_torch(s: Snapshot, location: str = SITE) -> Snapshot:
    """A left-over of an older torch."""
    second = Distribution(name="torch", version="2.6.0", location=location, requires=())
    return s.replace({"python.distributions": (*(known(s.python.distributions) or ()), second)})


def test_one_torch_passes() -> None:
    assert run(ID, healthy())[0] == "pass"


@for_each("location", [SITE, "/usr/lib/python3/dist-packages"])
def test_two_are_a_warning(location: str) -> None:
    sick = with_second_torch(healthy(), location)
    assert ids(sick) == [ID]
    finding = run(ID, sick)[2][0]
    assert finding.facts["versions"] == ["2.6.0", "2.8.0"]
    assert_fix_works(sick, finding)


def test_with_a_broken_import_it_is_the_cause() -> None:
    sick = with_second_torch(import_fails(healthy(), "ImportError: cannot import name '_C'"))
    assert ids(sick, status="fail") == [ID, "torch-import-broken"]


def test_unknown_and_skipped() -> None:
    assert run(ID, healthy().replace({"python.distributions": Missing("denied")}))[0] == "unknown"
    assert run(ID, without_torch(healthy()))[0] == "skipped"
