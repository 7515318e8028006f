"""pcie-link-or-topology-slow, nvlink-inactive, gpu-memory-held-by-stale-process, gpu-memory-in-use."""

from __future__ import annotations

from doctor.snapshot import NOT_ASKED, GpuProcess, Snapshot

from ..healthy import NOT_SUPPORTED
from ..judging import assert_fix_works, ids, run
from ..rows import for_each
from .gpu_readings import NOT_READ, one, only

PCIE, NVLINK, STALE, USED = (
    "pcie-link-or-topology-slow", "nvlink-inactive", "gpu-memory-held-by-stale-process", "gpu-memory-in-use",
)  # fmt: skip


@for_each(
    "facts",
    [
        {"pcie_width": 4},
        {"pcie_width": 8},
        {"pcie_gen": 1, "utilization_percent": 90},
        {"pcie_width": 1, "pcie_gen": 4},
    ],
)
def test_a_poor_link_is_the_only_finding_and_can_be_mended(facts: dict[str, object]) -> None:
    for container in (False, True):
        sick = one("rtx4090", container=container, **facts)
        assert ids(sick) == [PCIE]
        assert only(PCIE, sick).status == "warn"
        assert_fix_works(sick, only(PCIE, sick))


@for_each(
    ("model", "facts"),
    [
        ("h100", {"pcie_gen": 1}),
        ("rtx4090", {"pcie_gen": 1, "utilization_percent": 3}),
        ("rtx4090", {"pcie_width": 16}),
        ("h100", {"name": "NVIDIA GH200 480GB", "pci_device_id": "2342", "pcie_width": 1}),
        ("h100", {"integrated": True, "pcie_width": 1}),
        ("h100", {"virtualization_mode": 2, "pcie_width": 4}),
        (
            "rtx3060",
            {
                "name": "NVIDIA GeForce RTX 4060",
                "pci_device_id": "2882",
                "pci_subsystem_id": NOT_ASKED,
                "memory_total_mib": 8188,
                "pcie_width": 8,
            },
        ),
    ],
)
def test_links_that_are_no_fault(model: str, facts: dict[str, object]) -> None:
    s = one(model, **facts)
    assert run(PCIE, s)[2] == []


def test_a_link_seen_in_a_virtual_machine_or_shared_by_boards_is_a_remark() -> None:
    for s in (
        one("t4", pcie_width=8).replace({"host.virtualization": "amazon"}),
        one("t4", virtualization_mode=1, pcie_width=8),
        one("rtx4090", "rtx4090", pcie_width=8),
        one("t4", pcie_width=8).replace({"host.virtualization": NOT_ASKED}),
    ):
        status, _, findings = run(PCIE, s)
        assert (status, len(findings), ids(s)) == ("pass", 1, [])
    assert run(PCIE, one("h100", "h100", pcie_width=8))[0] == "warn"
    assert run(PCIE, one("rtx4090", "rtx4090", pcie_width=4))[0] == "warn"


@for_each("active", [0, 17])
def test_fewer_links_than_the_peers_is_the_only_finding(active: int) -> None:
    for container in (False, True):
        sick = one(
            "h100", "h100", "h100", container=container, nth=2, nvlink_active=active, nvlink_inactive=18 - active
        )
        assert ids(sick) == [NVLINK]
        assert only(NVLINK, sick).facts == {"nvlink_active": active, "peers": 18}
        assert_fix_works(sick, only(NVLINK, sick))


def links(model: str, *counts: object) -> Snapshot:
    s = one(*([model] * len(counts)))
    assert isinstance(s.gpus, tuple)
    return s.replace({"gpus": tuple(g.with_(nvlink_active=n) for g, n in zip(s.gpus, counts, strict=True))})


def test_links_that_are_equal_by_design_or_absent() -> None:
    assert run(NVLINK, links("h100", 12, 12))[0] == "pass"  # NC H100: 12 of 18 on both
    assert run(NVLINK, links("rtx3060", 4, 4, 0))[0] == "pass"  # two with a bridge, one without
    assert run(NVLINK, links("rtx4090", NOT_SUPPORTED, NOT_SUPPORTED))[0] == "skipped"
    assert run(NVLINK, links("h100", 4))[0] == "skipped"
    assert run(NVLINK, links("h100", 18, NOT_READ))[0] == "unknown"
    assert run(NVLINK, one("h100", "h100", mig_enabled=True, nvlink_active=0))[0] == "pass"


def test_memory_that_nobody_shows_to_hold() -> None:
    sick = one("h100", memory_used_mib=30000)
    assert ids(sick) == [STALE]
    assert_fix_works(sick, only(STALE, sick))
    inside = one("h100", container=True, memory_used_mib=30000)
    assert ids(inside) == [] and "other containers" in only(STALE, inside).detail


@for_each(
    "facts",
    [
        {"memory_used_mib": 480},
        {"memory_used_mib": 30000, "utilization_percent": 1},
        {"memory_used_mib": 1200},
        {"memory_used_mib": 30000, "processes": (GpuProcess(pid=1, kind="graphics"),)},
        {"memory_used_mib": 30000, "mig_enabled": True},
        {"memory_used_mib": 30000, "virtualization_mode": 2},
        {"memory_used_mib": 30000, "integrated": True},
    ],
)
def test_memory_that_has_an_owner_or_says_nothing(facts: dict[str, object]) -> None:
    assert run(STALE, one("h100", **facts))[2] == []


def test_memory_without_its_facts() -> None:
    for name in ("memory_used_mib", "processes", "utilization_percent"):
        assert run(STALE, one("h100", **{name: NOT_READ}))[0] == "unknown"
    assert run(STALE, one("h100", memory_used_mib=30000).replace({"host.wsl": 2}))[0] == "skipped"
    older = one("h100", memory_used_mib=1600, memory_reserved_mib=NOT_SUPPORTED).replace(
        {"torch_run.kernel_ran": NOT_ASKED}
    )
    assert run(STALE, older)[2] == []


def test_memory_in_use_is_a_remark_with_its_holders() -> None:
    s = one("h100", memory_used_mib=70000, processes=(GpuProcess(pid=4711, name="vllm"),))
    assert ids(s) == [] and only(USED, s).detail == "Used by vllm (4711)."
    assert run(USED, one("h100", memory_used_mib=40000, processes=(GpuProcess(pid=1),)))[2] == []
