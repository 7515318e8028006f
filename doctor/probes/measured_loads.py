"""What NVML's samples add to a proof: the load in its phases, the proving process, the sweep's utilisation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from msgspec.structs import replace

from ..proof.loads import Phase, loads_of, parse_phases, process_on_gpu
from ..proof.samples import Sample, parse_samples
from ..snapshot.fact import Missing, known
from ..snapshot.measured import BatchPoint, Measured, SoakPoint, TorchProof
from .agent_lines import AgentResult

BEFORE_S = 3.0
"""How long before a proof its GPU is looked at, for others' work."""
BUSY_PERCENT = 20.0
"""Median utilisation before the proof from which on somebody else is at work: the first samples may say 100 of a GPU
without any, which the driver woke for NVML."""

Runs = Mapping[str, Sequence[AgentResult]]


def with_samples(measured: Measured, proof: Runs, visible: bool | None) -> Measured:
    """The measurements with what NVML showed meanwhile; as they are where nothing was sampled. `visible`: whether
    NVML's process numbers are those of this process namespace (None: not known)."""
    samples = parse_samples(line for result in proof.get("nvml_sampler", ()) for line in result.lines)
    if not samples:
        return measured
    keys = {row.device: row.key for row in known(measured.torch) or ()}
    by_agent = {agent: [_keyed(line, keys) for r in runs for line in r.lines] for agent, runs in proof.items()}
    lines = [line for agent in by_agent if agent != "nvml_sampler" for line in by_agent[agent]]
    torch = by_agent.get("torch_proof", [])
    pids = [line.get("value") for line in torch if line.get("field") == "pid"]
    pid = next((value for value in reversed(pids) if _is_pid(value)), 0)
    changes: dict[str, Any] = {"loads": loads_of(samples, parse_phases(lines), _pids(lines))}
    if not isinstance(measured.torch, Missing):
        phases = {phase.key: phase for phase in parse_phases(torch)}
        rows = [(row, phases.get(row.key)) for row in measured.torch]
        changes["torch"] = tuple(_seen(row, phase, samples, pid, visible) if phase else row for row, phase in rows)
    if not isinstance(measured.soak, Missing):
        times = {(str(row.get("device")), row.get("at_s")): row for row in _soaked(by_agent.get("torch_soak", ()))}
        changes["soak"] = tuple(_heated(row, times.get((row.device, row.at_s)), keys, samples) for row in measured.soak)
    if not isinstance(measured.batches, Missing):
        changes["batches"] = tuple(_swept(row, lines, samples) for row in measured.batches)
    return replace(measured, **changes)


def _keyed(line: Mapping[str, Any], keys: Mapping[str, str]) -> Mapping[str, Any]:
    """A phase with the key of its device's GPU where the agent could not tell it."""
    device = line.get("device")
    if "phase" not in line or line.get("key") or not isinstance(device, str):
        return line
    return {**line, "key": keys.get(device, "")}


def _pids(lines: Sequence[Mapping[str, Any]]) -> set[int]:
    """Our own processes: the agents, and those that they name."""
    found = [line.get("pid") for line in lines]
    for line in lines:
        value = line.get("value") if line.get("field") in ("pid", "pids") else None
        found += value[:1000] if isinstance(value, list) else [value]
    return {pid for pid in found if _is_pid(pid)}


def _is_pid(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 31


def _seen(row: TorchProof, phase: Phase, samples: Sequence[Sample], pid: int, visible: bool | None) -> TorchProof:
    """A device's proof with its process on the GPU by NVML."""
    on = process_on_gpu(samples, phase.key, pid, phase.start, phase.end, visible)
    before = [s.utilization for s in samples if s.key == phase.key and phase.start - BEFORE_S <= s.time < phase.start]
    percents = [percent for percent in before if percent is not None]
    return replace(
        row,
        process_seen=on.seen,
        process_mib=on.memory_max_mib,
        utilization_percent=on.utilization_max_percent,
        busy=bool(percents) and sorted(percents)[len(percents) // 2] >= BUSY_PERCENT,
    )


def _soaked(lines: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [row for line in lines if isinstance(row := line.get("soak"), dict)]


def _heated(
    row: SoakPoint, times: Mapping[str, Any] | None, keys: Mapping[str, str], samples: Sequence[Sample]
) -> SoakPoint:
    """Some seconds of the sustained load with what NVML showed in them."""
    about = {"phase": "soak", "key": keys.get(row.device, ""), **{n: (times or {}).get(n) for n in ("start", "end")}}
    loads = loads_of(samples, parse_phases([about]))
    if not loads:
        return row
    load = loads[0]
    return replace(
        row,
        clock_sm_mhz=load.clock_sm_mhz,
        power_w=load.power_w,
        temperature_max_c=load.temperature_max_c,
        reasons_percent=load.reasons_percent,
    )


def _swept(row: BatchPoint, lines: Sequence[Mapping[str, Any]], samples: Sequence[Sample]) -> BatchPoint:
    """A batch size with the GPU's utilisation meanwhile: its phase's line names the batch."""
    if not isinstance(row.utilization_percent, Missing):
        return row
    own = [line for line in lines if line.get("batch_size") == row.batch and line.get("device") == row.device]
    loads = loads_of(samples, parse_phases(own))
    percent = known(loads[0].utilization_percent) if loads else None
    return row if percent is None else replace(row, utilization_percent=percent)
