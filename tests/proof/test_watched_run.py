"""What set the pace of a watched run: utilisation is held against power, the SMs, memory, links, and the host."""

from __future__ import annotations

from typing import Any

from doctor.snapshot import Measured, Missing

from ..judging import report
from ..rows import for_each
from .stories import BOARDS, KEY, load, machine, watched

H100 = BOARDS["h100"]
IDLE_W, LIMIT_W = 70.0, 700.0
SPINS = {"gpu_busy_percent": 99.0}
"""One core is at 100 % too: CUDA spins in synchronize by default."""
OTHER = "GPU-11111111-2330-4a5b-8c6d-233000000001"


def judged(watch: dict[str, Any], *loads: dict[str, Any]) -> Any:
    """The verdict of a run on an H100 with these changes to its facts and to NVML's samples of each GPU."""
    s = watched("h100", machine(H100), **watch)
    assert isinstance(s.measured, Measured)
    seen = tuple(
        load("watch", H100, **{"power_limit_w": LIMIT_W, "power_idle_w": IDLE_W, "utilization_percent": 99.0, **one})
        for one in loads or ({},)
    )
    done = report(s.replace({"measured": Measured(level="watch", watch=s.measured.watch, loads=seen)})).measured
    assert done is not None
    return done


@for_each(
    ("watch", "load", "bound", "words"),
    [
        (SPINS, {"power_w": 620.0}, "gpu", "620 of 700 W"),
        (SPINS, {"power_w": 128.0}, "waiting", "128 of 700 W"),  # NCCL, a kernel of one thread
        (SPINS, {"power_w": 128.0, "power_idle_w": Missing("absent")}, "waiting", "128 of 700 W"),
        (SPINS, {"power_w": 150.0, "sm_activity_percent": 1.0}, "waiting", "1 % of the SMs"),
        (
            SPINS,
            {"power_w": 210.0, "sm_activity_percent": 100.0, "memory_activity_percent": 1.0},
            "unclear",
            "it is unclear whether its kernels",
        ),
        (SPINS, {"power_w": 170.0, "memory_activity_percent": 55.0}, "gpu", "55 %"),  # memory alone is work
        (SPINS, {"power_w": 170.0, "memory_busy_percent": 60.0}, "gpu", "60 %"),
        (SPINS, {"power_w": 170.0, "tensor_activity_percent": 30.0}, "gpu", ""),
        (SPINS, {"power_w": Missing("absent")}, "unclear", "neither its power"),
        (SPINS, {"power_w": Missing("absent"), "sm_activity_percent": 3.0}, "waiting", "3 % of the SMs"),
        (SPINS, {"power_w": Missing("absent"), "sm_activity_percent": 80.0}, "gpu", "80 % of the SMs"),
        (SPINS, {"power_w": 170.0, "sm_activity_percent": 12.0, "nvlink_mb_s": 240_000.0}, "copies", "NVLink"),
        # a nearly full link comes before a core that only spins
        ({"gpu_busy_percent": 8.0}, {"power_w": 100.0, "pcie_rx_mb_s": 48_000.0}, "copies", "76 % full"),
        ({"gpu_busy_percent": 8.0}, {"power_w": 100.0, "pcie_tx_mb_s": 48_000.0}, "copies", "76 % full"),
        ({"gpu_busy_percent": 50.0}, {"power_w": 400.0, "pcie_rx_mb_s": 27_000.0}, "copies", "take turns"),
        ({"gpu_busy_percent": 8.0}, {"power_w": 100.0, "pcie_rx_mb_s": 4_000.0}, "cpu", "continuously used 1.0 cores"),
        (SPINS, {"power_w": 650.0, "pcie_rx_mb_s": 48_000.0}, "gpu", "650 of 700 W"),  # they overlap
        (SPINS, {"power_w": 128.0, "pcie_rx_mb_s": 48_000.0}, "copies", "76 % full"),
    ],
)
def test_what_is_judged_together(watch: dict[str, Any], load: dict[str, Any], bound: str, words: str) -> None:
    done = judged(watch, load)
    assert (done.watch_bound, words in done.watch_reason) == (bound, True), done.watch_reason


def test_what_waiting_means_for_a_distributed_job() -> None:
    done = judged({**SPINS, "libraries": ("libnccl.so.2",)}, {"power_w": 128.0})
    assert "NCCL" in done.advice[0] and "Watch the other ranks" in done.advice[0]
    assert not any("faster CPU core or more loader workers will not help" in line for line in done.advice)
    alone = judged({**SPINS, "libraries": ("libcudart.so.12",)}, {"power_w": 128.0})
    assert alone.watch_bound == "waiting" and "NCCL" not in alone.advice[0]


def test_what_launches_mean_for_a_program() -> None:
    done = judged({"gpu_busy_percent": 70.0}, {"power_w": 230.0, "utilization_full_percent": 0.0})
    assert "CUDA graphs" in done.advice[0] and "NCCL" not in done.advice[0]


@for_each(
    ("mb_s", "advised"),
    [(9_000.0, True), (36_000.0, True), (38_000.0, False), (43_000.0, False), (52_000.0, False)],
)
def test_what_slow_copies_mean_for_a_program(mb_s: float, advised: bool) -> None:
    """Below two thirds of the 55.4 GB/s that pinned copies reach on PCIe 5 with 16 lanes."""
    copying = {"gpu_busy_percent": 0.0, "main_cores": 0.99, "busiest_thread": 0.99}
    done = judged(copying, {"power_w": 130.0, "pcie_rx_mb_s": mb_s})
    assert done.watch_bound == "copies"
    assert any("pin_memory=True" in line and "fewer, larger copies" in line for line in done.advice) is advised


