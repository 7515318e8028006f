"""What was measured in part, or low in one place only, is neither sound nor excused as a whole."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from doctor.findings.watched_run import watched
from doctor.snapshot import Load, Measured, Rate, Snapshot, StepEnd, Watch, known

from ..judging import report, run
from ..proof.stories import BOARDS, changed, load, loads, proven
from .test_gpu_slower_than_siblings import eight


def scaled(s: Snapshot, share: Callable[[Rate], float]) -> Snapshot:
    return changed(s, rates=tuple(replace(r, value=r.value * share(r)) for r in known(s.measured.rates) or ()))


def test_slow_copies_to_the_host_are_held_against_the_link_too() -> None:
    for share in (0.5, 0.1):
        s = scaled(proven("h100"), lambda r, share=share: share if r.what == "d2h-pinned" else 1.0)  # type: ignore[misc]
        status, _, (finding,) = run("h2d-below-range", s)
        assert status == "warn" and "to pinned host memory" in finding.detail
    assert (
        run("h2d-below-range", scaled(proven("h100"), lambda r: 0.85 if r.what == "d2h-pinned" else 1.0))[0] == "pass"
    )


def test_a_gpu_whose_products_ended_is_not_sound_because_the_others_are() -> None:
    s = eight()
    others = tuple(r for r in known(s.measured.rates) or () if r.device != "cuda:5")
    for fault, detail in (("failed", "CUDA out of memory"), ("skipped", "no time left")):
        end = StepEnd(agent="torch_speed", step="matmul bf16", device="cuda:5", fault=fault, detail=detail)
        part = changed(s, rates=others, ended=(end,))
        status, why, _ = run("matmul-below-range", part)
        assert status == "unknown" and "cuda:5: matmul bf16" in why and detail in why
    made_smaller = StepEnd(
        agent="torch_speed", step="matmul bf16", device="cuda:5", fault="skipped", detail="made smaller"
    )
    assert run("matmul-below-range", changed(s, ended=(made_smaller,)))[0] == "pass"


def test_the_excuse_of_one_product_is_not_that_of_the_others() -> None:
    b = BOARDS["h200"]
    capped = proven(b, loads=loads(b, reasons_percent={"power-cap": 90.0}, power_w=690.0, clock_sm_mhz=1400.0))
    s = scaled(capped, lambda r: {"tf32": 0.3, "bf16": 0.75}.get(r.what, 0.85) if r.kind == "matmul" else 1.0)
    assert run("matmul-below-range", s)[0] in ("warn", "fail")
    made = StepEnd(
        agent="torch_speed", step="matmul bf16", device="cuda:0", fault="skipped", detail="100 MiB: made smaller"
    )
    small = scaled(proven(b, ended=(made,)), lambda r: {"bf16": 0.4, "tf32": 0.45, "fp16": 0.42}.get(r.what, 1.0))
    assert run("matmul-below-range", small)[0] in ("warn", "fail")
    assert (
        run("matmul-below-range", scaled(proven(b), lambda r: 0.01 if r.what in ("int8", "fp8") else 1.0))[0] == "warn"
    )
    slow_kernel = scaled(proven(b), lambda r: 0.5 if r.what == "fp8" else 1.0)
    assert run("matmul-below-range", slow_kernel)[0] == "pass" and report(slow_kernel).verdict == "pass"


def on_gpus(*shares: float, power: float = 650.0, sm: float = 90.0, busy: float | None = None) -> Measured:
    """One GPU for each share of the time with a kernel."""
    rows = tuple(
        Load(phase="watch", key=f"GPU-{n}", samples=60, utilization_percent=share, power_w=power if share > 50 else 75.0,
             power_limit_w=700.0, power_idle_w=70.0, sm_activity_percent=sm if share > 50 else 0.0)
        for n, share in enumerate(shares)
    )  # fmt: skip
    mean = sum(shares) / len(shares) if busy is None else busy
    w = Watch(program="train.py", seconds=30.0, uses_gpu=True, gpu_busy_percent=mean, gpu_busy_by="program", main_cores=1.0,
              gpu_keys=tuple(row.key for row in rows))  # fmt: skip
    return Measured(level="watch", loads=rows, watch=w)


def test_one_gpu_at_work_among_several_that_are_held_is_no_slow_core() -> None:
    for shares in ((99.0, 0.0), (99.0, 0.0, 0.0, 0.0), (99.0, 40.0), (99.0, *([0.0] * 7))):
        m = on_gpus(*shares)
        found = watched(m, m.watch)  # type: ignore[arg-type]
        assert found.bound == "gpu" and f"1 of its {len(shares)} GPUs had a kernel" in found.reason, shares
    m = on_gpus(10.0, 10.0)
    assert watched(m, m.watch).bound == "cpu"  # type: ignore[arg-type]


def test_kernels_for_three_quarters_of_the_time_leave_gaps() -> None:
    """One that waits leaves none. The host's thread is at a core's limit here, and else it takes turns with the GPU."""
    for m in (on_gpus(75.0, power=128.0, sm=1.0), on_gpus(75.0)):
        found = watched(m, m.watch)  # type: ignore[arg-type]
        assert found.bound == "launches" and not found.turns
        assert m.watch is not None
        idle = replace(m.watch, busiest_thread=0.4)
        assert watched(m, idle).bound == "unclear" and watched(m, idle).turns


def test_heat_in_a_soak_is_heat_also_where_the_rate_is_steady() -> None:
    b = BOARDS["h200"]
    soaked = load("soak", b, reasons_percent={"hw-thermal": 100.0})
    s = changed(proven(b), loads=(*(known(proven(b).measured.loads) or ()), soaked))
    assert run("thermally-throttled", proven(b))[0] == "pass"
    assert run("thermally-throttled", s)[0] in ("warn", "fail")
