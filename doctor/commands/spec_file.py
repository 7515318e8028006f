"""A spec as it stands in a file: the keys of `gpudoctor.toml` that state versions, typed before anything is judged."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..findings.spec import KEYS, MOST_CHARACTERS, MOST_LINES, SpecLine, contradiction, too_short
from ..guard import Refusal

PACKAGES = "packages"
SPEC_KEYS = (*KEYS, PACKAGES)


def spec_of(path: str, table: dict[str, Any]) -> tuple[SpecLine, ...]:
    """The lines of a spec among a file's keys. Raises Refusal with one line that names the file and the key."""
    found = [_line(path, key, key, table[key]) for key in KEYS if key in table]
    packages = table.get(PACKAGES, {})
    if not isinstance(packages, dict):
        raise Refusal(f'{path}: packages must be a table of name = "range"')
    if len(packages) + len(found) > MOST_LINES:
        raise Refusal(f"{path}: packages: more than {MOST_LINES} lines")
    lines = (*found, *(_line(path, "package", name, value) for name, value in packages.items()))
    refuse_contradiction(lines)
    return lines


def refuse_contradiction(lines: Sequence[SpecLine]) -> None:
    """Raises Refusal with one line that names the files, if no machine can meet these lines together."""
    found = contradiction(lines)
    if not found:
        return
    *others, last = found
    named = [f"{one.name} {one.allowed} in {'the same file' if one.file == last.file else one.file}" for one in others]
    what = f"{last.name} {last.allowed} contradicts {' together with '.join(named)}"
    raise Refusal(f"{last.file}: {what}: no machine can meet {'both' if len(found) == 2 else f'all {len(found)}'}")


def _line(path: str, key: str, name: str, value: Any) -> SpecLine:
    shown = f"packages.{name}" if key == "package" else name
    if key == "gpu" and isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise Refusal(f'{path}: {shown} must be a string, such as {shown.rpartition(".")[2]} = "{_EXAMPLES.get(key)}"')
    if len(value) > MOST_CHARACTERS:
        raise Refusal(f"{path}: {shown} has more than {MOST_CHARACTERS} characters")
    package = re.sub(r"[-_.]+", "-", name).lower() if key == "package" else ""
    try:
        line = SpecLine(key, value, package, path)
    except ValueError as error:
        raise Refusal(f"{path}: {shown}: {str(error).removeprefix('--expect ')}") from None
    if key != "gpu" and (why := too_short(line)):
        raise Refusal(f"{path}: {shown}: {why}")
    return line


_EXAMPLES = {
    "torch": ">=2.8,<2.10", "driver": ">=570", "cuda": "==12.8.*", "cudnn": ">=9", "nccl": ">=2.27",
    "python": ">=3.10,<3.14", "gpu": "8xH100", "os": "ubuntu 24.04", "package": ">=1.26,<2",
}  # fmt: skip
