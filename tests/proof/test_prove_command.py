"""`gpudoctor prove` on sound and on sick machines: what was measured before something went wrong is in the report."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ..rows import for_each
from .proving import command, environment, report, run, variables


def of(found: dict[str, Any], name: str) -> Any:
    return found["snapshot"]["measured"].get(name)


def steps(found: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """(agent, step, device, fault) of everything that did not end well."""
    return [(s["agent"], s["step"], s.get("device", ""), s.get("fault", "failed")) for s in of(found, "ended") or ()]


@pytest.fixture(scope="module")
def fake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return environment(tmp_path_factory.mktemp("fake"))


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return environment(tmp_path_factory.mktemp("bare"), None)


def test_libcuda_is_proved_without_torch(fakes: Path, bare: Path, tmp_path: Path) -> None:
    found = report(["prove", "--quick", "--python", str(bare)], variables(fakes, tmp_path, "rtx3090x2"))
    assert [(p["device"], p["right"], p["key"][:4]) for p in of(found, "driver")] == [
        (0, True, "GPU-"),
        (1, True, "GPU-"),
    ]
    assert of(found, "torch")["missing"] == of(found, "rates")["missing"] == "absent"
    ended = {step[0]: step[3] for step in steps(found)}
    assert ended.pop("nvml_sampler", "skipped") == "skipped", "without torch the proof may be over before it starts"
    assert ended == {"torch_proof": "skipped", "torch_speed": "skipped"}
    assert of(found, "level") == "quick" and of(found, "device") == "cuda"


@pytest.mark.slow
def test_every_gpu_is_proved_and_known_by_one_key(fakes: Path, fake: Path, tmp_path: Path) -> None:
    found = report(["prove", "--quick", "--python", str(fake)], variables(fakes, tmp_path, "rtx3090x2", devices=2))
    keys = [gpu["key"] for gpu in found["snapshot"]["gpus"]]
    assert [p["key"] for p in of(found, "driver")] == keys
    assert [(p["device"], p["right"], p["key"]) for p in of(found, "torch")] == [
        ("cuda:0", True, keys[0]),
        ("cuda:1", True, keys[1]),
    ]
    assert [load["key"] for load in of(found, "loads") if load["phase"] == "proof"] == keys
    assert {(p["source"], p["target"], p["right"]) for p in of(found, "pairs")} == {
        ("cuda:0", "cuda:1", True),
        ("cuda:1", "cuda:0", True),
    }


@pytest.mark.slow
def test_a_kernel_that_never_ends_costs_its_gpu_alone(fakes: Path, fake: Path, tmp_path: Path) -> None:
    """libcuda hangs on one GPU, torch on another: children are killed, the others' results are there."""
    env = variables(
        fakes,
        tmp_path,
        "h200x8",
        {"gpus": "3", "fail.cuLaunchKernel.1": "hang"},
        devices=3,
        faults={"cuda:0": {"mm": "hang"}},
    )
    found = report(["prove", "--quick", "--timeout", "12", "--python", str(fake)], env)
    assert of(found, "timeout_s") == 12.0
    assert [(p["device"], p["right"] is True, p.get("fault")) for p in of(found, "driver")] == [
        (0, True, None),
        (1, False, "hang"),
        (2, True, None),
    ]
    cut, *whole = of(found, "torch")
    assert (cut["device"], cut["fault"], cut["failed_step"], cut["right"]["missing"]) == (
        "cuda:0",
        "hang",
        "matmul",
        "timeout",
    )
    assert cut["name"] == "NVIDIA A10", "what was known of it before"
    assert [(p["device"], p["right"]) for p in whole] == [("cuda:1", True), ("cuda:2", True)]
    assert ("torch_proof", "matmul", "cuda:0", "hang") in steps(found)


