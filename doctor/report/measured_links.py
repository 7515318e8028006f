"""What `prove --links` measured: collectives by size and messages by pair, in a terminal and as words for tables."""

from __future__ import annotations

from ..judge.report import Report
from ..snapshot import CollectiveRate, LinkGroup, Measured, RankWait, SendRate, known
from .amounts import amount, number
from .lines import Line, Span, line, wrap
from .table import Row, table

NAMES = {
    "all_reduce": "all-reduce", "reduce_scatter": "reduce-scatter", "all_gather": "all-gather",
    "all_to_all": "all-to-all", "broadcast": "broadcast", "reduce": "reduce",
}  # fmt: skip


def links_lines(report: Report, width: int, verbose: int) -> list[Line]:
    """The largest size of each collective with its bus bandwidth, then the pairs; with -v every size, pair and rank."""
    m = report.snapshot.measured
    found = known(m.collective_rates) or ()
    if m.link_group is None:
        return []
    rows: list[Line] = [*wrap(f"Links: {group_words(m.link_group)}", width, style="bold")]
    shown = found if verbose else [largest for name in NAMES if (largest := largest_of(m, name))]
    fastest = max((r.bus_gb_s for r in shown), default=0.0)
    rows += [line("  bus bandwidth, as nccl-tests counts it")] if shown else []
    rows += table([_row(m, r, fastest, verbose) for r in shown], width, "    ")
    sends = known(m.sends) or ()
    shown_sends = sends if verbose or len(sends) < 3 else [min(sends, key=_speed), max(sends, key=_speed)]
    rows += [
        line(f"  messages from rank to rank{'' if len(shown_sends) == len(sends) else ': slowest, fastest'}")
    ] * bool(sends)
    fastest = max((s.gb_s for s in sends), default=0.0)
    labels = [(f"{s.source} to {s.target}", s) for s in shown_sends]
    rows += table(
        [Row(n, number(s.gb_s), "GB/s", send_note(s), s.gb_s / fastest if fastest else 0) for n, s in labels],
        width,
        "    ",
    )
    if verbose:
        for wait in known(m.rank_waits) or ():
            rows += wrap(wait_words(wait), width, "    ", first=Span(f"rank {wait.rank}: ", "bold"))
    return rows


def largest_of(m: Measured, name: str) -> CollectiveRate | None:
    """One collective at its largest size."""
    return max((r for r in known(m.collective_rates) or () if r.operation == name), key=lambda r: r.bytes, default=None)


def _speed(send: SendRate) -> float:
    return send.gb_s


def _row(m: Measured, r: CollectiveRate, fastest: float, verbose: int) -> Row:
    smallest = min((o for o in known(m.collective_rates) or () if o.operation == r.operation), key=lambda o: o.bytes)
    words = [f"{size(r.bytes)} in {time_words(r.us)}"]
    words += [f"{size(smallest.bytes)} in {time_words(smallest.us)}"] if smallest != r and not verbose else []
    words += [] if known(r.right) else ["the data came wrong" if known(r.right) is False else "not checked"]
    share = r.bus_gb_s / fastest if fastest else 0.0
    mark = ("✗", "fail") if known(r.right) is False else ("", "")
    return Row(NAMES.get(r.operation, r.operation), number(r.bus_gb_s), "GB/s", ", ".join(words), share, mark=mark)  # type: ignore[arg-type]


def send_note(send: SendRate) -> str:
    """`latency 39 us`, and what is wrong with it."""
    words = [f"latency {time_words(send.latency_us)}"]
    words += [] if send.same_node else ["between nodes"]
    words += ["the data came wrong"] if known(send.right) is False else []
    return ", ".join(words)


def group_words(group: LinkGroup) -> str:
    """`gloo, 4 ranks on 2 nodes, over eth0`."""
    nodes = f" on {group.nodes} nodes" if group.nodes > 1 else ""
    backend = "NCCL" if group.backend == "nccl" else group.backend
    ranks = f"{group.ranks} rank{'s' * (group.ranks != 1)}"
    return f"{backend}, {ranks}{nodes}" + (f", over {group.interface}" if group.interface else "")


def wait_words(wait: RankWait) -> str:
    """`5.8 ms at work, 7.3 ms in the all-reduce (cpu)`."""
    return f"{amount(wait.work_ms, 'ms')} at work, {amount(wait.collective_ms, 'ms')} in the all-reduce ({wait.device})"


def size(count: int) -> str:
    """`2 KiB`, `64 MiB`."""
    return f"{number(count / (1 << 20))} MiB" if count >= 1 << 20 else f"{number(count / (1 << 10))} KiB"


def time_words(us: float) -> str:
    """`39 us`, `37 ms`."""
    return amount(us / 1e3, "ms") if us >= 1000 else amount(us, "us")
