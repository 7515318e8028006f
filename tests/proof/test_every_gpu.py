"""`gpudoctor prove` on eight GPUs of which some are sick: the real prover and report, on a driver and a torch made up."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from doctor.patient import torch_speed
from doctor.probes.measured import parse_measured
from doctor.proof.every_gpu import EveryGpu
from doctor.proof.plan import Plan, device_of, ordinals_of
from doctor.snapshot.device_names import in_short
from doctor.targets.agent import AgentResult
from doctor.targets.process import script_argv

from ..rows import for_each
from .proving import command, environment, report, run, variables


@pytest.fixture(scope="module")
def speedy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return environment(tmp_path_factory.mktemp("speedy"), "speed")


def on_gpus(fakes: Path, folder: Path, count: int, **told: Any) -> dict[str, str]:
    shared = folder / "shared"
    shared.mkdir()
    return variables(fakes, folder, "h200x8", {"gpus": str(count)}, devices=count, shared=str(shared), **told)


def rates(found: dict[str, Any], what: str) -> dict[str, Any]:
    rows = found["snapshot"]["measured"]["rates"]
    return {r["device"]: r for r in rows if r["what"] == what and r["kind"] != "pair"}


@pytest.mark.slow
def test_eight_gpus_of_which_one_is_slow_two_are_wrong_and_one_crowded(
    fakes: Path, speedy: Path, tmp_path: Path
) -> None:
    sick: dict[str, Any] = {
        "share": {"cuda:5": 0.5},
        "crowded": {"cuda:2": 0.6},
        "zeros": {"cuda:3": "bfloat16"},
        "other_bytes": {"cuda:6": True},
    }
    found = report(["prove", "--quick", "--python", str(speedy)], on_gpus(fakes, tmp_path, 8, **sick))
    names = [f"cuda:{n}" for n in range(8)]
    for what in ("bf16", "tf32", "fp8", "int8", "copy", "h2d-pinned", "d2h-pinned", "eager"):
        assert list(rates(found, what)) == names, what
    products = rates(found, "bf16")
    assert {n: round(products[n]["value"] / 75) for n in names} == {**dict.fromkeys(names, 10), "cuda:5": 5}
    together = {n: products[n]["detail"]["at_once"] for n in names}
    assert together == {**dict.fromkeys(names, 8), "cuda:2": 1, "cuda:5": 1}, "those two again alone"
    assert products["cuda:2"]["detail"]["before"] < 650 and products["cuda:5"]["detail"]["before"] < 400
    keys = {gpu["key"]: f"cuda:{n}" for n, gpu in enumerate(found["snapshot"]["gpus"])}
    by_gpu = {(f["id"], keys.get(f["subject"])): f for f in found["findings"]}
    wrong = {gpu for check, gpu in by_gpu if check == "gpu-wrong-results"}
    assert wrong == {"cuda:3", "cuda:6"} and found["exit_code"] == 1
    assert "bf16 matmuls" in by_gpu["gpu-wrong-results", "cuda:3"]["detail"]
    assert "copies within the GPU's memory" in by_gpu["gpu-wrong-results", "cuda:6"]["detail"]
    assert {gpu for check, gpu in by_gpu if check == "gpu-slower-than-siblings"} == {"cuda:5"}
    saved = tmp_path / "report.json"
    saved.write_text(json.dumps(found))
    text = " ".join(run(["prove", "--from", str(saved)]).stdout.split())
    assert "with matmuls and memory measured on 8 GPUs in parallel" in text
    assert "measured on cuda:0 alone; left out: cuda:1-7" in text
    assert "correct against float64, 20 bit-identical repeats" in text


@pytest.mark.slow
def test_other_bits_in_a_repeat_are_looked_at_by_a_second_process(fakes: Path, speedy: Path, tmp_path: Path) -> None:
    """All within rounding: a warning on that GPU, and what was run."""
    env = on_gpus(fakes, tmp_path, 2, other_bits={"cuda:1": "bfloat16"})
    found = report(["prove", "--quick", "--python", str(speedy)], env)
    (finding,) = [f for f in found["findings"] if f["id"] == "gpu-results-not-repeatable"]
    assert (finding["status"], finding["subject"]) == ("warn", found["snapshot"]["gpus"][1]["key"])
    assert "of 20 repeats differ" in finding["detail"] and "a second process saw this too" in finding["detail"]
    assert "The bits were the same each time on cuda:0." in finding["detail"]
    products = [(p["device"], p["what"]) for p in found["snapshot"]["measured"]["products"]]
    assert products.count(("cuda:1", "bf16")) == 2 and products.count(("cuda:0", "bf16")) == 1
    assert rates(found, "bf16")["cuda:1"]["detail"]["at_once"] == 2, "the second one's speed is none"
    assert not [f for f in found["findings"] if f["status"] == "fail"]


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_measured(fakes: Path, speedy: Path, tmp_path: Path) -> None:
    """In the middle of the copies, one GPU after the other: all products are in the report, and not all copies."""
    env = on_gpus(fakes, tmp_path, 3, hang_in={"cuda:1": "copy"})
    words = command("prove", "--quick", "--format", "json", "--python", str(speedy))
    at_work = subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until = time.monotonic() + 100
    while at_work.poll() is None and time.monotonic() < until and not (tmp_path / "shared/hangs").exists():
        time.sleep(0.05)
    at_work.send_signal(signal.SIGINT)
    out, err = at_work.communicate(timeout=60)
    assert at_work.returncode == 130 and b"Traceback" not in err
    found = json.loads(out)
    assert found["snapshot"]["measured"]["interrupted"] is True
    assert list(rates(found, "bf16")) == list(rates(found, "copy")) == ["cuda:0", "cuda:1", "cuda:2"]
    assert list(rates(found, "h2d-pinned")) == ["cuda:0"]
    ended = {(e["agent"], e["detail"]) for e in found["snapshot"]["measured"]["ended"]}
    assert ("torch_speed", "interrupted") in ended
    assert not any("alone" in detail for _, detail in ended), "the rest was not begun"
    saved = tmp_path / "report.json"
    saved.write_bytes(out)
    again = run(["prove", "--from", str(saved)])
    assert found["exit_code"] == 130  # the command's own
    assert again.returncode == 0 and "interrupted" in again.stdout


@pytest.mark.slow
def test_a_list_of_gpus(fakes: Path, speedy: Path, tmp_path: Path) -> None:
    env = on_gpus(fakes, tmp_path, 4)
    found = report(["prove", "--quick", "--device", "cuda:3,1", "--python", str(speedy)], env)
    measured = found["snapshot"]["measured"]
    assert measured["device"] == "cuda:1,cuda:3"
    assert [p["device"] for p in measured["driver"]] == [1, 3]
    assert [p["device"] for p in measured["torch"]] == ["cuda:1", "cuda:3"] == list(rates(found, "bf16"))
    assert not [f for f in found["findings"] if f["status"] == "fail"]
    (wrong,) = [check for check in found["checks"] if check["id"] == "gpu-wrong-results"]
    assert wrong["status"] == "pass", "the others were left out on purpose"
    saved = tmp_path / "report.json"
    saved.write_text(json.dumps(found))
    text = " ".join(run(["prove", "--from", str(saved)]).stdout.split())
    assert "quick run on cuda:1, cuda:3, as requested, but not on cuda:0, cuda:2" in text
    assert "matmul fp4 on cuda:1, cuda:3: left out (fp4 needs compute capability 10.0" in text


@pytest.mark.slow
def test_a_gpu_that_hangs_costs_its_own_figures(fakes: Path, speedy: Path, tmp_path: Path) -> None:
    """All others are measured, and it is told for which there is none."""
    env = on_gpus(fakes, tmp_path, 3, hang_in={"cuda:1": "bfloat16"})
    found = report(["prove", "--quick", "--timeout", "45", "--python", str(speedy)], env)
    assert list(rates(found, "bf16")) == ["cuda:0", "cuda:2"] == list(rates(found, "h2d-pinned"))
    ended = found["snapshot"]["measured"]["ended"]
    assert ("cuda:1", "matmul bf16", "hang") in {(e.get("device"), e["step"], e.get("fault")) for e in ended}
    (finding,) = [f for f in found["findings"] if f["id"] == "driver-not-answering"]
    assert finding["status"] == "warn" and finding["facts"]["device"] == "cuda:1", finding
    assert finding["subject"] == found["snapshot"]["gpus"][1]["key"] and "matmul bf16 hangs on" in finding["title"]


@pytest.mark.slow
def test_gpus_for_which_there_is_no_memory_are_named(fakes: Path, speedy: Path, tmp_path: Path) -> None:
    """Each child with torch takes 1.5 GB of the host's memory."""
    command = script_argv(str(speedy / "bin/python"), str(Path(torch_speed.__file__)))
    plan = Plan(level="quick", total_s=60, commands={"torch_speed": command}, cores=2, memory_mib=3500)
    models = {f"cuda:{n}": "NVIDIA H200" for n in range(4)}
    every = EveryGpu(plan, models, on_gpus(fakes, tmp_path, 4), lambda words: None, time.monotonic() + 60)
    results = every.run()
    assert [result.fault for result in results] == [None, None]
    measured = {line["rate"]["device"] for result in results for line in result.lines if "rate" in line}
    assert measured == {"cuda:0", "cuda:1"}
    assert [where for where, _, _ in every.not_measured()] == ["cuda:2-3", "cuda:1"]
    assert "memory" in every.not_measured()[0][2]


