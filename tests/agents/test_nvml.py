"""The NVML agent and its parser on machines: nvidia-ml-py loads the fake library for real."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from doctor.probes.nvml import parse_nvml
from doctor.snapshot import CallFault, Gpu, MigInstance, Missing, Snapshot
from tests.fakes import Machine, machine_names
from tests.machines.generate import CUBE_MESH

from .run import SHORT_S, run_agent, run_nvml

OnMachine = Callable[..., dict[str, str]]
NOT_SUPPORTED = Missing("absent", "not supported")


def parsed(result: Any) -> Snapshot:
    return Snapshot().replace(parse_nvml(result)[0])


def gpus(snapshot: Snapshot) -> tuple[Gpu, ...]:
    assert not isinstance(snapshot.gpus, Missing), snapshot.gpus
    return snapshot.gpus


@pytest.mark.parametrize("name", [n for n in machine_names() if "fail" not in " ".join(Machine.load(n).scenario)])
def test_every_machine_that_answers(name: str, on_machine: OnMachine) -> None:
    machine = Machine.load(name)
    result = run_nvml(on_machine(machine))
    snapshot = parsed(result)
    assert result.fault is None
    if machine.scenario.get("nvml.library") == "absent":
        assert isinstance(snapshot.gpus, Missing) and snapshot.gpus.reason == "absent"
        return
    scenario = machine.scenario
    assert snapshot.driver.nvml_init == 0
    assert snapshot.driver.nvml_driver_version == scenario["driver.version"]
    assert len(gpus(snapshot)) == snapshot.driver.nvml_gpu_count == int(scenario["gpus"])
    for index, gpu in enumerate(gpus(snapshot)):
        said = {key.removeprefix(f"gpu.{index}."): value for key, value in scenario.items()}
        assert (gpu.key, gpu.name, gpu.compute_capability) == (said["uuid"], said["name"], said["cc"])
        assert (gpu.pci_address, gpu.pci_device_id, gpu.pci_subsystem_id) == (
            said["pci.bus"],
            said["pci.device"],
            said["pci.subsystem"],
        )
        assert gpu.memory_total_mib == (int(said["memory.total"]) if "memory.total" in said else NOT_SUPPORTED)


def test_all_fields_of_an_h100(on_machine: OnMachine) -> None:
    (gpu,) = gpus(parsed(run_nvml(on_machine("healthy-h100"))))
    assert gpu == Gpu(
        key="GPU-00000000-2330-4a5b-8c6d-233000000000",
        index=0,
        name="NVIDIA H100 80GB HBM3",
        uuid="GPU-00000000-2330-4a5b-8c6d-233000000000",
        serial="1654000000000",
        vbios="96.00.89.00.01",
        brand_id=14,
        architecture_id=9,
        pci_address="0000:01:00.0",
        pci_device_id="2330",
        pci_subsystem_id="16c110de",
        compute_capability="9.0",
        memory_total_mib=81559,
        memory_used_mib=4,
        memory_reserved_mib=400,
        compute_mode="default",
        persistence_mode=True,
        mig_enabled=False,
        mig_pending=False,
        mig_instances=(),
        ecc_enabled=True,
        ecc_pending=True,
        ecc_uncorrected_volatile=0,
        ecc_corrected_volatile=0,
        ecc_uncorrected_aggregate=0,
        remapped_rows_correctable=0,
        remapped_rows_uncorrectable=0,
        row_remap_pending=False,
        row_remap_failed=False,
        memory_unrepairable=Missing("absent", "this driver's NVML has no such call"),
        retired_pages=NOT_SUPPORTED,
        retired_pages_pending=NOT_SUPPORTED,
        recovery_action=0,
        power_draw_w=77.0,
        power_limit_w=700.0,
        power_default_w=700.0,
        power_min_w=210.0,
        power_max_w=700.0,
        temperature_c=33,
        temperature_slowdown_c=NOT_SUPPORTED,
        temperature_shutdown_c=NOT_SUPPORTED,
        temperature_margin_c=54,
        clock_sm_mhz=345,
        clock_sm_max_mhz=1980,
        clock_memory_mhz=2619,
        clock_memory_max_mhz=2619,
        clock_event_reasons=1,
        sram_threshold_exceeded=False,
        sram_uncorrected_aggregate=0,
        nvlink_errors=(),
        pcie_replays=0,
        pcie_replays_climbed=0,
        counters_apart_ms=Missing("absent", "all counters are 0"),
        fabric_health=0,
        fabric_health_summary=0,
        pcie_gen=5,
        pcie_gen_max=5,
        pcie_gen_device_max=5,
        pcie_width=16,
        pcie_width_max=16,
        utilization_percent=0,
        memory_utilization_percent=0,
        fan_percent=NOT_SUPPORTED,
        processes=(),
        nvlink_active=18,
        nvlink_inactive=0,
        fabric_state=3,
        fabric_status=0,
        gsp_firmware="580.82.07",
        virtualization_mode=0,
    )


def test_the_library_is_the_one_that_is_mapped(on_machine: OnMachine) -> None:
    env = on_machine("healthy-h100")
    driver = parsed(run_nvml(env)).driver
    assert driver.nvml_library_path == env["LD_LIBRARY_PATH"] + "/libnvidia-ml.so.580.82.07"
    assert driver.nvml_library_version == "580.82.07"
    assert (driver.nvml_init_text, driver.nvml_cuda_version) == ("Success", "13.0")


def test_wsl_names_no_version_in_the_file(on_machine: OnMachine) -> None:
    version = parsed(run_nvml(on_machine("wsl2-rtx3060"))).driver.nvml_library_version
    assert isinstance(version, Missing) and version.reason == "absent"


def test_mig_devices_are_children(on_machine: OnMachine) -> None:
    (gpu,) = gpus(parsed(run_nvml(on_machine("a100-mig"))))
    assert gpu.mig_enabled is True
    assert isinstance(gpu.mig_instances, tuple)
    assert gpu.mig_instances[1] == MigInstance(
        uuid="MIG-00000001-20b2-5a5b-8c6d-000000000000",
        name="NVIDIA A100-SXM4-80GB MIG 3g.40gb",
        memory_total_mib=40192,
        gpu_instance=2,
        compute_instance=0,
    )
    assert len(gpu.mig_instances) == 2


def test_processes_with_and_without_a_name(on_machine: OnMachine) -> None:
    (gpu,) = gpus(parsed(run_nvml(on_machine("busy-h100"))))
    assert isinstance(gpu.processes, tuple)
    assert [(p.pid, p.kind, p.memory_mib, p.name) for p in gpu.processes] == [
        (4711, "compute", 61000, "python"),
        (4712, "compute", Missing("absent", "not reported"), Missing("absent", "not visible here")),
    ]
    assert gpu.clock_event_reasons == 4


def test_pairs_of_eight(on_machine: OnMachine) -> None:
    pairs = parsed(run_nvml(on_machine("h200x8"))).gpu_pairs
    assert isinstance(pairs, tuple)
    assert len({(p.a, p.b) for p in pairs}) == 28
    assert {(p.p2p_read, p.topology) for p in pairs} == {(0, 50)}


def test_where_nvlinks_end_without_a_ready_fabric(on_machine: OnMachine) -> None:
    """A DGX-1's links end at some of the other GPUs, those of an HGX A100 at switches."""
    s = parsed(run_nvml(on_machine("v100x8")))
    keys = [gpu.key for gpu in gpus(s)]
    found = {(keys.index(p.a), keys.index(p.b)): p.nvlinks for p in s.gpu_pairs if p.nvlinks}  # type: ignore[union-attr]
    assert found == {(a, b): n for a, row in enumerate(CUBE_MESH) for b, n in enumerate(row) if n and a < b}
    machine = Machine.load("h200x8")
    machine.scenario.pop("gpu.*.fabric")
    machine.scenario["gpu.*.nvlink.ends"] = " ".join("s" * 18)
    s = parsed(run_nvml(on_machine(machine)))
    assert [gpu.nvlinks_to_switch for gpu in gpus(s)] == [18] * 8
    assert {p.nvlinks for p in s.gpu_pairs} == {0}  # type: ignore[union-attr]
    s = parsed(run_nvml(on_machine("h200x8")))  # a ready fabric: nobody asks
    assert {gpu.nvlinks_to_switch for gpu in gpus(s)} == {Missing("not-asked")}


