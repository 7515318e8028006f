"""cpu-bound: a slow host where the GPU waits for it, and a watched run that one core bounds."""

from __future__ import annotations

from typing import Any

from doctor.findings import Policy
from doctor.snapshot import NOT_ASKED, BatchPoint, CpuScore, EnvVar, Missing, Snapshot

from ..judging import ids, report, run
from ..proof.stories import (
    FAST_CORE,
    KEY,
    WELL_FED,
    assert_every_fix_is_looked_at_again,
    machine,
    point,
    proven,
    watched,
)
from ..rows import for_each

ID = "cpu-bound"
SLOW = CpuScore(single_core=30.0, cores=16.0)


def waiting(issue_ms: float, **more: Any) -> tuple[BatchPoint, ...]:
    """A sweep whose batches up to 1024 wait for the host."""
    return tuple(
        point(b, max(issue_ms, d) * 1.02, d, issue_ms, **more)
        for b, d in ((64, 0.2), (256, 0.4), (1024, 1.1), (16384, 60.0))
    )


@for_each(
    ("cpu", "issue_ms", "status"),
    [
        (FAST_CORE, 4.0, "pass"),
        (SLOW, 9.0, "warn"),
        (FAST_CORE, 9.0, "warn"),
        (None, 9.0, "warn"),
        (None, 4.0, "pass"),
        (SLOW, 2.0, "pass"),  # a slow score, and launches as quick as any
        (CpuScore(single_core=80.0, throttled_percent=40.0), 4.0, "warn"),
        (CpuScore(single_core=Missing("error")), 4.0, "pass"),
    ],
)
def test_a_slow_host(cpu: CpuScore | None, issue_ms: float, status: str) -> None:
    s = proven("3090", cpu=cpu, batches=waiting(issue_ms))
    got, _, findings = run(ID, s)
    assert got == status and ids(s) == ([ID, "launch-bound"] if status == "warn" else [])
    for finding in findings:
        assert finding.subject == KEY and "A different GPU would not help" in finding.detail
        assert_every_fix_is_looked_at_again(s, finding)


def test_a_gpu_that_has_work_does_not_wait_for_a_slow_core() -> None:
    assert run(ID, proven("3090", cpu=SLOW, batches=WELL_FED)) == ("pass", "", [])


def test_old_python_is_slower_at_the_score() -> None:
    """The same core, the same work, by what each version reached on one machine: the same verdict."""
    reached = {"3.8.18": 0.72, "3.9.18": 0.68, "3.10.13": 0.75, "3.11.7": 1.0, "3.12.1": 0.79, "3.13.0": 0.81}
    s = proven("3090", batches=waiting(5.0))
    assert s.python.patient is not None
    for core, status in ((38.0, "warn"), (50.0, "pass")):
        for version, factor in reached.items():
            cpu = CpuScore(single_core=core * factor)
            under = s.replace({"python.patient": s.python.patient.with_(version=version), "measured.cpu": cpu})
            assert run(ID, under)[0] == status, (version, core)


def test_launches_of_a_python_with_slow_calls_may_take_longer() -> None:
    s = proven("3090", cpu=FAST_CORE, batches=waiting(7.5))  # 34 us a kernel
    assert s.python.patient is not None
    for version, status in (
        ("3.8.18", "pass"),
        ("3.11.7", "warn"),
        ("3.13.0", "warn"),
        ("3.15.0", "warn"),
        ("", "warn"),
    ):
        assert run(ID, s.replace({"python.patient": s.python.patient.with_(version=version)}))[0] == status, version


def test_thresholds_are_the_policys() -> None:
    s = proven("3090", cpu=SLOW, batches=waiting(9.0))
    assert run(ID, s, Policy(thresholds={"single_core_mops": 20, "host_us_per_kernel": 60}))[0] == "pass"
    assert run(ID, proven("3090", batches=waiting(4.0)), Policy(thresholds={"host_us_per_kernel": 10}))[0] == "warn"


