"""disk-too-small-for-install: only where an install is recommended."""

from __future__ import annotations

from doctor.snapshot import Disk, Missing, Snapshot

from ..healthy import healthy
from ..judging import assert_fix_works, ids, run
from ..rows import for_each
from ..torches import with_other_build, without_torch
from .test_no_nvidia_gpu import without_gpu

ID = "disk-too-small-for-install"


def small(s: Snapshot, role: str) -> Snapshot:
    """One place with 2 GB free, the others with plenty."""
    roles = ("environment", "pip-cache", "tmp")
    return s.replace(
        {"host.disks": tuple(Disk(role=r, path=f"/{r}", free_mib=2048 if r == role else 90000) for r in roles)}
    )


@for_each("role", ["environment", "pip-cache", "tmp"])
def test_each_place_is_judged(role: str) -> None:
    sick = small(without_torch(healthy()), role)
    assert ids(sick) == [ID, "torch-not-installed"] or ids(sick) == ["torch-not-installed", ID]
    finding = run(ID, sick)[2][0]
    assert list(finding.facts) == [role]
    assert_fix_works(sick, finding)


def test_enough_room_passes() -> None:
    assert run(ID, without_torch(healthy()))[0] == "pass"


def test_where_nothing_is_to_be_installed_it_is_skipped() -> None:
    assert run(ID, small(healthy(), "environment"))[0] == "skipped"
    assert run(ID, small(without_gpu(without_torch(healthy())), "environment"))[0] == "skipped"


def test_a_cpu_build_is_to_be_replaced() -> None:
    assert run(ID, small(with_other_build(healthy()), "environment"))[0] == "warn"


def test_unknown_where_the_disks_were_not_read() -> None:
    assert run(ID, without_torch(healthy()).replace({"host.disks": Missing("denied")}))[0] == "unknown"
