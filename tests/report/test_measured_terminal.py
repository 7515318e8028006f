"""Measurements in a terminal: the proof first, every step that did not run told, nothing said that is not known."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from doctor.judge.report import Report
from doctor.report.bars import SHADES, bar, stacked
from doctor.report.blocks import seen
from doctor.report.clean import ascii_only
from doctor.report.lines import plain
from doctor.report.markdown import render_markdown
from doctor.report.measured_blocks import measured_lines
from doctor.report.page import render_html
from doctor.report.table import Row, table
from doctor.report.terminal import Display, render_terminal
from doctor.snapshot import Missing, known
from doctor.snapshot.measured import Measured, PairProof, StepEnd

from ..drawn import drawn
from ..healthy import healthy
from ..judging import report
from ..rows import for_each
from .measured_mutants import by_an_enemy, with_holes
from .measured_samples import (
    KEY,
    cpu_measured,
    full_measured,
    loads,
    no_gpu_path,
    rate,
    sweep,
    told,
    torch_proof,
    training,
    two_gpus,
    watched,
)
from .samples import LAYERS, finding

SAMPLES = {"full": full_measured, "two": two_gpus, "cpu": cpu_measured, "none": no_gpu_path, "watched": watched}


def block(measured: Measured, width: int = 100, verbose: int = 0) -> list[str]:
    """The block's lines."""
    return plain(measured_lines(told(measured), width, verbose)).splitlines()


def flat(measured: Measured, verbose: int = 0) -> str:
    """The block on one line: words that are wrapped stand together."""
    return " ".join("\n".join(block(measured, 100, verbose)).split())


@pytest.fixture(scope="module")
def reports() -> dict[str, Report]:
    return {name: told(make()) for name, make in SAMPLES.items()}


def test_the_proof_is_told_in_words_under_the_header() -> None:
    lines = render_terminal(told(full_measured()), LAYERS, Display(width=100)).splitlines()
    head = next(i for i, row in enumerate(lines) if row.startswith("Measured  full run"))
    assert any("NVIDIA H200" in row for row in lines[:head])
    assert lines[head + 1].startswith("✓ GPU path used  cuda:0 (NVIDIA H200)")
    assert next(i for i, row in enumerate(lines) if "hardware" in row) > head
    text = flat(full_measured())
    for words in (
        "match float64, error at most 2.1e-04",
        "ran native code",
        "NVML saw the process using 1,688 MiB",
        "the GPU was up to 97 % busy",
        "412 times as fast as the CPU",
        "CUDA compatibility is not a problem",
    ):
        assert words in text


@for_each(
    ("changes", "words"),
    [
        (
            {"torch_devices": (), "torch": ()},
            "✗ GPU path not used torch sees no GPU: torch.cuda.is_available() is False",
        ),
        ({"torch": (torch_proof(right=False, matmul_error=0.9),)}, "✗ wrong results torch's results on cuda:0"),
        (
            {"torch": (torch_proof(right=Missing("error"), fault="hang", failed_step="matmul"),)},
            "✗ GPU path not used torch could not compute on cuda:0",
        ),
        (
            {"torch": (torch_proof(right=Missing("error"), error="CUDA out of memory", error_code=2),)},
            "? not proven torch could not compute",
        ),
        ({"torch": (torch_proof(code="ptx-jit", first_launch_ms=9100.0),)}, "compiled from PTX in 9,100 ms"),
        (
            {"torch": (torch_proof(busy=True),)},
            "another process was using the device, so the measured speed is not meaningful",
        ),
    ],
)
def test_each_verdict_of_the_path_has_its_words(changes: dict[str, object], words: str) -> None:
    assert words in flat(replace(full_measured(), **changes))


def test_products_are_rows_with_a_bar_and_their_share_of_the_peak() -> None:
    rows = {row.split()[0]: row for row in block(full_measured()) if "TFLOP/s  " in row or "GB/s" in row}
    assert "742 TFLOP/s" in rows["bf16"] and "75 % of peak" in rows["bf16"]
    assert "4,305 GB/s" in rows["memory"] and "90 % of peak" in rows["memory"]
    assert rows["fp16"].count("█") < rows["memory"].count("█")
    assert "█" in rows["fp32"] and "─" in rows["fp32"]