def test_what_else_slows_the_core_is_told() -> None:
    cpu = CpuScore(
        single_core=30.0, under_load=9.0, cores=2.0, mhz=1200.0, mhz_max=3600.0, throttled_percent=55.0, model="Xeon"
    )
    detail = run(ID, proven("3090", cpu=cpu, batches=waiting(9.0)))[2][0].detail
    assert "55 %" in detail and "30 % of its speed" in detail and "1200 of 3600 MHz" in detail


def test_a_variable_that_makes_launches_wait_is_the_cause() -> None:
    s = machine("3090", environment=(EnvVar("CUDA_LAUNCH_BLOCKING", "1"),))
    done = report(proven("3090", s, batches=waiting(9.0)))
    assert [f.id for f in done.findings] == ["environment-variable-breaks-cuda", ID, "launch-bound"]
    assert done.findings[1].downstream_of == ("environment-variable-breaks-cuda",)


@for_each(
    ("watch", "status"),
    [
        ({"gpu_busy_percent": 12.0}, "warn"),
        ({"gpu_busy_percent": 60.0}, "pass"),
        ({"gpu_busy_percent": 95.0}, "pass"),
        ({"gpu_busy_percent": 12.0, "main_cores": 0.4, "cpu_cores": 0.4}, "pass"),
        ({"gpu_busy_percent": 12.0, "main_cores": 0.4, "cpu_cores": 7.8}, "warn"),  # all eight cores
        ({"gpu_busy_percent": 12.0, "main_cores": 7.0, "cpu_cores": 7.0}, "warn"),
        ({"gpu_busy_percent": 12.0, "main_cores": Missing("denied"), "busiest_thread": 0.98}, "warn"),
        ({"gpu_busy_percent": 12.0, "main_cores": Missing("denied"), "busiest_thread": 0.3}, "pass"),
    ],
)
def test_a_watched_run(watch: dict[str, Any], status: str) -> None:
    s = watched("a10", **watch)
    got, _, findings = run(ID, s)
    assert got == status and ids(s) == ([ID] if status == "warn" else [])
    for finding in findings:
        assert ("one processor core" in finding.title) is (watch.get("main_cores") != 7.0)
        assert_every_fix_is_looked_at_again(s, finding)


def test_missing_measurements() -> None:
    assert run(ID, proven("3090", batches=NOT_ASKED))[0] == "skipped"
    assert run(ID, proven("3090", batches=Missing("timeout")))[0] == "unknown"
    assert run(ID, watched("3090", uses_gpu=False))[0] == "skipped"
    cpu_alone = tuple(BatchPoint(device="cpu", batch=b, step_ms=9.0) for b in (64, 256))
    assert run(ID, proven("3090", device="cpu", batches=cpu_alone))[0] == "skipped"


def test_a_sweep_without_times_of_the_device() -> None:
    """Old torch without a profiler: what does not grow with the batch is the host's."""
    rows = tuple(
        BatchPoint(device="cuda:0", batch=b, step_ms=ms) for b, ms in ((64, 9.0), (256, 9.1), (1024, 9.3), (4096, 33.0))
    )
    done = report(proven("3090", cpu=SLOW, batches=rows))
    assert done.measured is not None
    assert [row.bound for row in done.measured.batches] == ["launch", "launch", "launch", "compute"]
    assert done.measured.crossover_batch == {"cuda:0": 4096}
    assert [f.id for f in done.findings] == [ID, "launch-bound"]


def test_without_a_sweep_of_another_gpu() -> None:
    empty: Snapshot = proven("3090", batches=())
    assert run(ID, empty)[0] == "skipped"


def test_a_core_that_others_had_is_told() -> None:
    busy = watched("a10", gpu_busy_percent=15.0, main_cores=0.45, cores=3.0, core_wait_percent=52.0)
    status, _, found = run("cpu-bound", busy)
    assert status == "warn" and "waited for a core 52 % of the time" in found[0].detail
    free = watched("a10", gpu_busy_percent=15.0, main_cores=0.45, cores=3.0, core_wait_percent=5.0)
    assert run("cpu-bound", free)[0] != "warn"
