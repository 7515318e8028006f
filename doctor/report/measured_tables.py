"""How fast a device is: products, memory, copies, launches and operations as rows with bars."""

from __future__ import annotations

from ..findings.measured_results import checked_words, unchecked
from ..judge.report import Report
from ..snapshot import known
from ..snapshot.measured import Load, Measured, Rate
from .amounts import amount, number, percent
from .clean import printable
from .expected import Band, band
from .figures import GROUPS, intensity, link, load_of, matmuls, name_of, operations, rate, rates, shown
from .lines import Line, Span, line, wrap
from .table import Row, table

_UNITS = {"cuda-cores": "CUDA cores", "tensor-cores": "tensor cores", "cpu": ""}
_WILD = 30.0
"""Spread of a rate, in percent of its median, from which on it says little: something else was at work."""
_COPIES = {
    "h2d-pinned": "to GPU", "d2h-pinned": "from GPU", "h2d-far": "to GPU, far", "d2h-far": "from GPU, far",
    "h2d-pageable": "to GPU, pageable",
    "d2h-pageable": "from GPU, pageable",
}  # fmt: skip


def device_lines(report: Report, device: str, width: int, verbose: int) -> list[Line]:
    """The block of one device; empty if nothing of its speed is known."""
    m = report.snapshot.measured
    rows = speed_rows(report, device, verbose)
    found = table(rows, width)
    found += _checked(m, device, width, verbose)
    found += _launches(m, device, width)
    found += _operations(m, device, width, verbose)
    found += _passes(m, device, width)
    if not found:
        return []
    found += _load(m, device, width)
    name = name_of(report, device)
    head = f"Speed of {device}" + (f" ({name})" if name else "")
    load = max((r.detail.get("load_percent", 0) for r in known(m.rates) or () if r.device == device), default=0)
    busy = wrap(f"busy machine (load {load / 100:.1f} per core): best of several runs", width, "  ") if load else []
    return [*wrap(head, width, style="bold"), *busy, *found]


def in_short(report: Report, device: str, width: int) -> list[Line]:
    """Another device of the same machine in a line or two."""
    m = report.snapshot.measured
    words = []
    for product in [r for r in matmuls(m, device) if r.what in ("bf16", "fp16", "fp32")][-1:]:
        words.append(f"{product.what} {amount(*shown(product))}")
    memory = max((r.value for r in rates(m, "memory", device)), default=None)
    words += [f"memory {amount(memory, 'GB/s')}"] if memory else []
    copy = rate(m, "copy", device, "h2d-pinned")
    words += [f"copies to it {amount(copy.value, copy.unit)}"] if copy else []
    low = [r.what for kind in ("matmul", "memory", "copy") for r in rates(m, kind, device) if _is_low(report, r)]
    words += [f"▲ below the expected range: {', '.join(low)}"] if low else []
    return wrap(", ".join(words), width, "  ", first=Span(f"{printable(device)}  ", "bold")) if words else []


def speed_rows(report: Report, device: str, verbose: int) -> list[Row]:
    """Products, memory and copies; pageable copies with -v alone."""
    m = report.snapshot.measured
    products = matmuls(m, device)
    fastest = max((p.value for p in products), default=0.0)
    rows = []
    for product in products:
        units = _UNITS.get(product.units, product.units) if verbose else ""
        small = "made smaller, little memory was free" if product.detail.get("shrunk") else ""
        rows.append(_row(report, product, product.what, fastest, ", ".join(w for w in (units, small) if w)))
    memories = rates(m, "memory", device)
    if not verbose:
        memories = [max(memories, key=lambda r: r.value)] if memories else []
    for r in memories:
        rows.append(_row(report, r, f"memory {r.what}" if verbose else "memory", r.value, ""))
    copies = rates(m, "copy", device)
    fastest = max((c.value for c in copies), default=0.0)
    for copy in sorted(copies, key=lambda r: list(_COPIES).index(r.what) if r.what in _COPIES else 9):
        if verbose or not copy.what.endswith("pageable"):
            rows.append(_row(report, copy, _COPIES.get(copy.what, copy.what), fastest, _node(copy)))
    return rows


def _row(report: Report, found: Rate, label: str, whole: float, more: str) -> Row:
    expected = band(report, found)
    tops = expected.peak if expected else None
    mark = ("▲", "warn") if _is_low(report, found) else ("", "")
    spread = found.spread_percent
    wild = "varied widely" if spread >= 100 else f"varied by {percent(spread)}" if spread >= _WILD else ""
    words = [range_words(found, expected), more, "" if found.detail.get("load_percent") else wild]
    value, unit = shown(found)
    share = found.value / tops if tops else found.value / whole if whole else None
    return Row(label, number(value), unit, ", ".join(w for w in words if w), share, mark=mark)  # type: ignore[arg-type]


