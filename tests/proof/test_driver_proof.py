"""The driver proof on machines: our kernel through libcuda, and each way in which that can go wrong."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from math import isfinite
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

import doctor.patient
from doctor.probes.measured import parse_measured
from doctor.snapshot import Missing
from doctor.snapshot.measured import DriverProof, Measured
from doctor.targets.process import AgentResult, agent_argv, start_agent, wait_agents
from tests.fakes import SOURCES, Machine
from tests.rows import quickly

OnMachine = Callable[..., dict[str, str]]
AGENT = Path(doctor.patient.__file__).parent / "driver_proof.py"
H100, TWO = "healthy-h100", "rtx3060-gtx1080"
KEY = "GPU-00000000-2330-4a5b-8c6d-233000000000"
FILE = {"gpu__0__memory__used": "@used"}
"""NVML's count is in a file, to which libcuda adds what a context takes."""


def run(env: dict[str, str], *arguments: str, stuck_in: str = "") -> AgentResult:
    """The agent's end; with `stuck_in` it is given no more time once it has begun that call."""

    def heard(line: dict[str, Any]) -> None:
        if stuck_in and line.get("begin") == stuck_in:
            agent.deadline = monotonic() + 0.2

    agent = start_agent(agent_argv(str(AGENT), *arguments), 30.0, env, heard)
    result = wait_agents(agent)[0]
    assert stuck_in or result.fault or result.lines[-1:] in ([], [{"done": "driver_proof"}])
    return result


def measured(*results: AgentResult) -> Measured:
    return parse_measured({"driver_proof": results}, {"level": "proof", "device": "cuda"})


def proofs(*results: AgentResult) -> list[DriverProof]:
    rows = measured(*results).driver
    assert not isinstance(rows, Missing), rows
    return list(rows)


def test_a_healthy_device(on_machine: OnMachine) -> None:
    result = run(on_machine(Machine.load(H100).with_(**FILE, gpu__0__cuda__context="523")))
    (proof,) = proofs(result)
    assert (proof.device, proof.key, proof.name, proof.capability) == (0, KEY, "NVIDIA H100 80GB HBM3", "9.0")
    assert (proof.right, proof.elements, proof.wrong_elements, proof.context_mib) == (True, 65536, 0, 523.0)
    for ms in (proof.context_ms, proof.module_ms, proof.kernel_ms):
        assert isinstance(ms, float) and isfinite(ms) and ms > 0
    assert (proof.failed_call, proof.error_name, proof.fault) == ("", "", None)
    assert result.fault is None and measured(result).ended == ()


def test_every_device_has_a_result_of_its_own(on_machine: OnMachine) -> None:
    machine = Machine.load(TWO).with_(gpu__1__wrong="1")
    first, second = proofs(run(on_machine(machine)))
    assert (first.device, first.capability, first.right, first.wrong_elements) == (0, "8.6", True, 0)
    assert (second.device, second.capability, second.right, second.wrong_elements) == (1, "6.1", False, 1)
    assert first.key != second.key


@pytest.mark.parametrize(("spoilt", "wrong"), [({"gpu__0__wrong": "17"}, 17), ({"gpu__0__silent": "1"}, 65536)])
def test_wrong_results_are_counted(spoilt: dict[str, str], wrong: int, on_machine: OnMachine) -> None:
    """A kernel that writes nothing leaves the poison, in which every element is wrong."""
    (proof,) = proofs(run(on_machine(Machine.load(H100).with_(**spoilt))))
    assert (proof.right, proof.elements, proof.wrong_elements) == (False, 65536, wrong)


