"""The answer of `gpudoctor fit`: as lines (the verdict first, the parts, the ways), and as rows for tables."""

from __future__ import annotations

from ..fit.memory import GIB
from ..fit.question import Answer, Question, tables
from ..fit.solve import Solved
from .amounts import several
from .fit_pace import pace_lines
from .lines import BLANK, Line, Span, line, wrap

_TITLES = {"master": "fp32 copy of the weights", "master gradients": "fp32 copy of the gradients",
           "optimizer": "optimizer states"}  # fmt: skip
NEEDED, OPTIONS = "Memory needed if one GPU holds everything", "Options, simplest first"
OPTIONS_HEAD = ("option", "each GPU", "sent", "time", "", "what it does")


def fit_lines(q: Question, found: Answer, width: int) -> list[Line]:
    """All of it, at most `width` columns."""
    width = max(60, min(width, 100))
    model, *work = question_words(q)
    rows = wrap(model, width, style="bold") + [row for words in work for row in wrap(words, width)]
    rows += [row for note in q.notes for row in wrap(note, width, style="dim")]
    rows += [BLANK, *headline(q, found, width), BLANK]
    rows += [line(Span(NEEDED, "bold")), *(_row(*row) for row in needed(q, found))]
    if len(found.rungs) > 1:
        rows += [BLANK, line(Span(OPTIONS, "bold")), _way("", *OPTIONS_HEAD[1:4], "")]
        for name, each, sent, time, how, words in options(q, found):
            rows += [_way(name, each, sent, time, how), *wrap(words, width, "      ", style="dim")]
        rows += wrap(sending(q), width, style="dim")
    rows += pace_lines(q, found, width)
    return rows


def question_words(q: Question) -> list[str]:
    """The model, the work, and the GPUs."""
    share = f", {100 * q.share:.0f} % of it usable" if q.share < 1 else ""
    smallest = f", the smallest of {len(q.sizes) + 1} memory sizes" if q.sizes else ""
    board = f"{q.board.count}x {q.board.name}: {_gib(q.board.memory / q.share)} each{share}{smallest}"
    return [f"{_amount(q.count)} parameters ({q.name})", _work_words(q), board]


def needed(q: Question, found: Answer) -> list[tuple[str, str, str]]:
    """Of each part: its name, its memory, and a note."""
    rows = [(_TITLES.get(part.name, part.name), _range(part.low, part.high), part.note) for part in found.whole.parts]
    if found.whole.shared:
        shared = f"-{_gib(found.whole.shared)} to 0"
        rows.append(("reused memory", shared, "gradients appear as activations are freed"))
    return [*rows, ("together", _range(found.whole.low, found.whole.high), _schools(q))]


def options(q: Question, found: Answer) -> list[tuple[str, ...]]:
    """The columns of OPTIONS_HEAD: name, memory on each GPU, bytes sent, their time, whether it fits, what it does."""
    verdicts = {True: "fits", None: "may fit", False: ""}
    return [
        (
            rung.name,
            _range(rung.held.low, rung.held.high),
            _bytes(rung.sent) if rung.sent else "",
            f"{_short(rung.ms)} ms" if rung.ms is not None else "",
            verdicts[rung.within(q.board.memory)],
            rung.words,
        )
        for rung in found.rungs
    ]


def sending(q: Question) -> str:
    """What two columns of the options mean."""
    per = "generated token" if q.work.task == "inference" else "step"
    rate = f"{_short(q.board.link_gb_s)} GB/s one way{_link_name(q)}" if q.board.link_gb_s else "unknown: see --network"
    return (
        f"sent: bytes per GPU per {per}; time: how long sending them takes at the link's full rate ({rate}), ignoring "
        "overlap with computation."
    )


def headline(q: Question, found: Answer, width: int) -> list[Line]:
    """Whether it fits, and the first way that does."""
    if found.solved is not None:
        return [*_solved(q, found, width), *_sizes(q, found, width)]
    need = _range(found.whole.low, found.whole.high)
    have = _gib(q.board.memory)
    if found.within:
        return wrap(
            f"It fits on one GPU: {need} needed, {have} available.", width, first=Span("✓ ", "pass"), style="title"
        )
    if found.within is None:
        rows = wrap(
            f"It may fit on one GPU: {need} needed, {have} available.",
            width,
            first=Span("? ", "unknown"),
            style="title",
        )
    else:
        rows = wrap(
            f"It does not fit on one GPU: {need} needed, {have} available.",
            width,
            first=Span("✗ ", "fail"),
            style="title",
        )
    if found.first is not None:
        held = _range(found.first.held.low, found.first.held.high)
        words = f"Simplest option that fits: {found.first.name}, {held} per GPU ({found.first.words})."
        rows += wrap(words, width, "  ", first=Span("✓ ", "pass"))
        if found.enough:
            words = f"Training all weights fits on {found.enough[0]} such GPUs, with {found.enough[1]}."
            rows += wrap(words, width, "  ")
    elif found.perhaps is not None:
        held = _range(found.perhaps.held.low, found.perhaps.held.high)
        rows += wrap(f"Nothing is certain to fit; {found.perhaps.name} may: {held} per GPU.", width, "  ")
    elif found.within is False:
        least = min(found.rungs, key=lambda rung: rung.held.low)
        more = f" It would fit on {found.enough[0]} such GPUs, with {found.enough[1]}." if found.enough else ""
        more = " MIG slices cannot share it, because they cannot reach each other." if q.board.mig else more
        words = f"No option here fits: the smallest ({least.name}) needs {_gib(least.held.low)} per GPU.{more}"
        rows += wrap(words, width, "  ")
    return [*rows, *_sizes(q, found, width)]


