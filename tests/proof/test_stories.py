"""Whole machines: what the report says of the stories behind `prove` and `watch`, and that healthy GPUs have no finding."""

from __future__ import annotations

import pytest

from doctor.judge.report import MeasuredVerdict, Report
from doctor.snapshot import BatchPoint, CpuScore, Snapshot, known

from ..judging import ids, report
from ..rows import for_each
from .stories import (
    BOARDS,
    UNKNOWN,
    assert_every_fix_is_looked_at_again,
    changed,
    loads,
    machine,
    point,
    proven,
    rates,
    torch_proof,
    watched,
)

SLOW_CORE = CpuScore(
    single_core=34.0, under_load=30.0, cores=1.5, cores_seen=64, model="AMD EPYC 7551", throttled_percent=2.0
)
# Batch: (milliseconds a step, of them the GPU's), host time of a step. A10: 200 steps of batch 256 make the epoch of 1 s.
A10 = ({64: (4.7, 0.45), 256: (5.0, 0.75), 1024: (5.1, 2.3), 4096: (9.4, 9.0), 16384: (40.0, 38.0)}, 4.6)
A5000 = ({64: (9.7, 0.4), 256: (10.0, 0.7), 1024: (10.1, 2.0), 4096: (10.4, 6.9), 16384: (32.0, 31.0)}, 9.6)
# Epochs of 200 steps: 0.85 s both with batch 1024; 1.55 s against 2.2 s with batch 10240.
PRO6000 = ({64: (4.2, 0.2), 1024: (4.25, 0.7), 4096: (4.5, 2.6), 10240: (7.75, 6.9), 16384: (13.0, 12.0)}, 4.1)
RTX3060TI = ({64: (4.2, 0.3), 1024: (4.25, 1.9), 4096: (4.9, 4.5), 10240: (11.0, 10.6), 16384: (20.0, 19.0)}, 4.1)


def sweep(story: tuple[dict[int, tuple[float, float]], float]) -> tuple[BatchPoint, ...]:
    rows, issue = story
    return tuple(point(batch, step, device, issue) for batch, (step, device) in rows.items())


def verdict(done: Report) -> MeasuredVerdict:
    assert done.measured is not None
    return done.measured


def said(done: Report) -> dict[str, str]:
    """Ids of findings and remarks, with their words."""
    return {f.id: f"{f.title} {f.detail}" for f in (*done.findings, *done.remarks)}


def bounds(done: Report) -> dict[int, str]:
    return {row.batch: row.bound for row in verdict(done).batches}


CLEARED = "CUDA compatibility is not the cause: native code for this GPU ran, the results are correct"


def test_a10_waits_for_launches_and_cuda_is_cleared() -> None:
    s = proven("a10", batches=sweep(A10))
    done = report(s)
    assert done.exit_code == 0 and ids(s) == []  # a remark: its core is as fast as usual
    assert "Kernel launches limit NVIDIA A10 up to batch size 1024" in said(done)["launch-bound"]
    assert CLEARED in said(done)["launch-bound"] and "55 % of the peak" in said(done)["launch-bound"]
    assert bounds(done) == {64: "launch", 256: "launch", 1024: "launch", 4096: "compute", 16384: "compute"}
    v = verdict(done)
    assert (v.gpu_path, v.cuda_compatibility, v.crossover_batch) == ("gpu-path-used", "cleared", {"cuda:0": 4096})
    assert v.batches[1].gpu_percent == pytest.approx(15, abs=0.1)


def test_a5000_waits_for_a_slow_core() -> None:
    s = proven("a5000", batches=sweep(A5000), cpu=SLOW_CORE)
    done = report(s)
    assert ids(s) == ["cpu-bound", "launch-bound"] and done.exit_code == 0
    assert done.findings[1].downstream_of == ("cpu-bound",)
    assert "34 million Python operations" in said(done)["cpu-bound"] and CLEARED in said(done)["cpu-bound"]
    assert verdict(done).batches[1].gpu_percent == pytest.approx(7, abs=0.1)
    assert any("faster CPU core would help" in line for line in verdict(done).advice)
    for finding in done.findings:
        assert_every_fix_is_looked_at_again(s, finding)


