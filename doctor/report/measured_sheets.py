"""The measurements as tables of text, for Markdown and HTML: every figure with its unit, nothing drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..findings.measured_results import checked_words, unchecked
from ..findings.measured_soak import courses
from ..judge.report import Report
from ..snapshot import Missing, known
from ..snapshot.measured import Load, Measured, Rate
from .amounts import amount, memory, number, percent
from .expected import band, limits, path_of
from .figures import counts, devices, intensity, matmuls, memory_parts, operations, rates, shown, step_parts, sweep
from .measured_links import NAMES, VARIANTS, ddp_words, group_of, group_words, variant_words, wait_words
from .measured_soak import soak_words
from .measured_tables import celsius, range_words, reasons
from .measured_teach import NAMES as WAYS
from .measured_teach import way_words
from .measured_units import size, time_words
from .measured_words import bytes_rule, collective_words, driver_evidence, ended, evidence, model_of, pair_words
from .watch_block import pace_words, watch_notes, watch_rows, watched_words

_VERDICTS = {
    "gpu-path-used": "used", "gpu-path-unused": "not used", "gpu-wrong-results": "wrong results",
    "unknown": "not proven",
}  # fmt: skip
_CUDA = {"cleared": "not a problem", "suspect": "may be the problem", "unknown": "not ruled out"}
_SWEEP = (
    "Batch", "Step, ms", "GPU at work", "Copy", "Making the batch", "GPU waits", "Samples/s", "CUDA graph, ms", "Limit",
)  # fmt: skip
_PROVED = {True: "right", False: "wrong", None: "not proven"}


class Sheet(NamedTuple):
    """A table; the first column names the row, `numeric` columns (by index) are set to the right."""

    title: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    numeric: tuple[int, ...] = ()


def sheets(report: Report) -> list[Sheet]:
    """All tables that have rows, in the order of reading."""
    m = report.snapshot.measured
    found = [_paths(report), _advice(report), *_watch(report), _speed(report), _checked(m)]
    found += [_operations(m), *_training(m)]
    found += [_sweep(report, device) for device in devices(m)]
    found += [_counted(m, "loader", "Loader", "Workers")]
    found += [_counted(m, "copies", "Several copies of a model in parallel", "Copies")]
    found += [_cpu(m), _loads(m), _together(m), *_links(m), _soaked(m), _ended(m)]
    return [sheet for sheet in found if sheet.rows]


def _paths(report: Report) -> Sheet:
    m = report.snapshot.measured
    proofs = {p.device: p for p in known(m.torch) or ()}
    rows = []
    for path in path_of(report):
        proof = proofs.pop(path.device, None)
        words = evidence(proof) if proof and path.word == "gpu-path-used" else path.reason
        name = m.watch.program if m.watch and path.device == "watch" else path.device or known(m.device) or ""
        rows.append((name, _VERDICTS[path.word], words))
    rows += [(p.device, _PROVED[known(p.right)], evidence(p) or p.error) for p in proofs.values()]
    verdict = report.measured
    if verdict and verdict.cuda_compatibility_reason:
        rows.append(("CUDA compatibility", _CUDA[verdict.cuda_compatibility], verdict.cuda_compatibility_reason))
    for l0 in known(m.driver) or ():
        rows.append((f"libcuda {l0.device}", _PROVED[known(l0.right)], driver_evidence(l0)))
    return Sheet("GPU path", ("Device", "Verdict", "Proof"), rows)


def _checked(m: Measured) -> Sheet:
    """What of the figures was also checked."""
    found = [(name, checked_words(m, name), ", ".join(unchecked(m, name))) for name in devices(m) if name != "cpu"]
    return Sheet("Results checked", ("Device", "Checked", "Not checked"), [row for row in found if row[1] or row[2]])


def _advice(report: Report) -> Sheet:
    advice = dict.fromkeys(report.measured.advice if report.measured else ())
    return Sheet("What would help", ("",), [(text,) for text in advice])


def _watch(report: Report) -> list[Sheet]:
    m = report.snapshot.measured
    w = m.watch
    if w is None:
        return []
    rows = [("run", watched_words(w))]
    rows += [(r.label, f"{r.number} {r.unit}" + (f" ({r.note})" if r.note else "")) for r in watch_rows(w)]
    rows += [("verdict", pace)] if (pace := pace_words(report)) else []
    return [Sheet("What was watched", ("", ""), rows + watch_notes(m, w, 1))]


def _speed(report: Report) -> Sheet:
    m = report.snapshot.measured
    rows = []
    for device in devices(m):
        found = matmuls(m, device)
        for kind in ("memory", "copy", "launch", "pass"):
            found += rates(m, kind, device)
        for r in found:
            spread = percent(r.spread_percent) if r.runs > 1 else ""
            words = range_words(r, band(report, r))
            rows.append((device, f"{r.kind} {r.what}", *_value(r), words, spread, str(r.runs or "")))
    header = ("Device", "What", "Median", "Unit", "Share of peak and normal range", "Spread", "Runs")
    return Sheet("Speed", header, rows, (2, 5, 6))


def _value(r: Rate) -> tuple[str, str]:
    value, unit = shown(r)
    return number(value), unit


def _operations(m: Measured) -> Sheet:
    rows = []
    for device in devices(m):
        for r in operations(m, device):
            moved = amount(r.detail["gb_s"], "GB/s") if "gb_s" in r.detail else ""
            rows.append((device, r.what, r.group, number(intensity(r)), *_value(r), moved))
    return Sheet("Operations", ("Device", "Operation", "Group", "FLOP/byte", "Rate", "Unit", "Memory"), rows, (3, 4, 6))


def _training(m: Measured) -> list[Sheet]:
    found = []
    for step in known(m.training) or ():
        rows = [
            ("speed", amount(step.samples_per_s, "samples/s")), ("step", amount(step.step_ms, "ms")),
            ("model", model_of(step)), *((name, memory(mib)) for name, mib in memory_parts(step)),
            ("peak", memory(step.peak_mib)), ("reserved by torch", memory(step.reserved_mib)),
            ("rule", bytes_rule(step)),
        ]  # fmt: skip
        found.append(Sheet(f"Training step on {step.device}", ("", ""), [row for row in rows if row[1]]))
    return found


def _sweep(report: Report, device: str) -> Sheet:
    bounds = limits(report, device)
    rows = []
    for p in sweep(report.snapshot.measured, device):
        times = tuple(number(part) for part in step_parts(p)) or ("", "", "", "")
        speed = number(p.batch / p.step_ms * 1e3)
        limit = bounds.get(p.batch, "")
        rows.append((f"{p.batch:,}", number(p.step_ms), *times, speed, _plain(p.graph_ms), limit))
    return Sheet(f"Batch sweep on {device}", _SWEEP, rows, tuple(range(8)))


def _plain(value: float | Missing) -> str:
    return "" if isinstance(value, Missing) else number(value)


def _counted(m: Measured, kind: str, title: str, head: str) -> Sheet:
    names = dict.fromkeys(r.device for r in rates(m, kind))
    rows = [(device, str(n), number(r.value), r.unit) for device in names for n, r in counts(m, kind, device)]
    return Sheet(title, ("Device", head, "Rate", "Unit"), rows, (1, 2))


def _cpu(m: Measured) -> Sheet:
    c = m.cpu
    if c is None:
        return Sheet("CPU", (), [])
    rows = [("model", c.model), ("one core", amount(c.single_core, "million Python operations/s")),
            ("per core with all cores busy", amount(c.under_load, "million Python operations/s")),
            ("cores available", _plain(c.cores)), ("cores seen", _plain(c.cores_seen)), ("clock", amount(c.mhz, "MHz")),
            ("highest clock", amount(c.mhz_max, "MHz")), ("throttled by the quota", percent(c.throttled_percent)),
            ("torch threads", _plain(c.torch_threads))]  # fmt: skip
    return Sheet("CPU", ("", ""), [row for row in rows if row[1]])


def _loads(m: Measured) -> Sheet:
    names = {p.key: p.device for p in known(m.torch) or () if p.key}
    header = ("GPU", "Phase", "Busy", "Power", "Limit", "Hottest", "SM clock", "PCIe", "Memory", "Held back")
    rows = [_load(load, names) for load in known(m.loads) or ()]
    return Sheet("Under load, according to NVML", header, rows, (2, 3, 4, 5, 6, 8))


def _load(load: Load, names: dict[str, str]) -> tuple[str, ...]:
    gen, width = known(load.pcie_gen), known(load.pcie_width)
    link = [f"{gen}.0" if gen else "", f"x{width}" if width else ""]
    return (
        names.get(load.key, load.key),
        load.phase,
        percent(load.utilization_percent),
        amount(load.power_w, "W"),
        amount(load.power_limit_w, "W"),
        celsius(load),
        amount(load.clock_sm_mhz, "MHz"),
        " ".join(word for word in link if word),
        memory(load.memory_used_max_mib),
        ", ".join(reasons(load.reasons_percent)),
    )


def _together(m: Measured) -> Sheet:
    rows = [(f"{p.source} to {p.target}", pair_words(m, p)) for p in known(m.pairs) or ()]
    c = m.collective
    rows += [(f"all-reduce with {c.backend} over {c.ranks} devices", collective_words(c))] if c is not None else []
    return Sheet("Between GPUs", ("What", "Result"), rows)


def _links(m: Measured) -> list[Sheet]:
    """Collectives by size, messages by pair, and how long each rank waits."""
    group = group_of(m)
    about = f" ({group_words(group)})" if group else ""
    rates_ = [
        (
            NAMES.get(r.operation, r.operation) + f" {VARIANTS.get(r.variant, r.variant)}".rstrip(),
            size(r.bytes), time_words(r.us), number(r.algorithm_gb_s),
            number(r.bus_gb_s), percent(r.spread_percent), _PROVED[known(r.right)],
        )
        for r in known(m.collective_rates) or ()
    ]  # fmt: skip
    head = ("Collective", "Size", "Time", "Algorithm, GB/s", "Bus, GB/s", "Spread", "Data")
    sent = [
        (f"{s.source} to {s.target}", number(s.gb_s), time_words(s.latency_us), _PROVED[known(s.right)])
        for s in known(m.sends) or ()
    ]
    ways = [(WAYS.get(way.name, way.name), "; ".join(way_words(way))) for way in known(m.ways) or ()]
    waits = [(f"rank {w.rank}", wait_words(w)) for w in known(m.rank_waits) or ()]
    return [
        Sheet(f"Collectives{about}", head, rates_, (1, 2, 3, 4, 5)),
        Sheet("Messages from rank to rank", ("Ranks", "GB/s", "Latency", "Data"), sent, (1, 2)),
        Sheet("Waiting between ranks", ("Rank", "Mean per step"), waits),
        Sheet("One all-reduce, three algorithms", ("Way", "What it cost"), ways),
        Sheet("DDP training", ("",), [(words,) for words in (*variant_words(m), *ddp_words(m))]),
    ]


def _soaked(m: Measured) -> Sheet:
    rows = [(course.device, ", ".join(soak_words(course))) for course in courses(m)]
    return Sheet("Sustained load", ("Device", "Course"), rows)


def _ended(m: Measured) -> Sheet:
    rows = [(end.agent, text) for end, text in ended(m)]
    return Sheet("Not measured, or not as planned", ("Agent", "What and why"), rows)
