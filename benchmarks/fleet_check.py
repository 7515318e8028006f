"""A fleet's report held against what was planted: what is missing, and what is too much."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

SLOW = {"slow matmul": "matmul", "slow memory": "memory", "half a link": "copy", "slow node": "matmul"}
EMPTY = ("once", "lagging", "kinds", "too_few", "unknown", "not_examined", "odd_python", "python")
"""Parts of a report in which nothing was planted."""


def compare(truth: dict[str, Any], report: dict[str, Any], exit_code: int) -> list[str]:
    """Each difference in a line; empty where the report names all that was planted and nothing else."""
    wanted, found = Counter(_wanted(truth)), Counter(_found(report))
    faults = [f"missing: {one}" for one in (wanted - found).elements()]
    faults += [f"too much: {one}" for one in (found - wanted).elements()]
    faults += [f"too much: {name}: {str(report[name])[:300]}" for name in EMPTY if report[name]]
    faults += [f"too much: {one}" for one in report["findings"] if not _follows(one, truth)]
    planted = {node for one in truth["planted"] if one["kind"] not in ("refused", "split") for node in one["nodes"]}
    told = {one["node"] for one in report["nodes"]}
    faults += [f"not healthy: {sorted(told - planted)}"] if told - planted else []
    faults += [f"called healthy: {sorted(planted - told)}"] if planted - told else []
    if len(set(report["healthy"])) != truth["nodes"] - len(planted):
        faults.append(f"{len(report['healthy'])} healthy nodes, not {truth['nodes'] - len(planted)}")
    counts = report["counts"]
    if sum(value for name, value in counts.items() if name != "nodes") != counts["nodes"]:
        faults.append(f"counts do not add up: {counts}")
    code = 1 if planted else 0
    faults = [one if len(one) < 300 else f"{one[:300]}..." for one in faults]
    return faults + ([f"exit code {exit_code}, not {code}"] if exit_code != code else [])


def _wanted(truth: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    for one in truth["planted"]:
        kind, nodes = one["kind"], tuple(one["nodes"])
        if kind == "odd":
            yield "odd", one["about"], _value(one["value"]), nodes, one["gpu"]
        elif kind == "fail":
            yield "fail", one["about"], nodes
        elif kind in SLOW:
            yield "slow", SLOW[kind], nodes[0], one["gpu"]
        elif kind == "split":
            yield "split", one["about"], one["value"], len(nodes)
        elif kind == "clock":
            yield "clock", nodes[0], int(one["value"]) > 0
        elif kind == "two machines":
            yield "name", nodes
        else:
            yield from (("refused", node) for node in nodes)


def _found(report: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    for one in report["repairs"]:
        yield "fail", one["finding"], tuple(one["nodes"])
    for one in report["odd"]:
        gpus = [gpu for some in one["gpus"].values() for gpu in some]
        yield "odd", one["fact"], _value(one["value"]), tuple(one["nodes"]), gpus[0] if len(gpus) == 1 else -1
    for one in report["slow"]:
        yield "slow", one["kind"], one["node"], one["gpu"]
    for one in report["splits"]:
        value, count = min(one["values"].items(), key=lambda item: item[1])
        yield "split", one["fact"], value, count
    for one in report["clocks"]:
        yield "clock", one["node"], one["seconds"] > 0
    for one in report["duplicates"]:
        yield one["kind"], tuple(one["nodes"])
    for one in report["refused"]:
        yield "refused", one["file"].rpartition("/")[2].removesuffix(".json")


def _value(text: str) -> str:
    try:
        return f"{float(text):g}"
    except ValueError:
        return text


def _follows(finding: dict[str, Any], truth: dict[str, Any]) -> bool:
    """Whether a warning is a consequence of what was planted: a lower power limit has its own check."""
    lower = [set(one["nodes"]) for one in truth["planted"] if one["about"] == "gpus.power_limit_w"]
    return finding["finding"] == "power-limit-lowered" and set(finding["nodes"]) in lower
