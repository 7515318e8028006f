"""What a proof has so far: the children's results, what they show, and what was left out and why."""

from __future__ import annotations

from typing import Any

from ..snapshot.device_names import in_short, ordinal_of
from ..targets.agent import AgentResult
from ..targets.process import Agent
from .plan import SPEED, TRAINING, Plan

Proof = dict[str, list[AgentResult]]
SOAK = "torch_soak"
LEVELS = {"torch_speed": SPEED, "training_speed": TRAINING}
WORDS = {
    "driver_proof": "test through libcuda", "torch_proof": "test with torch", "torch_speed": "speed",
    "collective_proof": "data between GPUs", "training_speed": "small training",
    "torch_soak": "sustained load", "collective_speed": "links",
}  # fmt: skip


class Kept:
    """The results of one proof, by agent; `notes`: of the prover itself."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.notes = AgentResult()
        self.proof: Proof = {"proof": [self.notes]}

    def keep(self, agent: str, arguments: tuple[str, ...], result: AgentResult, process: Agent) -> AgentResult:
        """Note what a child wrote."""
        result.lines.insert(0, {"run": list(arguments), "pid": getattr(process, "pid", 0)})
        self.proof.setdefault(agent, []).append(result)
        return result

    def interrupted(self) -> None:
        """Note that it was, in which agent, and which were not started."""
        self.notes.lines.append({"field": "interrupted", "value": True})
        wanted = ["torch_proof", *(name for name, levels in LEVELS.items() if self.plan.level in levels)]
        started = [name for name in self.proof if name != "proof"]
        wanted += [SOAK] if self.plan.soak_s else []
        for agent in dict.fromkeys((*started[-1:], *(name for name in wanted if name not in self.proof))):
            words = "interrupted" if agent in started else "interrupted before it started"
            if agent not in self.plan.left_out:
                self.leave_out(agent, "not-asked", words)

    def proven(self) -> list[str]:
        """The devices that torch computed right on."""
        return [row["device"] for row in self.results("torch_proof") if row.get("right") is True]

    def models(self) -> dict[str, str]:
        """Device to the name of its GPU, as torch tells it."""
        return {row["device"]: str(row.get("name", "")) for row in self.results("torch_proof")}

    def results(self, agent: str) -> list[dict[str, Any]]:
        """The result objects of an agent so far, the last of each device; not of one on which its child ended."""
        found: dict[str, dict[str, Any]] = {}
        for result in self.proof.get(agent, ()):
            rows = [line.get(agent) for line in result.lines]
            found.update({row["device"]: row for row in rows if isinstance(row, dict) and "device" in row})
            if result.fault is not None and result.lines:
                found.pop(str(result.lines[-1].get("device", "")), None)
        return [row for device, row in found.items() if isinstance(device, str)]

    def why_none(self) -> tuple[str, str]:
        """Why there is no device to measure on."""
        lines = [line for result in self.proof["torch_proof"] for line in result.lines]
        fault = next((result.fault for result in self.proof["torch_proof"] if result.fault), None)
        if fault is not None:
            return ("error" if fault in ("crash", "failed") else "timeout"), "torch's test did not finish"
        if any(line.get("field") == "import" and "error" in line for line in lines):
            return "error", "torch cannot be imported"
        offered = [line.get("value") for line in lines if line.get("field") == "torch_devices"]
        if [] in offered and self.plan.device != "cpu":
            return "absent", "torch sees no GPU here"
        return "error", "torch did not compute correct results on any device"

    def on_first_alone(self, agent: str, devices: list[str]) -> None:
        """Say that a measure is made on the first of these GPUs alone."""
        first, *others = devices
        if others and agent not in self.plan.left_out:
            self.leave_out(agent, "not-asked", f"measured on {first} alone", device=in_short(others))

    def leave_out(self, agent: str, reason: str, detail: str, step: str = "", device: str = "") -> None:
        """Note that an agent was not started, or left these devices out, and why."""
        about = {"agent": agent, "step": step or WORDS[agent], "device": device or self.plan.device}
        self.notes.lines.append({"ended": {**about, "fault": "skipped", "detail": detail}, "reason": reason})

    def following(self, result: AgentResult, first: int) -> int | None:
        """The device to go on with after a child that did not finish; None if there is none."""
        seen = [number for line in result.lines for number in ordinals_in(line)]
        if not seen:
            return None
        offered = next((line.get("value") for line in result.lines if line.get("field") == "torch_devices"), None)
        if result.fault is None and not isinstance(offered, list):
            return None
        count = len(offered) if isinstance(offered, list) else self.plan.devices
        following = max(max(seen), first) + 1
        return following if count is None or following < count else None


def ordinals_in(line: dict[str, Any]) -> list[int]:
    """Devices that a line speaks of: its own `device`, or that of the result in it."""
    rows = [line, *(value for value in line.values() if isinstance(value, dict))]
    found = [ordinal_of(row.get("device")) for row in rows]
    return [number for number in found if number is not None]
