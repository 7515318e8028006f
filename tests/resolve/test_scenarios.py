"""What to install on machines whose answer was worked out from sources: scenarios.json."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from doctor.cli import run

from ..rows import Faults

SCENARIOS = json.loads((Path(__file__).parent / "scenarios.json").read_text("utf-8"))


@pytest.mark.slow
def test_scenarios(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(SCENARIOS) >= 60
    with Faults() as faults:
        for row in SCENARIOS:
            with faults.of(row["name"]):
                words = ["resolve", *shlex.split(row["args"])]
                assert run(words) == row.get("exit", 0)
                printed = capsys.readouterr()
                text = " ".join((printed.out + printed.err).split())
                assert all(word in text for word in row.get("words", ())), text[:1500]
                assert "Traceback" not in text and row.get("not", "Traceback") not in text
                if row.get("exit"):
                    continue
                first = printed.out.splitlines()[0]
                assert run([*words, "--format", "json"]) == 0
                best = json.loads(capsys.readouterr().out)["candidates"][0]
                assert best["pip"] == first
                assert best["torch"] == row.get("torch", best["torch"]) and best["tag"] == row.get("tag", best["tag"])
                assert best["rows"] and all(cited["source"] for cited in best["rows"])