CALLS = [
    ("cuDeviceGet", "cuDeviceGet", 101, "CUDA_ERROR_INVALID_DEVICE"),
    ("cuCtxCreate", "cuCtxCreate_v2", 2, "CUDA_ERROR_OUT_OF_MEMORY"),
    ("cuCtxCreate", "cuCtxCreate_v2", 46, "CUDA_ERROR_DEVICE_UNAVAILABLE"),
    ("cuCtxCreate", "cuCtxCreate_v2", 12345, ""),
    ("cuModuleLoadDataEx", "cuModuleLoadDataEx", 209, "CUDA_ERROR_NO_BINARY_FOR_GPU"),
    ("cuModuleLoadDataEx", "cuModuleLoadDataEx", 221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND"),
    ("cuModuleLoadDataEx", "cuModuleLoadDataEx", 222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"),
    ("cuModuleGetFunction", "cuModuleGetFunction", 500, "CUDA_ERROR_NOT_FOUND"),
    ("cuMemAlloc", "cuMemAlloc_v2", 2, "CUDA_ERROR_OUT_OF_MEMORY"),
    ("cuMemcpyHtoD", "cuMemcpyHtoD_v2", 999, "CUDA_ERROR_UNKNOWN"),
    ("cuEventCreate", "cuEventCreate", 999, "CUDA_ERROR_UNKNOWN"),
    ("cuLaunchKernel", "cuLaunchKernel", 719, "CUDA_ERROR_LAUNCH_FAILED"),
    ("cuCtxSynchronize", "cuCtxSynchronize", 700, "CUDA_ERROR_ILLEGAL_ADDRESS"),
    ("cuMemcpyDtoH", "cuMemcpyDtoH_v2", 719, "CUDA_ERROR_LAUNCH_FAILED"),
]


@pytest.mark.parametrize(("told", "call", "code", "name"), CALLS)
def test_an_error_on_one_device_leaves_the_other(
    told: str, call: str, code: int, name: str, on_machine: OnMachine
) -> None:
    """Also an error that the driver repeats until the process ends: the agent starts itself anew."""
    result = run(on_machine(Machine.load(TWO).with_(**{f"fail__{told}__0": str(code)})))
    first, second = proofs(result)
    assert (first.failed_call, first.error_code, first.error_name) == (call, code, name)
    assert isinstance(first.right, Missing) and first.right.reason == "error"
    assert first.right.detail.startswith(f"{call}: {code} {name}".rstrip())
    assert (second.device, second.right) == (1, True)
    assert result.fault is None


def test_out_of_memory_says_how_much_is_taken(on_machine: OnMachine) -> None:
    (proof,) = proofs(run(on_machine(Machine.load("busy-h100").with_(fail__cuCtxCreate="2"))))
    assert isinstance(proof.right, Missing) and "of 81559 MiB in use" in proof.right.detail


def test_the_compiler_is_heard(on_machine: OnMachine) -> None:
    (proof,) = proofs(run(on_machine(Machine.load(H100).with_(fail__cuModuleLoadDataEx="218"))))
    assert isinstance(proof.right, Missing)
    assert (
        "CUDA_ERROR_INVALID_PTX" in proof.right.detail and "ptxas application ptx input, line 1" in proof.right.detail
    )


def test_a_kernel_that_never_ends_leaves_the_next_device(on_machine: OnMachine) -> None:
    env = on_machine(Machine.load(TWO).with_(fail__cuCtxSynchronize__0="hang"))
    hung = run(env, stuck_in="cuCtxSynchronize")
    assert (hung.fault, hung.guilty, hung.lines[-1]["device"]) == ("hang", "cuCtxSynchronize", "cuda:0")
    first, second = proofs(hung, run(env, "--first", "1"))
    assert (first.device, first.name, first.failed_call, first.fault) == (
        0,
        "NVIDIA GeForce RTX 3060",
        "cuCtxSynchronize",
        "hang",
    )
    assert first.right == Missing("timeout", "cuCtxSynchronize did not return")
    assert (second.device, second.right) == (1, True)


@pytest.mark.parametrize(
    "call", ["cuInit", "cuDeviceGetName", "cuCtxCreate_v2", "cuModuleLoadDataEx", "cuMemcpyDtoH_v2"]
)
def test_a_hang_is_put_to_its_call(call: str, on_machine: OnMachine) -> None:
    result = run(on_machine(Machine.load(H100).with_(**{f"fail__{call.removesuffix('_v2')}": "hang"})), stuck_in=call)
    assert (result.fault, result.guilty) == ("hang", call)
    assert [(step.agent, step.step, step.fault) for step in measured(result).ended] == [("driver_proof", call, "hang")]


@pytest.mark.parametrize(
    ("call", "how"), [("cuCtxCreate_v2", "crash"), ("cuLaunchKernel", "abort"), ("cuModuleLoadDataEx", "exit")]
)
def test_a_crash_is_put_to_its_call(call: str, how: str, on_machine: OnMachine) -> None:
    result = run(on_machine(Machine.load(H100).with_(**{f"fail__{call.removesuffix('_v2')}": how})))
    assert (result.fault, result.guilty) == ("failed" if how == "exit" else "crash", call)
    (proof,) = proofs(result)
    assert (proof.key, proof.failed_call, proof.fault) == (KEY, call, result.fault)


def test_a_context_that_is_not_given_back_spoils_no_result(on_machine: OnMachine) -> None:
    machine = Machine.load(TWO).with_(fail__cuCtxDestroy__0="999")
    result = run(on_machine(machine))
    assert [proof.right for proof in proofs(result)] == [True, True]
    (step,) = measured(result).ended
    assert (step.step, step.device, step.fault) == ("cuCtxDestroy_v2", "cuda:0", "failed") and "999" in step.detail
    hung = run(on_machine(machine.with_(fail__cuCtxDestroy__0="hang")), stuck_in="cuCtxDestroy_v2")
    assert [proof.right for proof in proofs(hung)] == [True] and hung.guilty == "cuCtxDestroy_v2"


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (34, "STUB_LIBRARY"),
        (802, "SYSTEM_NOT_READY"),
        (803, "SYSTEM_DRIVER_MISMATCH"),
        (804, "COMPAT_NOT_SUPPORTED_ON_DEVICE"),
        (999, "UNKNOWN"),
    ],
)
def test_no_device_is_proven_where_init_fails(code: int, name: str, on_machine: OnMachine) -> None:
    result = run(on_machine(Machine.load(H100).with_(fail__cuInit=str(code))))
    (step,) = measured(result).ended
    assert (step.agent, step.step, step.device, step.fault) == ("driver_proof", "cuInit", "", "failed")
    assert step.detail.startswith(f"cuInit: {code} CUDA_ERROR_{name}: ")
    assert measured(result).driver == Missing("error", step.detail) and result.fault is None


