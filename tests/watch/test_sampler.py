"""The sampling agent as a real child on the fake NVML, alone and read by `watch`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from doctor.probes.commands import nvml_binding, own_agent
from doctor.proof.loads import LoadSum
from doctor.proof.samples import Sample, parse_samples
from doctor.proof.watch_sampler import WatchSampler
from tests.fakes import Machine

OnMachine = Callable[..., dict[str, str]]
UUID = "GPU-00000000-2330-4a5b-8c6d-233000000000"


def command(*more: str) -> list[str]:
    return own_agent("nvml_sampler", nvml_binding(), "--interval", "0.02", "--share", "1", *more)


def h100(**changes: str) -> Machine:
    return Machine.load("healthy-h100").with_(**changes)


def lines_until(env: dict[str, str], rounds: int, agent: list[str] | None = None) -> tuple[list[dict[str, Any]], int]:
    """Its lines until so many samples came, then its stdin is closed; and its exit code."""
    pipe = subprocess.PIPE
    found: list[dict[str, Any]] = []
    with subprocess.Popen(agent or command(), env=env, stdin=pipe, stdout=pipe) as child:
        assert child.stdin is not None and child.stdout is not None
        for line in child.stdout:
            found.append(json.loads(line))
            if sum("sample" in one for one in found) >= rounds:
                break
        child.stdin.close()
        child.stdout.read()
        child.wait(20)
    return found, child.returncode


WATCHING = ("--watch", "1")
ROUNDS = 17
"""One more than all turns of the watching sampler."""


def told(lines: list[dict[str, Any]], key: str = UUID) -> dict[str, Any]:
    """The last value of each field of a GPU."""
    found: dict[str, Any] = {}
    for line in lines:
        if line.get("sample", {}).get("key") == key:
            found.update(line["sample"])
    return found


def test_every_field_in_its_turn_and_a_begin_before_the_first_of_each_call(on_machine: OnMachine) -> None:
    machine = h100(
        gpu__0__utilization="97 40",
        gpu__0__process__0="compute 4711 61000 python",
        gpu__0__process__1="compute 4712 - python",
        gpu__0__busy__0="4711 93",
        gpu__0__pcie__rx="12000",
        gpu__0__pcie__tx="900",
        gpu__0__nvlink__rate="2000000 1000000",
        gpu__0__minor="3",
        gpu__0__clock__reasons="0x24",
    )
    lines, code = lines_until(on_machine(machine), 2 * ROUNDS, command(*WATCHING))
    assert code == 0
    samples = parse_samples(lines)
    always = Sample(
        time=samples[0].time,
        gpu=0,
        key=UUID,
        utilization=97,
        memory_utilization=40,
        clock_sm=345,
        clock_sm_max=1980,
        power_draw=77_000,
        power_limit=700_000,
        clock_event_reasons=0x24,
        processes=[(4711, 61000 << 20), (4712, None)],
    )
    assert samples[0] == always and abs(always.time - time.monotonic()) < 60
    assert all(later.time > first.time for first, later in pairwise(samples))
    last = told(lines)
    in_turn = {"memory_used": 4 << 20, "clock_memory": 2619, "temperature": 33, "pcie_gen": 5, "pcie_width": 16}
    in_turn |= {"pcie_rx": 12000, "pcie_tx": 900, "process_utilization": [[4711, 93]]}
    assert {name: last.get(name) for name in in_turn} == in_turn
    assert 1_800_000 < last["nvlink_rx"] < 2_300_000 and 900_000 < last["nvlink_tx"] < 1_150_000
    assert not {"sm_activity", "memory_activity"} & last.keys(), "GPM is for those that have it"
    assert sum(one.pcie_width is not None for one in samples) <= 3, "a link as it was some time ago is no answer"
    after = [one.temperature for one in samples]
    assert after[after.index(33) :] == [33] * (len(after) - after.index(33)), "what changes slowly is told again"
    begun = [line["begin"] for line in lines if "begin" in line and "gpu" in line]
    assert begun.count("nvmlDeviceGetPowerUsage") == 1 and begun.count("nvmlDeviceGetProcessUtilization") == 1
    about = next(line["gpu"] for line in lines if isinstance(line.get("gpu"), dict))
    assert (about["index"], about["key"], about["minor"], about["mig"]) == (0, UUID, 3, False)


def test_the_power_of_the_moment_where_nvml_has_it(on_machine: OnMachine) -> None:
    """nvmlDeviceGetPowerUsage is a mean over a second, longer than a phase of `prove --quick`."""
    lines, _ = lines_until(on_machine(h100(gpu__0__power__instant_w="612.5")), ROUNDS, command())
    assert {(one.power_draw, one.power_instant) for one in parse_samples(lines)} == {(612_500, True)}
    assert not any(line.get("begin") == "nvmlDeviceGetPowerUsage" for line in lines)
    older, _ = lines_until(on_machine(h100()), ROUNDS, command())
    assert {(one.power_draw, one.power_instant) for one in parse_samples(older)} == {(77_000, False)}
    load = LoadSum(UUID)
    for one in parse_samples(lines):
        load.add(one)
    assert load.load("matmul").power_instant
    load.add(parse_samples(older)[0])
    assert not load.load("matmul").power_instant, "one mean among them"


def test_activity_by_gpm(on_machine: OnMachine) -> None:
    lines, _ = lines_until(on_machine(h100(gpu__0__gpm="12.5 3.25 8 1000 2000 40000 50000")), 11, command(*WATCHING))
    last = told(lines)
    assert (last["sm_activity"], last["tensor_activity"], last["memory_activity"]) == (12.5, 3.25, 8.0)
    rates = [round(last[name] / 1048.576) for name in ("pcie_rx", "pcie_tx", "nvlink_rx", "nvlink_tx")]
    assert rates == [1000, 2000, 40000, 50000]
    older, _ = lines_until(on_machine(h100(gpu__0__gpm="12.5 - -", gpu__0__pcie__rx="7")), 11, command(*WATCHING))
    assert told(older)["sm_activity"] == 12.5 and not {"tensor_activity", "pcie_rx"} & told(older).keys()
    broken = h100(gpu__0__gpm="12.5 3 8", fail__nvmlGpmMetricsGet="999", gpu__0__pcie__rx="7")
    older, _ = lines_until(on_machine(broken), 11, command(*WATCHING))
    assert told(older)["pcie_rx"] == 7 and "sm_activity" not in told(older), "the older calls answer then"


@pytest.mark.slow
def test_six_calls_for_each_gpu_and_sample_at_most(on_machine: OnMachine, tmp_path: Path) -> None:
    """On eight GPUs, with and without GPM, at work and idle, MIG or not, and none of them is left out of a round."""
    cases = [
        ("h200x8", {"gpu.*.gpm": "90 40 30 1 1 1 1"}, WATCHING),
        ("h200x8", {"gpus": "2", "gpu.*.pcie.rx": "5", "gpu.*.nvlink.rate": "5 5"}, WATCHING),
        ("h200x8", {"gpus": "2"}, ()),
        ("a100-mig", {}, WATCHING),
    ]
    for number, (name, changes, more) in enumerate(cases):
        busy = {"gpu.*.process.0": "compute 4711 61000 python", "gpu.*.busy.0": "4711 93"}
        machine = Machine.load(name)
        machine = Machine(name, {**machine.scenario, **busy, **changes}, machine.files)
        log = tmp_path / f"calls{number}"
        count = int(machine.scenario["gpus"])
        lines, _ = lines_until(on_machine(machine, GPUDOCTOR_FAKE_CALLS=str(log)), count * ROUNDS, command(*more))
        assert [one.gpu for one in parse_samples(lines)][: count * ROUNDS] == list(range(count)) * ROUNDS
        for gpu in range(count):
            logged = [line.split() for line in log.read_text().splitlines() if line.startswith("call ")]
            made = [words[1] for words in logged if words[-1] == str(gpu)]
            text = " ".join(made[made.index("nvmlDeviceGetUtilizationRates") :])
            samples = text.split("nvmlDeviceGetUtilizationRates")[1:]
            assert len(samples) >= ROUNDS - 1
            most = max(samples, key=lambda calls: len(calls.split()))
            assert 1 + len(most.split()) <= 6, (name, changes, more, most)


def test_values_change_from_sample_to_sample(on_machine: OnMachine, tmp_path: Path) -> None:
    env = on_machine(h100(gpu__0__utilization="@now"))
    now = Path(env["GPUDOCTOR_FAKE_SCENARIO"]).with_name("now")
    now.write_text("0 0")
    pipe = subprocess.PIPE
    with subprocess.Popen(command(), env=env, stdin=pipe, stdout=pipe) as child:
        assert child.stdin is not None and child.stdout is not None
        seen = []
        for line in child.stdout:
            seen += [one.utilization for one in parse_samples([json.loads(line)])]
            if seen == [0]:
                now.write_text("88 0")
            if 88 in seen:
                break
        child.stdin.close()
    assert seen[0] == 0 and seen[-1] == 88


def test_what_is_not_supported_is_asked_once_and_left_out(on_machine: OnMachine) -> None:
    machine = h100(fail__nvmlDeviceGetPowerUsage="3", fail__nvmlDeviceGetCurrPcieLinkWidth="999")
    lines, _ = lines_until(on_machine(machine), 14)
    assert all(one.power_draw is None and one.pcie_width is None for one in parse_samples(lines))
    assert told(lines)["temperature"] == 33 and told(lines)["pcie_gen"] == 5
    refused = [(line["field"], line["error"]) for line in lines if "error" in line and "gpu" in line]
    assert refused.count(("power_draw", 3)) == 1 and refused.count(("pcie_width", 999)) == 1


def test_every_gpu_in_every_round(on_machine: OnMachine) -> None:
    lines, _ = lines_until(on_machine("rtx3090x2"), 6)
    assert [one.gpu for one in parse_samples(lines)] == [0, 1] * 3


def test_an_old_driver(on_machine: OnMachine) -> None:
    machine = h100(gpu__0__process__0="compute 4711 61000 python")
    lines, _ = lines_until(on_machine(machine, old=True), 24, command(*WATCHING))
    assert told(lines)["processes"] == [[4711, 61000 << 20]] and told(lines)["memory_used"] > 4 << 20


def test_processes_of_a_mig_gpu_come_from_its_instances(on_machine: OnMachine) -> None:
    machine = Machine.load("a100-mig").with_(gpu__0__process__0="compute 4711 900 python")
    machine = machine.with_(fail__nvmlDeviceGetUtilizationRates="3")
    machine = machine.with_(gpu__0__process__1="mps 4712 100 python")
    lines, _ = lines_until(on_machine(machine), 40)
    lists = [sample.processes for sample in parse_samples(lines) if sample.processes is not None]
    assert lists[0] == [(4711, 900 << 20)] and lists[-1] == [(4711, 900 << 20), (4712, 100 << 20)]
    assert parse_samples(lines)[0].utilization is None


@pytest.mark.parametrize(("name", "field"), [("no-driver", "library"), ("not-loaded", "init"), ("mismatch", "init")])
def test_without_a_driver_it_says_so_and_ends(on_machine: OnMachine, name: str, field: str) -> None:
    lines, code = lines_until(on_machine(name), 1)
    assert code == 0 and lines[-1]["field"] == field and "error" in lines[-1]


def test_without_the_binding(on_machine: OnMachine, tmp_path: Path) -> None:
    lines, code = lines_until(on_machine(h100()), 1, own_agent("nvml_sampler", str(tmp_path), "--interval", "0.02"))
    assert code == 0 and lines[-1]["field"] == "binding"


def test_a_call_that_hangs_is_named_and_the_end_of_stdin_still_ends_it(on_machine: OnMachine) -> None:
    pipe = subprocess.PIPE
    env = on_machine(h100(fail__nvmlDeviceGetPowerUsage="hang"))
    with subprocess.Popen(command(), env=env, stdin=pipe, stdout=pipe) as child:
        assert child.stdin is not None and child.stdout is not None
        while json.loads(child.stdout.readline()).get("begin") != "nvmlDeviceGetPowerUsage":
            pass
        child.stdin.close()
        assert child.wait(20) == 0
        assert child.stdout.read() == b""


def test_it_ends_when_its_parent_is_killed(on_machine: OnMachine) -> None:
    code = (
        "import subprocess, sys, time\nchild = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        "child.stdout.readline()\nprint(child.pid, flush=True)\ntime.sleep(600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, *command()], env=on_machine(h100()), stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
    for _ in range(500):
        if not Path(f"/proc/{pid}/status").exists() or "State:\tZ" in Path(f"/proc/{pid}/status").read_text():
            break
        time.sleep(0.02)
    else:
        os.kill(pid, signal.SIGKILL)
        raise AssertionError("the sampler outlived its parent")


def watched(env: dict[str, str], wanted: int, monkeypatch: pytest.MonkeyPatch) -> tuple[WatchSampler, list[Sample]]:
    """As `watch` reads it, until so many samples came or it has ended."""
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    sampler = WatchSampler(command(), 0.02)
    found: list[Sample] = []
    for _ in range(1000):
        found += sampler.read()
        if len(found) >= wanted:
            break
        time.sleep(0.01)
    return sampler, found


def test_watch_reads_it_while_it_runs(on_machine: OnMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    sampler, found = watched(on_machine(h100(gpu__0__minor="2")), 3, monkeypatch)
    found += sampler.stop()
    assert {one.key for one in found} == {UUID} and sampler.gpus[UUID].minor == 2
    assert sampler.end() is None and sampler.cpu_s > 0
    assert not Path(f"/proc/{sampler.pid}").exists()


def test_watch_knows_how_it_failed(on_machine: OnMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    sampler, found = watched(on_machine(h100(fail__nvmlDeviceGetTemperature="crash")), 0, monkeypatch)
    while Path(f"/proc/{sampler.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
        found += sampler.read()
        time.sleep(0.01)
    sampler.stop()
    end = sampler.end()
    assert end is not None and (end.fault, end.step, end.detail) == ("crash", "nvmlDeviceGetTemperature", "signal 11")


def test_watch_knows_that_a_call_does_not_return(on_machine: OnMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    sampler, _ = watched(on_machine(h100(fail__nvmlDeviceGetPowerUsage="hang")), 0, monkeypatch)
    while (end := sampler.end(time.monotonic() + 60)) is None or end.step != "nvmlDeviceGetPowerUsage":
        sampler.read()
        time.sleep(0.01)
    assert end.fault == "hang" and "60 s" in end.detail
    sampler.stop()
    assert not Path(f"/proc/{sampler.pid}").exists(), "it leaves although the call hangs"


def test_watch_knows_that_there_is_no_driver(on_machine: OnMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    sampler, _ = watched(on_machine("no-driver"), 0, monkeypatch)
    for _ in range(1000):
        sampler.read()
        if (
            (end := sampler.end()) is not None
            and end.step == "dlopen libnvidia-ml.so.1"
            and end.detail.startswith("libnvidia-ml")
        ):
            break
        time.sleep(0.01)
    sampler.stop()
    end = sampler.end()
    assert end is not None and (end.fault, end.agent) == ("skipped", "nvml_sampler")


def test_a_sampler_that_does_not_start_is_told() -> None:
    sampler = WatchSampler(["/nowhere/python"], 0.5)
    assert sampler.read() == [] and sampler.stop() == []
    assert (sampler.end() or None) is not None


def test_a_terminals_stop_does_not_hold_the_sampler_before_it_begins() -> None:
    """posix_spawn returns after the child's exec: stopped before that, it would hold gpudoctor for ever."""
    sampler = WatchSampler(["/bin/sleep", "20"], 1.0)
    try:
        status = Path(f"/proc/{sampler.pid}/status").read_text()
        mask = int(next(line.split()[1] for line in status.splitlines() if line.startswith("SigBlk")), 16)
        assert all(mask >> (number - 1) & 1 for number in (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU))
        assert not mask >> (signal.SIGTERM - 1) & 1
    finally:
        os.kill(sampler.pid, signal.SIGKILL)
        sampler.stop()