def test_the_gpu_that_works_while_the_others_wait_is_named() -> None:
    done = judged({**SPINS, "gpu_keys": (KEY, OTHER)}, {"power_w": 130.0}, {"key": OTHER, "power_w": 600.0})
    assert done.watch_bound == "waiting"
    assert "1 of its 2 GPUs waited" in done.watch_reason and f"{OTHER} was working" in done.watch_reason


def test_a_gpu_without_a_kernel_does_not_wait_in_one() -> None:
    idle = {"key": OTHER, "power_w": 72.0, "utilization_percent": 0.0}
    done = judged({**SPINS, "gpu_keys": (KEY, OTHER)}, {"power_w": 600.0}, idle)
    assert (done.watch_bound, "600 of 700 W" in done.watch_reason) == ("gpu", True)


def test_a_board_of_70_watts_at_work_is_at_work() -> None:
    """An L4 or T4 draws a third of its limit with a context and nothing to do."""
    for power, bound in ((32.0, "waiting"), (58.0, "gpu")):
        low = {"power_limit_w": 70.0, "power_idle_w": Missing("absent"), "power_w": power}
        assert judged(SPINS, low).watch_bound == bound


@for_each(
    ("watch", "bound", "words"),
    [
        ({"main_cores": 0.4, "cpu_cores": 0.4, "core_wait_percent": 55.0}, "cpu", "waited for a core 55 %"),
        ({"main_cores": 1.0}, "cpu", "continuously used 1.0 cores"),
        (
            {"main_cores": 0.1, "cpu_cores": 0.1, "blocked_percent": 60.0},
            "dataloader",
            "60 % of the time waiting for disk",
        ),
        ({"main_cores": 0.2, "workers": 4, "workers_cores": 3.9, "cpu_cores": 4.1}, "dataloader", "4 loader workers"),
        (
            {"main_cores": 0.2, "workers": 4, "workers_cores": 0.3, "workers_blocked_percent": 70.0},
            "dataloader",
            "disk 70 %",
        ),
        # the loader's own workers have the cores, no other program
        (
            {
                "main_cores": 0.1,
                "workers": 8,
                "workers_cores": 3.4,
                "cpu_cores": 3.5,
                "cores": 4.0,
                "core_wait_percent": 80.0,
            },
            "dataloader",
            "8 loader workers used 3.4 cores, and its main thread waited for a core 80 %",
        ),
        (
            {"main_cores": 0.9, "workers": 4, "workers_cores": 0.3, "workers_blocked_percent": 60.0},
            "cpu",
            "continuously used 0.9 cores",
        ),
        ({"main_cores": 0.5, "cpu_cores": 3.5, "cores": 4.0, "busiest_thread": 0.5}, "cpu", "all of its 4 cores"),
        ({"main_cores": 0.01, "cpu_cores": 0.01, "busiest_thread": 0.01}, "sleep", "waited for something else"),
        ({"main_cores": 0.3, "cpu_cores": 0.4, "busiest_thread": 0.3}, "unclear", "neither its main process"),
        (
            {"main_cores": Missing("denied"), "cpu_cores": Missing("denied"), "busiest_thread": Missing("denied")},
            "unknown",
            "is unknown",
        ),
    ],
)
def test_a_program_without_a_gpu_gets_an_answer_too(watch: dict[str, Any], bound: str, words: str) -> None:
    done = judged({"uses_gpu": False, **watch})
    assert done.watch_bound == bound and words in done.watch_reason and "it used no GPU" in done.watch_reason


@for_each(
    ("end", "words"),
    [
        ({"seconds": 0.2, "exit_code": 1}, "it ended with exit code 1"),
        ({"seconds": 8.0, "exit_code": 1}, "it ended with exit code 1"),
        ({"seconds": 1.0}, "it was not watched long enough"),
        ({"seconds": 9.0, "exit_code": Missing("absent"), "signal": 2}, "it was stopped early"),
        ({"seconds": 400.0, "exit_code": 1}, ""),
        ({"seconds": 40.0}, ""),
    ],
)
@for_each("cores", [0.01, 0.3])
def test_a_program_that_ended_at_once_waited_for_nothing(cores: float, end: dict[str, Any], words: str) -> None:
    idle = {"main_cores": cores, "cpu_cores": cores, "busiest_thread": cores}
    done = judged({"uses_gpu": False, **idle, **end})
    assert bool(words) != any("waited for something else" in line for line in (done.watch_reason, *done.advice))
    assert words in done.watch_reason and (done.watch_bound == "unclear" or not words)


@for_each(
    ("others", "busy", "main", "rx", "bound"),
    [
        (0, 20.0, 1.0, 9000.0, "copies"),
        (2, 20.0, 1.0, 9000.0, "unclear"),
        (2, 0.2, 0.02, 50000.0, "sleep"),
        (1, 40.0, 0.3, 50000.0, "unclear"),
    ],
)
def test_the_copies_of_others_do_not_bound_a_program(
    others: int, busy: float, main: float, rx: float, bound: str
) -> None:
    """The link carries what all programs on the GPU copy."""
    s = watched("h100", gpu_busy_percent=busy, others_on_gpu=others, main_cores=main, cpu_cores=main)
    linked = load("watch", BOARDS["h100"], utilization_percent=busy, pcie_rx_mb_s=rx, pcie_gen=5, pcie_width=16)
    done = report(s.replace({"measured.loads": (linked,)})).measured
    assert done is not None and done.watch_bound == bound