def test_hidden_devices(on_machine: OnMachine) -> None:
    (step,) = measured(run(on_machine(H100, CUDA_VISIBLE_DEVICES=""))).ended
    assert step.detail.startswith("cuInit: 100 CUDA_ERROR_NO_DEVICE")
    (proof,) = proofs(run(on_machine(Machine.load(TWO).with_(gpus="2"), CUDA_VISIBLE_DEVICES="1")))
    assert (proof.device, proof.name) == (0, "NVIDIA GeForce GTX 1080")


def test_no_library(on_machine: OnMachine) -> None:
    result = run(on_machine("no-driver"))
    (step,) = measured(result).ended
    assert step.step == "dlopen libcuda.so.1" and "No such file" in step.detail
    assert result.fault is None


def test_a_library_without_the_calls(on_machine: OnMachine, tmp_path: Path) -> None:
    """One of before 2011, or a stub that somebody wrote."""
    env = on_machine("no-driver")
    functions = ("cuInit(unsigned f)", "cuDeviceGetCount(int *c)", "cuDeviceGet(int *d, int o)")
    (tmp_path / "old.c").write_text(
        "".join(f"int {f} {{ {'*c = 1; ' if 'Count' in f else ''}return 0; }}\n" for f in functions)
    )
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-o", Path(env["LD_LIBRARY_PATH"]) / "libcuda.so.1", tmp_path / "old.c"], check=True
    )
    (proof,) = proofs(run(env))
    assert proof.right == Missing("error", "cuCtxCreate_v2: libcuda has no such call")
    assert (proof.failed_call, proof.error_code) == ("cuCtxCreate_v2", Missing("not-asked"))


def test_one_device_is_asked_for(on_machine: OnMachine) -> None:
    env = on_machine(TWO)
    assert [proof.device for proof in proofs(run(env, "--only", "0"))] == [0]
    assert [proof.device for proof in proofs(run(env, "--only", "1"))] == [1]
    assert [proof.device for proof in proofs(run(env, "--first", "1"))] == [1]
    nothing = run(env, "--only", "2")
    assert [step.detail for step in measured(nothing).ended] == ["there is no device 2: libcuda counts 2"]
    assert measured(run(env, "--first", "2")).driver == ()


@pytest.mark.parametrize(
    "words", [["--first"], ["--only", "x"], ["--only", "-1"], ["2"], ["--first", "1", "--only", "1"], ["--last", "1"]]
)
def test_wrong_usage_is_one_line(words: list[str], on_machine: OnMachine) -> None:
    result = run(on_machine(H100), *words)
    assert (result.returncode, result.lines) == (1, [])
    assert result.stderr_tail == "usage: driver_proof.py [--first N | --only N]\n"


