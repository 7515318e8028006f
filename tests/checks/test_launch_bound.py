"""launch-bound: which batches wait for launches, and from which on the GPU sets the time."""

from __future__ import annotations

from doctor.snapshot import NOT_ASKED, BatchPoint, CpuScore, Missing, Rate

from ..judging import ids, report, run
from ..proof.stories import BOARDS, WELL_FED, assert_every_fix_is_looked_at_again, point, proven, rates, watched
from ..rows import for_each

ID = "launch-bound"


def sweep(*device_ms: float, issue: float = 4.0) -> tuple[BatchPoint, ...]:
    return tuple(point(64 * 4**i, max(issue, d), d, issue) for i, d in enumerate(device_ms))


def test_a_well_fed_gpu_passes() -> None:
    assert run(ID, proven("h200", batches=WELL_FED)) == ("pass", "", [])


@for_each(
    ("device_ms", "up_to", "crossover"),
    [((0.2, 0.3, 0.8, 5.0, 20.0), 1024, 4096), ((0.2, 5.0, 20.0), 64, 256), ((0.1, 0.2, 0.4, 0.9), 4096, None)],
)
def test_small_batches_are_a_remark_with_the_crossover(
    device_ms: tuple[float, ...], up_to: int, crossover: int | None
) -> None:
    s = proven("h200", batches=sweep(*device_ms))
    status, _, findings = run(ID, s)
    assert (status, len(findings), ids(s)) == ("pass", 1, [])
    assert f"up to batch size {up_to}" in findings[0].title and findings[0].facts["crossover_batch"] == crossover
    assert (f"From batch size {crossover} on" in findings[0].detail) is (crossover is not None)
    done = report(s).measured
    assert done is not None and done.crossover_batch == ({"cuda:0": crossover} if crossover else {})
    assert_every_fix_is_looked_at_again(s, findings[0])


def test_a_watched_program_with_gaps_and_one_full_thread() -> None:
    s = watched("h200", gpu_busy_percent=62.0)
    status, _, (finding,) = run(ID, s)
    assert (status, ids(s)) == ("pass", []) and finding.title.startswith("python launches kernels more slowly")
    assert "62 % of the time" in finding.detail and finding.fixes[1].id == "fewer-launches"
    assert run(ID, watched("h200", gpu_busy_percent=62.0, busiest_thread=0.4))[0] == "skipped", "in turn: not examined"
    assert run(ID, watched("h200")) == ("pass", "", [])


def test_a_batch_beyond_the_sweep_is_drawn_on() -> None:
    finding = run(ID, proven("h200", batches=sweep(0.1, 0.2, 0.4, 0.9)))[2][0]
    assert (
        "No batch size up to 4096 fills the GPU; by extrapolation, about 23000 would" in finding.detail
    )  # 0.5 ms for each 3072: 4 ms at 23142
    assert finding.fixes[0].id == "larger-batch" and "23000" in finding.fixes[0].steps[0].text


def test_a_crossover_that_does_not_last_is_none() -> None:
    """The largest batch waits for its data again: no batch is the one from which on the GPU sets the time."""
    rows = (*sweep(0.2, 5.0, 20.0), point(4096, 200.0, 40.0, 4.0, load_ms=190.0))
    done = report(proven("h200", batches=rows)).measured
    assert done is not None and done.crossover_batch == {}
    assert [row.bound for row in done.batches] == ["launch", "compute", "compute", "dataloader"]


def test_a_slow_host_makes_it_a_warning() -> None:
    s = proven("h200", batches=sweep(0.2, 0.3, 0.8, 30.0, issue=9.0), cpu=CpuScore(single_core=30.0))
    assert ids(s) == ["cpu-bound", ID] and report(s).exit_code == 0


def test_python_between_few_launches_is_no_launching() -> None:
    """Five kernels in 4 ms: Python does other work; as a graph it would take as long."""
    rows = tuple(point(b, 4.0, 0.1, 3.9, launches=5, graph_ms=4.0) for b in (64, 256, 1024))
    s = proven("h200", batches=rows)
    done = report(s).measured
    assert done is not None and {row.bound for row in done.batches} == {"cpu"}
    assert run(ID, s)[2] == []


@for_each(("flops", "least_bytes", "bound"), [(1e12, 1e9, "compute"), (1e9, 1e9, "memory"), (0, 0, "compute")])
def test_memory_or_arithmetic_by_the_measured_ridge(flops: float, least_bytes: float, bound: str) -> None:
    done = report(proven("h200", batches=(point(1024, 9.0, 8.9, 1.0, flops=flops, bytes=least_bytes),))).measured
    assert done is not None and done.batches[0].bound == bound


@for_each(("device", "issue", "bound"), [(4.0, 3.0, "compute"), (3.0, 4.0, "launch"), (4.6, 5.0, "compute")])
def test_the_slower_of_host_and_device_bounds_a_step(device: float, issue: float, bound: str) -> None:
    """Also where they overlap badly, and a step of 6 ms is longer than either; 77 % of it is work enough."""
    done = report(proven("h200", batches=(point(1024, 6.0, device, issue, copy_ms=0.0, load_ms=0.1),))).measured
    assert done is not None and done.batches[0].bound == bound


def test_a_slow_link_bounds_by_copies() -> None:
    done = report(proven("h200", batches=(point(4096, 30.0, 4.0, 3.0, copy_ms=26.0),))).measured
    assert done is not None and done.batches[0].bound == "copy"


def test_several_at_once_only_where_it_gains() -> None:
    b = BOARDS["h200"]
    rest = tuple(r for r in rates(b) if r.kind != "copies")
    for second, told in ((260e3, False), (470e3, True)):
        copies = tuple(
            Rate(kind="copies", device="cuda:0", what=n, value=v, unit="samples/s")
            for n, v in (("1", 240e3), ("2", second))
        )
        done = report(proven(b, rates=(*rest, *copies))).measured
        assert done is not None and any("training runs in parallel" in line for line in done.advice) is told


def test_missing_measurements() -> None:
    assert run(ID, proven("h200", batches=NOT_ASKED))[0] == "skipped"
    assert run(ID, proven("h200", batches=Missing("error", "out of memory")))[0] == "unknown"
    status, reason, _ = run(ID, watched("h200", gpu_busy_percent=9.0))
    assert status == "skipped" and "gpudoctor prove" in reason