def test_an_old_driver_is_asked_in_its_own_way(on_machine: OnMachine) -> None:
    snapshot = parsed(run_nvml(on_machine("rtx3090x2", old=True)))
    first, _ = gpus(snapshot)
    assert first.memory_total_mib == 24576
    assert first.memory_used_mib == 401  # the first form of the call counts reserved memory as used
    assert first.memory_reserved_mib == Missing("absent", "not reported by this driver")
    assert first.temperature_margin_c == Missing("absent", "this driver's NVML has no such call")
    assert first.processes == ()
    assert snapshot.driver.nvml_cuda_version == "11.4"


@pytest.mark.parametrize(
    ("name", "code", "text", "reason"),
    [
        ("mismatch", 18, "mismatch", "error"),
        ("not-loaded", 9, "Driver Not Loaded", "error"),
        ("no-permission", 4, "Insufficient Permissions", "denied"),
    ],
)
def test_init_that_fails(name: str, code: int, text: str, reason: str, on_machine: OnMachine) -> None:
    snapshot = parsed(run_nvml(on_machine(name)))
    assert snapshot.driver.nvml_init == code
    assert text in str(snapshot.driver.nvml_init_text)
    assert isinstance(snapshot.gpus, Missing) and snapshot.gpus.reason == reason
    assert snapshot.driver.faults == ()


@pytest.mark.slow
def test_a_hang_in_init(on_machine: OnMachine) -> None:
    snapshot = parsed(run_nvml(on_machine("nvml-hangs-init"), SHORT_S))
    assert snapshot.gpus == snapshot.driver.nvml_init == Missing("timeout", "nvmlInitWithFlags did not return")
    assert snapshot.driver.nvml_library_version == "580.82.07"
    (fault,) = snapshot.driver.faults
    assert (fault.library, fault.call, fault.fault) == ("nvml", "nvmlInitWithFlags", "hang")


