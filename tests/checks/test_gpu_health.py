"""Readings of each GPU: memory faults, pending resets, ECC, persistence; and what all readings have in common."""

from __future__ import annotations

from typing import Any

from doctor.findings import Policy
from doctor.snapshot import NOT_ASKED, Missing, Snapshot

from ..healthy import MODELS, NOT_SUPPORTED, healthy
from ..judging import assert_fix_works, ids, report, run
from ..rows import for_each
from .gpu_readings import NOT_READ, at_work, monitored, one, only

ECC, PENDING, ACTION = "gpu-hardware-ecc-fault", "row-remap-pending", "gpu-recovery-action-needed"
READINGS = (
    ECC, PENDING, ACTION, "ecc-disabled", "persistence-mode-off", "gpu-too-hot", "gpu-power-or-thermal-limited",
    "power-limit-lowered", "pcie-link-or-topology-slow", "nvlink-inactive", "gpu-memory-held-by-stale-process",
    "gpu-memory-in-use", "sram-ecc-threshold-exceeded", "nvlink-fabric-unhealthy", "nvlink-errors-climbing",
    "pcie-replays-climbing",
)  # fmt: skip
STATES = {ECC: "ecc_uncorrected_volatile", PENDING: "row_remap_pending", ACTION: "recovery_action",
          "ecc-disabled": "ecc_enabled", "persistence-mode-off": "persistence_mode",
          "gpu-power-or-thermal-limited": "clock_event_reasons", "power-limit-lowered": "power_limit_w",
          "pcie-link-or-topology-slow": "pcie_width", "gpu-memory-in-use": "memory_used_mib",
          "gpu-memory-held-by-stale-process": "memory_used_mib",
          "sram-ecc-threshold-exceeded": "sram_threshold_exceeded", "nvlink-fabric-unhealthy": "fabric_health",
          "nvlink-errors-climbing": "nvlink_errors", "pcie-replays-climbing": "pcie_replays_climbed"}  # fmt: skip


@for_each("model", sorted(MODELS))
@for_each("container", [False, True])
def test_a_healthy_gpu_has_no_finding_idle_or_at_work(model: str, container: bool) -> None:
    idle = monitored(healthy(model, model, container=container))
    for s in (idle, at_work(idle)):
        assert not set(ids(s)) & set(READINGS)
        statuses = {c.id: c.status for c in report(s).checks if c.id in READINGS}
        assert set(statuses.values()) <= {"pass", "skipped"}


def test_every_reading_passes_where_it_is_given() -> None:
    statuses = {c.id: c.status for c in report(monitored(healthy("h100", "h100"))).checks if c.id in READINGS}
    assert statuses == dict.fromkeys(READINGS, "pass")


@for_each("check_id", READINGS)
def test_unknown_without_a_list_of_gpus_and_skipped_with_an_empty_one(check_id: str) -> None:
    assert run(check_id, healthy().replace({"gpus": NOT_ASKED}))[0] == "unknown"
    assert run(check_id, healthy().replace({"gpus": ()}))[0] == "skipped"


@for_each("check_id", sorted(STATES))
def test_a_reading_that_failed_is_unknown_and_one_that_no_gpu_has_is_skipped(check_id: str) -> None:
    assert run(check_id, one("h100", **{STATES[check_id]: NOT_READ}))[0] == "unknown"
    none_of_it: dict[str, Any] = dict.fromkeys(
        (
            "ecc_uncorrected_volatile",
            "row_remap_pending",
            "row_remap_failed",
            "remapped_rows_uncorrectable",
            "retired_pages",
            "retired_pages_pending",
            "recovery_action",
            "ecc_enabled",
            "persistence_mode",
            "clock_event_reasons",
            "power_limit_w",
            "power_default_w",
            "pcie_width",
            "pcie_width_max",
            "pcie_gen",
            "pcie_gen_max",
            "memory_used_mib",
            "processes",
            "utilization_percent",
            "sram_threshold_exceeded",
            "fabric_health",
            "nvlink_errors",
            "pcie_replays_climbed",
        ),
        NOT_SUPPORTED,
    )
    assert run(check_id, one("h100", **none_of_it))[0] == "skipped"