@pytest.mark.slow
def test_an_error_that_spoils_the_process_costs_its_gpu_alone(fakes: Path, fake: Path, tmp_path: Path) -> None:
    faults = {"cuda:0": {"mm": "CUDA error: an illegal memory access was encountered"}, "cuda:1": {"mm": "crash"}}
    env = variables(fakes, tmp_path, "h200x8", {"gpus": "4", "fail.cuMemAlloc.2": "2"}, devices=4, faults=faults)
    found = report(["prove", "--quick", "--python", str(fake)], env)
    assert [(p["device"], p["right"] is True) for p in of(found, "torch")] == [
        ("cuda:0", False),
        ("cuda:1", False),
        ("cuda:2", True),
        ("cuda:3", True),
    ]
    assert of(found, "torch")[0]["error_code"] == 700 and of(found, "torch")[1]["fault"] == "crash"
    assert [(p["device"], p.get("error_code")) for p in of(found, "driver") if p["right"] is not True] == [(2, 2)]


def test_wrong_results_are_told(fakes: Path, fake: Path, tmp_path: Path) -> None:
    env = variables(fakes, tmp_path, driver={"gpu.0.wrong": "3"}, faults={"cuda:0": {"mm": "wrong"}})
    found = report(["prove", "--quick", "--python", str(fake)], env)
    assert of(found, "driver")[0]["wrong_elements"] == 3 and of(found, "torch")[0]["right"] is False
    assert ("torch_speed", "speed", "cuda", "skipped") in steps(found), "the speed of wrong results is none"


@pytest.mark.slow
def test_a_gpu_that_others_use_is_told_so(fakes: Path, fake: Path, tmp_path: Path) -> None:
    """The other one is idle; being slow beside others is no failure."""
    busy = {"gpu.0.utilization": "97 40", "gpu.0.process.0": "compute 4711 61000 python", "gpu.0.memory.used": "61000"}
    env = variables(fakes, tmp_path, "h200x8", {"gpus": "2", **busy}, devices=2)
    found = report(["prove", "--quick", "--python", str(fake)], env)
    assert [(p["right"], p.get("busy", False), p["utilization_percent"]) for p in of(found, "torch")] == [
        (True, True, 97.0),
        (True, False, 0.0),
    ]
    assert not [f["id"] for f in found["findings"] if f["status"] == "fail" and f["layer"] == "speed"]


@pytest.mark.slow
def test_one_gpu_is_asked_for(fakes: Path, fake: Path, tmp_path: Path) -> None:
    env = variables(fakes, tmp_path, "rtx3090x2", devices=2)
    found = report(["prove", "--quick", "--device", "cuda:1", "--python", str(fake)], env)
    assert [p["device"] for p in of(found, "driver")] == [1]
    assert [p["device"] for p in of(found, "torch")] == ["cuda:1"] and "pairs" not in found["snapshot"]["measured"]


@pytest.mark.slow
def test_the_time_is_over_in_the_middle(fakes: Path, fake: Path, tmp_path: Path) -> None:
    env = variables(fakes, tmp_path, driver={"fail.cuCtxCreate": "hang"}, faults={"cuda:0": {"context": "hang"}})
    found = report(["prove", "--full", "--timeout", "9", "--python", str(fake)], env)
    faults = {step[0]: step[3] for step in steps(found)}
    assert faults["driver_proof"] == "hang" and faults["torch_proof"] == "hang"
    assert faults["torch_speed"] == faults["training_speed"] == "skipped"
    assert found["exit_code"] == 1


@pytest.mark.slow
def test_no_agent_is_asked_again_what_hung_before(fakes: Path, fake: Path, tmp_path: Path) -> None:
    env = variables(fakes, tmp_path, driver={"fail.cuInit": "hang"})
    found = report(["check", "--prove", "--timeout", "1", "--python", str(fake)], env)
    assert ("driver_proof", "test through libcuda", "cuda", "skipped") in steps(found)
    assert of(found, "driver")["missing"] == "timeout"


