"""Parts of the measuring agents that need no torch: ranks as threads, sums over them, figures, interfaces, readings."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

import pytest

from doctor.patient import figures
from doctor.patient.collective_group import address_towards, bytes_sent, interface_of
from doctor.patient.collective_sends import Sends, pairs_of_ranks
from doctor.patient.collective_teach import Ways
from doctor.patient.sampler_activity import METRICS, Activity
from doctor.patient.torch_errors import CODES, TEXT_LIMIT, error_code, out_of_memory, text_of

from ..rows import for_each

LIMIT_S = 30


class Numbers:
    """A piece of a list of numbers that others share, in the place of a tensor."""

    def __init__(self, held: list[float], first: int, end: int) -> None:
        self.held, self.first, self.end = held, first, end

    @classmethod
    def of(cls, *values: float) -> Numbers:
        return cls(list(values), 0, len(values))

    def numel(self) -> int:
        return self.end - self.first

    def values(self) -> list[float]:
        return self.held[self.first : self.end]

    def take(self, values: list[float]) -> None:
        assert len(values) == self.numel()
        self.held[self.first : self.end] = values

    def __iadd__(self, other: Numbers) -> Numbers:
        self.take([a + b for a, b in zip(self.values(), other.values(), strict=True)])
        return self


@dataclass
class Wires:
    """Queues between ranks; `log`: (from, to, how many numbers) of all that was sent."""

    queues: dict[tuple[int, int], SimpleQueue[list[float]]] = field(default_factory=dict)
    log: list[tuple[int, int, int]] = field(default_factory=list)

    def between(self, source: int, target: int) -> SimpleQueue[list[float]]:
        return self.queues.setdefault((source, target), SimpleQueue())


class Distributed:
    """What one rank calls of torch.distributed."""

    def __init__(self, rank: int, wires: Wires) -> None:
        self.rank, self.wires = rank, wires
        self.P2POp = lambda call, tensor, other: (call, tensor, other)

    def send(self, tensor: Numbers, other: int) -> None:
        self.wires.log.append((self.rank, other, tensor.numel()))
        self.wires.between(self.rank, other).put(tensor.values())

    def recv(self, tensor: Numbers, other: int) -> None:
        tensor.take(self.wires.between(other, self.rank).get(timeout=LIMIT_S))

    isend, irecv = send, recv

    def batch_isend_irecv(self, operations: list[tuple[Callable[..., None], Numbers, int]]) -> list[Any]:
        for call, tensor, other in operations:
            call(tensor, other)
        return [SimpleNamespace(wait=lambda: None) for _ in operations]


def together(count: int, work: Callable[[Any], object]) -> tuple[list[Any], Wires]:
    """Each rank in a thread of its own: what `work(group)` returned, and the wires."""
    wires, found, faults = Wires(), [None] * count, []
    for pair in [(a, b) for a in range(count) for b in range(count)]:
        wires.between(*pair)

    def run(rank: int) -> None:
        torch = SimpleNamespace(
            zeros=lambda many, device: Numbers.of(*[0.0] * many),
            empty_like=lambda other: Numbers.of(*[-1.0] * other.numel()),
        )
        group = SimpleNamespace(
            rank=rank, size=count, torch=torch, device="cpu", distributed=Distributed(rank, wires), sync=lambda: None
        )
        try:
            found[rank] = work(group)  # type: ignore[call-overload]
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=run, args=(rank,), daemon=True) for rank in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    assert not faults and not any(thread.is_alive() for thread in threads), faults
    return found, wires


def summed(way: str, ranks: int) -> tuple[list[tuple[list[float], list[float], int]], Wires]:
    """(the sum, bytes to each other rank, bytes held) on each rank; 12 numbers on each."""

    def work(group: Any) -> tuple[list[float], list[float], int]:
        given = Numbers.of(*[float(10**group.rank * (n + 1)) for n in range(12)])
        part = 12 // ranks
        ways = object.__new__(Ways)
        ways.group, ways.torch, ways.sent, ways.held = group, group.torch, [0.0] * ranks, 0
        ways.operation = SimpleNamespace(  # type: ignore[assignment]
            given=given, bytes=48, part=part, chunk=lambda data, at: Numbers(data.held, at * part, (at + 1) * part)
        )
        getattr(ways, way)()
        return given.values(), ways.sent, ways.held

    return together(ranks, work)


@for_each("ranks", [2, 3, 4])
def test_a_ring_and_a_root_give_every_rank_the_sum(ranks: int) -> None:
    total = [sum(10.0**rank * (n + 1) for rank in range(ranks)) for n in range(12)]
    rows, wires = summed("ring", ranks)
    for rank, (values, sent, held) in enumerate(rows):
        assert values == total
        following = (rank + 1) % ranks
        assert sent == [2 * (ranks - 1) / ranks * 48 if other == following else 0 for other in range(ranks)]
        assert held == 48 + 48 / ranks
    assert len(wires.log) == ranks * 2 * (ranks - 1)
    rows, wires = summed("gather_sum_broadcast", ranks)
    for rank, (values, sent, held) in enumerate(rows):
        assert values == total
        assert sent == [48 if (rank == 0) != (other == 0) else 0 for other in range(ranks)]
        assert held == (48 * ranks if rank == 0 else 48)
    assert len(wires.log) == 2 * (ranks - 1)


def test_a_message_goes_from_source_to_target_and_its_answer_back() -> None:
    def work(group: Any) -> list[float]:
        ends = Sends(group, 1, 0)
        assert ends.sender is (group.rank == 1)
        data = Numbers.of(*([7.0] * 5 if ends.sender else [-1.0] * 5))
        assert ends.timed(data) >= 0
        ends.pass_on(data, back=True)
        return data.values()

    found, wires = together(2, work)
    assert found == [[7.0] * 5] * 2
    assert wires.log == [(1, 0, 5), (0, 1, 1), (0, 1, 5)], "the data, the answer of one number, the data back"


def test_pairs_of_ranks() -> None:
    assert pairs_of_ranks(2) == [(0, 1), (1, 0)]
    assert pairs_of_ranks(3) == [(0, 1), (1, 2), (2, 0), (0, 2), (1, 0), (2, 1)]
    assert len(set(pairs_of_ranks(8))) == 8 * 7
    ring = [(n, (n + 1) % 9) for n in range(9)]
    assert pairs_of_ranks(9) == [*ring, *((a, (a + 8) % 9) for a in range(9))]


@for_each(
    ("values", "median", "p90", "spread"),
    [((4,), 4, 4, 0), ((1, 2, 3, 4, 5), 3, 4.6, 320 / 3), ((10, 0), 5, 9, 160), ((0, 0), 0, 0, 0)],
)
def test_figures_of_times(values: tuple[float, ...], median: float, p90: float, spread: float) -> None:
    assert figures.median(values) == median
    assert figures.percentile(values, 90) == pytest.approx(p90)
    assert figures.spread_percent(values) == pytest.approx(spread)
    assert figures.figure(123456.7) == 123457 and figures.figure(1 / 3) == 0.333333
    for wrong in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="finite"):
            figures.figure(wrong)


def test_the_interface_towards_a_host_and_what_it_sent() -> None:
    assert (address_towards("127.0.0.1"), interface_of("127.0.0.1"), interface_of("127.9.9.9")) == (
        "127.0.0.1",
        "lo",
        "lo",
    )
    assert address_towards("") == interface_of("") == interface_of("192.0.2.77") == ""
    assert bytes_sent("no-such-interface") == -1
    before = bytes_sent("lo")
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as there,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own,
    ):
        there.bind(("127.0.0.1", 0))
        for _ in range(20):
            own.sendto(b"x" * 10_000, there.getsockname())
    assert before >= 0 and bytes_sent("lo") - before >= 200_000


class Readings:
    """NVML's answers by the call's name, each time the next one; None is a refusal."""

    def __init__(self, **answers: list[Any]) -> None:
        self.answers = answers
        self.asked: list[tuple[str, tuple[Any, ...]]] = []
        self.nvml = SimpleNamespace(
            c_nvmlGpmMetricsGet_t=lambda: SimpleNamespace(metrics=[SimpleNamespace() for _ in METRICS])
        )

    def ask(self, gpu: Any, field: str, call: str, *words: Any) -> Any:
        self.asked.append((call, words))
        left = self.answers.get(call) or [None]
        return left.pop(0) if len(left) > 1 else left[0]


def gpu(mig: bool = False) -> Any:
    return SimpleNamespace(handle="handle", mig=mig, refused={})


def counter(value: int, code: int = 0) -> Any:
    return SimpleNamespace(nvmlReturn=code, value=SimpleNamespace(ullVal=value))


def test_activity_by_gpm_is_of_the_time_between_two_looks() -> None:
    rows = [SimpleNamespace(nvmlReturn=0 if at != 1 else 3, value=10.0 + at) for at in range(len(METRICS))]
    readings = Readings(
        nvmlGpmQueryDeviceSupport=[SimpleNamespace(isSupportedDevice=1)],
        nvmlGpmSampleAlloc=["one", "two"],
        nvmlGpmSampleGet=["two", "one"],
        nvmlGpmMetricsGet=[SimpleNamespace(metrics=rows)],
    )
    activity = Activity(readings, gpu())
    assert [one.metricId for one in activity.metrics.metrics] == [2, 5, 10, 20, 21, 60, 61]
    assert activity.read() == {}, "one look alone shows nothing"
    assert activity.read() == {
        "sm_activity": 10.0, "memory_activity": 12.0, "pcie_tx": round(13 * 1048.576, 2), "pcie_rx": round(14 * 1048.576, 2),
        "nvlink_rx": round(15 * 1048.576, 2), "nvlink_tx": round(16 * 1048.576, 2),
    }  # fmt: skip
    assert (activity.metrics.sample1, activity.metrics.sample2) == ("two", "one"), "the earlier one first"
    assert [words[1] for call, words in readings.asked if call == "nvmlGpmSampleGet"] == ["two", "one"], "in turn"


def test_activity_by_the_older_calls() -> None:
    counters = [[counter(1000), counter(5000)], [counter(3000), counter(4000)]]
    readings = Readings(nvmlDeviceGetPcieThroughput=[11, 22, 33], nvmlDeviceGetFieldValues=counters)
    activity = Activity(readings, gpu())
    assert activity.metrics is None
    first, second = activity.read(), activity.read()
    assert first == {"pcie_rx": 11} and set(second) == {"pcie_tx", "nvlink_tx"}, (
        "a counter that went back shows no rate"
    )
    assert second["pcie_tx"] == 22 and second["nvlink_tx"] > 0
    assert [words[1] for call, words in readings.asked if call == "nvmlDeviceGetPcieThroughput"] == [1, 0]
    whole = gpu()
    assert Activity(Readings(nvmlDeviceGetFieldValues=[[counter(1, 3), counter(2)]]), whole).read() == {}
    assert whole.refused == {"nvlink": 3}
    assert (
        Activity(Readings(nvmlGpmQueryDeviceSupport=[SimpleNamespace(isSupportedDevice=1)]), gpu(mig=True)).metrics
        is None
    )


class OutOfMemoryError(RuntimeError):
    """As torch's own is called."""


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


def test_what_an_exception_of_torch_tells() -> None:
    for code, name, words in CODES:
        for text in (f"CUDA error: {words}", f"{name}: other words", f"CUDA driver error {code}: x", f"(error {code})"):
            assert error_code(RuntimeError(text), text) == code, text
    assert error_code(RuntimeError(), "cudaGetDeviceCount() returned 802") == 802
    assert error_code(RuntimeError(), "Error 12345: x") is error_code(RuntimeError(), "shapes differ") is None
    own = RuntimeError("unknown error")
    own.error_code = 700  # type: ignore[attr-defined]
    assert error_code(own, str(own)) == 700
    own.error_code = True  # type: ignore[attr-defined]
    assert error_code(own, str(own)) == 999
    for error, full in (
        (OutOfMemoryError("no words of it"), True), (RuntimeError("CUDA error: out of memory"), True),
        (RuntimeError("CUBLAS_STATUS_ALLOC_FAILED when calling"), True), (RuntimeError("shapes differ"), False),
        (Unspeakable(), False),
    ):  # fmt: skip
        assert out_of_memory(error) is full, error
    assert text_of(Unspeakable()) == "" and len(text_of(RuntimeError("x" * 9999))) == TEXT_LIMIT
