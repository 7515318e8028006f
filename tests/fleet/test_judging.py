"""Many reports judged together: findings and verdict of each are those that `judge` has for it alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any
from zlib import crc32

import pytest
from msgspec import json
from msgspec.structs import replace

from doctor.fleet.envelope import open_envelope
from doctor.fleet.store.holes import stand_ins
from doctor.fleet.store.judging import Judging
from doctor.fleet.store.section import Section
from doctor.fleet.store.sections import Reader
from doctor.fleet.store.unread import Differs, without_differences
from doctor.judge import judge
from doctor.judge.saved import parse_report
from doctor.report.json import render_json
from doctor.snapshot import EnvVar, Gpu, Measured, Missing, Snapshot, known
from doctor.snapshot.redact import redact

from ..judging import matrix
from ..judging import report as judged
from ..rows import Faults, for_each
from ..scenarios import fact_cases
from .spool import machine, measured, report

DAYS = ("2026-11-20", "2027-11-20")
_READINGS = re.compile(
    rb'"(temperature_c|memory_used_mib|utilization_percent|power_draw_w|clock_sm_mhz|clock_event_reasons|free_mib|'
    rb'import_seconds|value)":(\d+(?:\.\d+)?)(?=[,}])'
)
_UUID = re.compile(rb"(GPU|MIG)-[0-9a-f]{8}-(?=[0-9a-f]{4}-)")


def others(data: bytes) -> Iterator[bytes]:
    """The report of that machine and of others that differ in readings and UUIDs alone."""
    yield data
    for number, factor in enumerate((1.0, 0.0, 0.4, 3.0, 40.0)):

        def other(found: re.Match[bytes], factor: float = factor) -> bytes:
            value = float(found[2]) * factor
            return b'"%b":%b' % (found[1], b"%d" % value if b"." not in found[2] else b"%.2f" % value)

        def board(found: re.Match[bytes], number: int = number) -> bytes:
            return b"%b-%08x-" % (found[1], crc32(found[0], number))

        yield _UUID.sub(board, _READINGS.sub(other, data))


def same(judging: Judging, reader: Reader, data: bytes, day: str) -> tuple[Any, Any]:
    """(what it says with what it remembers, what `judge` says), as JSON."""
    answer = open_envelope(data, "gpu-1")
    assert answer.report
    sections = reader.read(answer.report)
    policy = replace(sections.policy, judged_on=day)
    alone = judge(parse_report(data, "gpu-1").snapshot, matrix(), policy)
    return json.encode(judging.judge(sections, policy)), json.encode((alone.findings, alone.verdict))


@pytest.mark.parametrize("of", [40, pytest.param(1, marks=pytest.mark.slow)])
def test_machines_by_their_facts(of: int) -> None:
    """One after the other with one memory, and machines that differ in readings next to each other."""
    judging, reader = Judging(matrix()), Reader()
    cases = [case for case in fact_cases.cases() if case.snapshot.target.kind != "text"]
    with Faults() as faults:
        for case in cases[::of]:
            found = replace(redact(judged(case.snapshot, case.policy)), redacted=True)
            for data in others(render_json(found)):
                with faults.of(case.name):
                    together, alone = same(judging, reader, data, DAYS[0])
                    assert together == alone


def hot(s: Snapshot, gpu: int = 1) -> Snapshot:
    return _gpus(s, lambda g: replace(g, temperature_c=95, clock_event_reasons=0x60) if g.index == gpu else g)


def full(s: Snapshot) -> Snapshot:
    return _gpus(s, lambda g: replace(g, memory_used_mib=60000, processes=(), utilization_percent=0))


def no_nvml(s: Snapshot) -> Snapshot:
    return s.replace({"gpus": Missing("error", "NVML code 18"), "driver.nvml_init": 18})


def _gpus(s: Snapshot, change: Callable[[Gpu], Gpu]) -> Snapshot:
    return s.replace({"gpus": tuple(change(gpu) for gpu in known(s.gpus) or ())})


def slow(s: Snapshot) -> Snapshot:
    rates = known(measured(s).measured.rates) or ()
    low = tuple(replace(r, value=r.value / 3) if r.device == "cuda:1" else r for r in rates)
    return s.replace({"measured": Measured(level="quick", device="cuda", rates=low)})


def by_uuid(s: Snapshot) -> Snapshot:
    shown = str(known((known(s.gpus) or ())[0].uuid))
    return s.replace({"host.environment": (EnvVar("CUDA_VISIBLE_DEVICES", shown),)})


CHANGES: dict[str, Callable[[Snapshot], Snapshot]] = {
    "none": lambda s: s, "hot": hot, "another is hot": lambda s: hot(s, 0), "full": full, "no NVML": no_nvml,
    "measured": measured, "slow": slow, "slower in all": lambda s: measured(s, 0.2), "hot and slow": lambda s: slow(hot(s)),
    "other kernel": lambda s: s.replace({"host.kernel": "6.8.0-64-generic"}),
    "named by UUID": by_uuid,
    "a UUID in a key": lambda s: s.replace({"witnesses": {f"of {(known(s.gpus) or ())[0].uuid}": ("a file",)}}),
    "a UUID as a key": lambda s: s.replace({"witnesses": {str((known(s.gpus) or ())[0].uuid): ("a file",)}}),
}  # fmt: skip


@pytest.mark.slow
def test_every_machine_after_every_other() -> None:
    """What one of them is found to have is never said of the next; nor what holds on one day of another."""
    judging, reader = Judging(matrix()), Reader()
    with Faults() as faults:
        for first in CHANGES:
            for number, name in enumerate((first, *CHANGES)):
                data = report(CHANGES[name](machine(number)))
                with faults.of(f"{name} after {first}"):
                    together, alone = same(judging, reader, data, DAYS[number % 2])
                    assert together == alone


def test_most_checks_are_run_once_for_machines_that_differ_in_readings() -> None:
    judging, reader = Judging(matrix()), Reader()
    for number in range(3):
        same(judging, reader, report(hot(measured(machine(number)), number % 2)), DAYS[0])
    (kept,) = judging._kinds.values()
    left = sorted(check.id for check, one in zip(judging._checks, kept.examined, strict=True) if one is None)
    assert "gpu-too-hot" in left and len(left) < 15, left


def unread() -> dict[str, Any]:
    """A GPU's number and UUID, and a sentence with a UUID in it, as checks see them."""
    text = b'[{"key":"\\0000;"}]'
    gpu = Gpu(key="GPU-29b92700-0000-0000-0000-000000000000", temperature_c=700000000,
              name="a GPU-29b92700-0000-0000-0000-000000000000", power_draw_w=700000001.0)  # fmt: skip
    section = Section("gpus", text, b"", None, (gpu,), stand_ins(1, 2))
    (found,) = without_differences(section, ())
    return {"int": found.temperature_c, "float": found.power_draw_w, "text": found.name, "uuid": found.key}


OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "text of it": lambda x: f"{x}", "order": lambda x: x < type("a", (), {})(), "sum": lambda x: x + x, "repr": repr,
    "length limit": lambda x: f"{x:>9}", "sorted": lambda x: sorted([x, x, x]),
}  # fmt: skip
OF_NUMBERS: dict[str, Callable[[Any], Any]] = {
    "bool": bool, "equal": lambda x: x == 3, "hash": hash, "more": lambda x: x > 3, "less": lambda x: x < 3, "int": int,
    "float": float, "share": lambda x: 100 * x / 3, "masked": lambda x: x & 8, "round": round, "max": lambda x: max(x, 1),
    "among": lambda x: x in (1, 2), "in a set": lambda x: x in {1, 2}, "str": str, "negative": lambda x: -x,
}  # fmt: skip


@for_each("name", ["int", "float", "text"])
def test_nothing_can_be_read_of_what_differs(name: str) -> None:
    value = unread()[name]
    assert isinstance(value, {"int": int, "float": float, "text": str}[name]) and not isinstance(value, Missing)
    with Faults() as faults:
        for what, operation in {**OPERATIONS, **OF_NUMBERS}.items():
            if name != "int" and what == "masked":
                continue
            with faults.of(what), pytest.raises(Differs):
                operation(value)


def test_of_a_uuid_only_what_is_the_same_on_every_node_can_be_read() -> None:
    uuid, other = unread()["uuid"], unread()["uuid"]
    assert uuid == other and {uuid: 1}[other] == 1 and uuid != "GPU-1" and uuid and uuid.startswith("GPU-")
    assert uuid.removeprefix("GPU-").lower() == other.lower().removeprefix("gpu-")
    asked: dict[str, Callable[[Any], Any]] = {
        **OPERATIONS, "prefix": lambda x: x.startswith("GPU-29"), "part": lambda x: x[:8], "within": lambda x: "29" in x,
        "cut": lambda x: x.split("-"), "less": lambda x: x < "GPU", "format": lambda x: "{}".format(x),  # noqa: UP032
    }  # fmt: skip
    with Faults() as faults:
        for what, operation in asked.items():
            with faults.of(what), pytest.raises(Differs):
                operation(uuid)
