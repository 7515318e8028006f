"""container-require-cuda-unsatisfied, image-cuda-newer-than-driver."""

from __future__ import annotations

from doctor.snapshot import NOT_ASKED, EnvVar, Snapshot, TorchRun

from ..healthy import healthy
from ..judging import assert_fix_works, ids, run
from ..rows import for_each
from ..sickness import COMPAT, compat_loaded, cuda_says

REQUIRE, IMAGE = "container-require-cuda-unsatisfied", "image-cuda-newer-than-driver"
CUDA_13 = "cuda>=13.0 brand=unknown,driver>=535,driver<536 brand=tesla,driver>=535,driver<536 brand=nvidia,driver>=570,driver<571"


def image(
    cuda: str | None = None,
    require: str = "",
    driver: str = "550.163.01",
    reported: str = "12.4",
    model: str = "rtx4090",
) -> Snapshot:
    """A container of an image; torch cu128 works on this driver."""
    s = healthy(model, container=True, driver=driver, cuda=reported)
    found = (EnvVar("NVIDIA_REQUIRE_CUDA", require),) if require else ()
    return s.replace({"container.image_cuda": cuda, "container.requirements": found})


def preflight(s: Snapshot) -> Snapshot:
    """Nobody asked CUDA yet, and torch is not there."""
    return s.replace({"driver.cu_init": NOT_ASKED, "driver.cuda_devices": NOT_ASKED, "torch_run": TorchRun()})


@for_each(
    ("asked", "model"),
    [("cuda>=12.8", "rtx4090"), (CUDA_13, "rtx4090"), ("brand=tesla,driver>=535", "rtx4090"), ("driver>=560", "h100")],
)
def test_an_unmet_requirement_fails_and_can_be_mended(asked: str, model: str) -> None:
    sick = preflight(image(require=asked, model=model))
    finding = run(REQUIRE, sick)[2][0]
    assert finding.status == "fail" and finding.fixes[0].possible_here
    assert REQUIRE in ids(sick)
    assert_fix_works(sick, finding)
    assert finding.fixes[0].id == "disable-require"  # what is inside runs on this driver
    off = sick.replace(finding.fixes[0].steps[0].changes)
    assert run(REQUIRE, off)[0] == "skipped"
    too_new = sick.replace({"torch.cuda": "13.0"})
    assert run(REQUIRE, too_new)[2][0].fixes[-1].id == "disable-require"


@for_each(
    ("asked", "has"),
    [
        ("arch>=9.0", "The GPUs' compute capability is 8.9."),
        ("brand=tesla", "The GPUs' brand is geforce."),
        ("driver>=560", "The driver is 550.163.01."),
        ("cuda>=12.8", "The driver's CUDA version is 12.4."),
        ("brand=tesla,driver>=535", "The driver is 550.163.01. The GPUs' brand is geforce."),
        ("colour=red", ""),
    ],
)
def test_the_detail_is_about_what_the_condition_names(asked: str, has: str) -> None:
    s = preflight(image(require=asked)).replace({"torch.cuda": "13.0"})
    finding = run(REQUIRE, s)[2][0]
    assert finding.detail == has or (not has and finding.detail.startswith("The condition cannot be read"))
    if asked.startswith(("arch", "brand=tesla")) and "driver" not in asked:
        assert finding.fixes[0].title == f"Switch to a host whose GPUs meet {asked}"
        assert_fix_works(s, finding)


def test_what_works_all_the_same_is_a_remark_and_is_warned_of_where_only_the_driver_starts() -> None:
    s = image(require="cuda>=12.8")
    assert run(REQUIRE, s)[0] == "pass" and ids(s) == []
    assert run(REQUIRE, s.replace({"torch_run": TorchRun()}))[0] == "warn"
    assert run(REQUIRE, cuda_says(s, 100))[0] == "fail"


@for_each(
    ("asked", "model"),
    [("cuda>=12.4", "rtx4090"), ("cuda>=13.0 brand=nvidia,driver>=550,driver<551", "h100"), ("arch>=8.0", "h100")],
)
def test_a_requirement_that_is_met(asked: str, model: str) -> None:
    assert run(REQUIRE, preflight(image(require=asked, model=model)))[0] == "pass"


def test_what_the_two_tools_say_is_told() -> None:
    finding = run(REQUIRE, preflight(image(require="driver>=560", model="h100")))[2][0]
    assert (finding.facts["libnvidia_container"], finding.facts["container_toolkit"]) == (False, False)
    strange = run(REQUIRE, preflight(image(require="colour=red")))[2][0]
    assert (strange.facts["libnvidia_container"], strange.facts["container_toolkit"]) == (False, True)


def test_images_of_old_that_only_name_their_cuda() -> None:
    assert run(REQUIRE, preflight(image(cuda="12.8.1")))[0] == "fail"
    assert run(REQUIRE, image())[0] == "skipped"


def test_the_requirement_is_unknown_without_its_facts() -> None:
    s = preflight(image(require="cuda>=12.8"))
    assert run(REQUIRE, s.replace({"container.requirements": NOT_ASKED}))[0] == "unknown"
    nothing = {
        "driver.nvml_cuda_version": NOT_ASKED,
        "driver.kernel_version": NOT_ASKED,
        "driver.nvml_driver_version": NOT_ASKED,
    }
    assert run(REQUIRE, s.replace(nothing))[0] == "unknown"
    assert run(REQUIRE, s.replace({"driver.nvml_cuda_version": NOT_ASKED}))[0] == "fail", "by the driver's branch"


def test_an_image_of_a_newer_cuda_major() -> None:
    sick = image(cuda="13.0.1").replace({"torch_run": TorchRun()})
    assert run(IMAGE, sick)[0] == "warn" and set(ids(sick)) == {IMAGE, REQUIRE}
    assert_fix_works(sick, run(IMAGE, sick)[2][0])
    assert run(IMAGE, image(cuda="13.0.1"))[0] == "pass", "torch of the wheel works"


def test_images_that_are_no_fault() -> None:
    minor = image(cuda="12.8.1")
    status, _, findings = run(IMAGE, minor)
    assert (status, len(findings), ids(minor)) == ("pass", 1, [])
    assert run(IMAGE, image(cuda="12.4.1"))[2] == []
    loaded = compat_loaded(image(cuda="13.0.1", model="h100"), COMPAT).replace({"driver.cuda_version": "13.0"})
    assert run(IMAGE, loaded)[2] == []
    assert run(IMAGE, image())[0] == "skipped"
    assert run(IMAGE, image(cuda="13.0").replace({"container.kind": "none"}))[0] == "skipped"


def test_the_images_cuda_is_unknown_without_its_facts() -> None:
    for path in ("container.image_cuda", "container.kind"):
        assert run(IMAGE, image(cuda="13.0").replace({path: NOT_ASKED}))[0] == "unknown"
    lost = image(cuda="13.0").replace({"driver.kernel_version": NOT_ASKED, "driver.nvml_driver_version": NOT_ASKED})
    assert run(IMAGE, lost)[0] == "unknown"
    assert run(IMAGE, image(cuda="99.0"))[0] == "unknown"
