"""What gpudoctor says and advises on each machine, word by word: `fixes/LAYER.txt`, a file for each layer of the findings.

`python -m tests.scenarios.first_steps` writes them together with the table of first steps. A fix reads there as users
paste it: its steps with their commands, where each runs, and its flags. Read the difference before you commit it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("fixes")
_HEAD = "## "

Tables = dict[tuple[str, str, str], str]
"""(layer, finding, machine) -> what is said and advised there."""
_SILENCE = re.compile(r"\bno answer in \d+ s\b")
"""How long a driver was silent after its last answer: measured, so a busy machine that starts late shows a second less."""


def tables_of(machine: str, report: dict[str, Any]) -> Tables:
    """Each finding and remark of a machine's report, in words."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for finding in [*report["findings"], *report["remarks"]]:
        lines = [f"{finding['status']}: {finding['title']}", *indented(finding["detail"], "  ")]
        lines += [f"  caused by {finding['cause']}"] * bool(finding["cause"])
        for fix in finding["fixes"]:
            lines += of_fix(fix)
        said = found.setdefault((finding["layer"], finding["id"], machine), [])
        if lines != said[-len(lines) :]:  # eight GPUs of one fault say it once
            said += lines
    return {key: _SILENCE.sub("no answer in SECONDS s", "\n".join(lines)) for key, lines in found.items()}


def of_fix(fix: dict[str, Any], changes: bool = True) -> list[str]:
    """A fix with its steps; `changes`: with the facts that each changes."""
    lines = [f"  {fix['id']}: {fix['title']}"]
    for number, step in enumerate(fix["steps"], 1):
        flags = {
            "not possible here": not step["possible_here"],
            "root": step["needs_root"],
            "destructive": step["destructive"],
            "looks only": step["purpose"] == "look",
            f"ends {step['ends']}": bool(step["ends"]),
        }
        lines.append(f"    {number}. {', '.join([step['where'], *(flag for flag, holds in flags.items() if holds)])}")
        lines += indented(step["text"], "       ")
        lines += indented(step["command"], "       $ ")
        for other in step["alternatives"]:
            lines += indented(other["command"], f"       {other['tool']}$ ")
        if not changes:
            continue
        known = {path: value for path, value in step["changes"].items() if value != {"missing": "recheck"}}
        again = sorted({path.split(".")[0] for path in step["changes"].keys() - known.keys()})
        lines += [f"       {path} = {_short(value)}" for path, value in sorted(known.items())]
        lines += [f"       to look at again: {', '.join(again)}"] * bool(again)
    return [*lines, *indented(fix["note"], "    ")]


def _short(value: Any) -> str:
    """A value as JSON; of a list of packages their names and versions."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return ", ".join(" ".join(filter(None, (one.get("name"), one.get("version")))) for one in value)
    return json.dumps(value, ensure_ascii=False)


def indented(text: str, start: str) -> list[str]:
    return [f"{start}{line}".rstrip() for line in text.splitlines() if line.strip()]


def read(folder: Path = FOLDER) -> Tables:
    """The tables as they are committed."""
    tables: Tables = {}
    for path in sorted(folder.glob("*.txt")):
        for block in path.read_text("utf-8").split(f"\n{_HEAD}")[1:]:
            head, _, text = block.partition("\n")
            finding, _, machines = head.partition(" on ")
            tables |= {(path.stem, finding, machine): text.rstrip("\n") for machine in machines.split(", ")}
    return tables


def write(tables: Tables, folder: Path = FOLDER) -> None:
    """Write all of them; machines of which the same is said stand together."""
    alike: dict[tuple[str, str, str], list[str]] = {}
    for (layer, finding, machine), text in sorted(tables.items()):
        alike.setdefault((layer, finding, text), []).append(machine)
    files: dict[str, str] = {}
    for (layer, finding, text), machines in alike.items():
        files[layer] = files.get(layer, "") + f"\n{_HEAD}{finding} on {', '.join(machines)}\n{text}\n"
    folder.mkdir(exist_ok=True)
    for path in folder.glob("*.txt"):
        path.unlink()
    for layer, text in files.items():
        (folder / f"{layer}.txt").write_text(text, "utf-8")
