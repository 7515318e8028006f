"""A torch that is read slowly, sleeps or computes for ever, through `check`, `healthcheck --prove` and `prove`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import doctor.patient
from doctor.probes.measured import parse_measured
from doctor.proof.plan import Plan
from doctor.proof.run import prove
from doctor.snapshot import Measured, Missing, StepEnd, TorchProof
from doctor.targets.process import script_argv

from ..judging import ids, report, run
from ..rows import for_each
from ..slow_files import read_slowly
from .proving import HERE, environment, variables
from .proving import report as report_of
from .proving import run as run_cli
from .stories import KEY, machine, proven

READ = "f = open({fifo!r}, 'rb', 0)\nwhile f.read(65536): pass\n"
SLEEP = "import time\ntime.sleep(600)\n"
SPIN = "while True: pass\n"
FAKE = (HERE / "fake_torch.py").read_text("utf-8")


def torch_that(folder: Path, does: str) -> str:
    """An environment whose torch does this before it is the fake one; its path."""
    first, _, rest = FAKE.partition("from __future__ import annotations\n")
    return str(environment(folder, f"{first}from __future__ import annotations\n{does}{rest}"))


@pytest.mark.slow
def test_an_import_that_reads_slowly_is_waited_for(fakes: Path, tmp_path: Path) -> None:
    with read_slowly(tmp_path / "fifo", 4) as fifo:
        python = torch_that(tmp_path, READ.format(fifo=fifo))
        found = report_of(["check", "--python", python, "--timeout", "1"], variables(fakes, tmp_path, "a10g"))
    assert found["snapshot"]["torch_run"]["imported"] is True
    assert found["snapshot"]["torch_run"]["import_seconds"] > 3


@pytest.mark.slow
def test_what_never_ends(fakes: Path, tmp_path: Path) -> None:
    """Slow is UNKNOWN with what it waited for; only what stands still hangs."""
    for name, does, code, words in (
        ("reads", READ, 3, "the disk is slow"),
        ("computes", SPIN, 3, "still computing"),
        ("sleeps", SLEEP, 1, "hangs"),
    ):
        folder = tmp_path / name
        folder.mkdir()
        with read_slowly(folder / "fifo", 600) as fifo:
            python = torch_that(folder, does.format(fifo=fifo))
            done = run_cli(["check", "--python", python, "--timeout", "0.5"], variables(fakes, folder, "a10g"))
        assert done.returncode == code and words in " ".join(done.stdout.split()), (name, done.stdout, done.stderr)
        broken = "torch-import-broken" in done.stdout or "einstall" in done.stdout
        assert broken == (name == "sleeps"), (name, done.stdout)


@pytest.mark.slow
def test_a_healthcheck_and_a_proof_on_a_slow_disk_know_nothing(fakes: Path, tmp_path: Path) -> None:
    with read_slowly(tmp_path / "fifo", 600) as fifo:
        python = torch_that(tmp_path, READ.format(fifo=fifo))
        env = variables(fakes, tmp_path, "a10g")
        done = run_cli(["healthcheck", "--prove", "--python", python, "--timeout", "6"], env)
        assert done.returncode == 0 and done.stdout.startswith("UNKNOWN"), done.stdout
        said: list[str] = []
        agent = str(Path(doctor.patient.__file__).parent / "torch_proof.py")
        plan = Plan(
            level="quick",
            total_s=4.0,
            commands={"torch_proof": script_argv(f"{python}/bin/python", agent)},
            left_out=dict.fromkeys(("driver_proof", "torch_speed"), ("not-asked", "")),
        )
        proof = prove(plan, env, said.append)
    measured = parse_measured(proof, {"level": "quick", "device": "cuda"}, True)
    (end,) = [one for one in measured.ended if one.agent == "torch_proof"]
    assert end.fault == "slow" and "the disk is slow" in end.detail
    assert "test with torch: import torch: the disk is slow" in said
    done_report = report(machine("3090").replace({"measured": measured}))
    assert (done_report.verdict, done_report.exit_code) == ("unknown", 3)
    assert [f.id for f in done_report.findings] == ["gpu-path-unused"]


@pytest.mark.slow
@for_each(("pause_s", "fault"), [(0.5, "slow"), (600, "hang")])
def test_what_the_end_of_the_time_cuts_off_does_not_hang(pause_s: float, fault: str) -> None:
    """Only a silence that is longer than a step's own is one: here a third of all the time."""
    says = f'import time\nwhile True:\n    print(\'{{"begin": "convolution"}}\', flush=True)\n    time.sleep({pause_s})'
    others = dict.fromkeys(("driver_proof", "torch_speed"), ("not-asked", ""))
    commands = {"torch_proof": [sys.executable, "-c", says]}
    proof = prove(Plan(level="quick", total_s=4.5, commands=commands, left_out=others), None, lambda words: None)
    measured = parse_measured(proof, {"level": "quick", "device": "cuda"}, True)
    (end,) = [one for one in measured.ended if one.agent == "torch_proof"]
    assert (end.step, end.fault) == ("convolution", fault), end
    assert fault == "hang" or "the 4.5 s allowed for the test ran out; --timeout sets a longer limit" in end.detail


def slow(agent: str, fault: str, device: str = "", **more: Any) -> StepEnd:
    detail = "convolution was not over after 30 s: it was still reading: the disk is slow; --timeout gives more"
    return StepEnd(agent=agent, step="convolution", device=device, fault=fault, detail=detail)  # type: ignore[arg-type]


def test_a_step_of_the_proof_that_was_slow_proves_nothing() -> None:
    for fault in ("slow", "starved"):
        gap = Missing("timeout", "convolution was not over")
        half = TorchProof(device="cuda:0", key=KEY, right=gap, fault=fault, failed_step="convolution")  # type: ignore[arg-type]
        for s in (
            proven("3090", torch=(half,), ended=(slow("torch_proof", fault, "cuda:0"),)),
            proven("3090", torch=(), ended=(slow("torch_proof", fault, "cuda:0"),)),
            machine("3090").replace(
                {
                    "measured": Measured(
                        level="quick", device="cuda", torch_devices=gap, ended=(slow("torch_proof", fault),)
                    )
                }
            ),
        ):
            done = report(s)
            assert done.measured is not None and done.measured.gpu_path == "unknown", done.measured
            assert (done.verdict, done.exit_code) == ("unknown", 3), ids(s)
            assert run("gpu-path-unused", s)[0] == "unknown" and "gpu-path-unused" in ids(s)
            assert not any(f.status == "fail" for f in done.findings)