def test_a_rate_below_its_range_is_marked() -> None:
    slow = replace(
        full_measured(), rates=(rate("matmul", "bf16", 301.0, "TFLOP/s"), rate("matmul", "fp32", 51.0, "TFLOP/s"))
    )
    small = rate("matmul", "bf16", 301.0, "TFLOP/s", detail={"m": 512, "shrunk": 1})
    assert "made smaller, little memory was free" in flat(replace(full_measured(), rates=(small,)))
    marks = {row.split()[0]: "▲" in row for row in block(slow) if "TFLOP/s" in row and "of peak" in row}
    assert marks == {"bf16": True, "fp32": False}


def test_a_rate_that_varied_says_so() -> None:
    wild = replace(cpu_measured(), rates=(rate("matmul", "fp32", 0.1, "TFLOP/s", "cpu", spread_percent=45.0),))
    assert "varied by 45 %" in flat(wild) and "varied" not in flat(cpu_measured())


def test_a_busy_machine_is_told_once_in_place_of_each_spread() -> None:
    m = cpu_measured()
    wild = [replace(r, spread_percent=80.0) for r in known(m.rates) or ()]
    assert "varied by 80 %" in flat(replace(m, rates=tuple(wild))) and "busy machine" not in flat(m)
    busy = flat(replace(m, rates=tuple(replace(r, detail={**r.detail, "load_percent": 250}) for r in wild)))
    assert busy.count("busy machine (load 2.5 per core): best of several runs") == 1 and "varied" not in busy


def test_a_step_that_was_not_timed_says_why() -> None:
    cut = replace(full_measured(), training=(training(samples_per_s=LATE, step_ms=LATE),))
    assert "not timed (no time left)" in flat(cut)


LATE = Missing("timeout", "no time left")


def test_what_is_folded_is_there_with_v() -> None:
    closed, opened = flat(full_measured()), flat(full_measured(), verbose=1)
    for words in (
        "pageable",
        "tensor cores",
        "FLOP/byte",
        "gpudoctor's PTX kernel computed 1,048,576 elements correctly",
        "212 kernels",
    ):
        assert words not in closed and words in opened
    for words in (
        "4.41 us eager, 1.13 us in a CUDA graph",
        "backward 20.6 ms",
        "PCIe 5.0 x16",
        "power-cap in 61 % of the samples",
        "contraction 214 to 731",
        "24 cores of 192",
    ):
        assert words in closed


def test_memory_of_a_step_is_one_bar_of_all_its_parts() -> None:
    lines = block(full_measured())
    stack = next(row for row in lines if row.strip() and set(row.strip()) <= set(SHADES))
    widths = [stack.count(shade) for shade in SHADES[:5]]
    assert sum(widths) == len(stack.strip()) and widths[4] > sum(widths[:4])
    assert "▚ activations 3,312 MiB" in flat(full_measured()) and "17.8 bytes per parameter (rule: 18)" in flat(
        full_measured()
    )


def test_the_sweep_says_what_limits_each_batch_and_where_the_gpu_takes_over() -> None:
    text = flat(full_measured())
    assert "limit: launches, 27,706 samples/s" in text and "limit: GPU arithmetic, 890,435 samples/s" in text
    assert "The GPU is the limit from batch 4,096 on." in text
    rows = [row for row in block(full_measured()) if " ms  limit" in row]
    assert [row.split()[0] for row in rows] == ["64", "256", "1,024", "4,096", "16,384"]
    shares = [row.count("█") / sum(row.count(shade) for shade in SHADES) for row in rows]
    assert shares == sorted(shares) and shares[0] < 0.2 < 0.8 < shares[-1]


def test_a_step_of_unknown_device_time_has_no_split() -> None:
    points = tuple(replace(p, device_ms=Missing("absent")) for p in sweep())
    rows = [row for row in block(replace(full_measured(), batches=points)) if "samples/s" in row and " ms " in row]
    assert rows and not any(shade in row for row in rows for shade in SHADES)


def test_of_several_gpus_the_first_is_told_in_full_and_all_with_v() -> None:
    lines = block(two_gpus())
    assert sum(row.lstrip().startswith("bf16  ") for row in lines) == 1
    assert any(row.strip().startswith("cuda:1  bf16 742 TFLOP/s, memory 4,305 GB/s") for row in lines)
    assert "✓ GPU path used cuda:1: also correct" in flat(two_gpus())
    assert flat(two_gpus()).count("ran native code") == 1 and flat(two_gpus(), verbose=1).count("ran native code") == 2
    opened = block(two_gpus(), verbose=1)
    assert sum(row.lstrip().startswith("bf16  ") for row in opened) == 2


