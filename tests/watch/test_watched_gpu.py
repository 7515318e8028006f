"""Programs watched on a fake NVML that knows their process numbers: at work, idle, throttled, never on the GPU."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doctor.proof.watch_host import own_numbers
from tests.fakes import Machine

from .run import measured, python, run

OnMachine = Callable[..., dict[str, str]]
UUID = "GPU-00000000-2330-4a5b-8c6d-233000000000"
FAST = ["--interval", "0.1"]
pytestmark = pytest.mark.skipif(not own_numbers(), reason="in a process namespace NVML's numbers are not believed")


def program(env: dict[str, str], seconds: float = 1.4, uses_gpu: bool = True) -> list[str]:
    """A program that the fake NVML lists as long as it lives (`@process` of the scenario)."""
    listed = Path(env["GPUDOCTOR_FAKE_SCENARIO"]).with_name("process")
    code = (
        f"import os, time\npid = os.getpid()\nopen({str(listed)!r}, 'w').write(f'compute {{pid}} 3000 python')\n"
        if uses_gpu
        else "import time\n"
    )
    return python(f"{code}time.sleep({seconds})")


def h100(**changes: str) -> Machine:
    return Machine.load("healthy-h100").with_(
        gpu__0__process__0="@process", gpu__0__process__1="compute 1 500 other", **changes
    )


def watch(on_machine: OnMachine, tmp_path: Path, machine: Machine, **how: Any) -> dict[str, Any]:
    env = on_machine(machine)
    facts, _, code = measured(tmp_path, FAST, program(env, **how), env)
    assert code == 0
    return facts


@pytest.mark.slow
def test_a_gpu_at_work(on_machine: OnMachine, tmp_path: Path) -> None:
    facts = watch(
        on_machine, tmp_path, h100(gpu__0__utilization="97 40", gpu__0__pcie__rx="250000", gpu__0__power__draw_w="610")
    )
    seen = facts["watch"]
    assert (seen["uses_gpu"], seen["gpu_keys"], seen["gpu_memory_max_mib"]) == (True, [UUID], 3000.0)
    assert (seen["gpu_busy_percent"], seen["gpu_busy_by"], seen["gpu_idle_percent"]) == (97.0, "device", 0.0)
    assert (seen["others_on_gpu"], seen["h2d_mb_s"]) == (1, 250.0)
    assert 0 <= seen["gpu_first_seen_s"] < seen["seconds"]
    (load,) = facts["loads"]
    assert (load["key"], load["phase"], load["power_w"], load["clock_sm_max_mhz"]) == (UUID, "watch", 610.0, 1980)
    assert load["samples"] >= 3 and load["reasons_percent"] == {"idle": 100.0}
    assert facts["level"] == "watch" and facts.get("ended", []) == []


@pytest.mark.slow
def test_a_masked_report_speaks_of_the_same_gpu(on_machine: OnMachine, tmp_path: Path) -> None:
    own = "GPU-7d1f0c1e-3a55-4c1b-9b0f-2f6f0a1b2c3d"
    env = on_machine(h100(gpu__0__uuid=own, gpu__0__utilization="90 10"))
    report = tmp_path / "report.json"
    assert run(*FAST, "--format", "json", "-o", str(report), "--", *program(env), env=env).returncode == 0
    assert own.encode() not in report.read_bytes()
    snapshot = json.loads(report.read_bytes())["snapshot"]
    (key,) = snapshot["measured"]["watch"]["gpu_keys"]
    assert key == snapshot["gpus"][0]["key"] == snapshot["measured"]["loads"][0]["key"]


@pytest.mark.slow
def test_a_gpu_that_waits(on_machine: OnMachine, tmp_path: Path) -> None:
    seen = watch(on_machine, tmp_path, h100(gpu__0__utilization="0 0"))["watch"]
    assert (seen["uses_gpu"], seen["gpu_busy_percent"], seen["gpu_idle_percent"]) == (True, 0.0, 100.0)


@pytest.mark.slow
def test_the_cpu_is_told_of_the_time_on_the_gpu(on_machine: OnMachine, tmp_path: Path) -> None:
    env = on_machine(h100(gpu__0__utilization="5 0"))
    prepare = "import time\nend = time.monotonic() + 1.2\nwhile time.monotonic() < end: sum(range(10000))\n"
    *python_c, code = program(env, 3.6)
    facts, _, _ = measured(tmp_path, FAST, [*python_c, prepare + code], env)
    seen = facts["watch"]
    assert seen["gpu_first_seen_s"] > 1.1 and seen["seconds"] > 4.7
    assert seen["main_cores"] < 0.1 and seen["busiest_thread"] < 0.1 and seen["cpu_cores"] < 0.1, (
        "preparing is another matter"
    )


@pytest.mark.slow
def test_a_program_that_never_uses_it(on_machine: OnMachine, tmp_path: Path) -> None:
    facts = watch(on_machine, tmp_path, h100(gpu__0__utilization="80 10"), uses_gpu=False)
    seen = facts["watch"]
    assert seen["uses_gpu"] is False and seen.get("gpu_keys", []) == []
    assert [load["key"] for load in facts["loads"]] == [UUID], "what the GPU did meanwhile is told all the same"


@pytest.mark.slow
def test_throttling_is_a_share_of_the_samples(on_machine: OnMachine, tmp_path: Path) -> None:
    facts = watch(
        on_machine,
        tmp_path,
        h100(gpu__0__clock__reasons="0x44", gpu__0__utilization="100 90", gpu__0__temperature="91"),
    )
    (load,) = facts["loads"]
    assert load["reasons_percent"] == {"power-cap": 100.0, "hw-thermal": 100.0} and load["temperature_max_c"] == 91


@pytest.mark.parametrize(("name", "fault"), [("crash", "crash"), ("9", "failed")])
def test_a_broken_nvml_does_not_touch_the_command(on_machine: OnMachine, tmp_path: Path, name: str, fault: str) -> None:
    calls = tmp_path / "calls"
    env = {**on_machine(h100(fail__nvmlInit=name)), "GPUDOCTOR_FAKE_CALLS": str(calls)}
    asked = f"import os, time\nwhile not os.path.exists({str(calls)!r}): time.sleep(0.02)\n"
    facts, _, exit_code = measured(tmp_path, FAST, python(asked + "time.sleep(0.5)"), env)
    (end,) = facts["ended"]
    assert exit_code == 0
    assert (end["agent"], end.get("fault", "failed")) == ("nvml_sampler", fault)
    assert facts["watch"]["exit_code"] == 0 and facts["watch"]["processes_max"] == 1


@pytest.mark.slow
def test_what_sets_the_pace_is_more_than_utilisation(on_machine: OnMachine, tmp_path: Path) -> None:
    """A kernel that waits, one that works, a full link beside a spinning thread; then programs without a GPU."""
    spin = "\nend = time.monotonic() + 2\nwhile time.monotonic() < end: pass\n"
    cases = [
        ({"utilization": "99 0", "power.draw_w": "128"}, "", True, "waiting"),
        ({"utilization": "99 0", "power.draw_w": "180", "gpm": "2 0 1 5 5 0 0"}, "", True, "waiting"),
        ({"utilization": "99 60", "power.draw_w": "640", "gpm": "95 60 50 5 5 0 0"}, "", True, "gpu"),
        ({"utilization": "6 2", "power.draw_w": "110", "gpm": "3 1 4 46000 0 0 0"}, spin, True, "copies"),
        ({"utilization": "6 2", "power.draw_w": "110", "gpm": "3 1 4 900 0 0 0"}, spin, True, "cpu"),
        ({}, "", False, "sleep"),
        ({}, spin, False, "cpu"),
    ]
    for number, (changes, then, uses_gpu, bound) in enumerate(cases):
        scenario = {f"gpu.0.{name}": value for name, value in {"process.0": "@process", **changes}.items()}
        env = on_machine(Machine.load("healthy-h100").with_(**scenario))
        *python_c, code = program(env, 0.1 if then else 2.0, uses_gpu)
        report = tmp_path / f"report{number}.json"
        done = run(*FAST, "--format", "json", "-o", str(report), "--", *python_c, code + then, env=env)
        assert done.returncode == 0, done.stderr
        verdict = json.loads(report.read_bytes())["measured"]
        assert verdict["watch_bound"] == bound, (changes, verdict["watch_reason"])
