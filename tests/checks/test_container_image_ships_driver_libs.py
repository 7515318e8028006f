"""container-image-ships-driver-libs: the loader takes a libcuda of another version before the one that fits."""

from __future__ import annotations

from doctor.snapshot import NOT_ASKED, LibraryFile, Missing, Snapshot

from ..healthy import healthy
from ..judging import assert_fix_works, ids, run
from .test_driver_library_version_mismatch import upgraded


def candidate(folder: str, version: str) -> LibraryFile:
    """A libcuda in a folder."""
    real = f"{folder}/libcuda.so.{version}"
    return LibraryFile(
        soname="libcuda.so.1", path=f"{folder}/libcuda.so.1", real_path=real, version=version, found_by="default"
    )


def baked(s: Snapshot) -> Snapshot:
    """The image's 580.95.05 comes before the host's 580.82.07."""
    both = (candidate("/usr/lib/x86_64-linux-gnu", "580.95.05"), candidate("/usr/local/nvidia/lib64", "580.82.07"))
    return upgraded(s).replace({"driver.libcuda_candidates": both})


def test_it_comes_first_and_folds_the_mismatch() -> None:
    sick = baked(healthy(container=True))
    assert ids(sick)[0] == "container-image-ships-driver-libs"
    assert_fix_works(sick, run("container-image-ships-driver-libs", sick)[2][0])


def unstarted(s: Snapshot, *versions: str) -> Snapshot:
    """An image against a host: what loads is only known once it was started."""
    candidates = tuple(candidate("/usr/lib/x86_64-linux-gnu", version) for version in versions)
    facts = ("libcuda_path", "libcuda_version", "nvml_library_path", "nvml_library_version")
    return s.replace({f"driver.{name}": NOT_ASKED for name in facts} | {"driver.libcuda_candidates": candidates})


def test_an_image_that_was_not_started_is_warned_of() -> None:
    sick = unstarted(healthy(container=True), "535.183.01")
    status, _, found = run("container-image-ships-driver-libs", sick)
    assert status == "warn" and found[0].facts["in_image_version"] == "535.183.01"
    assert_fix_works(sick, found[0])
    module = healthy().driver.kernel_version
    assert isinstance(module, str)
    assert run("container-image-ships-driver-libs", unstarted(healthy(container=True), module))[0] == "pass"
    assert run("container-image-ships-driver-libs", unstarted(healthy(container=True)))[0] == "pass"


def test_not_where_the_right_one_comes_first_nor_on_a_host() -> None:
    right = healthy(container=True).replace(
        {"driver.libcuda_candidates": tuple(reversed(baked(healthy()).driver.libcuda_candidates))}
    )  # type: ignore[arg-type]
    assert run("container-image-ships-driver-libs", right)[0] == "pass"
    assert run("container-image-ships-driver-libs", healthy())[0] == "skipped"


def test_unknown_without_the_deciding_facts() -> None:
    sick = baked(healthy(container=True))
    for path in ("driver.libcuda_candidates", "driver.kernel_version"):
        assert run("container-image-ships-driver-libs", sick.replace({path: Missing("denied")}))[0] == "unknown"