def test_many_pairs_that_are_right_are_one_line() -> None:
    found = [
        PairProof(source=f"cuda:{a}", target=f"cuda:{b}", right=True, peer_access=a < 3, gb_s=300.0 + a)
        for a in range(4)
        for b in range(4)
        if a != b
    ]
    bad = replace(found[0], right=False, error="wrong data")
    many = replace(two_gpus(), pairs=(bad, *found[1:]))
    assert "✓ 11 pairs of GPUs: data correct, 300 to 303 GB/s, peer access between 8" in flat(many)
    assert "✗ cuda:0 to cuda:1: wrong data" in flat(many) and "cuda:2 to cuda:3" not in flat(many)
    assert "✓ cuda:2 to cuda:3: data correct, 302 GB/s, peer access" in flat(many, verbose=1)
    alike = tuple(replace(pair, gb_s=370.2 + n / 100) for n, pair in enumerate(found))
    assert "12 pairs of GPUs: data correct, 370 GB/s, peer access" in flat(replace(two_gpus(), pairs=alike))


def test_what_is_between_gpus_is_told() -> None:
    text = flat(two_gpus())
    assert "✓ cuda:0 to cuda:1: data correct, 371 GB/s, peer access" in text
    assert "✗ cuda:1 to cuda:0: wrong data" in text
    assert "✗ all-reduce with nccl over 2 devices: no answer within 20 s" in text


@for_each("verbose", [0, 1])
def test_every_step_that_did_not_end_well_is_told(verbose: int) -> None:
    ends = (
        StepEnd(agent="torch_speed", step="matmul fp8", device="cuda:0", fault="skipped", detail="needs compute capability 8.9"),
        StepEnd(agent="torch_speed", step="operation gelu", device="cuda:0", fault="skipped", detail="no time left"),
        StepEnd(agent="torch_speed", step="operation softmax", device="cuda:0", fault="skipped", detail="no time left"),
        StepEnd(agent="torch_proof", step="conv", device="cuda:0", fault="crash", detail="signal 11"),
        StepEnd(agent="training_speed", step="loader", fault="hang"),
        StepEnd(agent="torch_speed", step="training", device="cuda:0", fault="skipped", detail="out of memory: made smaller, 4 instead of 8"),
    )  # fmt: skip
    text = flat(replace(full_measured(), ended=ends), verbose)
    for words in (
        "- matmul fp8 on cuda:0: left out (needs compute capability 8.9)",
        "- operation gelu, operation softmax on cuda:0: left out (no time left)",
        "✗ conv on cuda:0: crashed (signal 11)",
        "✗ loader: no answer, stopped",
        "- training on cuda:0: out of memory: made smaller, 4 instead of 8",
    ):
        assert words in text
    assert text.index("✗ loader") < text.index("✗ conv on cuda:0") < text.index("- matmul fp8")


def test_what_is_alike_on_several_gpus_is_told_once() -> None:
    """And which GPUs were not asked for."""
    words = "fp4 needs compute capability 10.0, this GPU has 9.0"
    ends = tuple(
        StepEnd(agent="torch_speed", step="matmul fp4", device=f"cuda:{n}", fault="skipped", detail=words)
        for n in range(4)
    )
    other = StepEnd(agent="torch_speed", step="launch graph", device="cuda:2", fault="skipped", detail=words)
    text = flat(replace(full_measured(), ended=(*ends, other)))
    assert text.count("matmul fp4") == 2 and "- matmul fp4 on cuda:0-1, cuda:3: left out (fp4 needs" in text
    assert "- matmul fp4, launch graph on cuda:2: left out (fp4 needs" in text
    second = rate("matmul", "bf16", 740.0, "TFLOP/s", device="cuda:1")
    assert "Speed of cuda:1" in flat(replace(full_measured(), rates=(second,), training=(), batches=(), products=()))
    both = replace(full_measured(), device="cuda:0,cuda:2", torch_devices=tuple(f"cuda:{n}" for n in range(5)))
    assert "full run on cuda:0, cuda:2, as requested, but not on cuda:1, cuda:3-4" in flat(both)
    assert "full run on cuda, torch" in flat(full_measured())


