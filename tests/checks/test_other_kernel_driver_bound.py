"""other-kernel-driver-bound: decided by the driver link of the card."""

from __future__ import annotations

from msgspec.structs import replace

from doctor.snapshot import ABSENT, NOT_ASKED, Missing

from ..healthy import healthy
from ..judging import assert_fix_works, ids, report, run
from ..rows import for_each
from ..sickness import bound_to, not_installed


@for_each("driver", ["nouveau", "nova_core", "vfio-pci"])
@for_each("container", [False, True])
def test_it_comes_first_and_can_be_mended(driver: str, container: bool) -> None:
    sick = bound_to(healthy(container=container), driver)
    assert ids(sick)[0] == "other-kernel-driver-bound"
    finding = run("other-kernel-driver-bound", sick)[2][0]
    assert finding.facts["kernel_driver"] == driver
    assert finding.fixes[0].possible_here
    assert_fix_works(sick, finding)


def test_nouveau_without_a_driver_installs_one() -> None:
    sick = not_installed(healthy()).replace({"driver.pci_devices": bound_to(healthy(), "nouveau").driver.pci_devices})
    found = report(sick).findings
    assert found[0].id == "other-kernel-driver-bound"
    assert any("nvidia" in step.command or "ubuntu-drivers" in step.command for step in found[0].fixes[0].steps)
    assert {f.id: f.downstream_of for f in found}["driver-not-installed"] == ("other-kernel-driver-bound",)


def test_a_card_passed_through_beside_working_ones_is_a_remark() -> None:
    s = healthy("h100", "h100")
    assert not isinstance(s.driver.pci_devices, Missing)
    first, second = s.driver.pci_devices
    mixed = s.replace({"driver.pci_devices": (first, replace(second, driver="vfio-pci"))})
    status, _, findings = run("other-kernel-driver-bound", mixed)
    assert (status, [f.severity for f in findings]) == ("pass", ["info"])


def test_healthy_machine_passes_and_missing_facts_do_not() -> None:
    s = healthy()
    assert run("other-kernel-driver-bound", s)[0] == "pass"
    assert run("other-kernel-driver-bound", s.replace({"driver.pci_devices": Missing("denied")}))[0] == "unknown"
    assert not isinstance(s.driver.pci_devices, Missing)
    unread = tuple(replace(card, driver=NOT_ASKED) for card in s.driver.pci_devices)
    assert run("other-kernel-driver-bound", s.replace({"driver.pci_devices": unread}))[0] == "unknown"


def test_whether_the_driver_is_installed_is_said_only_where_its_libraries_were_looked_for() -> None:
    """No library found: install it, in one step. Found: nothing of it. Not looked: where it is not installed yet."""
    missing = "the driver is not installed"
    s = bound_to(healthy(), "nouveau")
    for path, container, told, installs, noted in (
        (ABSENT, False, True, True, False),
        (ABSENT, True, False, True, False),
        ("/usr/lib/libnvidia-ml.so.1", False, False, False, False),
        (NOT_ASKED, False, False, False, True),
    ):
        facts = {"driver.nvml_library_path": path, "driver.libcuda_path": path}
        sick = bound_to(healthy(container=True), "nouveau") if container else s
        finding = run("other-kernel-driver-bound", sick.replace(facts))[2][0]
        fix = next(fix for fix in finding.fixes if fix.id == "release-card")
        assert (missing in finding.detail) == told, path
        assert any(step.text == "Install the NVIDIA driver." for step in fix.steps) == installs, path
        assert fix.note.startswith("If the NVIDIA driver is not installed yet") == noted, path
