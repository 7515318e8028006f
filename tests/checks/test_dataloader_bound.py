"""dataloader-bound: workers, disk, and batches that one thread draws."""

from __future__ import annotations

from typing import Any

from doctor.findings import Policy
from doctor.snapshot import NOT_ASKED, CpuScore, Missing, Rate, Snapshot

from ..judging import ids, report, run
from ..proof.stories import BOARDS, assert_every_fix_is_looked_at_again, point, proven, rates, watched
from ..rows import for_each

ID = "dataloader-bound"
IDLE = {"gpu_busy_percent": 30.0, "main_cores": 0.3, "workers": 4, "workers_cores": 3.9, "cpu_cores": 4.2}


def loader(*figures: tuple[int, float], cores: float = 16.0, **more: Any) -> Snapshot:
    b = BOARDS["a10"]
    rest = tuple(r for r in rates(b) if r.kind != "loader")
    own = tuple(Rate(kind="loader", device="cuda:0", what=str(n), value=v, unit="samples/s") for n, v in figures)
    return proven(b, rates=(*rest, *own), cpu=CpuScore(single_core=80.0, cores=cores), **more)


@for_each(
    ("watch", "status", "words"),
    [
        ({}, "warn", "its loader workers"),
        ({"workers_cores": 1.0, "cpu_cores": 1.3}, "pass", ""),
        ({"workers": 16, "workers_cores": 7.2, "cpu_cores": 7.5}, "warn", "its loader workers"),  # eight cores for all
        ({"gpu_busy_percent": 85.0}, "pass", ""),
        ({"blocked_percent": 40.0, "workers": 0}, "warn", "its disk"),
        ({"workers": Missing("denied"), "workers_cores": Missing("denied")}, "pass", ""),
    ],
)
def test_a_watched_run(watch: dict[str, Any], status: str, words: str) -> None:
    s = watched("a10", **{**IDLE, **watch})
    got, _, findings = run(ID, s)
    assert got == status and ids(s) == ([ID] if status == "warn" else [])
    for finding in findings:
        assert words in finding.title and "CUDA compatibility is not the cause" in finding.detail
        assert_every_fix_is_looked_at_again(s, finding)
        done = report(s).measured
        assert done is not None and done.watch_bound == "dataloader" and "would help" in done.advice[0]


@for_each(
    ("figures", "cores", "status"),
    [
        (((0, 900), (1, 900), (8, 6000)), 16.0, "pass"),
        (((0, 900), (1, 900), (8, 1300)), 16.0, "warn"),
        (((0, 900), (1, 900), (8, 1300)), 2.0, "pass"),  # two cores cannot give more
        (((0, 900), (1, 900)), 16.0, "pass"),
        (((0, 900), (2, 300)), 16.0, "pass"),
    ],
)
def test_workers_that_do_not_add_up(figures: tuple[tuple[int, float], ...], cores: float, status: str) -> None:
    s = loader(*figures, cores=cores)
    assert run(ID, s)[0] == status and ids(s) == ([ID] if status == "warn" else [])
    for finding in run(ID, s)[2]:
        assert "1.4 times as fast as one" in finding.title
        assert_every_fix_is_looked_at_again(s, finding)
    assert run(ID, s, Policy(thresholds={"loader_scaling_percent": 1}))[0] == "pass"


@for_each(("batch", "status"), [(1024, "warn"), (16384, "pass")])
def test_batches_drawn_slower_than_computed(batch: int, status: str) -> None:
    rows = tuple(
        point(b, *((20.0, 3.0, 2.0) if b >= batch else (3.2, 3.0, 2.0)), load_ms=18.0 if b >= batch else 0.1)
        for b in (256, 1024, 4096, 16384)
    )
    s = proven("a10", batches=rows)
    got, _, findings = run(ID, s)
    assert (got, len(findings)) == (status, 1) and f"From batch size {batch} on" in findings[0].title
    assert_every_fix_is_looked_at_again(s, findings[0])


def test_missing_measurements() -> None:
    assert run(ID, proven("a10", batches=NOT_ASKED, rates=NOT_ASKED))[0] == "skipped"
    assert run(ID, proven("a10", batches=Missing("timeout"), rates=()))[0] == "unknown"
    assert run(ID, proven("a10", device="cpu"))[0] == "skipped"
    assert run(ID, loader((1, 900), (8, 6000), batches=NOT_ASKED))[0] == "pass"  # the loader alone was measured
