"""What `gpudoctor fleet report` says of a fleet; its encoding is the JSON, `gpudoctor schema fleet` its schema."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from ..findings import Fix
from .report_links import LinksAbout

FLEET_SCHEMA_VERSION = 1

FleetVerdict: TypeAlias = Literal["pass", "fail", "unknown"]


class FleetTool(Struct, frozen=True):
    """What wrote the report."""

    name: str
    version: str
    matrix: str


class FleetCounts(Struct, frozen=True, kw_only=True):
    """Nodes; each counts once, under the first of these that fits, so that they add up to `nodes`."""

    nodes: int = 0
    """Requested or answered."""
    fail: int = 0
    slow: int = 0
    unknown: int = 0
    """Answered, but a required fact could not be read."""
    no_answer: int = 0
    """Requested and silent, or not examined."""
    odd: int = 0
    warn: int = 0
    healthy: int = 0
    slow_unknown: int = 0
    """Those of `slow` on which a required fact could not be read either: they are open too, and count once, as slow."""


class CohortAbout(Struct, frozen=True, kw_only=True):
    """Nodes that were compared with each other."""

    name: str
    """`8x H200`; unique in a report."""
    model: str
    gpus_per_node: int
    memory_gib: int
    architecture: str
    nodes: int


class RepairAbout(Struct, frozen=True, kw_only=True):
    """One repair and the nodes that it cures."""

    finding: str
    """Id of the cause's check."""
    title: str
    """The finding's title."""
    layer: str
    fix: Fix | None = None
    """None if no step is known."""
    cures: int = 0
    """Nodes on which nothing that failed is left once this and the repairs before it are done."""
    nodes: tuple[str, ...] = ()
    subjects: dict[str, tuple[str, ...]] = {}
    """Node to what it is about there, such as `GPU 3`; nodes without a subject are omitted."""


class FindingAbout(Struct, frozen=True, kw_only=True):
    """A warning, an unknown fact, or a finding of the user's Python: it fails no node."""

    finding: str
    status: str
    title: str
    nodes: tuple[str, ...] = ()
    gpus: dict[str, tuple[int, ...]] = {}
    """Node to those of its GPUs that it is about; nodes where it is about none are omitted."""


class OddFact(Struct, frozen=True, kw_only=True):
    """A value that few nodes have where nearly all others have another."""

    cohort: str
    fact: str
    """Path of the fact: `driver.kernel_version`."""
    label: str
    """The fact's name for people."""
    value: str
    usual: str
    unit: str = ""
    usual_nodes: int
    """Nodes of the cohort that have `usual`."""
    nodes: tuple[str, ...] = ()
    gpus: dict[str, tuple[int, ...]] = {}
    """Node to those of its GPUs that have the value, where not all of them do."""
    also: tuple[str, ...] = ()
    """Facts that differ on the same nodes and follow from this one, or go with it."""


class Split(Struct, frozen=True, kw_only=True):
    """A fact with several common values, none of which is odd."""

    cohort: str
    fact: str
    label: str
    values: dict[str, int] = {}
    """Value to its number of nodes."""
    unit: str = ""
    also: tuple[str, ...] = ()


class UnknownOn(Struct, frozen=True, kw_only=True):
    """A fact that some nodes could not read and nearly all others could."""

    cohort: str
    fact: str
    label: str
    nodes: tuple[str, ...] = ()


class ClockOff(Struct, frozen=True, kw_only=True):
    """A node whose clock is more than five minutes off."""

    node: str
    seconds: float
    """The node's clock minus the collector's."""


class SlowFigure(Struct, frozen=True, kw_only=True):
    """A GPU, or a whole node, that is slower than its kind."""

    node: str
    gpu: int
    """Index; -1 for the whole node."""
    gpus: int = 1
    """Of a whole node, how many of its GPUs."""
    cohort: str
    kind: str
    """`matmul`, `memory`, `copy`."""
    figure: str
    """The figure that falls behind most: `matmul bf16`."""
    label: str
    value: float
    unit: str
    median: float
    spread_percent: float
    change_percent: float
    measured: int
    """How often it was measured."""
    low: int = 0
    """In how many of these it was slow (lagging, if it lags); fewer than `measured` is no proof."""
    also: tuple[str, ...] = ()
    """Other figures of that kind that are slow too."""
    before: bool = False
    """It was slow in the earlier database (`--since`) too."""


class Spread(Struct, frozen=True, kw_only=True):
    """What one figure of one cohort can show."""

    cohort: str
    figure: str
    values: int
    median: float
    unit: str
    spread_percent: float
    hides_percent: float
    """The smallest loss that would be called slow."""


class TwoKinds(Struct, frozen=True, kw_only=True):
    """A cohort whose nodes form two kinds in one figure: each was compared within its own."""

    cohort: str
    figure: str
    label: str
    """The figure's name for people: `bf16 matmul`."""
    medians: tuple[float, float]
    unit: str
    sizes: tuple[int, int]
    """Nodes of each kind."""
    slower: tuple[str, ...] = ()
    """The nodes of the slower kind."""


class TooFew(Struct, frozen=True, kw_only=True):
    """Values that could not be compared: there are fewer than five of their kind."""

    cohort: str
    figures: int
    nodes: tuple[str, ...] = ()


class NotExamined(Struct, frozen=True, kw_only=True):
    """A node that was requested and gave no answer."""

    node: str
    reason: str


