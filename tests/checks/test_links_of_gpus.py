"""What joins GPUs: the fabric's health flags, NVLink errors and PCIe replays that climb, recovery actions by driver."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from doctor.findings import Policy
from doctor.snapshot import Missing, NvLinkErrors, Snapshot

from ..healthy import healthy
from ..judging import assert_fix_works, ids, run
from ..rows import for_each
from .gpu_readings import monitored, one, only

FABRIC, ERRORS, REPLAYS = "nvlink-fabric-unhealthy", "nvlink-errors-climbing", "pcie-replays-climbing"
SOUND = 0x1AA
"""Bandwidth full, no recovery, routes healthy, configuration right."""


@for_each("container", [False, True])
def test_each_fault_is_the_only_finding_and_its_fix_works(container: bool) -> None:
    for check_id, status, facts in (
        (FABRIC, "fail", {"fabric_health": 0x19A}),
        (FABRIC, "fail", {"fabric_health": 0x4AA}),
        (FABRIC, "fail", {"fabric_health": 0, "fabric_state": 3, "fabric_status": 999}),
        (FABRIC, "fail", {"fabric_state": 1}),
        (FABRIC, "warn", {"fabric_state": 2}),
        (FABRIC, "warn", {"fabric_health": 0x1A9}),
        (FABRIC, "warn", {"fabric_health": 0x1A6}),
        (ERRORS, "warn", {"nvlink_errors": (NvLinkErrors(link=3, replay=9, climbed=1),)}),
        (ERRORS, "warn", {"nvlink_errors": (NvLinkErrors(link=3, crc=90, crc_climbed=20),)}),
        (REPLAYS, "warn", {"pcie_replays": 40, "pcie_replays_climbed": 3}),
    ):
        sick = one("h100", "h100", container=container, nth=1, **facts)
        assert isinstance(sick.gpus, tuple)
        sick = sick.replace({"gpus": (replace(sick.gpus[0], fabric_state=3), sick.gpus[1])})
        assert ids(sick) == [check_id], facts
        finding = only(check_id, sick)
        assert finding.status == status and finding.subject == sick.gpus[1].key  # type: ignore[index]
        assert finding.fixes[0].possible_here
        assert_fix_works(sick, finding)


def test_a_sound_fabric_passes_by_any_driver() -> None:
    for health, summary in ((0, 0), (2, 0), (0xAA, 0), (SOUND, 1), (SOUND | 1 << 12 | 1 << 14, 1)):
        assert run(FABRIC, one("h100", "h100", fabric_health=health, fabric_health_summary=summary))[0] == "pass"


def test_a_gpu_in_mig_mode_uses_no_nvlink() -> None:
    facts = {"fabric_health": 0x4AA, "mig_enabled": True, "mig_instances": ()}
    sick = one("h100", "h100", nth=1, **facts)
    assert isinstance(sick.gpus, tuple)
    sick = sick.replace({"gpus": (replace(sick.gpus[0], fabric_state=3, fabric_health=SOUND), sick.gpus[1])})
    assert run(FABRIC, sick)[0] == "pass"
    assert run(FABRIC, one("h100", **facts))[0] == "skipped"


def test_a_report_from_before_these_were_asked_leaves_them_open() -> None:
    for check_id in (FABRIC, ERRORS, REPLAYS, "sram-ecc-threshold-exceeded"):
        status, reason, _ = run(check_id, healthy())
        assert status == "unknown" and "not-asked" in reason


def test_no_gpu_has_joined_the_fabric_is_another_checks_matter() -> None:
    assert run(FABRIC, one("h100", fabric_state=1))[0] == "pass"


def test_one_gpu_alone_does_not_need_the_fabric() -> None:
    finding = only(FABRIC, one("h100", fabric_health=0x4AA))
    assert finding.status == "warn" and "no partition" in finding.title


def test_the_words_name_what_the_flags_say() -> None:
    said = {0x19A: "unhealthy route", 0x6AA: "incompatible GPU firmware", 0xFAA: "code 15", 0x21AA: "no partition",
            0x91AA: "global fabric manager", 0x16A: "a timeout recovery in progress",
            0x1A9: "reduced bandwidth"}  # fmt: skip
    for health, words in said.items():
        assert words in only(FABRIC, one("h100", "h100", fabric_health=health)).title
    for code, words in (
        (4, "error 4 (insufficient permissions)"),
        (23, "error 23 (insufficient resources)"),
        (77, "error 77"),
    ):
        assert only(FABRIC, one("h100", "h100", fabric_state=3, fabric_status=code)).title.endswith(words)
    for summary, words in ((2, "unhealthy"), (3, "limited capacity")):
        assert words in only(FABRIC, one("h100", "h100", fabric_health=SOUND, fabric_health_summary=summary)).title


def test_errors_of_the_past_are_one_remark_for_all_gpus() -> None:
    s = monitored(healthy("h100", "h100", "h100"))
    assert isinstance(s.gpus, tuple)
    counted = (NvLinkErrors(link=2, replay=3, crc=120, crc_climbed=2), NvLinkErrors(link=7, recovery=1))
    s = s.replace({"gpus": (s.gpus[0], *(replace(g, nvlink_errors=counted) for g in s.gpus[1:]))})
    status, _, findings = run(ERRORS, s)
    assert status == "pass" and ids(s) == [] and len(findings) == 1
    assert "GPU 1, GPU 2" in findings[0].title and "6 replays, 2 recoveries, 240 damaged packets" in findings[0].detail


def test_counters_are_judged_by_what_came_in_between() -> None:
    assert run(REPLAYS, one("h100", pcie_replays=4_000_000, pcie_replays_climbed=2))[0] == "pass"
    assert (
        run(
            REPLAYS, one("h100", pcie_replays=4, pcie_replays_climbed=2), Policy(thresholds={"pcie_replays_climbed": 2})
        )[0]
        == "warn"
    )
    crc = (NvLinkErrors(link=0, crc=50, crc_climbed=12),)
    assert run(ERRORS, one("h100", nvlink_errors=crc, counters_apart_ms=100))[0] == "warn"
    assert run(ERRORS, one("h100", nvlink_errors=crc, counters_apart_ms=1000))[0] == "pass"


def test_a_virtual_gpu_has_its_hypervisors_link() -> None:
    assert run(REPLAYS, one("h100", pcie_replays_climbed=50, virtualization_mode=2))[0] == "skipped"


def test_without_root_the_sram_is_unknown_and_says_so() -> None:
    denied = one("h100", sram_threshold_exceeded=Missing("denied", "No permission"))
    for root, words in ((False, "only root can read this (sudo gpudoctor check)"), (True, "only root can read this")):
        status, reason, _ = run("sram-ecc-threshold-exceeded", denied.replace({"host.user_is_root": root}))
        assert status == "unknown" and reason.endswith(words)
    assert ids(one("h100", sram_threshold_exceeded=Missing("denied"))) == []


def test_recovery_actions_by_the_driver_that_says_them() -> None:
    def told(action: int, driver: str) -> tuple[str, list[str]]:
        finding = only("gpu-recovery-action-needed", one_of(driver, recovery_action=action))
        return finding.title, [fix.id for fix in finding.fixes]

    def one_of(driver: str, **facts: Any) -> Snapshot:
        s = monitored(healthy("h100", driver=driver))
        assert isinstance(s.gpus, tuple)
        return s.replace({"gpus": (replace(s.gpus[0], **facts),)})

    for action, driver, words, fixes in (
        (1, "580.82.07", "a reset,", ["reset-gpu", "reboot"]),
        (4, "580.82.07", "a drain and reset", ["reset-gpu", "reboot"]),
        (5, "580.82.07", "a reset of its PCIe bus", ["reboot"]),
        (5, "610.43.02", "its IMEX domain recovered", ["recover-imex"]),
        (5, "595.45.04", "recovery action 5", ["reset-gpu", "reboot"]),
        (6, "615.71.05", "a reset of its PCIe bus", ["reboot"]),
        (7, "615.71.05", "a reboot of the machine", ["reboot"]),
        (42, "615.71.05", "recovery action 42", ["reset-gpu", "reboot"]),
    ):
        title, offered = told(action, driver)
        assert f"needs {words}" in title and offered == fixes, (action, driver, title, offered)
    assert_fix_works(
        one_of("610.43.02", recovery_action=5),
        only("gpu-recovery-action-needed", one_of("610.43.02", recovery_action=5)),
    )