def _sizes(q: Question, found: Answer, width: int) -> list[Line]:
    """One line for each board of the same name that has more memory."""
    rows = []
    for one in found.sizes:
        way = "as it is" if one.way == "none" else f"with {one.way}"
        words = f"it fits {way}" if one.sure else f"it may fit {way}" if one.way else "it does not fit"
        if one.solved is not None:
            words = f"{_spread(one.solved)} {_SOLVED[q.solve]}" if one.solved.perhaps else "not even one fits"
        mark = {0: Span("✓ ", "pass"), 1: Span("✗ ", "fail")}.get(one.exit_code, Span("? ", "unknown"))
        memory = _gib(one.board.memory / q.share)
        rows += wrap(f"{one.board.name} with {memory}: {words}.", width, "  ", first=mark)
    return rows


_SOLVED = {"batch": "sequences per GPU", "seq": "tokens per sequence", "concurrency": "concurrent requests"}


def _spread(solved: Solved) -> str:
    return f"{solved.sure}" if solved.sure == solved.perhaps else f"{solved.sure} to {solved.perhaps}"


def _solved(q: Question, found: Answer, width: int) -> list[Line]:
    solved = found.solved
    assert solved is not None
    if not solved.perhaps:
        words = f"Not even one fits: {_gib(solved.at.low)} needed, {_gib(q.board.memory)} available."
        return wrap(words, width, first=Span("✗ ", "fail"), style="title")
    words = f"{_spread(solved)} {_SOLVED[q.solve]}; limited by: {_TITLES.get(solved.part, solved.part)}."
    return wrap(words, width, first=Span("✓ ", "pass"), style="title")


def _work_words(q: Question) -> str:
    w = q.work
    if w.task == "inference":
        requests = several(w.batch, "request")
        weights = f"as stored ({w.stored.words})" if w.stored else f"in {w.dtype}"
        return f"inference, weights {weights}, {requests} of {w.sequence} tokens, KV cache in {w.kv_dtype}"
    frozen = f"as stored ({w.stored.words})" if w.stored and not w.base else f"in {w.base or 'bf16'}"
    how = f"rank-{w.lora} adapters on weights {frozen}, " if w.lora else ""
    kind = "mixed precision" if w.dtype == "mixed" else w.dtype
    spare = ", checkpointing" if w.checkpointing else ""
    spare += f", {w.accumulation} batches accumulated per step" if w.accumulation > 1 else ""
    return f"training, {how}{kind}, {w.optimizer}, {w.batch} x {w.sequence} tokens per GPU{spare}"


def _schools(q: Question) -> str:
    found = sorted(tables(q), key=lambda row: row[1])
    if not found or q.work.dtype != "mixed":
        return ""
    low, high = found[0], found[-1]
    if low[1] == high[1]:
        return f"{low[1]:g} bytes per parameter ({low[0]})"
    return f"{low[1]:g} ({low[0]}) to {high[1]:g} ({high[0]}) bytes per parameter"


def _link_name(q: Question) -> str:
    board = q.board
    if board.count > board.node:
        return ", the network"
    return ", NVLink" if board.nvlink_gb_s and board.link_gb_s == board.nvlink_gb_s else ", PCIe"


def _row(name: str, amount: str, note: str) -> Line:
    return line(f"  {name:<28}{amount:>20}", Span(f"   {note}" if note else "", "dim"))


def _way(name: str, each: str, sent: str, time: str, how: str) -> Line:
    return line(f"  {name:<28}{each:>20}{sent:>10}{time:>12}  ", Span(how, "pass" if how == "fits" else "unknown"))


def _amount(count: float) -> str:
    for size, name in ((1e15, "quadrillion"), (1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if count >= size:
            return f"{count / size:.4g} {name}"
    return f"{count:.0f}"


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _gib(size: float) -> str:
    return f"{_figures(size / GIB)} GiB"


def _figures(gib: float) -> str:
    return f"{gib:.0f}" if gib >= 100 else f"{gib:.1f}" if gib >= 0.95 else f"{gib:.2f}"


def _range(low: float, high: float) -> str:
    one, two = _figures(low / GIB), _figures(high / GIB)
    return f"{one} GiB" if one == two else f"{one} to {two} GiB"


def _bytes(size: float) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.0f} kB"
