"""Samples of NVML put to phases."""

from __future__ import annotations

from typing import Any

from doctor.proof.loads import LoadSum, Phase, loads_of, parse_phases, process_on_gpu
from doctor.proof.samples import Sample, parse_samples
from doctor.snapshot import Missing

from ..rows import for_each

A, B = "GPU-aaaa", "GPU-bbbb"


def sample(time: float, key: str = A, **more: Any) -> Sample:
    return Sample(time=time, key=key, **more)


def test_a_sample_belongs_to_the_phase_of_its_gpu_that_it_falls_into() -> None:
    samples = [sample(t, utilization=u) for t, u in ((9.0, 0), (10.5, 80), (11.0, 100), (12.5, 7))]
    samples += [sample(11.0, B, utilization=3)]
    (load,) = loads_of(samples, [Phase("matmul", A, 10.0, 12.0)])
    assert (load.key, load.phase, load.samples, load.seconds) == (A, "matmul", 2, 2.0)
    assert (load.utilization_percent, load.utilization_max_percent) == (90.0, 100.0)


def test_what_nvml_still_tells_of_the_time_before_does_not_count() -> None:
    samples = [sample(10.1, utilization=0), sample(10.4, utilization=100)]
    (load,) = loads_of(samples, [Phase("copy", A, 10.0, 11.0)])
    assert (load.samples, load.utilization_percent) == (1, 100.0)
    (load,) = loads_of(samples[:1], [Phase("copy", A, 10.0, 10.2)])
    assert load.samples == 1, "a phase too short for anything else"


def test_phases_of_one_name_are_one_load_and_those_without_samples_none() -> None:
    samples = [sample(1.5, power_draw=300_000), sample(5.5, power_draw=100_000)]
    phases = [Phase("matmul", A, 1.0, 2.0), Phase("memory", A, 3.0, 4.0), Phase("matmul", A, 5.0, 6.0)]
    (load,) = loads_of(samples, phases)
    assert (load.phase, load.seconds, load.power_w) == ("matmul", 2.0, 200.0)


def test_gaps_and_uneven_work_are_seen_beside_the_mean() -> None:
    samples = [sample(t, utilization=u, sm_activity=a) for t, u, a in ((1.0, 100, 2.0), (2.0, 99, 4.0), (3.0, 60, 9.0))]
    total = LoadSum(A)
    for one in (*samples, sample(4.0)):  # the last has neither
        total.add(one)
    load = total.load("watch")
    assert (load.utilization_percent, load.utilization_full_percent) == (86.333, 66.7)
    assert (load.sm_activity_percent, load.sm_activity_spread_percent) == (5.0, 2.944)
    assert isinstance(LoadSum(A).load("watch").utilization_full_percent, Missing)


@for_each(
    ("draws", "instant", "idle"),
    [
        # seconds, utilisation, watts: a GPU that draws 80 W idle, and whose mean falls over a second after work
        (((0.0, 100, 600), (0.5, 0, 340), (1.0, 0, 90), (1.5, 0, 82)), True, 82.0),
        (((0.0, 100, 600), (0.5, 0, 340), (1.0, 0, 180), (1.5, 0, 110)), False, None),
        (((0.0, 100, 600), (0.5, 0, 340), (1.0, 0, 180), (2.0, 0, 80), (2.5, 0, 81)), False, 80.0),
        (((0.0, 0, 70), (1.0, 100, 600), (1.5, 0, 340), (2.6, 5, 300), (3.0, 0, 200)), False, None),
        (((0.0, 0, 70), (1.6, 0, 71), (2.0, 100, 600), (2.5, 0, 340)), False, 71.0),
        (((0.0, 100, 600), (0.5, 90, 400)), True, None),
    ],
)
def test_idle_power_is_not_that_of_the_work_before(
    draws: tuple[tuple[float, int, int], ...], instant: bool, idle: float | None
) -> None:
    total = LoadSum(A)
    for time, utilization, watts in draws:
        total.add(sample(time, utilization=utilization, power_draw=watts * 1000, power_instant=instant))
    found = total.load("watch").power_idle_w
    assert (None if isinstance(found, Missing) else found) == idle


def test_a_phase_without_a_key_is_the_only_gpus_and_else_nobodys() -> None:
    phases = [Phase("proof", "", 0.0, 2.0)]
    assert loads_of([sample(1.0)], phases)[0].key == A
    assert loads_of([sample(1.0), sample(1.0, B)], phases) == ()


def test_all_figures_in_the_units_of_a_load() -> None:
    first = sample(
        1.0,
        utilization=90,
        memory_used=3 << 30,
        clock_sm=1400,
        clock_sm_max=1980,
        clock_memory=2619,
        power_draw=699_500,
        power_limit=700_000,
        temperature=61,
        clock_event_reasons=0x4,
        pcie_gen=1,
        pcie_width=16,
        processes=[(7, None), (8, 1)],
    )
    second = sample(
        1.5,
        utilization=100,
        memory_used=4 << 30,
        clock_sm=1200,
        clock_sm_max=1980,
        clock_memory=2619,
        power_draw=700_500,
        power_limit=700_000,
        temperature=64,
        clock_event_reasons=0x24,
        pcie_gen=5,
        pcie_width=16,
        processes=[(7, None)],
    )
    (load,) = loads_of([first, second], [Phase("training", A, 0.5, 2.0)], pids=[7])
    assert (load.clock_sm_mhz, load.clock_sm_max_mhz, load.clock_memory_mhz) == (1300.0, 1980, 2619.0)
    assert (load.power_w, load.power_limit_w, load.temperature_max_c) == (700.0, 700.0, 64)
    assert load.reasons_percent == {"power-cap": 100.0, "sw-thermal": 50.0} == load.reasons
    assert (load.pcie_gen, load.pcie_width, load.memory_used_max_mib) == (5, 16, 4096.0)
    assert load.others == 0, "one other process in one of two samples is a passer-by"


