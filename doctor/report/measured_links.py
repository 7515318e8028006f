"""What `prove --links` measured: collectives by size and messages by pair, in a terminal and as words for tables."""

from __future__ import annotations

from ..findings.measured_ddp import ddp_runs, less_percent, links_percent, sent_mib
from ..judge.report import Report
from ..snapshot import CollectiveRate, LinkGroup, Measured, RankWait, SendRate, known
from .amounts import amount, number, percent
from .lines import Line, Span, line, wrap
from .measured_teach import teach_lines
from .measured_units import size, time_words
from .table import Row, table

NAMES = {
    "all_reduce": "all-reduce", "reduce_scatter": "reduce-scatter", "all_gather": "all-gather",
    "all_to_all": "all-to-all", "broadcast": "broadcast", "reduce": "reduce",
}  # fmt: skip

VARIANTS = {
    "no-p2p": "without peer-to-peer (NCCL_P2P_DISABLE=1)", "no-nvls": "without NVLS (NCCL_NVLS_ENABLE=0)",
}  # fmt: skip


def links_lines(report: Report, width: int, verbose: int) -> list[Line]:
    """The largest size of each collective with its bus bandwidth, then the pairs; with -v every size, pair and rank."""
    m = report.snapshot.measured
    found = _plain(m)
    group = group_of(m)
    if group is None:
        return []
    rows: list[Line] = [*wrap(f"Links: {group_words(group)}", width, style="bold")]
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
    for words in [*variant_words(m), *ddp_words(m)]:
        rows += wrap(words, width, "  ", hang=4)
    rows += teach_lines(m, width)
    if verbose:
        for wait in known(m.rank_waits) or ():
            rows += wrap(wait_words(wait), width, "    ", first=Span(f"rank {wait.rank}: ", "bold"))
    return rows


def largest_of(m: Measured, name: str) -> CollectiveRate | None:
    """One collective at its largest size."""
    return max((r for r in _plain(m) if r.operation == name), key=lambda r: r.bytes, default=None)


def group_of(m: Measured) -> LinkGroup | None:
    """The process group as it is, without a variant."""
    return next((group for group in known(m.link_groups) or () if not group.variant), None)


def _plain(m: Measured) -> list[CollectiveRate]:
    return [r for r in known(m.collective_rates) or () if not r.variant]


def variant_words(m: Measured) -> list[str]:
    """`all-reduce without peer-to-peer (NCCL_P2P_DISABLE=1): 11 GB/s, with it 370`."""
    rows = []
    for variant, words in VARIANTS.items():
        other = max((r for r in known(m.collective_rates) or () if r.variant == variant), key=_bytes, default=None)
        whole = next((r for r in _plain(m) if other and (r.operation, r.bytes) == (other.operation, other.bytes)), None)
        if other and whole:
            rows.append(
                f"all-reduce of {size(other.bytes)} {words}: {number(other.bus_gb_s)} GB/s bus bandwidth, compared "
                f"with {number(whole.bus_gb_s)} with it"
            )
    in_network = max((r for r in _plain(m) if r.in_network_gb_s), key=_bytes, default=None)
    if in_network:
        rows.append(
            f"all-reduce inside the switch (NVLS): {number(in_network.in_network_gb_s)} GB/s, counted as (n+1)/n"
        )
    return rows


def _bytes(r: CollectiveRate) -> int:
    return r.bytes


def ddp_words(m: Measured) -> list[str]:
    """What DDP takes, what of it the links explain, and how much less time that is than without peer-to-peer."""
    runs = ddp_runs(m)
    rows = []
    for run in runs:
        how = f" {VARIANTS[run.variant]}" if run.variant in VARIANTS else ""
        wrong = "; the ranks' weights differ" if known(run.right) is False else ""
        rows.append(
            f"DDP{how}, {number(run.parameters / 1e6)} M parameters, {run.ranks} ranks, batch {run.batch} each: "
            f"{run.steps} steps in {number(run.seconds)} s, {number(run.alone_seconds)} s without gradient "
            f"all-reduces; the links explain {percent(links_percent(run))} of the difference ({number(sent_mib(run))} "
            f"MiB from each rank per step){wrong}"
        )
    first = runs[0] if runs else None
    for run in runs[1:]:
        if first and run.variant == "no-p2p" and not first.variant:
            a, b = first.seconds / first.steps, run.seconds / run.steps
            rows.append(
                f"{number(a * first.steps)} s instead of {number(b * first.steps)} s for {first.steps} steps: with "
                f"direct access between GPUs (NVLink, if present) it takes {percent(less_percent(a, b))} less time"
            )
    return rows


def _speed(send: SendRate) -> float:
    return send.gb_s


def _row(m: Measured, r: CollectiveRate, fastest: float, verbose: int) -> Row:
    smallest = min((o for o in _plain(m) if o.operation == r.operation), key=lambda o: o.bytes)
    words = [f"{size(r.bytes)} in {time_words(r.us)}"]
    words += [f"{size(smallest.bytes)} in {time_words(smallest.us)}"] if smallest != r and not verbose else []
    words += [] if known(r.right) else ["the data arrived corrupted" if known(r.right) is False else "not checked"]
    share = r.bus_gb_s / fastest if fastest else 0.0
    mark = ("✗", "fail") if known(r.right) is False else ("", "")
    return Row(NAMES.get(r.operation, r.operation), number(r.bus_gb_s), "GB/s", ", ".join(words), share, mark=mark)  # type: ignore[arg-type]


def send_note(send: SendRate) -> str:
    """`latency 39 us`, and what is wrong with it."""
    words = [f"latency {time_words(send.latency_us)}"]
    words += [] if send.same_node else ["between nodes"]
    words += ["the data arrived corrupted"] if known(send.right) is False else []
    return ", ".join(words)


def group_words(group: LinkGroup) -> str:
    """`gloo, 4 ranks on 2 nodes, over eth0`."""
    nodes = f" on {group.nodes} nodes" if group.nodes > 1 else ""
    backend = "NCCL" if group.backend == "nccl" else group.backend
    ranks = f"{group.ranks} rank{'s' * (group.ranks != 1)}"
    over = ", ".join(group.transports) or group.interface
    return f"{backend}, {ranks}{nodes}" + (f", over {over}" if over else "")


def wait_words(wait: RankWait) -> str:
    """`5.8 ms at work, 7.3 ms in the all-reduce (cpu)`."""
    return f"{amount(wait.work_ms, 'ms')} of work, {amount(wait.collective_ms, 'ms')} in the all-reduce ({wait.device})"
