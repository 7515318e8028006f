"""Reports of small fleets as files, made from healthy machines."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from doctor.cli import run
from doctor.findings import Policy
from doctor.judge.report import Report
from doctor.report.json import render_json
from doctor.snapshot import Measured, Rate, Snapshot, known
from doctor.snapshot.redact import redact

from ..healthy import healthy
from ..judging import report as judged

TODAY = Policy(judged_on="2026-11-20")


def machine(number: int = 0, model: str = "h100", count: int = 2) -> Snapshot:
    """A healthy machine with boards of its own."""
    s = healthy(*[model] * count)
    boards = {
        gpu.key: f"GPU-{number:04x}{n:04x}-0000-4000-8000-000000000000" for n, gpu in enumerate(known(s.gpus) or ())
    }
    gpus = tuple(replace(gpu, key=boards[gpu.key], uuid=boards[gpu.key]) for gpu in known(s.gpus) or ())
    devices = tuple(
        replace(d, uuid=boards[str(d.uuid)]) for d in known(s.driver.cuda_devices) or () if d.uuid in boards
    )
    return s.replace({"gpus": gpus, **({"driver.cuda_devices": devices} if devices else {})})


def measured(s: Snapshot, factor: float = 1.0) -> Snapshot:
    """The machine with rates of each GPU, of the CPU and between two GPUs."""
    count = len(known(s.gpus) or ())
    rates = [
        Rate(
            kind="matmul",
            device=f"cuda:{n}",
            what="bf16",
            value=700.25 * factor + n,
            unit="TFLOP/s",
            detail={"m": 8192.0},
        )
        for n in range(count)
    ]
    rates += [
        Rate(
            kind="operation", device="cuda:0", what="softmax", value=1.5, unit="TFLOP/s", detail={"ms": 0.123 * factor}
        )
    ]
    rates += [Rate(kind="matmul", device="cpu", what="fp32", value=2.5, unit="TFLOP/s")]
    rates += [Rate(kind="pair", device="cuda:0>cuda:1", what="copy", value=51.0, unit="GB/s")]
    return s.replace({"measured": Measured(level="quick", device="cuda", rates=tuple(rates))})


def report(s: Snapshot, masked: bool = True, policy: Policy = TODAY) -> bytes:
    """What `check --format json` prints."""
    found: Report = judged(s, policy)
    return render_json(replace(redact(found), redacted=True) if masked else found)


def envelope(name: str, data: bytes, **more: Any) -> bytes:
    """A line as the collector writes it."""
    return json.dumps({"node": name, **more, "report": json.loads(data)}).encode() + b"\n"


def load(*paths: Path | str, to: Path, **flags: str) -> tuple[int, sqlite3.Connection]:
    """Exit code of `fleet load`, and the database."""
    words = [word for flag, value in flags.items() for word in (f"--{flag}", value)]
    code = run(["fleet", "load", *map(str, paths), "-o", str(to), "--jobs", "1", *words])
    return code, sqlite3.connect(f"file:{to}?mode=ro", uri=True)


def rows(db: sqlite3.Connection, query: str) -> list[Any]:
    return db.execute(query).fetchall()
