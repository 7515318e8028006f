"""Links in words and pictures: one sum in three ways beside the theory, bus bandwidth by size."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from doctor.judge.report import Report
from doctor.report.measured_teach import busiest, theory, way_words
from doctor.report.page import render_html
from doctor.report.plot_links import render_links
from doctor.report.plot_svg import render_svg
from doctor.snapshot import CollectiveRate, LinkGroup, Missing, SumWay

from ..judging import report
from ..proof.stories import proven
from .samples import LAYERS

MIB = 1 << 20


def naive(count: int, size: int = 64 * MIB) -> SumWay:
    links = {name: size for n in range(1, count) for name in (f"0>{n}", f"{n}>0")}
    return SumWay(
        name="gather-sum-broadcast", backend="nccl", ranks=count, bytes=size, us=900.0, right=True, links=links,
        held_bytes=count * size,
    )  # fmt: skip


def ring(count: int, size: int = 64 * MIB) -> SumWay:
    links = {f"{n}>{(n + 1) % count}": 2 * (count - 1) * size // count for n in range(count)}
    return SumWay(
        name="ring", backend="nccl", ranks=count, bytes=size, us=300.0, right=True, links=links,
        held_bytes=size + size // count, counted_bytes=2 * (count - 1) * size,
    )  # fmt: skip


def linked(*ways: SumWay) -> Report:
    rates = tuple(
        CollectiveRate(
            operation=name, backend="nccl", ranks=8, bytes=size, us=50.0, algorithm_gb_s=size / 5e4,
            bus_gb_s=size / 5e4, right=True,
        )
        for name in ("all_reduce", "broadcast")
        for size in (1 << 11, 1 << 20, 1 << 26)
    )  # fmt: skip
    group = LinkGroup(backend="nccl", ranks=8, transports=("P2P",))
    return report(proven("h100", link_groups=(group,), collective_rates=rates, ways=ways))


def test_ring_and_root_by_theory() -> None:
    """worked-numbers: naive, the root's link takes N-1 receives; ring, 2(N-1) steps, 2(N-1)/N of the data each."""
    for count in (2, 3, 4, 8, 16):
        size = 48 * count * MIB
        assert (
            busiest(naive(count, size)) == ((count - 1) * size, (count - 1) * size) == (theory(naive(count, size)),) * 2
        )
        sent, received = busiest(ring(count, size))
        assert sent == received == theory(ring(count, size)) == pytest.approx(2 * (count - 1) / count * size)
        assert f"2(N-1) = {2 * (count - 1)} steps, each with 1/N of the data" in way_words(ring(count, size))
    words = "; ".join(way_words(naive(8)))
    assert "448 MiB out and 448 MiB in; its link is the bottleneck" in words and "the root holds 512 MiB" in words
    words = "; ".join(way_words(ring(8)))
    assert "every rank: 112 MiB out and 112 MiB in" in words and "100 % of 2(N-1) times the data" in words
    assert theory(SumWay(name="library", backend="gloo", ranks=2, bytes=8, us=1.0)) is None


def test_a_wrong_sum_is_told() -> None:
    wrong = SumWay(name="library", backend="gloo", ranks=2, nodes=2, bytes=8, us=1.0, right=False, counted_bytes=MIB)
    assert way_words(wrong) == ["1 us", "the Linux kernel counted 1 MiB leaving the first node", "the sum is wrong"]


def test_the_picture_shows_lines_as_wide_as_their_bytes() -> None:
    shown = linked(naive(4), ring(4))
    root = ElementTree.fromstring(render_links(shown))
    widths = [
        float(line.get("stroke-width", "1"))
        for line in root.iter("{http://www.w3.org/2000/svg}line")
        if line.get("stroke") == "#0072b2"
    ]
    assert (len(widths) == 3 + 4 and set(widths) == {10.0, 1 + 9 * 0.75 + 0.05}) or set(widths) == {10.0, 7.8}
    text = " ".join(root.itertext())
    assert "busiest rank: 384 MiB in and out" in text and "Bus bandwidth by size: NCCL, 8 ranks, over P2P" in text
    assert "all-reduce" in text and "64 MiB" in text
    page = render_html(shown, LAYERS)
    assert page.count("Bus bandwidth by size") >= 1 and "One all-reduce, three algorithms" in page
    ElementTree.fromstring(render_svg(shown))


def test_what_cannot_be_drawn_is_left_out() -> None:
    odd = SumWay(name="ring", backend="x", ranks=2, bytes=8, us=1.0, links={"a>b": 5, "7>9": 3, "0>1": 1})
    assert "One all-reduce of" in render_links(linked(odd))
    assert render_links(report(proven("h100"))) == ""
    without = proven("h100", ways=Missing("error"), collective_rates=Missing("timeout"))
    assert render_links(report(without)) == ""
