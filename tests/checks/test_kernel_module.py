"""kernel-module-not-built-for-kernel, secure-boot-unsigned-module."""

from __future__ import annotations

from doctor.snapshot import ABSENT, NOT_ASKED, Missing, Snapshot

from ..healthy import healthy
from ..judging import assert_fix_works, ids, run
from ..rows import for_each
from ..sickness import bound_to, not_installed, not_loaded

BUILT, SIGNED = "kernel-module-not-built-for-kernel", "secure-boot-unsigned-module"


def unloaded(built: bool, secure_boot: object = False) -> Snapshot:
    return not_loaded(healthy()).replace({"driver.module_built": built, "host.secure_boot": secure_boot})


@for_each(
    ("check_id", "sick"), [(BUILT, unloaded(False)), (BUILT, unloaded(False, True)), (SIGNED, unloaded(True, True))]
)
@for_each("system", ["ubuntu", "debian", "rocky"])
def test_the_cause_comes_before_the_module_that_is_not_loaded(check_id: str, sick: Snapshot, system: str) -> None:
    sick = sick.replace({"host.os_id": system})
    found = ids(sick)
    assert found[:1] == [check_id] and found.count("driver-not-loaded") == 1
    assert {BUILT, SIGNED} - {check_id} - set(found), "only one of the two causes"
    finding = run(check_id, sick)[2][0]
    assert finding.direct is (check_id == BUILT)
    assert_fix_works(sick, finding)


@for_each(
    "fine", [healthy(), healthy().replace({"host.secure_boot": True}), unloaded(True, False), unloaded(True, ABSENT)]
)
def test_neither_is_said_where_it_is_not_so(fine: Snapshot) -> None:
    assert run(BUILT, fine)[0] == "pass"
    assert run(SIGNED, fine)[0] == "pass"


def test_where_they_do_not_apply() -> None:
    for s in (
        unloaded(False, True).replace({"container.kind": "docker"}),
        unloaded(False, True).replace({"host.wsl": 2}),
        not_installed(healthy()),
        unloaded(False, True).replace({"driver.pci_devices": ()}),
    ):
        assert run(BUILT, s)[0] == run(SIGNED, s)[0] == "skipped"
    nouveau = bound_to(healthy(), "nouveau").replace({"driver.module_built": True, "host.secure_boot": True})
    assert run(SIGNED, nouveau)[0] == "skipped"


def test_unknown_without_the_deciding_facts() -> None:
    gap = Missing("denied")
    assert run(BUILT, unloaded(False).replace({"driver.module_built": gap}))[0] == "unknown"
    assert run(SIGNED, unloaded(True, True).replace({"driver.module_built": gap}))[0] == "unknown"
    assert run(SIGNED, unloaded(True, gap))[0] == "unknown"
    for check_id in (BUILT, SIGNED):
        assert run(check_id, unloaded(False, True).replace({"container.kind": NOT_ASKED}))[0] == "unknown"