@pytest.mark.slow
def test_a_hang_in_a_field_keeps_all_that_came_before(on_machine: OnMachine) -> None:
    snapshot = parsed(run_nvml(on_machine("nvml-hangs-field"), SHORT_S))
    first, second = gpus(snapshot)
    why = Missing("timeout", "nvmlDeviceGetPowerUsage did not return")
    assert second.memory_total_mib == 81559 and second.compute_capability == "9.0"
    assert first.power_draw_w == 77.0
    assert second.power_draw_w == second.temperature_c == first.processes == snapshot.gpu_pairs == why
    (fault,) = snapshot.driver.faults
    assert (fault.call, fault.detail.split(",")[0]) == ("nvmlDeviceGetPowerUsage", "GPU 1")


def test_a_crash_in_a_field(on_machine: OnMachine) -> None:
    snapshot = parsed(run_nvml(on_machine("nvml-crashes")))
    (gpu,) = gpus(snapshot)
    assert gpu.name == "NVIDIA H100 80GB HBM3"
    assert gpu.power_draw_w == Missing("error", "crashed in nvmlDeviceGetPowerUsage")
    assert snapshot.driver.faults == (CallFault("nvml", "nvmlDeviceGetPowerUsage", "crash", "GPU 0, signal 11"),)


def test_a_library_that_ends_the_process(on_machine: OnMachine) -> None:
    machine = Machine.load("healthy-h100").with_(fail__nvmlDeviceGetName="exit")
    (fault,) = parsed(run_nvml(on_machine(machine))).driver.faults
    assert (fault.call, fault.fault) == ("nvmlDeviceGetName", "crash")


def test_a_lost_gpu_leaves_the_other(on_machine: OnMachine) -> None:
    first, second = gpus(parsed(run_nvml(on_machine("gpu-lost"))))
    assert first.name == "NVIDIA H100 80GB HBM3"
    assert (second.key, second.index) == ("gpu-1", 1)
    assert second.name == Missing("error", "NVML 15: GPU is lost")


def test_no_library(on_machine: OnMachine) -> None:
    result = run_nvml(on_machine("no-driver"))
    driver = parsed(result).driver
    assert all(
        isinstance(f, Missing) and f.reason == "absent"
        for f in (driver.nvml_library_path, driver.nvml_init, driver.nvml_gpu_count)
    )
    assert all(line.get("begin") != "import pynvml" for line in result.lines), "the binding is not worth importing then"


def test_a_library_that_is_no_library(on_machine: OnMachine, tmp_path: Any) -> None:
    env = on_machine("no-driver")
    (tmp_path / "driver" / "libnvidia-ml.so.1").write_bytes(b"\x7fELF no more than that")
    path = parsed(run_nvml(env)).driver.nvml_library_path
    assert isinstance(path, Missing) and path.reason == "error"


def test_the_binding_is_not_there(on_machine: OnMachine, tmp_path: Any) -> None:
    from doctor.targets.process import agent_argv

    from .run import PATIENT

    snapshot = parsed(
        run_agent(agent_argv(str(PATIENT / "nvml.py"), str(tmp_path / "empty")), 20, on_machine("healthy-h100"))
    )
    assert isinstance(snapshot.driver.nvml_init, Missing)
    assert "pynvml" in snapshot.driver.nvml_init.detail


def test_a_field_that_has_no_answer_is_missing_alone(on_machine: OnMachine) -> None:
    machine = Machine.load("healthy-h100").with_(
        fail__nvmlDeviceGetPowerUsage="999", fail__nvmlDeviceGetTemperature="4"
    )
    (gpu,) = gpus(parsed(run_nvml(on_machine(machine))))
    assert gpu.power_draw_w == Missing("error", "NVML 999: Unknown Error")
    assert gpu.temperature_c == Missing("denied", "Insufficient Permissions")
    assert gpu.power_limit_w == 700.0


def test_hostile_lines_never_raise() -> None:
    from doctor.targets.agent import AgentResult

    odd: list[Any] = [None, True, -1, 10**30, 10**400, "x", [], [None], {}, {"total": "x"}, [1, 2, 3, 4]]
    names = ["library", "init", "count", "pci", "memory", "uuid", "mig_mode", "mig_count", "nvlink", "processes_compute", "compute_capability",
             "compute_mode", "power_range", "fabric", "p2p_read"]  # fmt: skip
    for value in odd:
        lines: list[dict[str, Any]] = [{"field": "init", "value": 0}, {"field": "count", "value": 1}]
        lines += [{"field": name, "value": value, "gpu": 0} for name in names] + [
            {"field": "p2p_read", "value": value, "gpu": 0, "other": 0}
        ]
        lines += [{"field": "x", "gpu": value}, {"field": "uuid", "error": value, "gpu": 0, "mig": 0}, {"field": value}]
        parsed(AgentResult(lines))
        parsed(AgentResult([{"field": name, "value": value} for name in names]))
        parsed(AgentResult([{"field": name, "error": value} for name in names]))
