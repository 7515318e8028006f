"""The commands of docs/fleet.md that collect reports: run as they are written, what they leave is loaded whole."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from msgspec.structs import replace

from doctor.snapshot import Measured, Snapshot, known

from ..cli.command import gpudoctor
from . import fleets, spool

PAGE = Path(__file__).parents[2] / "docs" / "fleet.md"
NODE = """#!/bin/sh
test "$1" = -s && echo "$NODE"
"""
COMMAND = """#!/bin/sh
# The gpudoctor of a node with GPUs, which this machine lacks: prints the node's report.
while test $# -gt 0; do test "$1" = -o && exec cp "$REPORTS/$NODE.json" "$2"; shift; done
cat "$REPORTS/$NODE.json"
"""


def collected(shared: Path, folder: Path, node: str, own: Path | None = None) -> None:
    """Run all collecting commands of the page on one node; own: the programs that this node has instead."""
    for name in ("spool", "checks"):
        (shared / name).mkdir(parents=True, exist_ok=True)
    blocks = re.findall(r"<!-- collect -->\n```sh\n(.*?)```", PAGE.read_text("utf-8"), re.S)
    assert len(blocks) == 3
    paths = [*([str(own)] if own else []), str(Path(sys.executable).parent), os.environ["PATH"]]
    env = {**os.environ, "PATH": ":".join(paths), "NODE": node, "REPORTS": str(folder)}
    for block in blocks:
        script = block.replace("/shared/", f"{shared}/")
        done = subprocess.run(["sh", "-c", script], env=env, cwd=folder, capture_output=True, text=True, check=False)
        assert not done.stderr


def programs(folder: Path) -> Path:
    for name, content in (("hostname", NODE), ("gpudoctor", COMMAND)):
        (folder / name).write_text(content)
        (folder / name).chmod(0o755)
    return folder


def with_slow_gpu(s: Snapshot) -> Snapshot:
    rates = known(s.measured.rates) or ()
    slow = tuple(replace(r, value=r.value / 2) if (r.kind, r.device) == ("matmul", "cuda:0") else r for r in rates)
    return s.replace({"measured": Measured(level="quick", device="cuda", rates=slow)})


def test_every_report_survives_and_three_measurements_count(tmp_path: Path) -> None:
    reports, own = tmp_path / "reports", tmp_path / "own"
    for made in (reports, own):
        made.mkdir()
    shared = tmp_path / "shared"
    for n in range(6):
        s = spool.measured(spool.machine(n))
        (reports / f"n{n}.json").write_bytes(spool.report(with_slow_gpu(s) if n == 2 else s))
        collected(shared, reports, f"n{n}", programs(own))
    assert len(list((shared / "spool").iterdir())) == 18 and len(list((shared / "checks").iterdir())) == 6
    for folder in ("spool", "checks"):
        database = tmp_path / f"{folder}.db"
        done = gpudoctor("fleet", "load", shared / folder, "-o", database)
        assert (done.returncode, done.stderr) == (0, b"")
        found, _ = fleets.report(database)
        assert found["answered"] == 6 and not found["refused"] and not found["duplicates"]
        assert [(one["node"], one["gpu"], one["measured"]) for one in found["slow"]] == (
            [("n2", 0, 3)] if folder == "spool" else []
        )
        assert [one["node"] for one in found["once"]] == ([] if folder == "spool" else ["n2"])
    said = " ".join(gpudoctor("fleet", "report", tmp_path / "checks.db").stdout.decode().split())
    assert "(n2). Run gpudoctor prove on each of these nodes twice more" in said
    assert "### Measure again" in PAGE.read_text("utf-8")


def test_the_commands_run_on_this_machine(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    programs(own)
    (own / "gpudoctor").unlink()
    collected(tmp_path / "shared", tmp_path, "this", own)
    files = sorted((tmp_path / "shared" / "spool").iterdir())
    assert [file.name for file in files] == ["this.again2.json", "this.again3.json", "this.json"]
    assert [json.loads(file.read_bytes()).get("repeat", 1) for file in files] == [2, 3, 1]
    done = gpudoctor("fleet", "load", tmp_path / "shared" / "spool", "-o", tmp_path / "now.db")
    found, _ = fleets.report(tmp_path / "now.db")
    assert not done.stderr and found["answered"] == 1 and not found["refused"] and not found["duplicates"]