@pytest.mark.slow
@for_each(
    ("torch", "words"),
    [
        (
            "import os\nos.write(1, b'\\xff\\xfe{\"torch_proof\": 1\\n')\nraise ImportError('libcudnn.so.9')",
            "cannot be imported",
        ),
        ("import os\nos._exit(0)", "cannot be imported"),
        ("__version__ = '1.13.1'", "AttributeError"),
    ],
    ids=["noise", "exits", "no torch at all"],
)
def test_torch_that_is_none(fakes: Path, tmp_path: Path, torch: str, words: str) -> None:
    found = report(["prove", "--quick", "--python", str(environment(tmp_path, torch))], variables(fakes, tmp_path))
    assert of(found, "driver")[0]["right"] is True
    assert words in of(found, "torch")["detail"]


def test_healthcheck_proves_in_one_line(fakes: Path, fake: Path, tmp_path: Path) -> None:
    done = run(
        ["healthcheck", "--prove", "--python", str(fake)], variables(fakes, tmp_path, driver={"gpu.0.wrong": "3"})
    )
    assert done.returncode == 1 and done.stdout.startswith("FAIL ")
    assert done.stdout.count("\n") == 1 and len(done.stdout) <= 81 and done.stderr == ""


@pytest.mark.slow
def test_a_healthy_line_says_that_it_was_proved(fakes: Path, fake: Path, tmp_path: Path) -> None:
    done = run(["healthcheck", "--prove", "--python", str(fake)], variables(fakes, tmp_path))
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("OK proven: 1x NVIDIA H100")


@pytest.mark.slow
def test_variables_reach_the_children(fakes: Path, fake: Path, tmp_path: Path) -> None:
    """A GPU is hidden from libcuda; a torch in the working directory is not imported."""
    env = {**variables(fakes, tmp_path, "rtx3090x2"), "CUDA_VISIBLE_DEVICES": "1"}
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise ImportError('of the working directory')")
    found = report(["check", "--prove", "--python", str(fake)], env, tmp_path)
    assert [proof["key"] for proof in of(found, "driver")] == [found["snapshot"]["gpus"][1]["key"]]
    assert [proof["right"] for proof in of(found, "torch")] == [True]


@pytest.mark.slow
def test_a_recording_and_a_report_are_judged_like_the_machine(fakes: Path, fake: Path, tmp_path: Path) -> None:
    env = variables(fakes, tmp_path, "rtx3090x2", {"gpu.1.wrong": "7"}, devices=2)
    folder = tmp_path / "recording"
    done = run(["record", str(folder), "--prove", "--python", str(fake)], env)
    assert done.returncode == 0, done.stderr
    uuids = [value for key, value in _scenario(env) if key.endswith(".uuid")]
    assert uuids and not any(uuid in path.read_text() for path in folder.iterdir() for uuid in uuids)
    replayed = report(["prove", "--replay", str(folder)], env)
    assert of(replayed, "driver")[1]["wrong_elements"] == 7
    saved = tmp_path / "report.json"
    saved.write_text(json.dumps(replayed))
    for words in (["check", "--from", str(saved)], ["prove", "--from", str(saved)], ["check", "--replay", str(folder)]):
        again = report(words)
        assert [f["id"] for f in again["findings"]] == [f["id"] for f in replayed["findings"]]
        assert of(again, "torch") == of(replayed, "torch")


def _scenario(env: dict[str, str]) -> list[tuple[str, str]]:
    lines = Path(env["GPUDOCTOR_FAKE_SCENARIO"]).read_text().splitlines()
    return [(key.strip(), value.strip()) for key, _, value in (line.partition("=") for line in lines)]


@pytest.mark.slow
def test_home_that_cannot_be_written(fakes: Path, fake: Path, tmp_path: Path) -> None:
    env = {**variables(fakes, tmp_path), "HOME": "/proc", "XDG_CACHE_HOME": "/proc", "TMPDIR": "/proc"}
    found = report(["prove", "--quick", "--python", str(fake)], env, tmp_path)
    assert of(found, "driver")[0]["right"] is True and of(found, "torch")[0]["right"] is True


