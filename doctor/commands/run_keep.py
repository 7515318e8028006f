"""What `resolve --keep` does once its flags are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from ..fixes.install import pip_line, uv_line
from ..guard import Refusal
from ..resolve.keep import Kept, keep
from ..resolve.machine import Machine, driver, of_snapshot, wish

if TYPE_CHECKING:
    from compat_matrix import Matrix

    from ..snapshot import Snapshot

_WORDS = {"gpus": "--gpu", "os_": "--os", "arch": "--arch", "python_version": "--python"}


def run_keep(m: Matrix, flags: dict[str, Any], snapshot: Snapshot) -> int:
    """Ask and print; 0 no change or some change is needed, 3 no change would help. Raises Unclear, Refusal."""
    machine = of_snapshot(snapshot, m)
    if flags["driver"] is not None:
        version, note = driver(m, flags["driver"], machine.os)
        machine = msgspec.structs.replace(machine, driver=version, notes=(note,) if note else ())
    kept = keep(m, snapshot, machine.question([wish(m, text) for text in flags["wishes"]]))
    from .write import answer, first_paragraph

    pip = "python -m pip" if machine.os == "windows" else "python3 -m pip"
    lines = (pip_line(kept.request, pip), uv_line(kept.request)) if kept.request else ("", "")
    text = _json(machine, kept, lines) if flags["format_"] == "json" else _text(machine, kept, lines)
    answer(first_paragraph(text) if flags["quiet"] else text, flags)
    return 3 if kept.wrong and kept.request is None else 0


def refuse_words(flags: dict[str, Any]) -> None:
    """--keep is for an existing environment. Raises Refusal."""
    for name, flag in _WORDS.items():
        if flags[name]:
            raise Refusal(f"--keep cannot be used with {flag}: it is for an existing environment")
    if flags["verify"] or flags["explain_all"]:
        raise Refusal("--keep prints one change: it cannot be used with --verify or --explain-all")
    if flags["format_"] not in ("text", "json"):
        raise Refusal(f"--keep cannot be used with --format {flags['format_']}: use text or json")


def _text(machine: Machine, kept: Kept, lines: tuple[str, str]) -> str:
    if not kept.wrong:
        rows = [f"No change needed: {kept.now} works on {machine}."]
    elif kept.request is None:
        rows = [
            f"No package change would fix this for {machine} ({kept.wrong}).",
            "Run gpudoctor resolve to see what would.",
        ]
    else:
        rows = [lines[0], "", f"For {machine}", f"  Now:    {kept.wrong}."]
        rows += [f"  Change: {change}" for change in kept.changes]
        rows += ["", f"uv:      {lines[1]}"]
    rows += ["", *kept.notes, *machine.notes] if kept.notes or machine.notes else []
    return "\n".join(rows) + "\n"


def _json(machine: Machine, kept: Kept, lines: tuple[str, str]) -> str:
    data = {"machine": machine, **msgspec.structs.asdict(kept), "pip": lines[0], "uv": lines[1]}
    return msgspec.json.format(msgspec.json.encode(data), indent=2).decode() + "\n"
