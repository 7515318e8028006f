"""driver-not-loaded: libraries without a kernel module; folded under a missing card."""

from __future__ import annotations

from doctor.snapshot import ABSENT, NOT_ASKED, Missing

from ..healthy import healthy
from ..judging import assert_fix_works, ids, report, run
from ..rows import for_each
from ..sickness import gvisor, not_installed, not_loaded
from .test_no_nvidia_gpu import without_gpu


def test_healthy_machine_passes() -> None:
    assert run("driver-not-loaded", healthy())[0] == "pass"


@for_each("container", [False, True])
def test_it_comes_first_and_can_be_mended(container: bool) -> None:
    sick = not_loaded(healthy(container=container))
    assert ids(sick)[0] == "driver-not-loaded"
    finding = run("driver-not-loaded", sick)[2][0]
    assert finding.fixes[0].possible_here
    assert_fix_works(sick, finding)


def test_folded_under_a_missing_card() -> None:
    both = not_loaded(healthy()).replace({"driver.pci_devices": without_gpu(healthy()).driver.pci_devices})
    both = both.replace({"gpus": ABSENT})
    found = {f.id: f for f in report(both).findings}
    assert next(iter(found)) == "no-nvidia-gpu"
    assert found["driver-not-loaded"].downstream_of == ("no-nvidia-gpu",)


def test_nvml_decides_where_the_kernel_shows_nothing() -> None:
    sick = not_loaded(healthy()).replace(
        {"driver.modules": Missing("denied"), "driver.kernel_version": Missing("denied")}
    )
    assert run("driver-not-loaded", sick)[0] == "fail"


def test_no_libraries_is_another_cause() -> None:
    assert run("driver-not-loaded", not_installed(healthy()))[0] == "skipped"


def test_unknown_without_the_deciding_facts() -> None:
    sick = not_loaded(healthy()).replace({"driver.nvml_init": NOT_ASKED, "driver.pci_devices": NOT_ASKED})
    sick = sick.replace({"driver.modules": NOT_ASKED, "driver.kernel_version": NOT_ASKED})
    assert run("driver-not-loaded", sick)[0] == "unknown"
    assert run("driver-not-loaded", gvisor(healthy()))[0] == "unknown"


def test_wsl_has_no_such_module() -> None:
    assert run("driver-not-loaded", healthy().replace({"host.wsl": 2}))[0] == "skipped"