def test_other_work_on_the_gpu_leaves_the_memory_of_a_context_open(on_machine: OnMachine) -> None:
    (proof,) = proofs(run(on_machine(Machine.load("busy-h100").with_(**FILE))))
    assert proof.right is True
    assert proof.context_mib == Missing("absent", "other processes on this GPU: 2")


@pytest.mark.parametrize(
    ("changes", "reason", "words"),
    quickly(
        [
            ({"nvml__library": "absent"}, "absent", "No such file"),
            ({"fail__nvmlInit": "18"}, "absent", "nvmlInit_v2: 18"),
            ({"fail__nvmlInit": "crash"}, "error", "NVML ended its process"),
            ({"fail__nvmlDeviceGetMemoryInfo": "hang"}, "timeout", "NVML did not answer"),
            ({"fail__nvmlDeviceGetMemoryInfo": "999"}, "absent", "nvmlDeviceGetMemoryInfo: 999"),
            ({"fail__cuDeviceGetUuid": "999"}, "absent", "no UUID"),
            ({}, "absent", "did not grow"),
        ],
        4,
    ),
)
def test_nvml_spoils_no_proof(changes: dict[str, str], reason: str, words: str, on_machine: OnMachine) -> None:
    (proof,) = proofs(run(on_machine(Machine.load(H100).with_(**changes))))
    assert proof.right is True
    assert isinstance(proof.context_mib, Missing)
    assert proof.context_mib.reason == reason and words in proof.context_mib.detail


@pytest.mark.slow
@pytest.mark.parametrize("end", quickly(["0", "crash"], 2))
def test_a_hang_in_nvml_leaves_no_process_behind(end: str, on_machine: OnMachine, tmp_path: Path) -> None:
    """Neither where the agent comes to its end nor where libcuda ends it."""
    machine = Machine.load(H100).with_(fail__nvmlInit="hang", fail__cuDeviceGet=end)
    env = on_machine(machine, GPUDOCTOR_TEST_MARK=str(tmp_path))
    command = agent_argv(str(AGENT))  # not by the runner, which would end its whole group
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    assert ('"right": true' in done.stdout) is (end == "0")
    mark, until = f"GPUDOCTOR_TEST_MARK={tmp_path}".encode(), monotonic() + 5
    while left := marked(mark):
        if monotonic() > until:
            for pid in left:
                os.kill(pid, signal.SIGKILL)
            pytest.fail("a child is left")
        sleep(0.02)


def marked(mark: bytes) -> list[int]:
    """Processes with a variable."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def test_a_mig_device_is_counted_by_itself(on_machine: OnMachine) -> None:
    """The result belongs to its GPU; the memory is that of the instance."""
    machine = Machine.load("a100-mig").with_(gpu__0__mig__1__memory__used="@part")
    uuid = machine.scenario["gpu.0.mig.1.uuid"]
    (proof,) = proofs(run(on_machine(machine, CUDA_VISIBLE_DEVICES=uuid)))
    assert (proof.key, proof.right, proof.context_mib) == (machine.scenario["gpu.0.uuid"], True, 500.0)


def test_the_users_variables_and_cache_stay_out_of_it(on_machine: OnMachine, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    env = on_machine(H100, CUDA_DISABLE_PTX_JIT="1", CUDA_CACHE_PATH=str(cache))
    assert [proof.right for proof in proofs(run(env))] == [True]
    assert os.listdir(cache) == []


def test_noise_of_the_library_is_no_line(on_machine: OnMachine, tmp_path: Path) -> None:
    """A library that prints on stdout when it is loaded."""
    (tmp_path / "noise.c").write_text(
        '#include <stdio.h>\n__attribute__((constructor)) static void hello(void) { puts("hello"); fflush(stdout); }\n'
    )
    env = on_machine(H100)
    library = Path(env["LD_LIBRARY_PATH"]) / "libcuda.so.1"
    library.unlink()
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, SOURCES / "libcuda.c", tmp_path / "noise.c"], check=True)
    result = run(env)
    assert (result.noise, "hello" in result.stderr_tail) == ([], True)
    assert [proof.right for proof in proofs(result)] == [True]


@pytest.mark.gpu
def test_every_real_device_computes_rightly() -> None:
    result = run(dict(os.environ))
    rows = proofs(result)
    assert rows and all(row.right is True and row.wrong_elements == 0 for row in rows)
    assert all(row.key.startswith("GPU-") and row.capability for row in rows)
    assert measured(result).ended == ()