def test_what_an_interrupt_cut_short() -> None:
    """Its exit code is not that of the verdict: 130."""
    end = StepEnd(agent="torch_soak", step="sustained load", device="cuda", fault="skipped", detail="interrupted")
    cut = replace(full_measured(), interrupted=True, ended=(end,))
    assert "- sustained load: interrupted" in flat(cut)
    last = render_terminal(told(cut), LAYERS, Display(width=100))
    assert (
        "interrupted; " in last
        and "exit 0" not in last
        and "exit 0" in render_terminal(told(full_measured()), LAYERS, Display(width=100))
    )


def test_without_a_figure_of_speed_there_is_no_block_of_it() -> None:
    """What NVML showed meanwhile is none."""
    m = full_measured()
    assert "Speed of cuda:0" in flat(m) and "under load:" in flat(m)
    bare = flat(replace(m, rates=(), training=(), batches=(), products=(), copies=()))
    assert "Speed of" not in bare and "under load:" not in bare


def test_a_remark_of_many_gpus_is_told_once() -> None:
    one = replace(finding("x"), status="pass", severity="info", title="A remark", detail="As it is.", subject="GPU-1")
    with_both = replace(told(full_measured()), remarks=(one, replace(one, subject="GPU-2")))
    text = render_terminal(with_both, LAYERS, Display(width=100, verbose=1))
    pages = (text, render_markdown(with_both, LAYERS), render_html(with_both, LAYERS))
    assert [page.count("A remark. As it is.") for page in pages] == [1, 1, 1]


def test_measured_on_the_cpu_as_asked_is_no_failure() -> None:
    lines = block(cpu_measured())
    assert any(row.startswith("- GPU path not used  measured on the CPU, as requested") for row in lines)
    assert not any(row.lstrip().startswith("✗") for row in lines)
    assert any("fp32" in row and "112 GFLOP/s" in row for row in lines)
    assert "cpu: matmul and convolution match float64" in flat(cpu_measured())


def test_a_watched_run_says_who_waits_for_whom() -> None:
    lines = block(watched())
    assert "What was watched  python, 118 s, exit code 0" in lines
    bars = {row[2:].partition("  ")[0]: row.count("█") for row in lines if "█" in row}
    assert bars["busiest thread"] > bars["GPU waited"] > bars["CPU"] > bars["GPU busy"]
    text = flat(watched())
    for words in (
        "15 % by this process",
        "85 % no work at all in 81 % of the samples",
        "1.31 cores of 4 available",
        "MainThread, full in 93 % of the samples",
        "2 loader workers with 0.22 cores",
        "at most 1,532 MiB of memory, 58 of 150 W",
        "The CPU sets the pace",
    ):
        assert words in text
    assert "GPU not working for this program" in flat(watched(others_on_gpu=1))
    one = flat(watched(workers=1, workers_cores=1.0, main_cores=1.0, processes_max=1, threads_max=2, others_on_gpu=1))
    for words in (
        "main process 1 core,",
        "1 loader worker with 1 core,",
        "at most 1 process and 2 threads",
        "1 other program on it",
    ):
        assert words in one
    assert "ready to run but without a core 31 % of the time" in flat(watched(core_wait_percent=31.0))
    assert "stopped by signal 15" in flat(watched(signal=15, exit_code=Missing("absent")))
    hot = replace(
        watched(),
        loads=(replace(loads()[0], key=KEY, phase="watch", reasons_percent={"hw-thermal": 40.0, "idle": 90.0}),),
    )
    assert "hw-thermal in 40 % of the samples" in flat(hot) and "idle in" not in flat(hot)


@for_each("verbose", [0, 1])
@for_each("width", [40, 60, 80, 110])
@for_each("name", SAMPLES)
def test_no_line_is_wider_than_the_terminal(reports: dict[str, Report], name: str, width: int, verbose: int) -> None:
    rows = measured_lines(reports[name], width, verbose)
    for ascii_ in (False, True):
        for row in plain(rows, ascii_).splitlines():
            assert len(row) <= width or len(row.split()) == 1, row