def test_a_rest_for_which_there_is_no_time_is_named() -> None:
    plan = Plan(level="quick", total_s=60, commands={"torch_speed": ["true"]}, cores=2, memory_mib=1 << 20)
    every = EveryGpu(plan, dict.fromkeys(("cuda:0", "cuda:1"), "NVIDIA H200"), None, lambda words: None, 0.0)
    ((where, step, why),) = every.not_measured()
    assert (where, why) == ("cuda:0-1", "no time left, or no GPU still running") and "training" in step


@pytest.mark.slow
def test_a_copy_between_gpus_that_brings_other_bytes(fakes: Path, tmp_path: Path) -> None:
    """On the GPU that has a part in most of those that are wrong."""
    wrong = {f"cuda:{a}>cuda:{b}": {"copy": "wrong"} for a, b in ((1, 0), (1, 2), (0, 1), (2, 1))}
    env = variables(fakes, tmp_path, "h200x8", {"gpus": "3"}, devices=3, faults=wrong)
    found = report(["prove", "--quick", "--python", str(environment(tmp_path))], env)
    (finding,) = [f for f in found["findings"] if f["id"] == "gpu-wrong-results"]
    assert finding["subject"] == found["snapshot"]["gpus"][1]["key"] and found["exit_code"] == 1
    assert "cuda:1 to cuda:0" in finding["detail"] or "cuda:0 to cuda:1" in finding["detail"]


