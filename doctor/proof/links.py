"""What is measured between GPUs: every pair and one all-reduce, then once more the few pairs that stand out.

A copy between two GPUs shares PCIe, memory and the host with all that runs there, so one slow measurement proves
little: a pair far below the others is measured again, its two GPUs alone, before anything is said of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..snapshot.device_names import ordinal_of
from ..snapshot.siblings import below_siblings
from ..targets.agent import AgentResult

AGENT = "collective_proof"
STANDS_OUT = 0.6
"""Of the median of the other pairs."""
FEW = 4
"""Pairs that are measured again; where more are slow it is how the machine is built."""
Run = Callable[..., "AgentResult | None"]
"""Runs an agent with arguments; None if it was left out."""


def measure(devices: Sequence[str], run: Run) -> None:
    """All of it, on these devices of torch; `run` keeps what the agent writes."""
    first = run(AGENT, "--devices", ",".join(str(ordinal_of(device)) for device in devices))
    for one, other in standing_out(first.lines) if first is not None and first.fault is None else ():
        run(AGENT, "--devices", f"{ordinal_of(one)},{ordinal_of(other)}", "--only-pairs")


def standing_out(lines: Iterable[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Pairs of devices of which a direction is far slower than the others are; none if they are many."""
    speeds: dict[str, float] = {}
    ends: dict[str, tuple[str, str]] = {}
    for line in lines:
        row = line.get("pair")
        if isinstance(row, dict) and isinstance(row.get("gb_s"), (int, float)):
            one, other = sorted((str(row.get("source")), str(row.get("target"))))
            name = f"{row.get('source')}>{row.get('target')}"
            if None not in (ordinal_of(one), ordinal_of(other)):
                speeds[name], ends[name] = float(row["gb_s"]), (one, other)
    found = list(dict.fromkeys(ends[name] for name in below_siblings(speeds, STANDS_OUT)))
    return found if len(found) <= FEW else []
