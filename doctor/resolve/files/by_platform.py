"""Changed lines if the file has a different torch for other platforms: change them only for this platform."""

from __future__ import annotations

import re

from msgspec.structs import replace

from ..instead import OWN, Answered, Instead
from .lines import Line, Platform, RequirementFile
from .reading import PLATFORMS

_OF_OTHERS = "{} also applies to other platforms; edit it by hand"


def by_platform(file: RequirementFile, answered: Answered) -> Answered:
    """Each changed line twice, new and old, with the markers of both sides; in a pixi project for several platforms,
    the new lines go in this platform's table."""
    lines: dict[tuple[int, str], Line] = {(one.number, one.text): one for one in (*file.lines, *file.others)}
    if file.kind in ("pixi", "pixi-conda"):
        return _in_own_tables(file, answered, lines)
    out = others(file)
    if not out or file.kind == "lock":  # whose tool keeps a fork for each
        return answered
    own = (file.requires.number, file.requires.text) if file.requires else None
    changed, unwritable = [], answered.unwritable
    if file.kind == "pdm" and answered.add:
        unwritable = (
            "PDM uses one torch index for all platforms, and the file has a different torch for other platforms"
        )
    for one in answered.instead:
        line = lines.get((one.number, one.text)) if (one.number, one.text) != own else None
        if line and set(line.platforms or PLATFORMS) & out:
            if line.entry and (line.entry.rows or file.kind != "poetry"):
                unwritable = _OF_OTHERS.format(f"line {one.number}: {one.text}")
            else:
                one = replace(one, write=_entries(one, line, out) if line.entry else _strings(one, out))
        elif not one.number and one.write and not any(part.entry for part in lines.values()):
            one = replace(one, write=_with_marker(one.write, markers(out)[0]))
        changed.append(one)
    return replace(answered, instead=tuple(changed), unwritable=unwritable)


def others(file: RequirementFile) -> set[Platform]:
    """The platforms that have their own torch lines or indexes."""
    words = [word for source in file.sources for word in source.words if word.elsewhere]
    named = [(word.package, word.platforms) for word in words]
    named += [(one.name, one.platforms) for one in file.skipped]
    return {platform for name, several in named if name in OWN for platform in several}


def markers(out: set[Platform]) -> tuple[str, str]:
    """Markers for all but these platforms, and for these."""
    atoms = []
    for system in dict.fromkeys(one for one, _ in PLATFORMS):
        own = {one for one in PLATFORMS if one[0] == system}
        if own <= out:
            atoms.append((f"sys_platform != '{system}'", f"sys_platform == '{system}'"))
            continue
        for _, machine in sorted(own & out):
            this = f"sys_platform == '{system}' and platform_machine == '{machine}'"
            atoms.append((f"({this.replace('==', '!=').replace(' and ', ' or ')})", this))
    here = " and ".join(one for one, _ in atoms)
    return here[1:-1] if len(atoms) == 1 and here.startswith("(") else here, " or ".join(one for _, one in atoms)


def _strings(one: Instead, out: set[Platform]) -> str:
    here, elsewhere = markers(out)
    rows = [_with_marker(one.write, here)] if one.write else []
    return "\n".join([*rows, _with_marker(one.text, elsewhere)])


def _with_marker(need: str, marker: str) -> str:
    if options := re.search(r"\s+--\w.*$", need):
        return _with_marker(need[: options.start()], marker) + options[0]
    bare, sign, have = need.partition(";")
    both = f"{_within(have.strip())} and {_within(marker)}" if sign and have.strip() else marker
    return f"{bare.strip()} ; {both}"


def _within(marker: str) -> str:
    return f"({marker})" if re.search(r"\bor\b", marker) else marker


def _entries(one: Instead, line: Line, out: set[Platform]) -> str:
    """A list of tables, one per side; only the tables if they replace one in a list."""
    left = line.entry.left if line.entry else ""
    here, elsewhere = markers(out)
    several = [_table(one.write[len(left) :], here)] if one.write else []
    several.append(_table(one.text[len(left) :], elsewhere))
    inner = ", ".join(several)
    return f"{left}[{inner}]" if left and len(several) > 1 else f"{left}{inner}"


def _table(value: str, marker: str) -> str:
    """`{ version = "0.17.2", markers = "sys_platform == 'darwin'" }` from a string or a table."""
    value = value.strip()
    inner = value[1:-1].strip() if value.startswith("{") else f"version = {value}"
    have = re.search(r"\bmarkers\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", inner)
    if not have:
        return f'{{ {inner}, markers = "{marker}" }}'
    old = (have[1] or have[2]).replace('"', "'")
    both = f'markers = "{_within(old)} and {_within(marker)}"'
    return f"{{ {inner[: have.start()]}{both}{inner[have.end() :]} }}"


def _in_own_tables(file: RequirementFile, answered: Answered, lines: dict[tuple[int, str], Line]) -> Answered:
    tables: dict[str, list[str]] = {}
    changed, unwritable = [], answered.unwritable
    near = next((one for one in lines.values() if one.table.endswith("pypi-dependencies")), None)  # new: pip's
    for one in answered.instead:
        line = lines.get((one.number, one.text)) if one.number else near
        if not line or not line.table or not one.write or (line.number and line.name == "python"):
            changed.append(one)
        elif (
            (line.entry and line.entry.rows) or "\n" in one.write or not re.match(r"[\w.\"'-]+\s*=\s*[\"{]", one.write)
        ):
            unwritable = _OF_OTHERS.format(f"line {one.number}: {one.text}" if one.number else one.write)
            changed.append(one)
        else:
            tables.setdefault(line.table, []).append(one.write)
    rows = [row for name, several in tables.items() for row in (f"[{name}]", *several, "")]
    add = "\n".join([*([answered.add.rstrip("\n"), ""] if answered.add else []), *rows])
    return replace(answered, instead=tuple(changed), add=add if rows else answered.add, unwritable=unwritable)
