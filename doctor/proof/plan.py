"""What a level of proof consists of, and how long its parts may take. Seconds throughout."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, TypeAlias

from msgspec import Struct

from ..snapshot.device_names import ordinal_of

Level: TypeAlias = Literal["proof", "quick", "standard", "full", "links"]

TOTAL_S: dict[Level, float] = {"proof": 60.0, "quick": 120.0, "standard": 240.0, "full": 600.0, "links": 300.0}
"""Until when all of it has to be over, where the user says nothing else."""
SPEED: dict[Level, tuple[str, float]] = {"quick": ("quick", 15.0), "standard": ("quick", 15.0), "full": ("full", 90.0)}
"""torch_speed's own level and the time that it takes for it, the import left out."""
TRAINING: dict[Level, tuple[str, float]] = {"standard": ("standard", 25.0), "full": ("full", 90.0)}
IMPORT_S = 60.0
"""Longest wait for `import torch`: from a cold network file system it takes that long."""
STEP_S = {
    "driver_proof": 30.0, "torch_proof": 30.0, "collective_proof": 60.0, "torch_speed": 45.0, "training_speed": 60.0,
    "torch_soak": 45.0, "collective_speed": 60.0,
}  # fmt: skip
"""Longest silence of an agent: it distinguishes a kernel that never ends from a slow machine."""
MEETING, MEETING_S = "rendezvous of the ranks", 150.0
"""Before the first word of a rank: torchrun imports torch and waits for the other nodes, started by hand."""
IMPORT_MIB = 1536
"""Memory of the host that a child with torch and a context takes."""
LEAST_S = 2.0
"""With less time left than this nothing is begun."""


class Links(Struct, frozen=True, kw_only=True):
    """Who takes part in the measurement of links, and how its processes are started."""

    processes: int | None = None
    """On this node; None: one for each GPU that was proven, two on the CPU."""
    nodes: tuple[str, ...] = ()
    """Names or addresses, the same on every node; the first one's torchrun is where the others meet."""
    node: int = 0
    """Which of them this one is."""
    port: int = 29400
    local_addr: bool = True
    """Whether this torch's torchrun takes --local_addr (2.0 and newer)."""
    ddp: bool = False
    """Also train a small transformer."""
    teach: bool = False
    """Also sum in three ways, every byte counted."""
    launched: dict[str, str] = {}
    """What a rank needs to know, where the user's own launcher started this process as one."""

    @property
    def reports(self) -> bool:
        """Whether the first rank is one of this process: it alone has the results."""
        return self.node == 0 and self.launched.get("RANK", "0") == "0"


class Plan(Struct, frozen=True, kw_only=True):
    """One proof. `commands`: agent to its command without arguments; `left_out`: agent to why it is not started."""

    level: Level
    device: str = "cuda"
    """`cuda` (every visible GPU), `cuda:1`, `cuda:0,cuda:2`, `cpu`."""
    total_s: float
    soak_s: float = 0.0
    """Seconds of sustained load on every GPU; 0: none."""
    commands: dict[str, list[str]]
    links: Links | None = None
    left_out: dict[str, tuple[str, str]] = {}
    """(reason as in Missing, the words)."""
    devices: int | None = None
    """How many libcuda counted, where that is known."""
    cores: int = 1
    """That this process may run on."""
    memory_mib: int | None = None
    """Of the host, that this container may use at most; None if there is no limit."""

    def silence_s(self, agent: str, step: str) -> float:
        """How long an agent may be silent in a step."""
        if step == MEETING:
            return min(MEETING_S, self.total_s / 2)
        if step.startswith("import"):
            return min(IMPORT_S, self.total_s / 2)
        return min(STEP_S[agent], self.total_s / 3)


def device_of(text: str) -> str:
    """`cuda`, `cpu`, or the GPUs that are asked for, in order (`cuda:0,2` and `cuda:0,cuda:2` are `cuda:0,cuda:2`).

    ValueError with one line on anything else."""
    word = re.sub(r"\s", "", text.lower())
    if word in ("cuda", "cpu"):
        return word
    if re.fullmatch(r"cuda:\d{1,3}(,(cuda:)?\d{1,3})*", word):
        return names_of(sorted({int(number) for number in re.findall(r"\d+", word)}))
    raise ValueError(f"--device {text!r}: must be cuda (every visible GPU), cuda:N, cuda:N,M or cpu")


def names_of(ordinals: Iterable[int]) -> str:
    """`cuda:0,cuda:2`."""
    return ",".join(f"cuda:{number}" for number in ordinals)


def ordinals_of(device: str) -> list[int] | None:
    """0 and 2 of `cuda:0,cuda:2`; None of `cuda` and `cpu`."""
    found = [ordinal_of(name) for name in device.split(",")]
    return [number for number in found if number is not None] if None not in found else None
