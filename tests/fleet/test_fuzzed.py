"""Broken reports through `fleet load` and every report of it: each file is a node or is refused, and nothing escapes."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from random import Random

import pytest

from doctor.cli import run
from doctor.report.fleet_page import fleet_page
from doctor.report.json import render_json

from ..fuzz.mutate import mutate_bytes, mutate_json
from ..fuzz.targets import CORPUS
from ..judging import report as judged
from ..report.parsers import PARSERS, read_json
from .spool import TODAY, machine, measured
from .test_report_hostile import whole

FORMATS = ("text", "markdown", "html", "csv", "json")


def spool_of(folder: Path, count: int) -> list[str]:
    """Names of files: what the fuzzer once found, sound reports, and `count` mutations of them."""
    folder.mkdir()
    sound = [render_json(judged(measured(machine(number)), TODAY)) for number in range(2)]
    random = Random(7)
    broken = [mutate_bytes(random, random.choice(sound), sound) for _ in range(count // 2)]
    broken += [mutate_json(random, random.choice(sound), sound) for _ in range(count - count // 2)]
    once = [path.read_bytes() for path in sorted(CORPUS.rglob("*")) if path.is_file()]
    names = []
    for number, data in enumerate([*sound, *once, *broken]):
        (folder / f"gpu-{number:04d}.json").write_bytes(data)
        names.append(f"gpu-{number:04d}")
    return names


@pytest.mark.parametrize("count", [40, pytest.param(1500, marks=pytest.mark.slow)])
def test_each_file_is_a_node_or_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], count: int) -> None:
    names, database = spool_of(tmp_path / "spool", count), str(tmp_path / "now.db")
    assert run(["fleet", "load", str(tmp_path / "spool"), "-o", database, "--jobs", "1", "--judge"]) == 0
    said = capsys.readouterr()
    assert "Traceback" not in said.err and "\x1b" not in said.out + said.err
    found: dict[str, list[dict[str, str]]] = {}
    for table, column in (("node", "node"), ("refused", "file")):
        assert run(["fleet", "report", database, "--query", f"select {column} from {table}", "-f", "csv"]) == 0
        found[table] = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    nodes = {row["node"] for row in found["node"]}
    refused = {Path(row["file"]).stem for row in found["refused"]}
    assert {*names} == nodes | refused
    assert len(nodes) >= 2 and refused
    for format_ in FORMATS:
        assert run(["fleet", "report", database, "-v", "-f", format_]) in (0, 1, 3)
        text = capsys.readouterr().out
        assert "\x1b" not in text and "\x00" not in text
        if format_ == "json":
            read_json(text, "fleet")
        elif format_ == "html":
            assert {*PARSERS["html"](text).tags} <= {*PARSERS["html"](fleet_page(whole())).tags}
        else:
            PARSERS[format_](text)
