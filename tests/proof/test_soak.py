"""`gpudoctor prove --soak`: sustained load on made-up GPUs, through the real prover and report."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from doctor.patient import torch_soak
from doctor.proof.plan import Plan
from doctor.proof.soak import EveryGpuSoaked
from doctor.report.progress import _with_bar
from doctor.snapshot import SoakPoint, known
from doctor.targets.process import script_argv

from ..judging import ids, report, run
from .proving import command, environment, variables
from .proving import report as proved
from .proving import run as run_command
from .stories import BOARDS, assert_every_fix_is_looked_at_again, changed, proven

ID = "speed-falls-under-load"


@pytest.fixture(scope="module")
def speedy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return environment(tmp_path_factory.mktemp("speedy"), "speed")


def on_gpus(fakes: Path, folder: Path, count: int, **told: Any) -> dict[str, str]:
    return variables(fakes, folder, "h200x8", {"gpus": str(count)}, devices=count, **told)


def measured(found: dict[str, Any], name: str) -> Any:
    return found["snapshot"]["measured"].get(name)


@pytest.mark.slow
def test_the_curve_of_each_gpu_and_one_that_falls(fakes: Path, speedy: Path, tmp_path: Path) -> None:
    env = on_gpus(fakes, tmp_path, 2, falls={"cuda:1": [7.0, 0.6]})
    found = proved(["prove", "--quick", "--soak", "12", "--python", str(speedy)], env)
    points = {n: [p for p in measured(found, "soak") if p["device"] == n] for n in ("cuda:0", "cuda:1")}
    for name, own in points.items():
        assert 4 <= len(own) <= 14 and all(a["at_s"] < b["at_s"] for a, b in pairwise(own)), name
        assert own[0]["at_s"] < 6 and own[-1]["at_s"] > 9, [p["at_s"] for p in own]  # of 12 s, on a busy machine too
        assert all("power_w" in p and "clock_sm_mhz" in p and "temperature_max_c" in p for p in own[1:-1])
        assert sum(p["compared"] for p in own) > 100 and own[0]["what"] == "bf16"
    assert all(round(p["rate"] / 75) == 10 for p in points["cuda:0"])
    falling = [f for f in found["findings"] if f["id"] == ID]
    assert [f["facts"]["device"] for f in falling] == ["cuda:1"] and falling[0]["facts"]["percent"] < -20
    assert [p for p in measured(found, "products") if p.get("differing_repeats")] == []
    assert {load["phase"] for load in measured(found, "loads")} >= {"soak"}


@pytest.mark.slow
def test_one_signal_starts_the_load_on_all(fakes: Path, speedy: Path, tmp_path: Path) -> None:
    """One core for the imports: when the second torch is there, a load that had not waited would be over."""
    command = script_argv(str(speedy / "bin/python"), str(Path(torch_soak.__file__)))
    plan = Plan(level="quick", total_s=90, commands={"torch_soak": command}, cores=2)
    models = {f"cuda:{n}": "NVIDIA H200" for n in range(3)}
    heard: list[str] = []
    env = on_gpus(fakes, tmp_path, 3, import_s=3.0)
    soak = EveryGpuSoaked(plan, models, env, heard.append, time.monotonic() + 90, 2.0)
    soak.run()
    assert [result.fault for result in soak.results()] == [None] * 3
    phases = [line for result in soak.results() for line in result.lines if line.get("phase") == "soak"]
    assert [line["device"] for line in phases] == list(models)
    assert max(line["start"] for line in phases) < min(line["end"] for line in phases)
    assert "sustained load: 3 GPUs at once" in heard and soak.not_measured() == []


@pytest.mark.slow
def test_results_that_turn_wrong_under_load(fakes: Path, speedy: Path, tmp_path: Path) -> None:
    env = on_gpus(fakes, tmp_path, 1, flips={"cuda:0": 9.0})
    argv = ["prove", "--quick", "--soak", "12", "--python", str(speedy)]
    found = proved(argv, env)
    wrong = [p for p in measured(found, "products") if p["right"] is False]
    assert wrong and wrong[-1]["wrong_elements"] > 0 and wrong[-1]["repeats"] > 100
    assert "gpu-wrong-results" in {f["id"] for f in found["findings"]} and found["exit_code"] == 1


@pytest.mark.slow
def test_an_interrupt_keeps_what_was_measured(fakes: Path, speedy: Path, tmp_path: Path) -> None:
    env = on_gpus(fakes, tmp_path, 1)
    out = tmp_path / "report.json"
    argv = command("prove", "--quick", "--soak", "600", "--python", str(speedy), "--format", "json", "-o", str(out))
    terminal, ours = pty.openpty()
    with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=ours) as child:
        os.close(ours)
        seen = b""
        while b"sustained load: soak " not in seen:  # only a terminal is told how far it is
            seen += os.read(terminal, 4096)
        assert _soaking()
        time.sleep(11)  # a point for each 200th of the time: 3 s
        child.send_signal(signal.SIGINT)
        child.wait(60)
    os.close(terminal)
    found = json.loads(out.read_text())
    assert child.returncode == 130 and found["snapshot"]["measured"]["interrupted"] is True
    assert len(found["snapshot"]["measured"]["soak"]) >= 2 and not _soaking()


def _soaking() -> bool:
    """Whether the child of the soak of 600 s is there."""
    done = subprocess.run(["ps", "-ww", "-eo", "args"], capture_output=True, text=True, check=False)
    return any("torch_soak" in row and "--seconds 600.0" in row for row in done.stdout.splitlines())


def soaked(*rates: float, **last: Any) -> Any:
    points = [
        SoakPoint(
            device="cuda:0", what="bf16", at_s=float(n), seconds=1.0, rate=rate, compared=100, clock_sm_mhz=1900.0 - n,
            power_w=690.0, temperature_max_c=60 + n // 2, **(last if n > len(rates) // 2 else {}),
        )
        for n, rate in enumerate(rates)
    ]  # fmt: skip
    return changed(proven(BOARDS["h100"]), soak=tuple(points))


def test_a_steady_load_is_sound_and_told() -> None:
    s = soaked(*([742.0] * 10 + [735.0] * 20))
    assert run(ID, s)[0] == "pass" and ids(s) == []


def test_a_falling_load_warns_with_its_reasons() -> None:
    s = soaked(*([742.0] * 10 + [600.0] * 20), reasons_percent={"sw-thermal": 80.0, "idle": 0.0})
    status, _, (finding,) = run(ID, s)
    assert status == "warn" and "loses 19 %" in finding.title
    assert "sw-thermal in 80 % of the samples" in finding.detail and "The GPU reached 74 C" in finding.detail
    assert finding.fixes[0].id == "cool-and-soak-again"
    assert_every_fix_is_looked_at_again(s, finding)


def test_a_load_that_falls_without_its_clock_is_not_for_the_fans() -> None:
    s = soaked(*([742.0] * 10 + [600.0] * 20), reasons_percent={"idle": 100.0})
    _, _, (finding,) = run(ID, s)
    assert (
        "The clock did not drop, so neither heat nor power slowed the GPU down" in finding.detail
        and finding.fixes[0].id == "soak-again-alone"
    )
    assert_every_fix_is_looked_at_again(s, finding)


def test_a_short_load_and_none_say_nothing() -> None:
    assert run(ID, soaked(742.0, 500.0, 400.0))[0] == run(ID, proven(BOARDS["h100"]))[0] == "skipped"
    assert report(proven(BOARDS["h100"])).snapshot.measured.soak is not None
    assert known(proven(BOARDS["h100"]).measured.soak) is None


def test_wrong_usage_is_one_line() -> None:
    for words in (["--device", "cpu", "--soak", "5"], ["--soak", "0"], ["--soak", "x"], ["--soak", "5", "--from", "a"]):
        done = run_command(["prove", *words])
        assert done.returncode == 2 and "Traceback" not in done.stderr and "soak" in done.stderr, words
        assert ("'x' is not a valid number" in done.stderr) is (words[-1] == "x"), words


def test_the_bar_follows_the_seconds() -> None:
    assert _with_bar("sustained load: import torch") == "sustained load: import torch"
    half, whole = (_with_bar(f"soak {n} of 600 s").count("━") for n in (300, 600))
    assert 0 < half < whole == 24 and "\x1b" not in _with_bar("soak 300 of 600 s")
