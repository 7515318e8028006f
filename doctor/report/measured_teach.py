"""One sum over all ranks in three ways (`prove --links --teach`): what each link carried, compared with theory."""

from __future__ import annotations

from ..snapshot import Measured, SumWay, known
from .amounts import percent
from .lines import Line, line, wrap
from .measured_units import size, time_words

NAMES = {"gather-sum-broadcast": "gather, sum, broadcast", "ring": "ring", "library": "the library's all-reduce"}


def teach_lines(m: Measured, width: int) -> list[Line]:
    """Empty if it was not requested."""
    ways = known(m.ways) or ()
    if not ways:
        return []
    rows: list[Line] = [
        line(f"  one all-reduce of {size(ways[0].bytes)} over {ways[0].ranks} ranks, with three algorithms")
    ]
    for way in ways:
        words = "; ".join(way_words(way))
        rows += wrap(f"{NAMES.get(way.name, way.name)}: {words}", width, "    ", hang=4)
    return rows


def way_words(way: SumWay) -> list[str]:
    """Time; what passes the busiest rank, counted and by theory; memory; what the kernel counted."""
    words = [time_words(way.us)]
    expected = theory(way)
    if way.links and expected is not None:
        sent, received = busiest(way)
        what = f"{size(sent)} out and {size(received)} in"
        n = way.ranks
        if way.name == "ring":
            words.append(f"2(N-1) = {2 * (n - 1)} steps, each with 1/N of the data")
            words.append(f"every rank: {what}" if len(set(way.links.values())) == 1 else f"the busiest rank: {what}")
            words.append(f"in theory, 2(N-1)/N of the data = {size(expected)}")
        else:
            words.append(f"the root alone: {what}; its link is the bottleneck")
            words.append(f"in theory, (N-1) times the data = {size(expected)}")
    if way.held_bytes:
        words.append(f"{'the root' if way.name != 'ring' else 'each rank'} holds {size(way.held_bytes)}")
    if way.counted_bytes and way.nodes > 1:
        words.append(f"the Linux kernel counted {size(way.counted_bytes)} leaving the first node")
    elif way.counted_bytes:
        share = percent(100 * way.counted_bytes / (2 * (way.ranks - 1) * way.bytes)) if way.ranks > 1 else ""
        words.append(f"the Linux kernel counted {size(way.counted_bytes)} in total, {share} of 2(N-1) times the data")
    words += ["the sum is wrong"] if known(way.right) is False else []
    return words


def busiest(way: SumWay) -> tuple[int, int]:
    """The most that a rank sends, and that a rank receives."""
    sent: dict[str, int] = {}
    received: dict[str, int] = {}
    for name, count in way.links.items():
        source, _, target = name.partition(">")
        sent[source] = sent.get(source, 0) + count
        received[target] = received.get(target, 0) + count
    return max(sent.values(), default=0), max(received.values(), default=0)


def theory(way: SumWay) -> float | None:
    """Bytes that the busiest rank sends: (N-1) times the data from a root, 2(N-1)/N of it in a ring."""
    n = way.ranks
    return {"gather-sum-broadcast": (n - 1) * way.bytes, "ring": 2 * (n - 1) * way.bytes / max(1, n)}.get(way.name)
