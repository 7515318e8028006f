"""driver-library-version-mismatch: NVML's code 18, or module and libraries of different versions."""

from __future__ import annotations

from doctor.snapshot import NOT_ASKED, Missing, Snapshot

from ..healthy import healthy
from ..judging import assert_fix_works, ids, run
from ..rows import for_each
from ..sickness import compat_loaded, cuda_says, nvml_says


def upgraded(s: Snapshot) -> Snapshot:
    """The libraries were upgraded to 580.95.05 under a loaded 580.82.07."""
    new = "580.95.05"
    return nvml_says(cuda_says(s, 803), 18).replace(
        {
            "driver.nvml_library_version": new,
            "driver.libcuda_version": new,
            "driver.nvml_library_path": f"/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.{new}",
            "driver.libcuda_path": f"/usr/lib/x86_64-linux-gnu/libcuda.so.{new}",
        }
    )


@for_each("container", [False, True])
def test_it_comes_first_and_can_be_mended(container: bool) -> None:
    sick = upgraded(healthy(container=container))
    assert ids(sick)[0] == "driver-library-version-mismatch"
    finding = run("driver-library-version-mismatch", sick)[2][0]
    assert "580.95.05" in finding.detail and "580.82.07" in finding.detail
    assert finding.fixes[0].possible_here
    assert_fix_works(sick, finding)


def test_nvml_alone_decides() -> None:
    sick = nvml_says(healthy(), 18).replace({"driver.kernel_version": NOT_ASKED})
    assert run("driver-library-version-mismatch", sick)[0] == "fail"


def test_the_files_alone_decide() -> None:
    sick = upgraded(healthy()).replace({"driver.nvml_init": NOT_ASKED})
    assert run("driver-library-version-mismatch", sick)[0] == "fail"


def test_what_differs_by_design_is_none() -> None:
    assert run("driver-library-version-mismatch", healthy())[0] == "pass"
    assert run("driver-library-version-mismatch", compat_loaded(healthy(driver="535.183.01", cuda="12.2")))[0] == "pass"
    wsl = healthy().replace(
        {"host.wsl": 2, "driver.nvml_driver_version": "527.27", "driver.kernel_version": Missing("absent")}
    )
    assert run("driver-library-version-mismatch", wsl)[0] == "skipped"
    tegra = healthy().replace(
        {"driver.kernel_version": "540.4.0", "driver.libcuda_version": "1.1", "driver.nvml_library_version": "1.1"}
    )
    assert run("driver-library-version-mismatch", tegra)[0] == "pass"


def test_unknown_without_the_deciding_facts() -> None:
    for facts in (("kernel_version",), ("nvml_library_version", "libcuda_version")):
        sick = healthy().replace({f"driver.{name}": Missing("denied") for name in facts})
        assert run("driver-library-version-mismatch", sick)[0] == "unknown"


def test_a_half_upgraded_driver_is_made_equal_first() -> None:
    """Module and NVML of one version, libcuda of another: a reboot alone changes nothing."""
    half = cuda_says(healthy(), 803).replace({"driver.libcuda_version": "580.95.05"})
    finding = run("driver-library-version-mismatch", half)[2][0]
    assert [fix.id for fix in finding.fixes] == ["equal-driver-packages"]
    packages, boot = finding.fixes[0].steps
    assert "libnvidia-compute-580=580.82.07-*" in packages.command and "reboot" in boot.command
    assert_fix_works(half, finding)


def test_lxc_has_libraries_of_its_own() -> None:
    sick = upgraded(healthy(container=True)).replace({"container.kind": "lxc"})
    finding = run("driver-library-version-mismatch", sick)[2][0]
    assert [fix.id for fix in finding.fixes] == ["libraries-in-lxc"]
    assert "580.82.07" in finding.fixes[0].steps[0].command and "image" not in finding.detail
    assert_fix_works(sick, finding)
