"""The libcuda agent and its parser on machines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from doctor.probes.agent_lines import merge_changes
from doctor.probes.agents import with_answers
from doctor.probes.cuda_driver import parse_cuda_driver
from doctor.probes.nvml import parse_nvml
from doctor.snapshot import CallFault, CudaDevice, Driver, Missing, Snapshot
from doctor.targets.agent import AgentResult
from tests.fakes import Machine

from .run import SHORT_S, run_cuda, run_nvml

OnMachine = Callable[..., dict[str, str]]


def parsed(result: Any) -> Driver:
    return Snapshot().replace(parse_cuda_driver(result)[0]).driver


def test_a_healthy_h100(on_machine: OnMachine) -> None:
    env = on_machine("healthy-h100")
    driver = parsed(run_cuda(env))
    assert driver.libcuda_path == env["LD_LIBRARY_PATH"] + "/libcuda.so.580.82.07"
    assert (driver.libcuda_version, driver.cu_init, driver.cu_init_name, driver.cuda_version) == (
        "580.82.07",
        0,
        "CUDA_SUCCESS",
        "13.0",
    )
    assert driver.cuda_devices == (
        CudaDevice(
            ordinal=0,
            name="NVIDIA H100 80GB HBM3",
            uuid="GPU-00000000-2330-4a5b-8c6d-233000000000",
            compute_capability="9.0",
            pci_address="0000:01:00.0",
            memory_total_mib=81559,
            integrated=False,
        ),
    )


def test_whose_memory_each_device_may_read(on_machine: OnMachine) -> None:
    machine = Machine.load("v100x8")
    machine.scenario["pair.0.3.p2p"] = "1"
    devices = parsed(run_cuda(on_machine(machine))).cuda_devices
    assert isinstance(devices, tuple)
    assert devices[0].peers == (1, 2, 4, 5, 6, 7) and devices[1].peers == (0, 2, 3, 4, 5, 6, 7)
    (alone,) = parsed(run_cuda(on_machine("healthy-h100"))).cuda_devices  # type: ignore[misc]
    assert alone.peers == Missing("not-asked")


@pytest.mark.parametrize(
    ("visible", "seen"),
    [
        ("0,1", ["RTX 3060", "GTX 1080"]),
        ("1", ["GTX 1080"]),
        ("1,0", ["GTX 1080", "RTX 3060"]),
        ("0,7,1", ["RTX 3060"]),
        ("GPU-00000001", ["GTX 1080"]),
    ],
)
def test_cuda_visible_devices_reaches_the_driver(visible: str, seen: list[str], on_machine: OnMachine) -> None:
    devices = parsed(run_cuda(on_machine("rtx3060-gtx1080", CUDA_VISIBLE_DEVICES=visible))).cuda_devices
    assert isinstance(devices, tuple)
    assert [str(device.name).removeprefix("NVIDIA GeForce ") for device in devices] == seen


@pytest.mark.parametrize("visible", ["", "-1", "7"])
def test_hidden_devices_are_no_device(visible: str, on_machine: OnMachine) -> None:
    driver = parsed(run_cuda(on_machine("healthy-h100", CUDA_VISIBLE_DEVICES=visible)))
    assert (driver.cu_init, driver.cu_init_name) == (100, "CUDA_ERROR_NO_DEVICE")
    assert isinstance(driver.cuda_devices, Missing)


@pytest.mark.parametrize(
    ("name", "code", "word"),
    [
        ("mismatch", 803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"),
        ("not-loaded", 100, "CUDA_ERROR_NO_DEVICE"),
        ("no-permission", 100, "CUDA_ERROR_NO_DEVICE"),
    ],
)
def test_init_that_fails(name: str, code: int, word: str, on_machine: OnMachine) -> None:
    driver = parsed(run_cuda(on_machine(name)))
    assert (driver.cu_init, driver.cu_init_name) == (code, word)
    assert driver.cuda_devices == Missing("error", f"cuInit: {code} {word}")
    assert isinstance(driver.cuda_version, str), "the version is known although cuInit fails"


def test_a_stub_says_so(on_machine: OnMachine) -> None:
    driver = parsed(run_cuda(on_machine(Machine.load("healthy-h100").with_(fail__cuInit="34"))))
    assert (driver.cu_init, driver.libcuda_stub) == (34, True)


def test_a_code_without_a_name(on_machine: OnMachine) -> None:
    driver = parsed(run_cuda(on_machine(Machine.load("healthy-h100").with_(fail__cuInit="12345"))))
    assert driver.cu_init == 12345
    assert isinstance(driver.cu_init_name, Missing)


@pytest.mark.slow
def test_a_hang_in_init_keeps_the_version(on_machine: OnMachine) -> None:
    driver = parsed(run_cuda(on_machine("cuinit-hangs"), SHORT_S))
    assert driver.cuda_version == "13.0"
    assert driver.cu_init == driver.cuda_devices == Missing("timeout", "cuInit did not return")
    assert [(f.library, f.call, f.fault) for f in driver.faults] == [("cuda", "cuInit", "hang")]


def test_an_abort_in_init(on_machine: OnMachine) -> None:
    driver = parsed(run_cuda(on_machine("cuinit-aborts")))
    assert driver.cu_init == Missing("error", "crashed in cuInit")
    assert driver.faults == (CallFault("cuda", "cuInit", "crash", "signal 6"),)


def test_no_library(on_machine: OnMachine) -> None:
    driver = parsed(run_cuda(on_machine("no-driver")))
    for fact in (driver.libcuda_path, driver.cu_init, driver.cuda_version, driver.cuda_devices):
        assert isinstance(fact, Missing) and fact.reason == "absent"


def test_one_device_that_gives_no_name(on_machine: OnMachine) -> None:
    machine = Machine.load("healthy-h100").with_(fail__cuDeviceGetName="999")
    devices = parsed(run_cuda(on_machine(machine))).cuda_devices
    assert isinstance(devices, tuple)
    assert devices[0].name == Missing("error", "999 CUDA_ERROR_UNKNOWN")
    assert devices[0].compute_capability == "9.0"


def test_gb10_is_integrated_by_libcuda_while_nvml_has_no_memory(on_machine: OnMachine) -> None:
    env = on_machine("gb10")
    snapshot = with_answers(Snapshot(), {"nvml": run_nvml(env), "cuda_driver": run_cuda(env)}, {})
    assert not isinstance(snapshot.gpus, Missing)
    (gpu,) = snapshot.gpus
    assert gpu.integrated is True
    assert gpu.pci_address == "000f:01:00.0"
    assert gpu.memory_total_mib == Missing("absent", "not supported")


def test_faults_of_both_libraries_are_kept(on_machine: OnMachine) -> None:
    machine = Machine.load("healthy-h100").with_(fail__cuInit="abort", fail__nvmlInit="abort")
    env = on_machine(machine)
    snapshot = Snapshot().replace(merge_changes(parse_nvml(run_nvml(env))[0], parse_cuda_driver(run_cuda(env))[0]))
    assert [(f.library, f.fault) for f in snapshot.driver.faults] == [("nvml", "crash"), ("cuda", "crash")]


def test_hostile_lines_never_raise() -> None:
    odd: list[Any] = [None, True, -1, 10**30, 10**400, "x", [], {}, [1]]
    names = ["library", "version", "init", "count", "name", "uuid", "pci", "major", "minor", "memory_total", "handle"]
    for value in odd:
        parsed(AgentResult([{"field": name, "value": value} for name in names]))
        parsed(AgentResult([{"field": name, "error": value} for name in names]))
        lines: list[dict[str, Any]] = [{"field": "init", "value": 0}, {"field": "count", "value": 2}]
        lines += [{"field": name, key: value, "device": 0} for name in names for key in ("value", "error")]
        parsed(AgentResult([*lines, {"field": "name", "device": value}, {"field": value}]))