@pytest.mark.slow
def test_a_device_that_torch_does_not_offer(fakes: Path, tmp_path: Path) -> None:
    fake = environment(tmp_path)
    env = variables(fakes, tmp_path, "rtx3090x2", devices=1)
    found = report(["prove", "--quick", "--device", "cuda:0,cuda:7", "--python", str(fake)], env)
    assert [p["device"] for p in found["snapshot"]["measured"]["torch"]] == ["cuda:0"]
    ends = {(e["agent"], e.get("device")): e["detail"] for e in found["snapshot"]["measured"]["ended"]}
    assert ends["torch_proof", "cuda:7"] == "torch offers 1 CUDA devices"
    assert found["measured"]["gpu_path_reason"] == "cuda:7 was requested, but torch sees cuda:0"


@for_each(
    ("text", "device"),
    [
        ("cuda", "cuda"),
        ("CPU", "cpu"),
        ("cuda:3", "cuda:3"),
        ("cuda:3,1", "cuda:1,cuda:3"),
        ("cuda:0, cuda:2,cuda:0", "cuda:0,cuda:2"),
    ],
)
def test_the_devices_that_are_asked_for(text: str, device: str) -> None:
    assert device_of(text) == device


@for_each("text", ["", "0", "cuda:", "cuda:1,", "cuda:1-3", "cuda,cpu", "cpu:0", "cuda:1000"])
def test_devices_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match="must be cuda"):
        device_of(text)


def test_devices_in_numbers_and_in_short() -> None:
    assert (ordinals_of("cuda:0,cuda:12"), ordinals_of("cuda"), ordinals_of("cpu")) == ([0, 12], None, None)
    assert in_short(["cuda:1", "cuda:2", "cuda:3", "cuda:5"]) == "cuda:1-3, cuda:5" and in_short([]) == ""


def test_what_was_measured_again_alone_stands() -> None:
    """A second process that only repeats the products does not replace anything."""
    rate = {"kind": "matmul", "device": "cuda:1", "what": "bf16", "unit": "TFLOP/s"}
    values: list[tuple[float, dict[str, int]]] = [(400.0, {"at_once": 8}), (700.0, {"at_once": 1}), (650.0, {})]
    lines = [{"rate": {**rate, "value": value, "detail": detail}} for value, detail in values]
    (found,) = parse_measured({"torch_speed": [AgentResult(lines)]}, {"level": "quick"}).rates  # type: ignore[misc]
    assert (found.value, found.detail) == (700.0, {"at_once": 1, "before": 400.0})
