"""Texts with holes: what was taken out comes back, and reports with other numbers in the same places share their text."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from doctor.fleet.facts import facts
from doctor.fleet.store import holes
from doctor.fleet.store.holes import Cutter, Uuids, cut, fill
from doctor.fleet.store.rates import RatesCutter, cut_rates
from doctor.snapshot import Gpu, Snapshot, known

from ..cli.command import gpudoctor
from ..drawn import drawn
from ..rows import Faults, for_each
from .spool import load, machine, report, rows

GPUS = [msgspec.json.encode(machine(number).gpus) for number in range(3)]


def whole(parts: holes.Cut, uuids: Uuids) -> bytes:
    return fill(parts.text, list(uuids), iter(parts.numbers))


def test_all_fields_with_holes_differ_by_nature() -> None:
    assert {f"gpus.{name}" for name in (*holes._WHOLE["gpus"], *holes._DECIMAL["gpus"])} - facts().by_nature.keys() == {
        "gpus.pid", "gpus.memory_mib"}  # fmt: skip
    assert "gpus.processes" in facts().by_nature and "host.disks" in facts().by_nature
    assert "torch_run.import_seconds" in facts().by_nature


PIECES = st.sampled_from([
    b'"temperature_c":', b'"power_draw_w": ', b'"uuid":', b'"GPU-01234567-89ab-cdef-0123-456789abcdef"', b"41", b"-0", b"7.5",
    b"1e3", b"007", b"null", b",", b"}", b"{", b'"', b'\\"temperature_c\\":3,', b"GPU-", b" ", b"\xc3\xa9",
    b'"MIG-01234567-89ab-cdef-0123-456789abcdef"',
])  # fmt: skip


@drawn(300)
@given(st.lists(st.lists(PIECES, max_size=30), min_size=1, max_size=4))
def test_what_was_cut_is_filled_again(texts: list[list[bytes]]) -> None:
    """By patterns, and by the text of the one before."""
    cutter = Cutter("gpus")
    for text in (b"".join(text) for text in [*texts, *texts]):
        alone, together = Uuids(), Uuids()
        by_pattern, by_last = cut("gpus", text, alone), cutter.cut(text, together)
        assert by_pattern == by_last and by_pattern is not None
        assert whole(by_pattern, alone) == text == whole(by_last or by_pattern, together)


NUMBERS = st.sampled_from([
    b'"value":', b'"value": ', b"1.5", b"-0", b"1e3", b"007", b"1-2", b"null", b",", b"}", b"{", b'"unit":"GB/s"', b"[", b"]",
    b'"1"', b" ", b"\0",
])  # fmt: skip


@drawn(300)
@given(st.lists(st.lists(NUMBERS, max_size=30), min_size=1, max_size=4))
def test_rates_are_taken_apart_by_the_text_before_as_by_a_pattern(texts: list[list[bytes]]) -> None:
    cutter = RatesCutter()
    for text in (b"".join(text) for text in [*texts, *texts]):
        assert taken_apart(cutter.cut, text) == taken_apart(cut_rates, text)


def taken_apart(cut_text: Any, text: bytes) -> Any:
    """The parts, joined again to the same numbers; the kind of error where there are none."""
    try:
        parts = cut_text(text)
    except msgspec.DecodeError as error:
        return type(error)
    assert parts is None or json.loads(parts.values) is not None
    return parts


def test_a_text_is_that_of_the_one_before_only_where_numbers_and_uuids_stand_in_its_holes() -> None:
    cutter = Cutter("gpus")
    first = cutter.cut(GPUS[0], Uuids())
    assert first and first.numbers
    with Faults() as faults:
        for other in ('"5"', "null", "", " 5", "5.0", "1e3", "007", "9" * 16, "5,6", "--1"):
            changed = re.sub(rb'("temperature_c":)\d+', rb"\g<1>" + other.encode(), GPUS[1], count=1)
            with faults.of(other):
                assert changed != GPUS[1] and cutter.cut(changed, Uuids()) == cut("gpus", changed, Uuids())
        for other in ("GPU-0", "GPU-" + "A" * 36, ""):
            changed = re.sub(rb"GPU-[0-9a-f-]{36}", other.encode(), GPUS[1], count=1)
            with faults.of(other):
                assert changed != GPUS[1] and cutter.cut(changed, Uuids()) == cut("gpus", changed, Uuids())


def hotter(s: Snapshot, number: int) -> Snapshot:
    gpus = tuple(replace(gpu, temperature_c=30 + number, power_draw_w=70.5 + number) for gpu in known(s.gpus) or ())
    return s.replace({"gpus": gpus})


def test_reports_that_differ_in_their_holes_share_all_sections(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"gpu-{number}.json").write_bytes(report(hotter(machine(number), number)))
    code, db = load(tmp_path, to=tmp_path / "now.db")
    assert code == 0
    assert rows(db, "select count(distinct sections), count(distinct facts), count(*) from report") == [(1, 1, 5)]
    found = rows(db, "select node, uuid, temperature_c, power_w from gpu where gpu = 1 order by node")
    assert [row[2:] for row in found] == [(30 + number, 70.5 + number) for number in range(5)]
    assert len({row[1] for row in found}) == 5


STRANGE: dict[str, Any] = {
    "a key twice": lambda text: text.replace('"temperature_c":', '"temperature_c":12,"temperature_c":'),
    "a field nobody knows": lambda text: text.replace('"temperature_c":', '"hair":{"temperature_c":9},"temperature_c":'),
    "a number with an exponent": lambda text: re.sub(r'"power_draw_w":[\d.]+', '"power_draw_w":7.1e1', text),
    "a number with more digits": lambda text: re.sub(r'"power_draw_w":([\d.]+)', r'"power_draw_w":\g<1>0', text),
    "other blanks": lambda text: json.dumps(json.loads(text), indent=3),
    "other order": lambda text: json.dumps(json.loads(text), sort_keys=True),
    "a UUID without its prefix": lambda text: re.sub(r'"uuid":"GPU-', '"uuid":"', text),
    "a UUID in a sentence": lambda text: re.sub(r'"name":"NVIDIA', r'"name":"GPU-00000000-0000-0000-0000-000000000001', text),
    "a mark as a number": lambda text: re.sub(r'"temperature_c":\d+', '"temperature_c":700000001', text),
    "a mark as a UUID": lambda text: re.sub(r"GPU-[0-9a-f]{8}-", "GPU-29b92700-", text),
}  # fmt: skip


@pytest.mark.slow
@for_each("change", STRANGE.values(), ids=STRANGE)
def test_a_strange_report_comes_back_as_it_is_judged_from_its_file(change: Any, tmp_path: Path) -> None:
    """Between plain ones, whose texts are kept."""
    spool = tmp_path / "spool"
    spool.mkdir()
    for number in range(3):
        text = json.dumps(json.loads(report(hotter(machine(number), number))), separators=(",", ":"))
        other = change(text) if number != 1 else text
        assert number == 1 or other != text
        (spool / f"gpu-{number}.json").write_text(other)
    code, db = load(spool, to=tmp_path / "now.db")
    assert code == 0 and rows(db, "select * from refused") == []
    for number in range(3):
        node = gpudoctor("fleet", "report", tmp_path / "now.db", "--node", f"gpu-{number}", "--format", "json")
        plain = gpudoctor("check", "--from", spool / f"gpu-{number}.json", "--format", "json")
        ours, its = json.loads(node.stdout), json.loads(plain.stdout)
        assert ours["snapshot"] == its["snapshot"] and ours["verdict"] == its["verdict"]


def test_a_number_that_is_none_is_refused_after_those_that_are(tmp_path: Path) -> None:
    """The text of the reports before fits; the number in it does not."""
    for number in range(3):
        text = json.dumps(json.loads(report(hotter(machine(number), number))), separators=(",", ":"))
        (tmp_path / f"gpu-{number}.json").write_text(text.replace('"temperature_c":32', '"temperature_c":32.5'))
    _, db = load(tmp_path, to=tmp_path / "now.db")
    assert rows(db, "select node from node order by 1") == [("gpu-0",), ("gpu-1",)]
    assert "temperature_c" in rows(db, "select reason from refused")[0][0]


def test_the_fields_with_holes_are_numbers_of_a_gpu() -> None:
    wanted = {*holes._WHOLE["gpus"], *holes._DECIMAL["gpus"]} - {"pid", "memory_mib"}
    assert wanted <= set(Gpu.__struct_fields__)


def test_a_damaged_row_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "gpu-0.json").write_bytes(report(machine()))
    load(tmp_path / "gpu-0.json", to=tmp_path / "now.db")
    with Faults() as faults:
        for own in (b"", b"\0\0", b"\0\0{}", b"x", b"\0" * 9, "text", b"GPU-1\0 1\0{}"):
            db = sqlite3.connect(tmp_path / "now.db")
            db.execute("update report set own = ?", (own,))
            db.commit()
            db.close()
            done = gpudoctor("fleet", "report", tmp_path / "now.db", "--node", "gpu-0")
            with faults.of(str(own)):
                assert done.returncode == 2 and done.stderr.count(b"\n") == 1 and b"damaged" in done.stderr
