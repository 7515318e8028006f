"""driver-too-old-for-gpu, driver-dropped-gpu and open-kernel-module-required: one table, three causes."""

from __future__ import annotations

from doctor.snapshot import NOT_ASKED, Missing, Snapshot

from ..healthy import healthy
from ..judging import assert_fix_works, ids, run
from ..rows import for_each
from ..sickness import not_installed, unlisted

IDS = ("driver-too-old-for-gpu", "driver-dropped-gpu", "open-kernel-module-required")


def too_old(container: bool = False) -> Snapshot:
    return unlisted(healthy("rtx5090", driver="535.183.01", cuda="12.2", container=container))


def dropped(container: bool = False) -> Snapshot:
    s = unlisted(healthy("gtx1080", driver="590.44.01", cuda="13.1", container=container))
    return s.replace({"driver.kernel_flavour": "proprietary"})


def wrong_flavour(container: bool = False) -> Snapshot:
    return unlisted(healthy("rtx5090", container=container)).replace({"driver.kernel_flavour": "proprietary"})


CAUSES = {
    "driver-too-old-for-gpu": too_old,
    "driver-dropped-gpu": dropped,
    "open-kernel-module-required": wrong_flavour,
}


@for_each("check_id", IDS)
@for_each("container", [False, True])
def test_it_comes_first_and_can_be_mended(check_id: str, container: bool) -> None:
    sick = CAUSES[check_id](container)
    assert ids(sick)[0] == check_id
    assert not set(IDS) - {check_id} & set(ids(sick))
    finding = run(check_id, sick)[2][0]
    assert finding.fixes[0].possible_here
    assert_fix_works(sick, finding)


@for_each("model", ["h100", "rtx5090", "gtx1080", "v100"])
def test_a_gpu_that_cuda_lists_works_whatever_the_table_says(model: str) -> None:
    for s in (healthy(model), healthy(model, driver="999.10"), healthy(model, driver="450.80.02", cuda="11.0")):
        assert [run(check_id, s)[0] for check_id in IDS] == ["pass"] * 3


def test_the_open_module_on_an_old_card() -> None:
    sick = unlisted(healthy("v100"))
    finding = run("open-kernel-module-required", sick)[2][0]
    assert "proprietary" in finding.title
    assert_fix_works(sick, finding)


def test_only_the_new_card_of_a_mixed_pair_is_named() -> None:
    both = healthy("h100", "rtx5090", driver="535.183.01", cuda="12.2")
    assert not isinstance(both.gpus, Missing) and not isinstance(both.driver.cuda_devices, Missing)
    sick = both.replace(
        {
            "gpus": both.gpus[:1],
            "driver.nvml_gpu_count": 1,
            "driver.cuda_devices": both.driver.cuda_devices[:1],
            "torch_run.device_count": 1,
        }
    )
    found = run("driver-too-old-for-gpu", sick)[2]
    assert [f.facts["compute_capability"] for f in found] == ["12.0"]


def test_a_driver_newer_than_the_matrix_is_unknown_not_failed() -> None:
    sick = unlisted(healthy(driver="999.10"))
    assert [run(check_id, sick)[0] for check_id in IDS] == ["unknown"] * 3


def test_unknown_without_the_deciding_facts() -> None:
    for check_id in IDS:
        sick = CAUSES[check_id]()
        nothing = sick.replace({"driver.kernel_version": Missing("denied"), "driver.nvml_driver_version": NOT_ASKED})
        assert run(check_id, nothing)[0] == "unknown"
        assert run(check_id, sick.replace({"driver.pci_devices": NOT_ASKED, "gpus": NOT_ASKED}))[0] == "unknown"
    unread = wrong_flavour().replace({"driver.kernel_flavour": Missing("denied")})
    assert run("open-kernel-module-required", unread)[0] == "unknown"


def test_without_a_driver_it_does_not_apply() -> None:
    assert [run(check_id, not_installed(healthy()))[0] for check_id in IDS] == ["skipped"] * 3
