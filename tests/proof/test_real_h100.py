"""What a real H100 gave (80GB HBM3, driver 580.159.04, torch 2.11.0+cu130, 2026-11-26), judged again.

`tests/fixtures/h100`: `recording` is what `gpudoctor record --prove` wrote there, `full.json` the measurements of
`prove --full`, `watched.json` those of `watch` beside five programs whose limit is known.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from doctor.probes.collect import snapshot_of
from doctor.report.lines import plain
from doctor.report.measured_blocks import measured_lines
from doctor.snapshot import Measured, Missing, Snapshot, known
from doctor.targets.recording import read_recording

from ..judging import report
from ..rows import for_each

HERE = Path(__file__).parents[1] / "fixtures" / "h100"
WATCHED = json.loads((HERE / "watched.json").read_text())
FULL = msgspec.convert(json.loads((HERE / "full.json").read_text()), Measured, strict=False)
# SMs' activity of a context alone was 0.000 %; its power rose from 77 W to 128 W with the clocks, without any work.


def machine() -> Snapshot:
    """The H100 as it was recorded, with the quick measurements."""
    return snapshot_of(read_recording(str(HERE / "recording")))


def watched(program: str, changes: dict[str, Any] | None = None) -> Any:
    """The report of this program's run there; `changes` to the facts of the GPU's load."""
    measured = msgspec.convert(WATCHED[program], Measured, strict=False)
    if changes:
        loads = known(measured.loads) or ()
        measured = replace(measured, loads=tuple(replace(load, **changes) for load in loads))
    return report(machine().replace({"measured": measured}))


def test_a_sound_h100_has_no_findings() -> None:
    done = report(machine())
    assert (done.verdict, [f.id for f in done.findings]) == ("pass", [])
    assert {f.id for f in done.remarks} == {"onnxruntime-cpu-fallback", "power-capped"}
    assert [c.id for c in done.checks if c.status == "unknown"] == []


def test_the_full_measurements_pass_too() -> None:
    done = report(machine().replace({"measured": FULL}))
    assert (done.verdict, [f.id for f in done.findings]) == ("pass", [])
    assert done.measured is not None and done.measured.cuda_compatibility == "cleared"
    assert {c.right for c in known(FULL.products) or ()} == {True}


@for_each(
    ("program", "bound", "findings"),
    [
        ("gemm", "gpu", []),
        ("launch", "cpu", ["cpu-bound"]),
        ("loader", "dataloader", ["dataloader-bound"]),
        ("copy", "copies", []),
        ("sleep", "sleep", ["gpu-path-unused"]),
    ],
)
def test_programs_whose_limit_is_known(program: str, bound: str, findings: list[str]) -> None:
    done = watched(program)
    assert (done.measured.watch_bound, [f.id for f in done.findings]) == (bound, findings), done.measured.watch_reason


VERDICTS = {"gpu": "GPU", "cpu": "CPU", "dataloader": "data loading", "copies": "copies", "sleep": "sleep"}


def test_the_page_has_these_verdicts() -> None:
    page = Path("docs/prove.md").read_text("utf-8")
    table = page.partition("| program | GPU busy |")[2].partition("\n\n")[0].splitlines()[2:]
    cells = [re.split(r", | \|", line.rsplit("| ", 1)[1])[0] for line in table]
    assert cells == [VERDICTS[watched(program).measured.watch_bound] for program in WATCHED], cells


NOT_TOLD = Missing("absent", "NVML does not report it")


@for_each(
    ("program", "changes", "finding"),
    [
        # before Hopper there is no GPM: short kernels leave no trace, and busy workers explain an idle GPU
        ("loader", {"sm_activity_percent": NOT_TOLD}, "unknown"),
        ("sleep", {"sm_activity_percent": NOT_TOLD}, "gpu-path-unused"),
        ("loader", {"sm_activity_percent": 0.0}, "gpu-path-unused"),
        # a driver that does not count copies as use
        ("sleep", {"pcie_rx_mb_s": 140.0, "sm_activity_percent": 0.0}, "used"),
        ("sleep", {"pcie_tx_mb_s": 140.0, "sm_activity_percent": 0.0}, "used"),  # results that it fetches
        ("sleep", {"pcie_rx_mb_s": 60.0, "pcie_tx_mb_s": 60.0, "sm_activity_percent": 0.0}, "used"),  # together
        ("sleep", {"pcie_rx_mb_s": 50.0, "pcie_tx_mb_s": 50.0, "sm_activity_percent": 0.0}, "gpu-path-unused"),
        ("sleep", {"sm_activity_percent": 0.3}, "used"),
    ],
)
def test_what_shows_that_a_gpu_was_used(program: str, changes: dict[str, Any], finding: str) -> None:
    done = watched(program, changes)
    status = next(c.status for c in done.checks if c.id == "gpu-path-unused")
    assert status == {"used": "pass", "unknown": "unknown", "gpu-path-unused": "warn"}[finding]


@for_each(
    ("gb_s", "status"),
    [(1500.0, "fail"), (2040.0, "warn"), (2100.0, "warn"), (2400.0, "warn"), (2700.0, "pass"), (3000.0, "pass")],
)
def test_memory_is_held_against_sound_boards(gb_s: float, status: str) -> None:
    """A threshold of an acceptance test (1,905 GB/s) is not what is usual: sound boards read 2,900 to 3,020."""
    rates = tuple(replace(r, value=gb_s) if r.kind == "memory" else r for r in known(FULL.rates) or ())
    done = report(machine().replace({"measured": replace(FULL, rates=rates)}))
    assert next(c.status for c in done.checks if c.id == "memory-bandwidth-below-range") == status
    (row,) = [line for line in plain(measured_lines(done, 100, 0)).splitlines() if line.strip().startswith("memory")]
    share, low, high = map(int, re.findall(r"(\d+) % of peak, normal (\d+) to (\d+)", row)[0])
    assert (low <= share <= high, "▲" in row) == (status == "pass", status != "pass"), row


@for_each("tflops", [640.0, 700.0])
def test_the_default_power_limit_explains_a_product(tflops: float) -> None:
    """At 700 W and 1,464 of 1,980 MHz, 640 TFLOP/s of bf16 is what this board does with random numbers."""
    rates = tuple(replace(r, value=tflops) if r.what == "bf16" else r for r in known(FULL.rates) or ())
    done = report(machine().replace({"measured": replace(FULL, rates=rates)}))
    assert [f.id for f in done.findings] == []


def test_a_clock_that_power_does_not_explain_is_reported() -> None:
    """1,590 of 1,980 MHz at half of the limit: as locked clocks show, whatever the rates are."""
    slow = {"clock_sm_mhz": 1590.0, "power_w": 350.0, "reasons_percent": {}, "reasons_samples": 132}
    held = tuple(replace(load, **slow) for load in known(FULL.loads) or ())
    done = report(machine().replace({"measured": replace(FULL, loads=held)}))
    assert [f.id for f in done.findings] == ["clock-held-low"]
    assert "1590 of" in done.findings[0].title
