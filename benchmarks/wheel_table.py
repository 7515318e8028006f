"""The table of `wheels.py`: each library of each wheel, what the walker says, and who agrees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from compat_matrix import Matrix
from doctor.formats.fatbin_support import supported
from tests.fixtures import wheels
from tests.fixtures.wheels import walked


def table(lines: list[dict[str, Any]]) -> tuple[str, int]:
    """The table, and how many disagreements are in it."""
    matrix = Matrix.load()
    kept = set(wheels.names())
    counted: Counter[str] = Counter()
    rows: list[str] = []
    for line in sorted(lines, key=_order):
        key = f"{line['name']}-{line['version']}-{line['machine']}"
        counted["wheels"] += 1
        counted["bytes"] += line.get("bytes", 0)
        if line.get("absent"):
            rows.append(f"{line['name']} {line['version']} {line['machine']}: not in the index")
            counted["absent"] += 1
        elif key in kept:
            rows += _wheel(wheels.load(key), matrix, counted)
        else:
            counted["without"] += 1
    text = "\n".join([*_head(counted), "", *rows]) + "\n"
    return text, sum(counted[kind] for kind in ("differs", "torch differs", "unpacked differs"))


def _order(line: dict[str, Any]) -> tuple[bool, str, bool, list[int]]:
    parts = [int("".join(c for c in part if c.isdigit()) or 0) for part in line["version"].split(".")]
    return (line["name"] != "torch", line["name"], line["machine"] != "x86_64", parts)


def _head(counted: Counter[str]) -> Iterator[str]:
    versions = ", ".join(f"{n} by {version[3:]}" for version, n in counted.items() if version.startswith("by "))
    yield (
        f"{counted['wheels']} wheels of {counted['bytes'] / 1e9:.1f} GB: {counted['without']} hold no GPU code, "
        f"{counted['absent']} are not in the index."
    )
    yield f"{counted['libraries']} libraries with GPU code, {counted['entries']} entries. Differences:"
    yield f"  torch's own list, matrix and machine code: {counted['torch differs']} of {counted['torch']} wheels"
    yield (
        f"  entries by cuobjdump ({versions}): {counted['differs']}, and {counted['renamed']} explained by "
        f"binary_rules.json; refused by every cuobjdump: {counted['refused']}"
    )
    yield (
        f"  architectures when every cubin is unpacked ({counted['code']} hold code, {counted['none']} none, "
        f"{counted['?']} cannot be unpacked): {counted['unpacked differs']}"
    )


def _wheel(wheel: dict[str, Any], m: Matrix, counted: Counter[str]) -> Iterator[str]:
    found = walked.walk(wheel, m)
    name = f"{wheel['name']} {wheel['torch'] or wheel['version']} {wheel['machine']}"
    if wheel["name"] == "torch":
        said = walked.torch_says(wheel, found, m)
        counted["torch"] += 1
        counted["torch differs"] += bool(said.fault)
        agree = f"DIFFER: {said.fault}" if said.fault else f"{_short(said.told)} (bytes, own list and matrix)"
        if said.also:
            agree += f"; bytes also {_short(said.also)}, from static libraries"
        yield f"{name}: {agree}"
    else:
        yield name
    for one in found:
        counted["libraries"] += 1
        counted["entries"] += walked.entries(one.summary).total()
        counted[one.cuobjdump] += 1
        counted["unpacked differs"] += bool(one.unpacked_fault)
        counted.update(one.unpacked)
        if one.version:
            counted[f"by {one.version}"] += 1
        boxes = "+".join(f"{s.kernel_containers}/{s.containers}" for s in one.summary.sections)
        told = f"{one.cuobjdump} {one.version}".strip()
        read = _short(target.name for target in supported(one.summary)) or "nothing in nearly all"
        yield f"  {one.name.rpartition('/')[2]:44s} {boxes:>14s} {told:15s} {read}"
        yield from (f"    DIFFERS: {fault}" for fault in (one.fault, one.unpacked_fault) if fault)
        if one.renamed:
            counted["renamed"] += 1
            yield f"    explained by binary_rules.json: cuobjdump calls some {' '.join(one.renamed)}"
        if one.cuobjdump == "refused":
            yield from (f"    {complaint}" for complaint in wheel["cuobjdump"][one.name]["refused"])


def _short(names: Any) -> str:
    return " ".join(name.removeprefix("sm_").replace("compute_", "PTX ") for name in names)