@for_each(
    ("listed", "others"),
    [([], None), ([4711], None), ([7], 0), ([7, 4711], 1)],
    ids=["hidden", "numbers of the host", "alone", "beside another"],
)
def test_others_are_counted_where_we_are_seen_ourselves(listed: list[int], others: int | None) -> None:
    """A container whose NVML hides processes, or numbers them as the host does, proves neither a free GPU nor a busy one."""
    samples = [sample(1.0 + n / 10, processes=[(pid, None) for pid in listed]) for n in range(5)]
    (load,) = loads_of(samples, [Phase("matmul", A, 0.5, 2.0)], pids=[7])
    assert load.others == (
        Missing("denied", "NVML does not show the processes of this container") if others is None else others
    )


def test_what_nvml_does_not_tell_is_missing_and_nonsense_too() -> None:
    odd = {"time": 1.0, "gpu": 0, "key": A, "power_draw": 2**32 - 1, "utilization": 250, "temperature": -1, "memory_used": 10**400,
           "processes": [[7, 10**400]], "process_utilization": [[7, 10**9]], "clock_event_reasons": 10**40}  # fmt: skip
    samples = parse_samples([{"sample": odd}])
    assert (samples[0].processes, samples[0].process_utilization) == ([(7, None)], [])
    (load,) = loads_of(samples, [Phase("watch", A, 0.0, 2.0)])
    values = (
        load.power_w,
        load.utilization_percent,
        load.temperature_max_c,
        load.clock_sm_mhz,
        load.others,
        load.memory_used_max_mib,
    )
    assert all(isinstance(value, Missing) and value.reason == "absent" for value in values)
    assert load.reasons_percent == {} and isinstance(load.reasons, Missing) and load.reasons.reason == "absent"


@for_each("odd", [None, True, "x", [], {}, {"time": "x"}, {"time": 1, "processes": [["x"]]}])
def test_hostile_lines_are_no_samples(odd: Any) -> None:
    assert parse_samples([{"sample": odd}, {"begin": "x"}]) == []
    lines = [
        {"phase": odd, "start": 1, "end": 2},
        {"phase": "x", "start": odd, "end": 2},
        {"phase": "x", "start": 3, "end": 2},
    ]
    assert parse_phases(lines) in ([], [Phase("x", "", 1.0, 2.0)])


def test_phases_are_read_from_lines() -> None:
    line = {"phase": "matmul", "device": "cuda:0", "key": A, "start": 1, "end": 2.5}
    assert parse_phases([{"begin": "x"}, line]) == [Phase("matmul", A, 1.0, 2.5)]


def test_the_proving_process_is_seen_with_its_memory() -> None:
    samples = [
        sample(1.0, utilization=5, processes=[(7, 512 << 20)]),
        sample(1.2, utilization=97, processes=[(7, 2 << 30), (9, None)]),
    ]
    on = process_on_gpu(samples, A, 7, 0.0, 2.0)
    assert (on.seen, on.memory_max_mib, on.utilization_max_percent, on.others) == (True, 2048.0, 97.0, 1)


def test_a_process_that_is_not_listed_proves_something_only_where_numbers_are_our_own() -> None:
    samples = [sample(1.0, utilization=5, processes=[(9, 1 << 20)])]
    assert process_on_gpu(samples, A, 7, 0.0, 2.0, visible=True).seen is False
    hidden = process_on_gpu(samples, A, 7, 0.0, 2.0, visible=None)
    assert isinstance(hidden.seen, Missing) and hidden.seen.reason == "denied"
    assert isinstance(hidden.others, Missing), "the process itself may be among them"
    assert hidden.utilization_max_percent == 5.0


def test_without_samples_nothing_is_known_of_the_process() -> None:
    on = process_on_gpu([sample(5.0, processes=[(7, 1)])], A, 7, 0.0, 2.0, visible=True)
    assert all(isinstance(value, Missing) for value in on)


IDLE, BUSY = {"clock_sm": 210, "clock_memory": 405}, {"clock_sm": 2700, "clock_memory": 10501}


@for_each(
    "work, pause",
    [
        ({"utilization": 98, "clock_event_reasons": 0}, {"utilization": 0, "clock_event_reasons": 0x1}),
        ({"utilization": 98, "clock_event_reasons": 0}, {"utilization": 60, "clock_event_reasons": 0x1}),
        ({"utilization": 98}, {"utilization": 0}),
    ],
    ids=["nvml gives idle", "its utilization is late", "no reasons"],
)
def test_the_clock_is_that_of_work(work: dict[str, int], pause: dict[str, int]) -> None:
    """A board that lowers its clocks between two pieces of work is not held low."""
    samples = [sample(10.5 + t, **(pause | IDLE if t % 3 == 2 else work | BUSY)) for t in range(30)]
    (load,) = loads_of(samples, [Phase("watch", A, 10.0, 50.0)])
    assert (load.clock_sm_mhz, load.clock_memory_mhz) == (2700.0, 10501.0)
    (load,) = loads_of([sample(10.5, **pause, **IDLE)], [Phase("watch", A, 10.0, 50.0)])
    assert load.clock_sm_mhz == 210.0, "all there is"
