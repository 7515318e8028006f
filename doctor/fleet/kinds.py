"""What the store, the statistics and the report of a fleet hand to each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from ..findings import Fix

State: TypeAlias = Literal["answered", "no-answer", "not-examined"]
"""no-answer: the node was requested and nothing came; not-examined: an engine or a probe says why (`Node.reason`)."""

MIXED = "mixed"
"""The model of a node with GPUs of several models."""

CLOCK_OFF_S = 300.0
"""A clock that is further off than this is odd, and a verdict by it does not count."""


class Cohort(NamedTuple):
    """Nodes that are compared with each other."""

    model: str
    """The GPUs' name without the vendor (`H100 80GB HBM3`), `mixed`, or empty on a node without GPUs."""
    count: int  # type: ignore[assignment]  # no tuple is counted here
    memory_gib: int
    """Of one GPU, rounded; of a mixed node that of the largest."""
    arch: str
    """x86_64, aarch64; empty if it is not known."""


class Node(NamedTuple):
    """A node that was requested or that answered."""

    id: int
    name: str
    state: State
    reason: str
    """Why it was not examined; empty if it answered."""
    cohort: Cohort | None
    verdict: str
    """pass, warn, fail, unknown; empty if nothing was answered. Findings of the user's Python do not count."""
    received: float
    """The collector's clock, seconds since 1970 UTC; 0 if nothing came."""
    clock_off_s: float | None
    """The node's own clock minus the collector's, as the answer came; None if the collector wrote no time."""
    tool: str
    matrix: str
    """Versions that made the answer."""
    judged: str
    """`there` or `here`; empty if nothing was answered."""


class NodeFinding(NamedTuple):
    """A root finding of a node: what it causes there is folded under it."""

    node: int
    name: str
    id: str
    status: str
    layer: str
    subject: str
    title: str
    cause: str
    """Id of the finding that it follows from; empty for a root."""
    users: bool
    """Of the user's Python environment: it fails no node."""
    fix: Fix | None
    """The first one that somebody can carry out."""
    gpu: int | None = None
    """Index of the GPU whose UUID is its subject."""


class Value(NamedTuple):
    """One figure of one GPU; `gpu` is -1 where it is the node's own."""

    node: int
    gpu: int
    figure: str
    """Kind and what: `matmul bf16`, `memory copy`, `copy h2d-pinned`."""
    value: float
    unit: str
    repeat: int
    """1 the first look; 2, 3 measured again."""


class ValueCount(NamedTuple):
    """How often each value of one fact occurs in a cohort."""

    path: str
    counts: dict[str, int]
    """Value to the nodes that have it, on any of their GPUs where it is a GPU's."""
    known: int
    """Nodes on which it could be read."""
    unknown: int
    """Nodes that could not read it, and said so."""


class With(NamedTuple):
    """A node with a value of a fact; `gpus`: on which of its GPUs, empty if the fact is the node's own."""

    node: int
    name: str
    gpus: tuple[int, ...]


class Measured(NamedTuple):
    """One figure of a node, in one measurement."""

    node: int
    own: bool
    """Of the node itself, not of its GPUs."""
    values: Sequence[float | None]
    """By GPU; None if it was not measured."""
    unit: str
    repeat: int


class GpuKind(NamedTuple):
    """What the figures of GPUs in a cohort are compared within. link_id, model_id: as the database numbers them."""

    power_limit_w: float | None
    link_id: int | None
    model_id: int | None
    link: str
    """The PCIe link that GPU and slot can do together: `gen5 x16`; empty if it is not known."""
    model: str


class Duplicate(NamedTuple):
    """Answers that contradict each other."""

    kind: Literal["answer", "name", "uuid"]
    """answer: two from one node; name: two machines under one name; uuid: one GPU on several nodes."""
    nodes: tuple[str, ...]
    detail: str
    """Of `answer` the times of both, that of the earlier one first; of `uuid` the UUID; of `name` empty."""


MOST_QUOTED = 4096
"""Characters of a stranger's text that a reason may quote until it is masked and cut."""


class Refused(NamedTuple):
    """A file or line that is not an answer."""

    file: str
    line: int
    """0 if the whole file is meant."""
    reason: str
    node: str = ""
    """The node whose answer it would be, by the name of the file or before the line; empty if nothing says it."""
    quote: str = ""
    """What the reason is about, as it stands there. It is masked before it is cut: half a token is not known as one."""

    @property
    def whole(self) -> str:
        """The reason with all that it quotes; not masked."""
        return f"{self.reason}: {self.quote!a}" if self.quote else self.reason


class LinkRow(NamedTuple):
    """Two nodes that measured the link between them, or tried to."""

    round: int
    turn: int
    node: str
    partner: str
    switch: str
    """The node's; empty if it is not known."""
    partner_switch: str
    figure: str
    """`all_reduce`: its bus bandwidth at the largest size."""
    value: float | None
    unit: str
    reason: str
    """Why there is no value."""


class Run(NamedTuple):
    """One filling of the database."""

    started: float
    """Of the first answer by the collector's clock, seconds since 1970 UTC."""
    ended: float
    source: str
    """Where the answers came from: `files`, `Slurm (partition gpu)`."""
    tool: str
    matrix: str
    """Of the gpudoctor that filled it."""
    requested: int
    """Nodes that were asked for by name; 0 if none were named."""
    judged_here: int
    judged_there: int