def _children(pid: int) -> set[int]:
    """All living processes below this one."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state != "Z":
            parents[int(path.parent.name)] = int(parent)
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    ("number", "format_"), [(signal.SIGINT, "text"), (signal.SIGINT, "json"), (signal.SIGTERM, "text")]
)
def test_a_signal_leaves_no_child_behind(fakes: Path, fake: Path, tmp_path: Path, number: int, format_: str) -> None:
    env = variables(fakes, tmp_path, faults={"cuda:0": {"mm": "hang"}})
    at_work = subprocess.Popen(
        command("prove", "--quick", "--python", str(fake), "--format", format_),
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    until = time.monotonic() + 60
    children: set[int] = set()
    while (
        at_work.poll() is None
        and time.monotonic() < until
        and not any("torch_proof" in _words(pid) for pid in children)
    ):
        children = _children(at_work.pid)
        time.sleep(0.05)
    at_work.send_signal(number)
    out, err = at_work.communicate(timeout=60)
    assert at_work.returncode == (130 if number == signal.SIGINT else -number)
    assert b"Traceback" not in err
    if format_ == "json":
        report = json.loads(out)
        assert report["exit_code"] == 130 and report["snapshot"]["measured"]["interrupted"] is True
    elif number == signal.SIGINT:  # what was measured is told: here by libcuda alone
        text = " ".join(out.decode().split())
        assert "quick run on cuda, interrupted" in text and "1x NVIDIA H100" in text
        assert "test with torch: interrupted" in text and "left out (interrupted before it started)" in text
    else:
        assert out == b""
    assert children
    while left := [pid for pid in children if _alive(pid)]:
        assert time.monotonic() < until + 60, left
        time.sleep(0.05)


def _words(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.slow
def test_a_slow_nvlink_pair_is_named(fakes: Path, fake: Path, tmp_path: Path) -> None:
    """12 GB/s between two of three GPUs that 18 links join each; the others have 380."""
    shared = tmp_path / "shared"
    shared.mkdir()
    told: dict[str, Any] = {"pair_gbs": {"other": 380.0, "cuda:0>cuda:2": 12.0}, "shared": str(shared)}
    env = variables(fakes, tmp_path, "h200x8", {"gpus": "3"}, devices=3, **told)
    found = report(["prove", "--quick", "--python", str(fake)], env)
    (slow,) = [f for f in found["findings"] if f["id"] == "gpu-link-slow"]
    assert slow["facts"]["pairs"] == [["cuda:0", "cuda:2"]] and slow["facts"]["nvlinks"] == 18
    assert 11 < slow["facts"]["gb_s"] < 12.1 and slow["status"] == "fail" and "over NVLink" in slow["title"]
    pairs = {(p["source"], p["target"]): p for p in of(found, "pairs")}
    assert all(p["right"] is True and p["mib"] == 64 for p in pairs.values()) and len(pairs) == 6
    assert "latency_us" in pairs["cuda:1", "cuda:2"] and "latency_us" not in pairs["cuda:0", "cuda:2"]


@pytest.mark.slow
def test_a_pair_that_was_slow_once_is_measured_again(fakes: Path, fake: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    told: dict[str, Any] = {"pair_gbs": {"other": 380.0}, "first_gbs": {"cuda:0>cuda:2": 12.0}, "shared": str(shared)}
    env = variables(fakes, tmp_path, "h200x8", {"gpus": "3"}, devices=3, **told)
    found = report(["prove", "--quick", "--python", str(fake)], env)
    assert [f["id"] for f in found["findings"] if f["id"] == "gpu-link-slow"] == []
    pairs = {(p["source"], p["target"]): p for p in of(found, "pairs")}
    assert len(pairs) == len(of(found, "pairs")) == 6 and 370 < pairs["cuda:0", "cuda:2"]["gb_s"] < 381
    assert of(found, "collective")["ranks"] == 3
