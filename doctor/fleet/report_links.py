"""What `gpudoctor fleet report` says of the links between nodes."""

from __future__ import annotations

from msgspec import Struct


class LinkRound(Struct, frozen=True, kw_only=True):
    """Pairs of nodes that measured their link at the same time. turn: 1; the fourth round has two."""

    round: int
    turn: int
    pairs: int
    measured: int
    """Pairs with a number."""
    median: float | None = None
    """What its rates are compared with."""


class SlowLink(Struct, frozen=True, kw_only=True):
    """A node that is slow even in its best pair."""

    node: str
    partner: str
    """Of the best pair."""
    value: float
    median: float
    """Of that pair's round."""
    change_percent: float
    pairs: int
    """How many pairs it measured."""
    confirmed: bool
    """By good partners in the fourth round."""


class SlowPath(Struct, frozen=True, kw_only=True):
    """Nodes that are good with others and slow with each other: what lies between them is slow."""

    ends: tuple[str, str]
    """Two nodes, or two switches."""
    switches: bool
    value: float
    """The best measurement."""
    median: float
    change_percent: float
    nodes: tuple[str, ...]
    """All that measured it."""
    confirmed: bool


class SlowSwitch(Struct, frozen=True, kw_only=True):
    """A switch whose nodes are all slow to the nodes of other switches."""

    switch: str
    nodes: tuple[str, ...]
    value: float
    """The best of these pairs."""
    median: float
    change_percent: float
    confirmed: bool


class NotMeasured(Struct, frozen=True, kw_only=True):
    """Pairs without a number."""

    reason: str
    pairs: tuple[tuple[str, str], ...]


class LinksAbout(Struct, frozen=True, kw_only=True):
    """The links between nodes, measured in pairs (`fleet run --links`)."""

    figure: str
    """`all_reduce`: its bus bandwidth at the largest size."""
    unit: str
    pairs: int
    measured: int
    median: float | None = None
    """Of all pairs with a number."""
    rounds: tuple[LinkRound, ...] = ()
    nodes: tuple[SlowLink, ...] = ()
    """Confirmed ones first."""
    paths: tuple[SlowPath, ...] = ()
    switches: tuple[SlowSwitch, ...] = ()
    not_measured: tuple[NotMeasured, ...] = ()
    unmeasured: tuple[str, ...] = ()
    """Nodes of which no pair has a number."""