def _node(copy: Rate) -> str:
    """`memory of node 0, GPU on node 1`; empty on machines with one NUMA node."""
    gpu, host = copy.detail.get("gpu_node"), copy.detail.get("host_node")
    if gpu is None or host is None:
        return ""
    if host < 0:
        return f"this process cannot use any core on the GPU's NUMA node {gpu}"
    return (
        f"memory on the GPU's NUMA node {gpu}" if host == gpu else f"memory on NUMA node {host}, GPU on NUMA node {gpu}"
    )


def range_words(found: Rate, expected: Band | None) -> str:
    """`75 % of peak, normal 61 to 81`; no range is called normal unless it was measured on this model."""
    if expected is None:
        return ""
    if not expected.measured:
        return f"{percent(100 * found.value / expected.peak)} of peak" if expected.peak else ""
    if expected.peak:
        low, high = (f"{100 * edge / expected.peak:.0f}" for edge in (expected.low, expected.high))
        return f"{percent(100 * found.value / expected.peak)} of peak, normal {low} to {high}"
    return f"normal {number(expected.low)} to {number(expected.high)}"


def _is_low(report: Report, found: Rate) -> bool:
    expected = band(report, found)
    return expected is not None and found.value < expected.low


def _checked(m: Measured, device: str, width: int, verbose: int) -> list[Line]:
    """What of it was also checked, and what was not; pageable copies with -v alone."""
    words = checked_words(m, device, short=not verbose)
    left = unchecked(m, device) if device.startswith("cuda") else []
    left = [name for name in left if verbose or "pageable" not in name]
    found = wrap(words, width, "  ", first="results: ", hang=4) if words else []
    return found + (wrap(", ".join(left), width, "  ", first="not checked: ", hang=4, style="dim") if left else [])


def _launches(m: Measured, device: str, width: int) -> list[Line]:
    eager, graph = rate(m, "launch", device, "eager"), rate(m, "launch", device, "graph")
    words = [f"{amount(r.value, 'us')} {how}" for r, how in ((eager, "eager"), (graph, "in a CUDA graph")) if r]
    return wrap(", ".join(words), width, "  ", first="one launch: ", hang=4) if words else []


def _operations(m: Measured, device: str, width: int, verbose: int) -> list[Line]:
    """By group; with -v each operation with its intensity."""
    found = operations(m, device)
    if not found:
        return []
    if not verbose:
        words = []
        unit = shown(min(found, key=lambda r: r.value))[1]
        for group in dict.fromkeys(r.group for r in found):
            own = [shown(r)[0] for r in found if r.group == group]
            spread = number(own[0]) if len(own) == 1 else f"{number(min(own))} to {number(max(own))}"
            words.append(f"{group or 'others'} {spread}")
        return wrap(f"{', '.join(words)} {unit}", width, "  ", first="operations: ", hang=4)
    fastest = max(r.value for r in found)
    rows = []
    for group in [g for g in (*GROUPS, "") if any(r.group == g for r in found)]:
        for r in found:
            if r.group == group:
                moved = amount(r.detail["gb_s"], "GB/s") if "gb_s" in r.detail else ""
                note = ", ".join(w for w in (group, f"{number(intensity(r))} FLOP/byte", moved) if w)
                rows.append(Row(r.what, number(shown(r)[0]), shown(r)[1], note, r.value / fastest))
    return [line("  operations (bars: share of fastest)"), *table(rows, width, "    ")]


def _passes(m: Measured, device: str, width: int) -> list[Line]:
    words = [f"{r.what} {amount(r.value, r.unit)}" for r in rates(m, "pass", device)]
    forward, backward = rate(m, "pass", device, "forward"), rate(m, "pass", device, "backward")
    if forward and backward:
        words.append(f"backward is {number(backward.value / forward.value)} times forward")
    return wrap(", ".join(words), width, "  ", first="passes: ", hang=4) if words else []


def _load(m: Measured, device: str, width: int) -> list[Line]:
    """What NVML showed while products ran."""
    load = load_of(m, device, "matmul", "training", "proof")
    if load is None:
        return []
    clock, most = known(load.clock_sm_mhz), known(load.clock_sm_max_mhz)
    mhz = f"{number(clock)}" + (f" of {number(most)} MHz" if most else " MHz") if clock is not None else ""
    words = [watts(load), mhz, celsius(load), link(m, device), *reasons(load.reasons_percent)]
    text = ", ".join(w for w in words if w)
    return wrap(text, width, "  ", first="under load: ", hang=4) if text else []


def watts(load: Load) -> str:
    """`688 of 700 W`, or an empty string."""
    power, limit = known(load.power_w), known(load.power_limit_w)
    return f"{number(power)}" + (f" of {number(limit)} W" if limit else " W") if power is not None else ""


def celsius(load: Load) -> str:
    """`66 C`, or an empty string."""
    heat = known(load.temperature_max_c)
    return f"{heat} C" if heat is not None else ""


def reasons(found: dict[str, float]) -> list[str]:
    """Why clocks were held back, most of the time first."""
    held = sorted(((share, name) for name, share in found.items() if name != "idle" and share >= 1), reverse=True)
    return [f"{name} in {percent(share)} of the samples" for share, name in held]