def test_pro_6000_is_no_faster_than_a_3060_ti_until_the_batch_is_large() -> None:
    big, small = report(proven("pro6000", batches=sweep(PRO6000))), report(proven("3060ti", batches=sweep(RTX3060TI)))
    assert bounds(big)[1024] == bounds(small)[1024] == "launch"
    assert bounds(big)[4096] == "launch" and bounds(small)[4096] == "compute"
    assert verdict(big).crossover_batch == {"cuda:0": 10240} and verdict(small).crossover_batch == {"cuda:0": 4096}
    assert (
        verdict(big).advice[0].startswith("Use a larger batch")
        and "from batch size 10,240 on" in verdict(big).advice[0]
    )
    assert "with the small model measured here" in verdict(big).advice[0]
    assert "A different GPU would not help at these sizes" in said(big)["launch-bound"]
    assert any("CUDA graphs" in line for line in verdict(big).advice)
    assert any(line.startswith("3 training runs in parallel") and "MIG" in line for line in verdict(big).advice)
    for done in (big, small):
        assert done.verdict == "pass" and verdict(done).cuda_compatibility == "cleared"
        assert CLEARED in said(done)["launch-bound"]


@for_each(
    ("board", "busy", "cores", "percent"), [("a10", 15.0, 3.0, 33), ("a5000", 7.0, 1.5, 70), ("pro6000", 16.0, 8.0, 13)]
)
def test_the_same_trainings_watched(board: str, busy: float, cores: float, percent: int) -> None:
    total = cores * percent / 100
    s = watched(
        board, gpu_busy_percent=busy, cores=cores, cpu_cores=total, main_cores=min(1.0, total), gpu_idle_percent=4.0
    )
    done = report(s)
    assert ids(s) == ["cpu-bound"] and done.exit_code == 0
    words = said(done)["cpu-bound"]
    assert f"busy {busy:.0f} %" in words and "A different GPU would not help" in words
    assert "CUDA compatibility is not the cause: the program's kernels ran on the GPU" in words
    assert "gpudoctor prove tells them apart" in words
    v = verdict(done)
    assert (v.gpu_path, v.cuda_compatibility, v.watch_bound) == ("gpu-path-used", "cleared", "cpu")
    assert "larger batch" in v.advice[0]
    assert_every_fix_is_looked_at_again(s, done.findings[0])


@for_each("board", BOARDS)
def test_a_well_fed_gpu_has_no_finding(board: str) -> None:
    s = proven(board)
    done = report(s)
    assert ids(s) == [] and done.verdict == "pass"
    v = verdict(done)
    assert (v.gpu_path, v.cuda_compatibility, v.crossover_batch) == ("gpu-path-used", "cleared", {"cuda:0": 64})
    assert {row.kind for row in v.expected} == {"matmul", "memory", "copy"}
    assert any("a faster GPU would help" in line for line in v.advice)
    unknown = [c.id for c in done.checks if c.status == "unknown" and c.id in MEASURED]
    assert unknown == [] and not said(done).keys() & MEASURED


@for_each("board", ["h100", "3090"])
def test_a_well_fed_run_has_no_finding(board: str) -> None:
    s = watched(board)
    assert ids(s) == [] and verdict(report(s)).watch_bound == "gpu"


def test_a_run_beside_others_is_not_said_to_fill_the_gpu() -> None:
    shared = report(watched("h100", gpu_busy_by="device", others_on_gpu=1)).measured
    alone = report(watched("h100", gpu_busy_by="process", others_on_gpu=1)).measured
    assert shared is not None and alone is not None
    assert (shared.watch_bound, alone.watch_bound) == ("unclear", "gpu")
    assert "all programs on it together" in shared.gpu_path_reason and shared.cuda_compatibility == "unknown"
    assert "kept a GPU busy" in alone.gpu_path_reason and alone.cuda_compatibility == "cleared"


def test_a_run_without_a_gpu_says_nothing_of_cuda() -> None:
    done = report(watched("h100", uses_gpu=False)).measured
    assert done is not None
    assert (done.gpu_path, done.cuda_compatibility, done.watch_reason) == (
        "gpu-path-unused",
        "unknown",
        "it used no GPU, and its process continuously used 1.0 cores",
    )


MEASURED = {
    "gpu-path-unused", "gpu-wrong-results", "ptx-jit-first-launch", "matmul-below-range", "memory-bandwidth-below-range",
    "h2d-below-range", "power-capped", "thermally-throttled", "cpu-bound", "launch-bound", "dataloader-bound",
    "memory-model-off", "collective-failed", "gpu-results-not-repeatable",
    "gpu-results-suspect", "gpu-slower-than-siblings",
}  # fmt: skip


