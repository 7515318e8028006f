"""Which node a report sends the reader to, what that node's own report says, and what the report may not replace."""

from __future__ import annotations

import json
from pathlib import Path

from doctor.fleet.store.machines import seconds_of
from doctor.snapshot import Snapshot

from ..cli.command import gpudoctor
from ..rows import for_each
from . import spool

DAY = 24 * 3600.0


def sick(number: int) -> Snapshot:
    return spool.machine(number).replace({"driver.cu_init": 999})


def loaded(folder: Path, *lines: bytes) -> Path:
    (folder / "now.jsonl").write_bytes(b"".join(lines))
    assert spool.load(folder / "now.jsonl", to=folder / "now.db")[0] == 0
    return folder / "now.db"


def test_one_node_in_full_is_one_of_the_first_repair(tmp_path: Path) -> None:
    """Not the first by name, which is only odd here."""
    odd = spool.machine(1).replace({"host.kernel": "6.9.0"})
    lines = [spool.envelope("gpu-001", spool.report(odd))]
    lines += [spool.envelope(f"gpu-{n:03}", spool.report(spool.machine(n))) for n in range(2, 22)]
    database = loaded(tmp_path, *lines, spool.envelope("gpu-099", spool.report(sick(99))))
    done = gpudoctor("fleet", "report", database)
    assert done.returncode == 1 and done.stdout.split()[-2:] == [b"--node", b"gpu-099"], done.stdout
    assert gpudoctor("fleet", "report", database, "--node", "gpu-099").returncode == 1


@for_each("first", ["sick", "well"])
def test_of_two_machines_with_one_name_the_one_that_failed_is_shown(first: str, tmp_path: Path) -> None:
    both = {"sick": spool.report(sick(1)), "well": spool.report(spool.machine(2))}
    order = sorted(both, key=lambda name: name != first)
    lines = [spool.envelope("gpu-070", both[name], received=1795687320.0 + n) for n, name in enumerate(order)]
    database = loaded(tmp_path, *lines)
    assert gpudoctor("fleet", "report", database).returncode == 1
    done = gpudoctor("fleet", "report", database, "--node", "gpu-070")
    assert (done.returncode, done.stderr.count(b"\n")) == (1, 1) and b"2 machines are named gpu-070" in done.stderr


@for_each("off_s", {0.0: "there", 240.0: "there", -400 * DAY: "here", 2 * DAY: "here"})
def test_a_verdict_by_a_wrong_clock_does_not_count(off_s: float, tmp_path: Path) -> None:
    """It is judged again, as of the collector's day."""
    expected = {0.0: "there", 240.0: "there", -400 * DAY: "here", 2 * DAY: "here"}[off_s]
    report = json.loads(spool.report(spool.machine(1)))
    received = seconds_of(report["generated_at"]) - off_s
    database = loaded(tmp_path, spool.envelope("gpu-001", json.dumps(report).encode(), received=received))
    done = gpudoctor("fleet", "report", database, "--query", "select judged from node", "--format", "csv")
    assert done.stdout.split()[-1].decode() == expected


OTHERS = {
    "this program": ({}, "there"),
    "another program": ({"name": "nodecheck"}, "here"),
    "another spelling": ({"name": "GPUDoctor"}, "here"),
    "no name": ({"name": ""}, "here"),
    "another version": ({"version": "0.0.1"}, "here"),
}


@for_each("whose", OTHERS)
def test_only_the_verdict_of_this_program_counts(whose: str, tmp_path: Path) -> None:
    """A report that says pass of a machine that fails: by the tool that it names."""
    report = json.loads(spool.report(sick(1)))
    change, expected = OTHERS[whose]
    report |= {"tool": report["tool"] | change, "verdict": "pass", "findings": []}
    database = loaded(tmp_path, spool.envelope("gpu-001", json.dumps(report).encode()))
    (row,) = json.loads(
        gpudoctor(
            "fleet", "report", database, "--query", "select judged, verdict, tool from node", "--format", "json"
        ).stdout
    )
    assert (row["judged"], row["verdict"]) == (expected, "pass" if expected == "there" else "fail")
    assert ("nodecheck" in row["tool"]) == (whose == "another program")


def test_nodes_whose_clocks_are_equally_off_stand_in_one_row(tmp_path: Path) -> None:
    offs = {"gpu-001": -7200.0, "gpu-002": -7205.0, "gpu-003": 7201.0, "gpu-004": -7190.0, "gpu-005": -400 * DAY}
    lines = []
    for number, (name, off) in enumerate(offs.items()):
        data = spool.report(spool.machine(number))
        lines.append(spool.envelope(name, data, received=seconds_of(json.loads(data)["generated_at"]) - off))
    database = loaded(tmp_path, *lines)
    for format_ in ("text", "markdown", "html"):
        text = gpudoctor("fleet", "report", database, "--format", format_).stdout.decode().replace("\\", "")
        assert text.count("2 hours behind the collector") == 1 and text.count("2 hours ahead of the collector") == 1
        assert "gpu-[001-002,004]" in text, format_
        assert text.index("1 year behind") < text.index("2 hours behind"), format_
    rows = gpudoctor("fleet", "report", database, "--format", "csv").stdout.decode().splitlines()
    assert sum(",odd,clock," in row for row in rows) == 5


@for_each(
    "words",
    [
        "-o now.db",
        "-o ./now.db",
        "--since old.db -o old.db",
        "--spec lines.toml -o lines.toml",
        "--node gpu-001 -o link",
    ],
)
def test_a_report_replaces_nothing_that_it_is_made_of(words: str, tmp_path: Path) -> None:
    database = loaded(tmp_path, spool.envelope("gpu-001", spool.report(spool.machine(1))))
    (tmp_path / "old.db").write_bytes(database.read_bytes())
    (tmp_path / "lines.toml").write_text('torch = ">=2.0"\n')
    (tmp_path / "link").symlink_to("now.db")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    done = gpudoctor("fleet", "report", "now.db", *words.split(), cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.count(b"\n") == 1 and b"would replace" in done.stderr, done.stderr
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_gpus_of_a_finding_are_named_by_index(tmp_path: Path) -> None:
    """Also where its title names none of them: driver-too-old-for-gpu of both GPUs."""
    names = ("kernel_version", "nvml_library_version", "nvml_driver_version", "libcuda_version")
    old = {"driver.cu_init": 100, **dict.fromkeys([f"driver.{name}" for name in names], "450.80.02")}
    lines = [spool.envelope(f"gpu-{n}", spool.report(spool.machine(n).replace(old if n < 2 else {}))) for n in range(4)]
    database = loaded(tmp_path, *lines)
    found = json.loads(gpudoctor("fleet", "report", database, "--format", "json").stdout)
    subjects = [one["subjects"] for one in found["repairs"] if one["finding"] == "driver-too-old-for-gpu"]
    assert subjects == [{"gpu-0": ["GPU 0", "GPU 1"], "gpu-1": ["GPU 0", "GPU 1"]}]
    assert b"gpu-[0-1]: GPU 0-1" in gpudoctor("fleet", "report", database).stdout
