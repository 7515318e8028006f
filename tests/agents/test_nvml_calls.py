"""What the NVML agent really asks, by the fake driver's log of calls, against nvml_fields.csv."""

from __future__ import annotations

import collections
from collections.abc import Callable
from pathlib import Path

from doctor.probes.nvml import parse_nvml
from doctor.snapshot import Missing, NvLinkErrors, Snapshot
from doctor.targets.process import AgentResult, agent_argv
from tests.fakes import Machine

from ..machines.fields import fields
from .run import PATIENT, run_agent, run_nvml

OnMachine = Callable[..., dict[str, str]]
EVERY_KIND = (
    ("h200x8", {
        "gpu.0.mig": "1", "gpu.0.mig.0.uuid": "MIG-1", "gpu.0.mig.0.gi": "1", "gpu.0.mig.0.ci": "0",
        "gpu.1.virtualization": "2", "gpu.1.vgpu_licensed": "1", "gpu.2.process.0": "compute 4711 100 python",
    }),
    ("b200x8", {"driver.version": "590.48.01"}),
    ("v100x8", {"driver.version": "515.105.01"}),
    ("h200x8", {"driver.version": "535.261.03"}),
)  # fmt: skip
"""Machines that together are asked everything: MIG, a virtual GPU, a process, Blackwell, drivers before a call."""


def ask(on_machine: OnMachine, folder: Path, name: str, changes: dict[str, str]) -> tuple[Snapshot, list[str]]:
    """The facts, and the calls and fields in their order, each with its GPU."""
    machine, log = Machine.load(name), folder / "calls"
    machine.scenario.update(changes)
    log.unlink(missing_ok=True)
    result = run_nvml(on_machine(machine, GPUDOCTOR_FAKE_CALLS=str(log)))
    assert result.fault is None
    return Snapshot().replace(parse_nvml(result)[0]), log.read_text().splitlines()


def test_the_list_says_what_is_asked_and_nothing_else(on_machine: OnMachine, tmp_path: Path) -> None:
    asked: set[str] = set()
    for name, changes in EVERY_KIND:
        asked |= {line.rpartition(" ")[0] for line in ask(on_machine, tmp_path, name, changes)[1]}
    asked = {line.removeprefix("call ") for line in asked} - {"nvmlDeviceGetFieldValues"}  # its fields are listed
    listed = {row.call for row in fields() if row.asked == "yes"}
    assert asked == listed, (sorted(asked - listed), sorted(listed - asked))
    assert not asked & {row.call for row in fields() if row.asked == "no"}


def test_each_row_is_whole() -> None:
    facts = set(Snapshot().__struct_fields__) | set(
        __import__("doctor.snapshot", fromlist=["Gpu"]).Gpu.__struct_fields__
    )
    for row in fields():
        assert row.field and row.call and row.source and row.first_driver.isdecimal(), row
        assert row.asked in ("yes", "no") and (row.sick or row.why), row
        assert row.asked == "yes" or (row.why and not row.scenario), row
        name = row.field.partition(".")[0].partition(" ")[0]
        assert row.asked == "no" or name in facts, row.field


def test_the_number_of_calls_of_eight_healthy_gpus(on_machine: OnMachine, tmp_path: Path) -> None:
    """A call of a real driver takes some 10 us to 1 ms: their number is what a look costs."""
    for name in ("h200x8", "b200x8"):
        lines = ask(on_machine, tmp_path, name, {})[1]
        calls = collections.Counter(line.split()[1] for line in lines if line.startswith("call "))
        assert sum(calls.values()) <= 8 * 80 + 3 * 28 + 8, calls.most_common(5)
        assert calls["nvmlDeviceGetFieldValues"] == 2 * 8  # the recovery action, then all counters of all links
        assert calls["nvmlDeviceGetPcieReplayCounter"] == 8  # all are 0: nobody looks twice