@for_each("s", [machine("h100"), machine(UNKNOWN), Snapshot()], ids=["known", "unlisted", "empty"])
def test_without_measurements_all_of_them_are_skipped(s: Snapshot) -> None:
    done = report(s)
    found = {c.id: (c.status, c.reason) for c in done.checks if c.id in MEASURED}
    assert found.keys() == MEASURED and done.measured is None
    one_gpu = {"collective-failed", "gpu-slower-than-siblings"}  # where one GPU is all there is, they do not apply
    assert {found[name] for name in MEASURED - one_gpu} == {("skipped", "nothing was measured; run gpudoctor prove")}
    assert {found[name][0] for name in one_gpu} == {"skipped"}


@for_each("board", ["h200", "4090"])
def test_at_its_default_power_limit_a_gpu_is_healthy(board: str) -> None:
    b = BOARDS[board]
    s = proven(b, loads=loads(b, reasons_percent={"power-cap": 88.0}, clock_sm_mhz=1400.0), rates=rates(b, speed=0.75))
    done = report(s)
    assert ids(s) == []
    assert "normal" in said(done)["power-capped"] and "default power limit" in said(done)["matmul-below-range"]
    assert verdict(done).cuda_compatibility == "cleared"
    far = report(proven(b, loads=(), rates=rates(b, speed=0.2)))
    assert (
        verdict(far).cuda_compatibility == "unknown"
        and "slower than they should be" in verdict(far).cuda_compatibility_reason
    )


def test_a_gpu_capped_at_sixty_percent() -> None:
    b = BOARDS["h100"]
    s = proven(
        b,
        loads=loads(b, reasons_percent={"power-cap": 97.0}, power_limit_w=420.0, clock_sm_mhz=1200.0),
        rates=rates(b, speed=0.72),
    )
    assert isinstance(s.gpus, tuple)
    s = s.replace({"gpus": (s.gpus[0].with_(power_limit_w=420.0),)})
    done = report(s)
    assert ids(s) == ["power-limit-lowered", "power-capped"] and done.exit_code == 0
    assert done.findings[1].downstream_of == ("power-limit-lowered",) and "60 %" in done.findings[1].title
    assert_every_fix_is_looked_at_again(s, done.findings[1])


def test_a_gpu_slowed_by_heat_explains_its_slow_products() -> None:
    b = BOARDS["3090"]
    hot = loads(b, reasons_percent={"sw-thermal": 64.0}, clock_sm_mhz=900.0, temperature_max_c=86)
    s = proven(b, loads=hot, rates=rates(b, speed=0.5))
    done = report(s)
    assert ids(s) == ["thermally-throttled", "matmul-below-range"] and done.exit_code == 0
    assert done.findings[1].downstream_of == ("thermally-throttled",)
    assert "Heat slowed the GPU down" in done.findings[1].detail
    hard = changed(s, loads=loads(b, reasons_percent={"hw-thermal": 64.0}))
    assert ids(hard)[0] == "thermally-throttled" and report(hard).exit_code == 1


def test_a_link_of_four_lanes() -> None:
    b = BOARDS["4090"]
    s = proven(b, loads=loads(b, pcie_width=4), rates=rates(b, h2d=0.24))
    done = report(s)
    assert ids(s) == ["h2d-below-range"] and done.exit_code == 0
    assert "generation 4 with 4 lanes" in done.findings[0].detail and "with 16" in done.findings[0].detail
    assert_every_fix_is_looked_at_again(s, done.findings[0])
    assert isinstance(s.gpus, tuple)
    both = s.replace({"gpus": (s.gpus[0].with_(pcie_width=4),)})
    assert ids(both) == ["pcie-link-or-topology-slow", "h2d-below-range"]


def test_a_busy_gpu_has_no_finding_of_slowness() -> None:
    for busy, words in (
        ({"torch": (torch_proof(BOARDS["h100"], busy=True),)}, "was working on this GPU"),
        ({"loads": loads(BOARDS["h100"], others=1)}, "also has a context on this GPU"),
    ):
        s = proven("h100", rates=rates(BOARDS["h100"], speed=0.4, memory=0.4, h2d=0.4), **busy)
        done = report(s)
        assert ids(s) == []
        for name in ("matmul-below-range", "memory-bandwidth-below-range", "h2d-below-range"):
            assert f"Another program {words}" in said(done)[name]
        assert verdict(done).cuda_compatibility == "cleared"


