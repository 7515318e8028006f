"""Turns the raw lines of a proof's agents into measurements. A line that cannot be read is reported as a failed
step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..snapshot.fact import NOT_ASKED, Missing, Reason
from ..snapshot.measured import (
    BatchPoint,
    CollectiveProof,
    CollectiveRate,
    CopyProof,
    CpuScore,
    DdpRun,
    DriverProof,
    Fault,
    LinkGroup,
    Measured,
    PairProof,
    ProductProof,
    RankWait,
    Rate,
    SendRate,
    SoakPoint,
    StepEnd,
    SumWay,
    TorchProof,
    TrainingStep,
)
from .agent_lines import SLOW, AgentResult, fault_missing, library_missing, slow_words
from .measured_rows import alone_at_last, measured_last, with_keys

KINDS: dict[str, type[Struct]] = {
    "driver_proof": DriverProof, "torch_proof": TorchProof, "rate": Rate, "training": TrainingStep, "cpu": CpuScore,
    "batch": BatchPoint, "pair": PairProof, "collective": CollectiveProof, "ended": StepEnd, "product": ProductProof,
    "copied": CopyProof, "soak": SoakPoint, "group": LinkGroup, "collective_rate": CollectiveRate,
    "send_rate": SendRate, "rank_wait": RankWait, "ddp": DdpRun, "way": SumWay,
}  # fmt: skip
"""Key of a result line to the struct that is its value."""
_LISTS = {
    "driver": ("driver_proof", "driver_proof"), "torch": ("torch_proof", "torch_proof"),
    "rates": ("rate", "torch_speed"), "training": ("training", "torch_speed"),
    "products": ("product", "torch_speed"), "copies": ("copied", "torch_speed"),
    "batches": ("batch", "training_speed"), "pairs": ("pair", "collective_proof"),
    "soak": ("soak", "torch_soak"), "collective_rates": ("collective_rate", "collective_speed"),
    "sends": ("send_rate", "collective_speed"), "rank_waits": ("rank_wait", "collective_speed"),
    "link_groups": ("group", "collective_speed"), "ddp": ("ddp", "collective_speed"),
    "ways": ("way", "collective_speed"),
}  # fmt: skip
"""Field of Measured to its kind of line, and to the agent whose end says why there is none."""
_LEVELS = ("proof", "quick", "standard", "full", "links")
_MOST = 4096
_LONGEST = 2000
_EARLY = "the test finished before NVML answered"
_REASONS: tuple[Reason, ...] = ("absent", "denied", "timeout", "error")

Runs = Mapping[str, Sequence[AgentResult]]


def parse_measured(proof: Runs, about: Any, visible: bool | None = None) -> Measured:
    """The measurements of a proof's raw runs. `about`: `level` and `device` as they were asked for, and
    `timeout_s`, in a dict;
    `visible`: whether NVML lists processes by the numbers that they have here (None: not known)."""
    about = about if isinstance(about, dict) else {}
    found: dict[str, list[Any]] = {kind: [] for kind in KINDS}
    fields: dict[str, Any] = {}
    gaps: dict[str, Missing] = {}
    for agent, runs in proof.items():
        for result in runs:
            for line in result.lines:
                _take(agent, line, found, fields)
                ended = line.get("ended")
                if agent == "proof" and isinstance(ended, dict) and line.get("reason") in _REASONS:
                    gaps[str(ended.get("agent"))] = Missing(line["reason"], str(ended.get("detail", ""))[:300])
            if agent != "proof":
                _end(agent, result, found)
                gaps[agent] = fault_missing(result)
    found["rate"] = alone_at_last(found["rate"])
    found["pair"] = measured_last(found["pair"])
    found["group"] = list({group.variant: group for group in found["group"]}.values())
    found["torch_proof"] = list({proof.device: proof for proof in found["torch_proof"]}.values())
    if "import" in fields:
        gaps["torch_proof"] = fields["import"]
    changes: dict[str, Any] = {}
    for name, (kind, agent) in _LISTS.items():
        if found[kind]:
            changes[name] = tuple(found[kind])
        elif agent in gaps:
            changes[name] = gaps[agent] if gaps[agent].reason != "not-asked" else _nothing(agent, found["ended"])
    level, device, timeout_s = about.get("level"), about.get("device"), about.get("timeout_s")
    measured = Measured(
        level=level if level in _LEVELS else NOT_ASKED,
        device=device[:40] if isinstance(device, str) else NOT_ASKED,
        timeout_s=float(timeout_s) if isinstance(timeout_s, (int, float)) and 0 < timeout_s < 1e9 else NOT_ASKED,
        torch_devices=fields.get("torch_devices", gaps.get("torch_proof", NOT_ASKED)),
        interrupted=fields.get("interrupted", False),
        import_seconds=fields.get("import_seconds", gaps.get("torch_proof", NOT_ASKED)),
        ended=tuple(found["ended"]),
        cpu=found["cpu"][-1] if found["cpu"] else None,
        collective=found["collective"][-1] if found["collective"] else None,
        **changes,
    )
    from .measured_loads import with_samples

    return with_samples(with_keys(measured), proof, visible)


def _nothing(agent: str, ended: list[StepEnd]) -> tuple[()] | Missing:
    """What an agent found that came to its end without a result: none, or why it could find none."""
    failed = next((step for step in ended if step.agent == agent and step.fault == "failed"), None)
    if failed is None:
        return ()
    if failed.step.startswith("dlopen "):
        return library_missing(failed.detail, failed.step.removeprefix("dlopen "))
    return Missing("error", failed.detail[:300])


def _take(agent: str, line: Mapping[str, Any], found: dict[str, list[Any]], fields: dict[str, Any]) -> None:
    """One line: a result, a field, or something that only the run itself needed."""
    for kind, struct in KINDS.items():
        if kind not in line:
            continue
        try:
            rows, row = found[kind], msgspec.convert(_bounded(line[kind]), struct)
        except (ValueError, RecursionError) as error:  # msgspec's own errors are ValueErrors
            rows, row = found["ended"], _spoilt(agent, kind, line[kind], str(error))
        if len(rows) < _MOST:
            rows.append(row)
    name, value = line.get("field"), line.get("value")
    if name in ("import", "torch") and "error" in line:
        fields["import"] = Missing("error", f"{line['error']}: {line.get('text', '')}"[:300])
    if name == "import_seconds" and isinstance(value, (int, float)) and 0 <= value < 1e6:
        fields.setdefault(name, float(value))
    elif name == "interrupted" and agent == "proof":
        fields[name] = value is True
    elif name == "torch_devices" and isinstance(value, list):
        fields[name] = tuple(device[:40] for device in value[:1000] if isinstance(device, str))


def _bounded(value: Any) -> Any:
    """The value, texts cut to a length. Raises ValueError for a number that is not finite or past 64 bits."""
    if isinstance(value, str):
        return value[:_LONGEST]
    if isinstance(value, dict):
        return {str(key)[:100]: _bounded(item) for key, item in list(value.items())[:200]}
    if isinstance(value, list):
        return [_bounded(item) for item in value[:1000]]
    if isinstance(value, (int, float)) and not abs(value) < 1 << 63:  # not a number is not below anything either
        raise ValueError("a number that is not finite")
    return value


def _spoilt(agent: str, kind: str, row: Any, error: str) -> StepEnd:
    device = row.get("device") if isinstance(row, dict) else None
    return StepEnd(
        agent=agent,
        step=kind,
        device=device[:40] if isinstance(device, str) else "",
        detail=f"its result cannot be read: {error}"[:300],
    )


def _end(agent: str, result: AgentResult, found: dict[str, list[Any]]) -> None:
    """How a child that did not end well ended, reported as a step, and for the device that it was working on."""
    if result.fault is None:
        if not any(line.keys() - {"run"} for line in result.lines):
            mute = StepEnd(agent=agent, step="start", detail="it exited without output")
            early = agent == "nvml_sampler" and result.returncode == 0
            found["ended"].append(replace(mute, fault="skipped", detail=_EARLY) if early else mute)
        return
    device = next((d for line in reversed(result.lines) for d in _devices(line)), "")
    step, words = result.guilty or "start", _words(result)
    fault: Fault = result.fault
    if agent == "nvml_sampler" and result.returncode == 0:  # it leaves when the proof is over
        fault, words = "skipped", _EARLY
    silent_s = round(result.silent, 1) if fault == "hang" else 0.0
    end = StepEnd(agent=agent, step=step[:200], device=device, fault=fault, detail=words, silent_s=silent_s)
    found["ended"].append(end)
    last = result.lines[-1] if result.lines else {}
    if device and "begin" in last:
        _unfinished(agent, result, device, found)


def _words(result: AgentResult) -> str:
    if result.fault in SLOW:
        return slow_words(result)
    if result.fault == "hang":
        return f"no answer for {result.silent:.0f} s" if result.silent >= 1 else "no answer"
    if result.returncode is not None and result.returncode < 0:
        return f"signal {-result.returncode}"
    words = [line.strip() for line in result.stderr_tail.splitlines() if any(c.isalpha() for c in line)]
    last = words[-1][:200] if words else ""  # torchrun ends its words with a ruler
    return last or f"exit code {result.returncode}"


def _unfinished(agent: str, result: AgentResult, device: str, found: dict[str, list[Any]]) -> None:
    """The result of a device whose child did not live to write it: what it had said so far, and why no more."""
    if agent not in ("driver_proof", "torch_proof"):
        return
    so_far = result.lines[-1].get("so_far")
    if agent == "driver_proof":
        so_far = next((line["proving"] for line in reversed(result.lines) if "proving" in line), None)
    row = dict(so_far) if isinstance(so_far, dict) and device in _devices(so_far) else {}
    step, gap = (result.guilty or "start")[:200], msgspec.to_builtins(fault_missing(result))
    if agent == "driver_proof":
        ordinal = device.removeprefix("cuda:")
        row.update(device=int(ordinal) if ordinal.isdecimal() else 0, failed_call=step, right=gap, fault=result.fault)
    else:
        row.update(device=device, failed_step=step, error=_words(result), right=gap, fault=result.fault)
    if agent == "torch_proof" or not any(done.device == row["device"] for done in found[agent]):
        _take(agent, {agent: row}, found, {})


def _devices(line: Mapping[str, Any]) -> Iterator[str]:
    for row in (line, *(value for value in line.values() if isinstance(value, dict))):
        device = row.get("device")
        if isinstance(device, str):
            yield device[:40]
        elif isinstance(device, int) and not isinstance(device, bool) and 0 <= device < 1000:
            yield f"cuda:{device}"
