"""`fit --meta-device` and `--model`: one step on torch's meta device, in the Python that has torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins

from ..fit import Unclear, Work
from ..fit.shape import Shape
from ..fit.work import Counted
from ..formats.given import Unopened, file_given
from ..guard import Refusal
from ..snapshot import known

LIMIT_S = 120.0


class Pass(Struct, frozen=True):
    """Results of a pass. operations: in one step, forward and backward."""

    counted: Counted
    parameters: int
    operations: int


def count_pass(flags: dict[str, Any], shape: Shape | None, work: Work) -> Pass:
    """Run it. Raises Refusal for an invalid FILE:CLASS, Unclear without torch or if the step fails."""
    file, name = _own_class(flags["own_class"]) if flags["own_class"] else ("", "")
    low, high = ("half", "fp32" if file else "mixed") if work.dtype == "mixed" else (_plain(work.dtype),) * 2
    eager_low, eager_high = {"eager": (True, True), "fused": (False, False)}.get(work.attention, (False, True))
    runs = [
        {"dtype": dtype, "eager": eager, "checkpointing": spared, "kept": True}
        for spared in ((False,) if file else (False, True))
        for dtype, eager in ((low, eager_low), (high, eager_high))
    ]
    question: dict[str, Any] = {
        "shape": None if file else to_builtins(shape), "file": file, "class": name, "runs": runs,
        "batch": work.batch if file else 1, "sequence": work.sequence,
    }  # fmt: skip
    found = _answered(flags, question)
    each = [_activations(run) / question["batch"] for run in found]
    plain = min(each[:2]), max(each[:2])
    spared = plain if file else (min(each[2:]), max(each[2:]))
    first = found[0]
    return Pass(Counted(work.sequence, plain, spared), int(first["parameters"]), int(first["operations"]))


def _plain(dtype: str) -> str:
    return "fp32" if dtype == "fp32" else "half"


def _activations(run: dict[str, Any]) -> float:
    return max(0.0, float(run["peak"] - run["weights"] - run["gradients"] - run["copied"]))


def _own_class(text: str) -> tuple[str, str]:
    file, _, name = text.rpartition(":")
    if not file or not name.isidentifier():
        raise Refusal(f"--model {text!r}: expected FILE:CLASS, such as model.py:Net")
    path = Path(file)
    try:
        file_given(file).close()
    except Unopened as error:
        raise Refusal(f"--model: {error}") from None
    return str(path.resolve()), name


def _answered(flags: dict[str, Any], question: dict[str, Any]) -> list[dict[str, Any]]:
    from ..probes.commands import torch_command
    from ..targets.process import start_agent, wait_agents
    from .run_resolve import looked_at

    snapshot = looked_at({**flags, "from_": None})
    python = known(snapshot.python.patient.executable)
    command = torch_command({"executable": python}, "fit_pass")
    if command is None:
        raise Unclear("no Python with torch was found for the meta-device step: choose one with --python", unknown=True)
    (result,) = wait_agents(start_agent([*command, json.dumps(question)], max(LIMIT_S, flags["timeout"] or 0.0)))
    failed = next((str(line["failed"]) for line in result.lines if "failed" in line), "")
    found = [line["run"] for line in result.lines if "run" in line]
    if not failed and len(found) < len(question["runs"]):
        last = result.stderr_tail.strip().split("\n")[-1]
        failed = {"hang": "it did not finish in time", "slow": "it did not finish in time"}.get(
            result.fault or "", last
        )
    if failed:
        raise Unclear(f"the meta-device step failed in {python}: {failed}", unknown=True)
    return found