def test_an_unlisted_gpu_is_unknown_with_its_figures() -> None:
    s = proven(UNKNOWN, machine(UNKNOWN))
    done = report(s)
    assert ids(s) == []
    for name, figure in (
        ("matmul-below-range", "bf16 300 TFLOP/s"),
        ("memory-bandwidth-below-range", "1300 GB/s"),
        ("h2d-below-range", "from pinned host memory 50.0 GB/s"),
    ):
        result = next(c for c in done.checks if c.id == name)
        assert result.status == "unknown" and figure in result.reason and "not listed" in result.reason
    assert verdict(done).expected == () and verdict(done).cuda_compatibility == "cleared"


@for_each("speed", [1.0, 0.3])
def test_a_mig_slice_is_held_against_its_share(speed: float) -> None:
    """1g.10gb of an H100: 16 of 132 SMs, an eighth of the memory."""
    from doctor.snapshot import MigInstance

    b = BOARDS["h100"]
    s = machine(b)
    assert isinstance(s.gpus, tuple)
    child = MigInstance(uuid="MIG-0a0b0c0d-0000-4000-8000-00000000000a", name="MIG 1g.10gb", memory_total_mib=9984)
    s = s.replace({"gpus": (s.gpus[0].with_(mig_enabled=True, mig_instances=(child,)),)})
    proof = torch_proof(b, name="NVIDIA H100 80GB HBM3 MIG 1g.10gb", key="GPU-0a0b0c0d-0000-4000-8000-00000000000a")
    s = proven(b, s, torch=(proof,), loads=(), rates=rates(b, speed=0.13 * speed, memory=0.125 * speed, h2d=0.5))
    done = report(s)
    assert ids(s) == ([] if speed == 1.0 else ["matmul-below-range", "memory-bandwidth-below-range"])
    assert done.exit_code == 0  # a share of a peak never fails
    h2d = next(c for c in done.checks if c.id == "h2d-below-range")
    assert h2d.status == "unknown" and "MIG" in h2d.reason
    if speed < 1:
        assert "1g.10gb" in done.findings[0].title


def test_judged_again_from_its_json() -> None:
    """A saved report holds the measurements: the same verdict without a GPU."""
    import msgspec

    s = proven("a5000", batches=sweep(A5000), cpu=SLOW_CORE)
    again = msgspec.json.decode(msgspec.json.encode(s), type=Snapshot)
    assert again == s and verdict(report(again)) == verdict(report(s)) and ids(again) == ids(s)


def test_a_redacted_report_is_judged_alike() -> None:
    from doctor.snapshot.redact import Redactor

    s = proven("a5000", batches=sweep(A5000), cpu=SLOW_CORE)
    redactor = Redactor()
    redactor.learn(s)
    masked: Snapshot = redactor.value(s)
    assert masked.measured.torch != s.measured.torch  # the key is masked
    assert verdict(report(masked)) == verdict(report(s)) and ids(masked) == ids(s)
    proofs = known(masked.measured.torch)
    assert proofs and isinstance(masked.gpus, tuple) and proofs[0].key == masked.gpus[0].key


def test_of_a_sick_or_shared_gpu_no_speed_is_advised() -> None:
    board = BOARDS["3090"]
    wrong = report(proven(board, torch=(torch_proof(board, right=False, matmul_error=0.3),)))
    assert verdict(wrong).gpu_path == "gpu-wrong-results" and verdict(wrong).advice == ()
    shared = report(proven(board, loads=loads(board, others=1)))
    assert not any("faster GPU would help" in line for line in verdict(shared).advice)
    assert any("faster GPU would help" in line for line in verdict(report(proven(board))).advice)


@for_each(("busy", "words"), [(20.0, "waited for something else"), (65.0, "take turns")])
def test_a_run_that_nothing_bounds_gets_a_hint(busy: float, words: str) -> None:
    done = report(watched("h100", gpu_busy_percent=busy, main_cores=0.3, cpu_cores=0.4, busiest_thread=0.3))
    assert verdict(done).watch_bound == "unclear" and words in verdict(done).advice[0]