@for_each("container", [False, True])
@for_each(
    ("check_id", "facts"),
    [
        (ECC, {"row_remap_failed": True}),
        (ECC, {"remapped_rows_uncorrectable": 512}),
        (ECC, {"retired_pages": 63}),
        (ECC, {"ecc_uncorrected_volatile": 1}),
        (ECC, {"memory_unrepairable": True}),
        (PENDING, {"row_remap_pending": True}),
        (PENDING, {"retired_pages_pending": True}),
        (ACTION, {"recovery_action": 1}),
        (ACTION, {"recovery_action": 2}),
        (ACTION, {"recovery_action": 9}),
        ("sram-ecc-threshold-exceeded", {"sram_threshold_exceeded": True}),
    ],
)
def test_a_fault_is_the_only_finding_names_its_gpu_and_can_be_mended(
    check_id: str, facts: dict[str, object], container: bool
) -> None:
    sick = one("h100", "h100", container=container, nth=1, **facts)
    assert ids(sick) == [check_id]
    finding = only(check_id, sick)
    assert finding.status == "fail" and isinstance(sick.gpus, tuple) and finding.subject == sick.gpus[1].key
    assert finding.fixes[0].possible_here
    assert_fix_works(sick, finding)


def test_one_memory_error_is_told_once() -> None:
    sick = one("h100", ecc_uncorrected_volatile=1, row_remap_pending=True, recovery_action=1)
    findings = report(sick).findings
    assert [f.id for f in findings] == [ECC, ACTION, PENDING]
    assert all(f.downstream_of for f in findings[1:])


def test_thresholds_are_the_policys() -> None:
    few = one("v100", retired_pages=10)
    assert run(ECC, few)[0] == "pass"
    assert run(ECC, few, Policy(thresholds={"retired_pages": 10}))[0] == "fail"


def test_a_reboot_is_not_answered_with_a_reset() -> None:
    assert [fix.id for fix in only(ACTION, one("h100", recovery_action=2)).fixes] == ["reboot"]


@for_each(("model", "said"), [("h100", 1), ("t4", 1), ("rtx4090", 0)])
def test_ecc_off_is_a_remark_on_data_center_boards_only(model: str, said: int) -> None:
    off = one(model, ecc_enabled=False, ecc_pending=False)
    status, _, findings = run("ecc-disabled", off)
    assert status in ("pass", "skipped") and len(findings) == said and ids(off) == []
    assert not any("after the next" in f.title for f in findings)


def test_ecc_that_changes_with_the_next_reset() -> None:
    assert "off after the next reset" in only("ecc-disabled", one("h100", ecc_pending=False)).title
    assert run("ecc-disabled", one("h100", ecc_pending=Missing("absent")))[2] == []


def test_persistence_off_is_one_remark_for_all() -> None:
    s = one("l4", "l4", "l4", persistence_mode=False)
    assert ids(s) == [] and only("persistence-mode-off", s).facts["indices"] == [0]
    assert run("persistence-mode-off", s.replace({"host.wsl": 2}))[0] == "skipped"


def test_branch_end_is_a_remark_judged_by_the_day() -> None:
    def remarks(s: Snapshot, day: str) -> int:
        return len(run("driver-branch-ended", s, Policy(judged_on=day))[2])

    old = healthy(driver="535.288.01", cuda="12.2")
    assert (remarks(old, "2026-11-20"), remarks(old, "2023-11-20")) == (1, 0)
    assert ids(old) == []
    assert run("driver-branch-ended", old, Policy())[0] == "skipped"
    assert run("driver-branch-ended", healthy(driver="999.10"))[0] == "unknown"
    assert (
        run(
            "driver-branch-ended",
            healthy().replace({"driver.kernel_version": NOT_ASKED, "driver.nvml_driver_version": NOT_ASKED}),
        )[0]
        == "unknown"
    )