class DuplicateAbout(Struct, frozen=True, kw_only=True):
    """Answers that contradict each other. kind: answer (two of one node), name (two machines under one name), uuid (the
    same GPUs on several nodes)."""

    kind: str
    nodes: tuple[str, ...]
    detail: str
    """Of `uuid` the UUID, where it is one."""
    gpus: int = 0
    """Of `uuid` how many GPUs stand on these nodes."""


class RefusedAbout(Struct, frozen=True, kw_only=True):
    """A file or line that is not an answer."""

    file: str
    line: int
    """0 for the whole file."""
    reason: str


class RemarkAbout(Struct, frozen=True, kw_only=True):
    """Notes about nodes in addition to their findings. kind: skipped (a check that --skip left out), not-requested (it
    answered and was not asked for), answered-as (asked for under the name in `detail`), silent-before (why it had not
    been examined before it answered)."""

    kind: str
    detail: str
    """Of `skipped` the check's id; of `silent-before` the reason; empty for `not-requested`."""
    nodes: tuple[str, ...]


class SinceChange(Struct, frozen=True, kw_only=True):
    """One fact that changed on some nodes."""

    fact: str
    label: str
    before: str
    after: str
    unit: str = ""
    nodes: tuple[str, ...] = ()


class SinceAbout(Struct, frozen=True, kw_only=True):
    """What changed since an earlier database."""

    started: str
    """When that one was filled: ISO 8601, UTC."""
    failed: dict[str, tuple[str, ...]] = {}
    """Check id to the nodes on which it fails now and did not then."""
    cured: dict[str, tuple[str, ...]] = {}
    changed: tuple[SinceChange, ...] = ()
    slow_again: tuple[str, ...] = ()
    """Nodes that are slow for the second time."""
    gone: tuple[str, ...] = ()
    new: tuple[str, ...] = ()


class SpecDeviation(Struct, frozen=True, kw_only=True):
    """A line of the spec that some nodes do not meet, or of which it is unknown, with what they have."""

    name: str
    """`driver`, `torch`; a package by its name."""
    allowed: str
    found: str
    """What is there instead, or why that is unknown."""
    nodes: tuple[str, ...] = ()


class SpecAbout(Struct, frozen=True, kw_only=True):
    """The nodes against a spec (`--spec`)."""

    files: tuple[str, ...] = ()
    lines: int
    judged: int
    """Nodes that answered."""
    met: int
    """Nodes that meet every line."""
    deviations: tuple[SpecDeviation, ...] = ()
    """Those of most nodes first."""
    unknown: tuple[SpecDeviation, ...] = ()
    counts: dict[str, int] = {}
    """Node to its number of deviations, the most first; nodes without one are omitted."""


class NodeRow(Struct, frozen=True, kw_only=True):
    """A node that is not healthy."""

    node: str
    state: str
    """fail, slow, unknown, no-answer, odd, warn."""
    cohort: str = ""
    why: str = ""
    """In a few words."""
    unknown: str = ""
    """Of a slow node: what could not be read there."""


class FleetReport(Struct, frozen=True, kw_only=True):
    """What `fleet report --format json` prints."""

    schema_version: int = FLEET_SCHEMA_VERSION
    tool: FleetTool
    source: str
    started: str
    """Of the first answer by the collector's clock: ISO 8601, UTC."""
    ended: str
    verdict: FleetVerdict
    exit_code: int
    counts: FleetCounts
    answered: int
    requested: int = 0
    """Nodes that were asked for by name; 0 if no list was given."""
    judged_here: int = 0
    """Answers of another version, or raw ones, that this gpudoctor judged; the others judged themselves."""
    gpus: int = 0
    masked: bool = False
    """Whether node names are pseudonyms (`--mask-nodes`)."""
    cohorts: tuple[CohortAbout, ...] = ()
    repairs: tuple[RepairAbout, ...] = ()
    """In the order in which they should be done."""
    findings: tuple[FindingAbout, ...] = ()
    python: tuple[FindingAbout, ...] = ()
    """Findings of the users' Python environments."""
    odd: tuple[OddFact, ...] = ()
    odd_on_failing: tuple[OddFact, ...] = ()
    """The same on nodes that fail: it may follow from the failure."""
    odd_python: tuple[OddFact, ...] = ()
    """The same of the users' Python and CUDA: they make no node odd."""
    clocks: tuple[ClockOff, ...] = ()
    splits: tuple[Split, ...] = ()
    unknown: tuple[UnknownOn, ...] = ()
    slow: tuple[SlowFigure, ...] = ()
    """Slow in each of three measurements; slow twice first."""
    once: tuple[SlowFigure, ...] = ()
    """Looks slow and was measured once."""
    lagging: tuple[SlowFigure, ...] = ()
    spreads: tuple[Spread, ...] = ()
    kinds: tuple[TwoKinds, ...] = ()
    too_few: tuple[TooFew, ...] = ()
    not_examined: tuple[NotExamined, ...] = ()
    duplicates: tuple[DuplicateAbout, ...] = ()
    refused: tuple[RefusedAbout, ...] = ()
    remarks: tuple[RemarkAbout, ...] = ()
    since: SinceAbout | None = None
    links: LinksAbout | None = None
    """Of `fleet run --links`; None without it."""
    spec: SpecAbout | None = None
    """Of `--spec`; None without it."""
    nodes: tuple[NodeRow, ...] = ()
    """All nodes that are not healthy, by name."""
    healthy: tuple[str, ...] = ()
