"""What a link means for each way of splitting a training run, as grades and as text."""

from __future__ import annotations

from math import ceil
from typing import Literal, TypeAlias

from msgspec import Struct

_BESIDE = "sending overlaps with computation"
_NONE = "these GPUs have no faster link"
EQUAL = 1.01
_LITTLE = 0.1
"""Of the computing: time on the link that does not matter."""
_BACKWARD = 2 / 3
"""Of a step's computing, the backward pass."""

Grade: TypeAlias = Literal["", "fine", "accumulate", "adds", "waits"]
"""fine: hidden, or little; accumulate: fine if gradients of several steps are summed; adds: its time comes on top of
the computing; waits: it takes longer than the computing; '' where the rate is not known."""


class Fastest(Struct, frozen=True, kw_only=True):
    """The fastest link that the matrix lists between so many of these GPUs, and whether the slowest here is one."""

    name: str
    """NV18, or PCIe 4 x16."""
    rate_gb_s: float
    reached: bool


class Cost(Struct, frozen=True, kw_only=True):
    """One way to split: bytes that each GPU sends per step; seconds: of these on the link at its full rate."""

    way: str
    bytes_per_step: float
    seconds: float | None
    share_of_computing: float | None
    """Of the step's computing at the tensor cores' dense peak; above 1 the link takes longer."""
    grade: Grade
    verdict: str
    fastest_share: float | None = None
    """As share_of_computing, on the fastest link."""


def meaning(slowest: str, costs: list[Cost], fastest: Fastest | None, rate: float) -> str:
    """By what the link takes on these GPUs; where that is not known, by what such a link usually means."""
    if not slowest:
        return "Only one GPU: there are no links between GPUs."
    if not all(cost.grade for cost in costs):
        if slowest.startswith("NV"):
            return f"{slowest}: NVLink between all GPUs, also suited to ZeRO-3 and tensor parallelism."
        return f"{slowest}: fine for DDP; ZeRO-3 and tensor parallelism will wait for the link."
    fine, more, adds, waits = (
        [cost.way for cost in costs if cost.grade == grade] for grade in ("fine", "accumulate", "adds", "waits")
    )
    parts = [f"fine for {_listed(fine)}"] * bool(fine)
    parts += [f"fine for {_listed(more)} if steps are accumulated"] * bool(more)
    if fastest is not None and fastest.reached:
        parts += [f"link time adds to the computation for {_listed(adds)}"] * bool(adds)
        parts += [f"transfers take longer than the computation for {_listed(waits)}"] * bool(waits)
        return f"{slowest}, the fastest link these GPUs have: {'; '.join(parts)}."
    parts += [f"{_listed(adds)} will be slowed by the link"] * bool(adds)
    parts += [f"{_listed(waits)} will wait for the link"] * bool(waits)
    words = f"{slowest}: {'; '.join(parts)}."
    if fastest is None or fastest.rate_gb_s <= rate * EQUAL:
        return words
    better = [cost.way for cost in costs if cost.grade != "fine" and grade_of(cost.way, cost.fastest_share) == "fine"]
    too = f", and also fine for {_listed(better)}" if better else ""
    return f"{words} {fastest.name} would be {fastest.rate_gb_s / rate:.1f} times as fast{too}."


def _listed(ways: list[str]) -> str:
    return " and ".join([", ".join(ways[:-1]), ways[-1]] if len(ways) > 1 else ways)


def grade_of(way: str, share: float | None) -> Grade:
    """Gradients may be sent while the backward pass goes on, a tensor's sums may not."""
    if share is None:
        return ""
    if way in ("tensor parallel", "expert parallel"):
        return "fine" if share < _LITTLE else "adds" if share <= 1 else "waits"
    if way in ("DDP", "ZeRO 1 and 2"):
        return "fine" if share <= _BACKWARD else "accumulate"
    return "fine" if share <= 1 else "waits"


def verdict(way: str, share: float | None, fastest: Fastest | None, best: float | None) -> str:
    """As text, with what the fastest link would give, or that this is the fastest."""
    grade = grade_of(way, share)
    if share is None or grade == "":
        return ""
    on_top = way in ("tensor parallel", "expert parallel")
    if grade == "fine":
        if on_top:
            return "fine"
        backward = way in ("DDP", "ZeRO 1 and 2")
        return f"fine: {'gradients can be sent during the backward pass' if backward else _BESIDE}"
    if fastest is not None and fastest.reached:
        if grade == "accumulate":
            return f"fine if about {ceil(share / _BACKWARD)} steps are accumulated before gradients are sent; {_NONE}"
        if grade == "adds":
            return f"adds {100 * share:.0f} % to the computation time; {_NONE}"
        return f"takes {share:.1f} times as long as the computation; {_NONE}" + ", but more tokens help" * (not on_top)
    with_it = ""
    if fastest is not None and best is not None and best < share / EQUAL:
        with_it = f" ({f'{100 * best:.0f} %' if best < 1 else f'{best:.1f} times'} with {fastest.name})"
    top = ", on top of it" * on_top
    if grade == "adds":
        return f"slowed by the link: the transfers take {100 * share:.0f} % of the computing time{with_it}{top}"
    if grade == "accumulate":
        steps = f"waits, unless about {ceil(share / _BACKWARD)} steps are accumulated before gradients are sent"
        if with_it and fastest is not None and best is not None:
            fewer = ceil(best / _BACKWARD)
            steps += f" ({'fine' if fewer == 1 else f'about {fewer}'} with {fastest.name})"
        return steps
    return f"waits for the link, which takes {share:.1f} times as long as the computation{with_it}{top}"
