"""What a training is made of: the step and its memory, the batch sweep, loader, copies at once, CPU, several GPUs."""

from __future__ import annotations

from ..judge.report import Report
from ..snapshot import Missing, known
from ..snapshot.measured import BatchPoint, Measured, TrainingStep
from .amounts import amount, memory, number, percent
from .bars import SHADES, stacked
from .clean import printable
from .expected import crossover, limits
from .figures import STEP_PARTS, counts, devices, memory_parts, step_parts, sweep
from .lines import Line, Span, line, wrap
from .measured_words import bytes_rule, collective_words, headed, mark, model_of, pair_words, pairs_words
from .table import Row, table

_FEW_PAIRS = 2
_LEGEND = dict(zip(STEP_PARTS, ("GPU at work", "copy", "making the batch", "GPU waits for the host"), strict=True))


def training_lines(report: Report, width: int, verbose: int) -> list[Line]:
    """Everything about trainings; of several GPUs the first, with -v all."""
    m = report.snapshot.measured
    rows: list[Line] = []
    steps = known(m.training) or ()
    for step in steps if verbose else steps[:1]:
        rows += _step(step, width)
    swept = [name for name in devices(m) if len(sweep(m, name)) > 0]
    for device in swept if verbose else swept[:1]:
        rows += _sweep(report, device, width, verbose)
    rows += _counted(m, "loader", "loader workers", width, verbose)
    rows += _counted(m, "copies", "copies of a model in parallel", width, verbose)
    return rows + _cpu(m, width) + _together(m, width, verbose)


def _step(step: TrainingStep, width: int) -> list[Line]:
    speed = [amount(step.samples_per_s, "samples/s"), amount(step.step_ms, "ms per step")]
    head = f"Training step on {printable(step.device)}"
    why = f" ({step.step_ms.detail or step.step_ms.reason})" if isinstance(step.step_ms, Missing) else ""
    rows = headed(Span(f"{head}  ", "bold"), ", ".join(w for w in speed if w) or f"not timed{why}", width)
    rows += wrap(model_of(step), width, "  ", style="dim")
    parts = memory_parts(step)
    if parts:
        rows.append(line("  ", stacked([mib for _, mib in parts], min(60, width - 4))))
        words = [f"{SHADES[i]} {name} {memory(mib)}" for i, (name, mib) in enumerate(parts)]
        rows += wrap(", ".join(words), width, "  ")
        total = [f"peak {memory(step.peak_mib)}" if known(step.peak_mib) is not None else "", bytes_rule(step)]
        rows += wrap(", ".join(w for w in total if w), width, "  ") if any(total) else []
    return rows


def _sweep(report: Report, device: str, width: int, verbose: int) -> list[Line]:
    points = sweep(report.snapshot.measured, device)
    bounds = limits(report, device)
    head = Span(f"Batch sweep on {printable(device)}  ", "bold")
    found = [_point(p, bounds.get(p.batch, ""), verbose) for p in points]
    split = any(row.parts for row in found)
    bars = "; the bars show where its time goes" if split else ""
    rows = headed(head, f"one training step of a small model{bars}", width)
    rows += table(found, width)
    there = [name for i, name in enumerate(STEP_PARTS) if any(p.parts and p.parts[i] > 0 for p in found)]
    if there:
        rows += wrap(", ".join(f"{SHADES[STEP_PARTS.index(n)]} {_LEGEND[n]}" for n in there), width, "  ")
    return rows + wrap(crossing(report, device), width, "  ", style="bold") if crossing(report, device) else rows


def _point(p: BatchPoint, bound: str, verbose: int) -> Row:
    words = [f"limit: {bound}" if bound else "", f"{number(p.batch / p.step_ms * 1e3)} samples/s"]
    if verbose:
        graph = amount(p.graph_ms, "ms")
        words += [f"{p.launches} kernels" if known(p.launches) else "", f"CUDA graph {graph}" if graph else ""]
    return Row(f"{p.batch:,}", number(p.step_ms), "ms", ", ".join(w for w in words if w), parts=step_parts(p))


def crossing(report: Report, device: str) -> str:
    """From which batch on the GPU sets the time, or what does at the largest; empty if it cannot be said."""
    batch, judged = crossover(report, device), limits(report, device)
    if batch is not None:
        return f"The GPU is the limit {'at every batch' if batch <= min(judged) else f'from batch {batch:,} on'}."
    return f"Limit at the largest batch of the sweep: {judged[max(judged)]}." if judged else ""


def _counted(m: Measured, kind: str, words: str, width: int, verbose: int) -> list[Line]:
    """Loader workers, or models at once: one line, with -v bars."""
    for device in dict.fromkeys(r.device for _, r in counts(m, kind)):
        found = counts(m, kind, device)
        best = max(r.value for _, r in found)
        head = Span(f"{words[:1].upper()}{words[1:]}  ", "bold")
        if verbose:
            rows = [Row(str(n), number(r.value), r.unit, share=r.value / best) for n, r in found]
            return [line(head), *table(rows, width)]
        text = ", ".join(f"{n}: {number(r.value)}" for n, r in found)
        return headed(head, f"{text} {found[0][1].unit}", width)
    return []


def _cpu(m: Measured, width: int) -> list[Line]:
    if m.cpu is None:
        return []
    c = m.cpu
    cores, seen = known(c.cores), known(c.cores_seen)
    words = [
        f"{number(score)} million Python operations per second on one core" if (score := known(c.single_core)) else "",
        f"{number(score)} per core with all cores busy" if (score := known(c.under_load)) else "",
        f"{number(cores)} cores" + (f" of {seen}" if seen and seen != cores else "") if cores else "",
        f"{number(mhz)} MHz" if (mhz := known(c.mhz)) else "",
        f"throttled by the quota in {percent(t)} of its periods" if (t := known(c.throttled_percent)) else "",
        c.model,
    ]
    return wrap(", ".join(w for w in words if w), width, first=Span("CPU  ", "bold"), hang=2)


def _together(m: Measured, width: int, verbose: int) -> list[Line]:
    """Pairs of GPUs and the all-reduce. Many pairs that are right are one line, with -v each has its own."""
    rows: list[Line] = []
    pairs = known(m.pairs) or ()
    right = [pair for pair in pairs if known(pair.right)]
    if len(right) > _FEW_PAIRS and not verbose:
        pairs = tuple(pair for pair in pairs if not known(pair.right))
        rows += wrap(pairs_words(m, right), width, "  ", first=mark(True))
    for pair in pairs:
        text = f"{pair.source} to {pair.target}: {pair_words(m, pair)}"
        rows += wrap(text, width, "  ", first=mark(known(pair.right), pair.fault is not None))
    c = m.collective
    if c is not None:
        text = f"all-reduce with {c.backend} over {c.ranks} devices: {collective_words(c)}"
        rows += wrap(text, width, "  ", first=mark(known(c.right), c.fault is not None))
    return [line(Span("Between GPUs", "bold")), *rows] if rows else []
