"""What a process tree did with the GPUs, from hand-made samples and open files."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.proof.samples import Sample
from doctor.proof.watch_gpu import GpuSum
from doctor.proof.watch_proc import Held
from doctor.snapshot import Missing

A, B = "GPU-aaaa", "GPU-bbbb"
OURS = {10, 11}
MIB = 1 << 20


def sample(
    time: float, utilization: int | None, processes: dict[int, int | None] | None = None, key: str = A, **more: Any
) -> Sample:
    listed = None if processes is None else [(pid, None if m is None else m * MIB) for pid, m in processes.items()]
    return Sample(time=time, key=key, utilization=utilization, processes=listed, **more)


def taken(*samples: Sample, own_numbers: bool = True, nodes: bool = True) -> GpuSum:
    sums = GpuSum(0.0, own_numbers, nodes)
    for one in samples:
        sums.take(one, OURS)
    return sums


def test_a_listed_process_uses_the_gpu_and_only_the_time_since_counts() -> None:
    used = taken(
        sample(1, 0, {}),
        sample(2, 0, {}),
        sample(3, 90, {10: 1000}),
        sample(4, 70, {10: 3000}),
        sample(5, 0, {10: 2000}),
    ).used()
    assert (used.uses_gpu, used.gpu_keys, used.gpu_first_seen_s) == (True, (A,), 3.0)
    assert used.gpu_memory_max_mib == 3000.0
    assert (used.gpu_busy_percent, used.gpu_busy_by) == (pytest.approx(53.3), "device")
    assert used.gpu_idle_percent == pytest.approx(33.3)
    assert used.others_on_gpu == 0


def test_another_process_at_work_is_told_apart_where_nvml_does() -> None:
    ours = [sample(t, 80, {10: 100, 99: 5000}, process_utilization=[(10, 20), (99, 60)]) for t in (1, 2, 3)]
    used = taken(*ours).used()
    assert (used.gpu_busy_percent, used.gpu_busy_by, used.others_on_gpu) == (20.0, "process", 1)


def test_a_process_that_nvml_never_notes_is_judged_by_the_device() -> None:
    samples = [sample(t, 80, {10: 100}, process_utilization=[]) for t in (1, 2, 3)]
    assert (taken(*samples).used().gpu_busy_percent, taken(*samples).used().gpu_busy_by) == (80.0, "device")


def test_pauses_between_noted_work_keep_the_share() -> None:
    samples = [
        sample(1, 50, {10: 1}, process_utilization=[(10, 50)]),
        sample(2, 30, {10: 1}, process_utilization=[]),
        sample(3, 0, {10: 1}, process_utilization=[]),
    ]
    used = taken(*samples).used()
    assert (used.gpu_busy_by, used.gpu_busy_percent) == ("process", pytest.approx(26.7))
    assert used.gpu_idle_percent == pytest.approx(33.3)


def test_two_gpus_memory_together_and_mean_work() -> None:
    samples = [sample(t, 90, {10: 1000}) for t in (1, 2)] + [sample(t, 10, {11: 500}, B) for t in (1, 2)]
    used = taken(*samples).used()
    assert (used.gpu_keys, used.gpu_memory_max_mib, used.gpu_busy_percent) == ((A, B), 1500.0, 50.0)


def test_loads_are_of_the_gpus_it_used_else_of_all() -> None:
    both = [sample(1, 5, {}, B), sample(2, 5, {}, B)]
    loads = taken(sample(1, 0, {}), sample(2, 100, {10: 1}), sample(3, 100, {10: 1}), *both).loads()
    assert [(load.key, load.phase, load.samples, load.utilization_percent, load.seconds) for load in loads] == [
        (A, "watch", 2, 100.0, 1.0)
    ]
    assert [load.key for load in taken(sample(1, 0, {}), *both).loads()] == [A, B]


def test_nvml_that_sees_processes_and_not_this_one_says_no() -> None:
    sums = taken(*(sample(t, 100, {99: 100}) for t in (1, 2, 3)))
    assert sums.uses_gpu() is False
    assert sums.used().gpu_busy_percent == Missing("absent", "it uses no GPU")


def test_too_few_samples_say_nothing() -> None:
    unknown = taken(sample(1, 0, {})).uses_gpu()
    assert isinstance(unknown, Missing) and unknown.reason == "absent"


def test_without_device_nodes_nothing_can_use_a_gpu() -> None:
    assert taken(nodes=False).uses_gpu() is False


def test_open_files_decide_where_nvml_is_silent() -> None:
    sums = taken()
    sums.hold(1.0, Held({}, False))
    assert sums.uses_gpu() is False
    sums.hold(4.0, Held({10: (0,)}, False))
    assert (sums.uses_gpu(), sums.used().gpu_first_seen_s, sums.holders()) == (True, 4.0, {10})
    assert isinstance(sums.used().gpu_busy_percent, Missing)


def test_files_that_cannot_be_read_are_no_proof() -> None:
    sums = taken()
    sums.hold(1.0, Held({}, True))
    unknown = sums.uses_gpu()
    assert isinstance(unknown, Missing) and unknown.reason == "denied"


def test_in_a_container_numbers_of_nvml_are_others_and_open_files_decide() -> None:
    strangers = [sample(t, 60, {10: 400}) for t in (1, 2, 3, 4)]
    sums = taken(*strangers, own_numbers=False)
    sums.hold(5.0, Held({}, False))
    assert sums.uses_gpu() is False, "10 is another process outside"
    sums = GpuSum(0.0, False, True)
    sums.number(0, A)
    sums.hold(0.5, Held({10: (0,)}, False))
    for one in (sample(t, 60, {}) for t in (1, 2, 3, 4)):
        sums.take(one, OURS)
    used = sums.used()
    assert (used.uses_gpu, used.gpu_keys, used.gpu_busy_percent, used.gpu_busy_by) == (True, (A,), 60.0, "device")
    assert isinstance(used.others_on_gpu, Missing) and isinstance(used.gpu_memory_max_mib, Missing)


def test_in_a_container_whose_numbers_nvml_knows_the_list_counts() -> None:
    sums = GpuSum(0.0, False, True)
    sums.hold(0.5, Held({10: (0,)}, False))
    sums.take(sample(1, 60, {10: 400}), OURS)
    assert sums.used().gpu_memory_max_mib == 400.0


def test_a_device_that_is_open_without_a_context_is_not_used() -> None:
    sums = taken()
    sums.hold(0.5, Held({10: (0, 1)}, False))
    for one in (sample(t, 0, {}) for t in (1, 2, 3)):
        sums.take(one, OURS)
    assert sums.uses_gpu() is False
    windows = taken()
    windows.hold(0.5, Held({10: (-1,)}, False))
    for one in (sample(t, 40, {}) for t in (1, 2, 3)):
        windows.take(one, OURS)
    assert windows.uses_gpu() is True, "under WSL NVML lists nobody"


def test_which_gpu_open_files_mean() -> None:
    sums = GpuSum(0.0, False, True)
    sums.number(0, A)
    sums.number(1, B)
    sums.hold(0.5, Held({10: (1,)}, False))
    for key, busy in ((A, 99), (B, 20)):
        sums.take(sample(1, busy, None, key), OURS)
    assert (sums.used().gpu_keys, sums.used().gpu_busy_percent) == ((B,), 20.0)


def test_the_pcie_rate() -> None:
    samples = [sample(1, 5, {10: 1}, pcie_rx=10_000), sample(2, 5, {10: 1}), sample(3, 5, {10: 1}, pcie_rx=30_000)]
    assert taken(*samples).used().h2d_mb_s == 20.0