@for_each("name", SAMPLES)
def test_in_ascii_no_sign_is_lost(reports: dict[str, Report], name: str) -> None:
    text = plain(measured_lines(reports[name], 100, 1), ascii_=True)
    assert text.isascii() and "?" not in text.replace("? not proven", "")


@drawn(40)
@given(st.sampled_from(sorted(SAMPLES)), st.integers(0, 10**6), st.sampled_from([0.05, 0.3, 0.8]), st.integers(0, 1))
def test_holes_are_stepped_around(name: str, seed: int, share: float, verbose: int) -> None:
    holed = with_holes(SAMPLES[name](), random.Random(seed), share)
    text = plain(measured_lines(replace(BASE, snapshot=BASE.snapshot.replace({"measured": holed})), 80, verbose))
    assert text.startswith("Measured  ")
    for words in ("Missing", "None", "not-asked", "nan", "inf"):
        assert words not in text


BASE = told(full_measured())


@for_each("name", SAMPLES)
def test_no_control_character_of_an_agent_reaches_the_terminal(name: str) -> None:
    enemy = told(by_an_enemy(SAMPLES[name]()))
    text = plain(measured_lines(enemy, 80, 1))
    assert not [c for c in text if not c.isprintable() and c != "\n"]


def test_a_check_without_measurements_prints_what_it_always_did_and_loads_none_of_this() -> None:
    code = (
        "import sys; from tests.healthy import healthy; from tests.judging import report; from tests.report.samples import LAYERS\n"
        "from doctor.report.terminal import render_terminal; from doctor.report.markdown import render_markdown\n"
        "r = report(healthy()); print(render_terminal(r, LAYERS) + render_markdown(r, LAYERS))\n"
        "print([m for m in sys.modules if m.startswith('doctor.report') and ('measured' in m or 'plot' in m or 'watch' in m)])"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert "Measured  " not in done.stdout and "#### Measurements" not in done.stdout
    assert measured_lines(report(healthy()), 80, 1) == []


@given(st.floats(0, 2), st.integers(0, 60))
def test_a_bar_is_as_long_as_its_share(share: float, columns: int) -> None:
    filled, rest = bar(share, columns)
    assert len(filled + rest) == columns
    assert abs(len(filled) - min(1.0, share) * columns) <= 1
    assert (filled == "") == (share == 0 or columns == 0)
    assert ascii_only(filled + rest).isascii() and len(ascii_only(filled + rest)) == columns


@given(st.lists(st.floats(0, 1e6), max_size=6), st.integers(0, 60))
def test_a_stack_is_whole_and_shows_every_part_that_fits(parts: list[float], columns: int) -> None:
    text = stacked(parts, columns)
    assert len(text) == (columns if sum(parts) > 0 else 0)
    for shade, part in zip(SHADES, parts, strict=False):
        if part > 0 and columns >= len(parts):
            assert shade in text
        exact = part / sum(parts) * columns if sum(parts) else 0
        assert abs(text.count(shade) - exact) <= len(parts) + 1


@given(
    st.lists(
        st.tuples(st.text("ab ", max_size=12), st.floats(0, 1), st.text("xyz ", max_size=70)), min_size=1, max_size=5
    ),
    st.integers(40, 110),
)
def test_a_table_fits_and_loses_no_note(rows: list[tuple[str, float, str]], width: int) -> None:
    lines = plain(table([Row(label, "1.0", "GB/s", note, share) for label, share, note in rows], width)).splitlines()
    assert all(len(line) <= width or len(line.split()) == 1 for line in lines)
    said = "".join("".join(lines).split())
    assert all("".join(note.split()) in said for _, _, note in rows)


def test_a_shrunken_step_says_so() -> None:
    small = replace(
        full_measured(), training=(training(shrunk=True, samples_per_s=Missing("absent"), step_ms=Missing("absent")),)
    )
    assert "made smaller because memory ran out" in flat(small) and "not timed" in flat(small)


def test_figures_of_a_finding_are_short_and_tables_are_left_to_json() -> None:
    found = finding(
        "cpu-bound",
        "warn",
        facts={"us": 43.63636363, "mib": 143771.0, "rates": [{"what": "fp32"}], "cores": 1.5, "gpus": 2},
    )
    assert seen(found) == [("us", "43.6"), ("mib", "143771"), ("cores", "1.5"), ("gpus", "2")]
