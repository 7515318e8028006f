"""The answer of `gpudoctor topo` as text and as Markdown."""

from __future__ import annotations

from textwrap import wrap

from ..fleet.facts import compared
from ..topo.costs import Answer
from .amounts import number
from .clean import printable
from .measured_units import size, time_words


def topo_text(found: Answer) -> str:
    """The matrix, its legend, the verdict, and each way with its bytes and seconds."""
    rows = _matrix(found)
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines += ["", *(f"  {name:<4}  {words}" for name, words in _legend(found)), "", *_verdict(found)]
    for words in _facts(found):
        lines += _wrapped(words, "  ", "  ")
    if found.costs:
        lines += ["", *_wrapped(_question(found), "", "")]
        for row in _ways(found):
            lines.append(f"  {row[0]:<18} {row[1]:>12} {row[2]:>9}".rstrip())
            lines += _wrapped(row[3], "      ", "      ") if row[3] else []
    return "\n".join([*lines, *_missing(found)]) + "\n"


def topo_verdict(found: Answer) -> str:
    """What lies between the GPUs in a sentence, and what is not known of it."""
    return "\n".join([*_verdict(found), *_missing(found)]) + "\n"


def _verdict(found: Answer) -> list[str]:
    return [row for words in (*found.odd, found.verdict) for row in _wrapped(words, "", "  ")]


def _missing(found: Answer) -> list[str]:
    return [row for words in found.missing for row in _wrapped(f"Unknown: {words}", "", "  ")]


def topo_markdown(found: Answer) -> str:
    """The same as tables."""
    lines = [*_table(_matrix(found)), ""]
    lines += [f"- `{name}`: {words}" for name, words in _legend(found)] + [""]
    lines += [f"**{_cell(words)}**\n" for words in (*found.odd, found.verdict)]
    lines += [f"- {_cell(words)}" for words in _facts(found)]
    if found.costs:
        lines += ["", _question(found), "", *_table([["way", "sent", "time", ""], *_ways(found)])]
    lines += [f"\nUnknown: {_cell(words)}" for words in found.missing]
    return "\n".join(lines) + "\n"


def topo_tables(found: Answer) -> tuple[list[list[str]], list[str], str, list[list[str]]]:
    """The matrix with its heads, the facts with the legend, the question, and the ways."""
    legend = [f"{name}: {words}" for name, words in _legend(found)]
    return _matrix(found), [*found.odd, *_facts(found), *legend], _question(found), _ways(found)


def _wrapped(words: str, first: str, later: str) -> list[str]:
    return wrap(printable(words), 80, initial_indent=first, subsequent_indent=later)


def _table(rows: list[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows]
    return [lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]]


def _cell(text: str) -> str:
    return printable(text).replace("|", "\\|").replace("<", "&lt;")


def _matrix(found: Answer) -> list[list[str]]:
    affinity = any(device.cpu_affinity for device in found.devices)
    numa = any(device.numa for device in found.devices)
    heads = ["CPU affinity"] * affinity + ["NUMA"] * numa
    rows = [["", *(device.name for device in found.devices), *heads]]
    for device, links in zip(found.devices, found.links, strict=True):
        tail = [device.cpu_affinity] * affinity + [device.numa] * numa
        rows.append([device.name, *links, *(printable(cell) for cell in tail)])
    return rows


def _legend(found: Answer) -> list[tuple[str, str]]:
    used = {"NV#" if cell.startswith("NV") else cell for row in found.links for cell in row}
    nics = [
        (device.name, printable(device.nic)) for device in found.devices if device.nic and device.nic != device.name
    ]
    return [(name, words) for name, words in found.legend.items() if name in used] + nics


def _facts(found: Answer) -> list[str]:
    what = "links" if found.ring else f"slowest link: {found.slowest}"
    rows = [f"{what}{':' if found.ring else ','} {found.rate_words}"] if found.rate_words else []
    rows += [f"one ring: {' '.join(found.ring)}"] if found.ring else []
    if found.fastest is not None:
        this = " (reached here)" if found.fastest.reached else ""
        rows.append(
            f"fastest link these GPUs have: {found.fastest.name}, {found.fastest.rate_gb_s:g} GB/s each way{this}"
        )
    rows += [f"nearest NIC to {gpu}: {', '.join(nics)}" for gpu, nics in found.nearest_nics.items()]
    states: dict[str, list[str]] = {}
    fabric = compared("gpus.fabric_state")
    for device in found.devices:
        words = []
        if device.pcie_gen and device.pcie_width:
            most = f" of {device.pcie_gen_max} x{device.pcie_width_max}" * bool(device.pcie_gen_max)
            words.append(f"PCIe {device.pcie_gen} x{device.pcie_width} now{most}")
        if device.nvlinks_built:
            words.append(f"{device.nvlinks_up} of {device.nvlinks_built} NVLinks up")
        if device.fabric_state and fabric and (state := fabric.words.get(str(device.fabric_state))):
            words.append(f"NVSwitch fabric {state}")
        if words:
            states.setdefault(", ".join(words), []).append(device.name)
    rows += [f"{names[0]}{f' to {names[-1]}' * (len(names) > 1)}: {words}" for words, names in states.items()]
    return [*rows, *found.notes]


def _question(found: Answer) -> str:
    links = "these rings" if found.ring else "the slowest link"
    return (
        f"Each GPU's bytes per step of a decoder with {number(found.parameters / 1e9)} billion parameters, "
        f"{found.tokens} tokens on each GPU, mixed precision, and their time on {links}:"
    )


def _ways(found: Answer) -> list[list[str]]:
    return [
        [c.way, size(c.bytes_per_step), time_words(c.seconds * 1e6) if c.seconds is not None else "", c.verdict]
        for c in found.costs
    ]
