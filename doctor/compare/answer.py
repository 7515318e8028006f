"""What `gpudoctor compare` answers; `gpudoctor schema compare` prints its JSON Schema."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from ..fleet.facts import Group
from ..judge.compared import Named
from ..judge.report import Tool, Verdict

COMPARE_SCHEMA_VERSION = 1

Kind: TypeAlias = Literal["changed", "appeared", "gone", "known", "unknown"]
"""changed: it has another value; appeared, gone: an item of a list, such as a variable; known, unknown: it could be
read in NEW alone, or in OLD alone."""
Explained: TypeAlias = Literal["facts", "readings", "measurements", "not-explained"]
"""What a finding follows from: facts that changed; facts that differ by nature, such as a temperature; what was
measured; or none of these."""


class Side(Struct, frozen=True, kw_only=True):
    """One of the two."""

    name: str
    """What was given: `report.json`, `now.db:gpu-017`, `docker:web`; `this machine`."""
    gathered_at: str
    """ISO 8601, UTC; empty if unknown."""
    machine: str
    """`2x NVIDIA H100, driver 580.82.07, torch 2.8.0+cu128, Python 3.11.9`."""
    verdict: Verdict
    unknown: tuple[Named, ...]
    """Required facts that are unknown here."""


class FactChange(Struct, frozen=True, kw_only=True):
    """One fact with its value in both, as text."""

    path: str
    label: str
    """`driver`, `variable CC`."""
    group: Group
    kind: Kind
    before: str
    after: str
    """Empty where it is unknown, or not there."""
    unit: str = ""
    gpus: tuple[int, ...] = ()
    """Numbers of the GPUs that it changed on; empty if it is no fact of a GPU."""
    also: tuple[str, ...] = ()
    """Paths of facts that follow from it, or repeat it, and changed as well."""


class Way(Struct, frozen=True, kw_only=True):
    """Facts that, put back together to their old values, make a finding go away."""

    facts: tuple[FactChange, ...]
    follows: tuple[FactChange, ...] = ()
    """What these facts follow from and changed too: of the CUDA version of the driver, the driver."""


class PutBack(Struct, frozen=True, kw_only=True):
    """A command that installs the old versions again."""

    text: str
    command: str
    packages: tuple[str, ...]


class FindingChange(Struct, frozen=True, kw_only=True):
    """A finding that only one of the two has; findings of one check are one."""

    id: str
    status: str
    titles: tuple[str, ...]
    subjects: tuple[str, ...]
    """The GPUs, packages or paths that it is about."""
    undecided: bool = False
    """The check could not judge the other one."""
    other_status: str = ""
    """What it was in the other one, if it had a finding there: warn, of one that fails here."""
    explained: Explained
    ways: tuple[Way, ...] = ()
    """Each is enough alone; empty if no fact explains it."""
    consequences: tuple[Named, ...] = ()
    """What this finding causes."""
    fix: str = ""
    """Title of its first fix, for a new one."""
    put_back: tuple[PutBack, ...] = ()
    """Commands for the packages that explain a new one."""


class PackageChange(Struct, frozen=True, kw_only=True):
    """A package that changed, with those that changed along with it."""

    name: str
    before: str
    after: str
    """Versions; empty if it is not installed."""
    followed: tuple[str, ...] = ()
    """Names of packages that it requires, and of torch's companions, which changed too."""
    words: str


class RateChange(Struct, frozen=True, kw_only=True):
    """A measured rate whose ranges, then and now, do not overlap."""

    gpu: str
    """Name of the GPU, or `cpu`; of a pair that of the first."""
    number: int
    """Of the GPU; -1 for the CPU and for a pair of GPUs."""
    key: str
    name: str
    """`bf16 matmul`."""
    before: float
    after: float
    unit: str
    percent: float
    """Speed gained, or (below 0) lost."""


class Comparison(Struct, frozen=True, kw_only=True):
    """The whole answer."""

    schema_version: int = COMPARE_SCHEMA_VERSION
    tool: Tool
    matrix: str
    old: Side
    new: Side
    exit_code: int
    matters: bool
    """Whether a finding is new or cured, or a rate changed."""
    redacted: bool
    appeared: tuple[FindingChange, ...]
    """New findings, root causes first; what they cause is in `consequences`."""
    cured: tuple[FindingChange, ...]
    undecided: tuple[Named, ...]
    """Findings of OLD that the checks could not judge in NEW."""
    stays: tuple[Named, ...]
    """Findings of both."""
    facts: tuple[FactChange, ...]
    """All facts that changed, by group, without packages, those that follow from others, and what `--ignore` names."""
    unread: tuple[FactChange, ...]
    """Facts that are known in one of the two alone."""
    varying: tuple[str, ...]
    """Variables that have other values, as they have in any two jobs: SLURM_JOB_ID, CUDA_VISIBLE_DEVICES."""
    ignored: int
    """Changed facts that `--ignore` names."""
    packages: tuple[PackageChange, ...]
    put_back: tuple[PutBack, ...]
    rates: tuple[RateChange, ...]
    rates_compared: int
    """Rates that both measured."""
    notes: tuple[str, ...] = ()