def test_a_counter_that_is_not_zero_is_read_twice_and_the_others_once(on_machine: OnMachine, tmp_path: Path) -> None:
    changes = {"gpu.5.pcie.replays": "7+2", "gpu.6.nvlink.crc": "0 4+3 0", "gpu.6.nvlink.replay": "0 0 1"}
    snapshot, lines = ask(on_machine, tmp_path, "h200x8", changes)
    assert collections.Counter(lines)["call nvmlDeviceGetPcieReplayCounter 5"] == 2
    assert collections.Counter(lines)["call nvmlDeviceGetFieldValues 6"] == 3
    assert collections.Counter(lines)["call nvmlDeviceGetFieldValues 5"] == 2
    assert isinstance(snapshot.gpus, tuple)
    assert [gpu.pcie_replays_climbed for gpu in snapshot.gpus] == [0, 0, 0, 0, 0, 2, 0, 0]
    assert snapshot.gpus[6].nvlink_errors == (
        NvLinkErrors(link=1, crc=7, crc_climbed=3),
        NvLinkErrors(link=2, replay=1),
    )
    assert isinstance(snapshot.gpus[6].counters_apart_ms, int) and snapshot.gpus[6].counters_apart_ms >= 100
    assert snapshot.gpus[0].counters_apart_ms == Missing("absent", "all counters are 0")


def test_a_field_that_the_driver_lacks_is_absent_and_no_error(on_machine: OnMachine, tmp_path: Path) -> None:
    first = {"nvlink_errors": 560}  # on Blackwell; before, an older call tells them
    for row in fields():
        if row.machine.startswith("b200x8") and row.field not in first:
            first[row.field] = min(int(other.first_driver) for other in fields() if other.field == row.field)
    assert {"memory_unrepairable", "recovery_action", "fabric_health", "fabric_health_summary"} <= set(first)
    for branch in (450, 535, 550, 570, 590):
        snapshot, _ = ask(on_machine, tmp_path, "b200x8", {"driver.version": f"{branch}.10"})
        assert isinstance(snapshot.gpus, tuple)
        for field, driver in first.items():
            fact = getattr(snapshot.gpus[3], field)
            assert isinstance(fact, Missing) == (branch < driver), (branch, field, fact)
            assert not isinstance(fact, Missing) or fact.reason == "absent", (branch, field, fact)


def test_sram_errors_are_told_to_root_only(on_machine: OnMachine, tmp_path: Path) -> None:
    snapshot, _ = ask(on_machine, tmp_path, "h200x8", {"fail.nvmlDeviceGetSramEccErrorStatus": "4"})
    assert isinstance(snapshot.gpus, tuple)
    assert snapshot.gpus[0].sram_threshold_exceeded == Missing("denied", "Insufficient Permissions")


def test_a_second_look_that_fails_leaves_it_open_whether_they_climb(on_machine: OnMachine, tmp_path: Path) -> None:
    machine = Machine.load("h200x8").with_(gpu__0__pcie__replays="7", gpu__0__nvlink__crc="3")
    lines = [line for line in run_nvml(on_machine(machine)).lines if not str(line.get("field")).endswith("_again")]
    snapshot = Snapshot().replace(parse_nvml(AgentResult(lines, None))[0])
    assert isinstance(snapshot.gpus, tuple)
    assert isinstance(snapshot.gpus[0].pcie_replays_climbed, Missing)
    assert isinstance(snapshot.gpus[0].nvlink_errors, Missing) and snapshot.gpus[1].nvlink_errors == ()


def test_an_older_binding_lacks_calls_and_is_no_error(on_machine: OnMachine, tmp_path: Path) -> None:
    """nvidia-ml-py 12.535 has none of these; the driver's own calls are there, so our structures are filled in."""
    import pynvml

    gone = ("nvmlDeviceGetMarginTemperature", "nvmlDeviceGetSramEccErrorStatus", "nvmlDeviceGetGpuFabricInfoV",
            "c_nvmlGpuFabricInfo_v2_t", "c_nvmlGpuFabricInfo_v3_t", "c_nvmlGpuFabricInfoV_t")  # fmt: skip
    source = Path(pynvml.__file__).read_text("utf-8")
    (tmp_path / "pynvml.py").write_text(source + "".join(f"\ndel {name}" for name in gone))
    result = run_agent(agent_argv(str(PATIENT / "nvml.py"), str(tmp_path)), 20, on_machine("b200x8"))
    snapshot = Snapshot().replace(parse_nvml(result)[0])
    assert isinstance(snapshot.gpus, tuple)
    gpu = snapshot.gpus[0]
    assert gpu.temperature_margin_c == Missing("absent", "this driver's NVML has no such call")
    assert (gpu.sram_threshold_exceeded, gpu.fabric_health, gpu.fabric_health_summary) == (False, 0x1AA, 1)
