"""Saved reports with hostile values in their facts, judged again in every format."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from .engine import Attack
from .ground import Ground, hostile, leaves, planted, tree

_COMMANDS = (
    ["check"], ["check", "--format", "json"], ["check", "--format", "markdown"], ["check", "-vv"], ["check", "--ascii"],
    ["fix"], ["fix", "--format", "json"], ["healthcheck"], ["explain"], ["check", "--no-redact"],
    ["check", "--format", "sarif"], ["check", "--format", "junit"], ["check", "--format", "github"],
    ["check", "--format", "html"], ["topo", "--format", "json"], ["topo", "--format", "svg"],
)  # fmt: skip
_EACH = 24


def attacks(ground: Ground) -> list[Attack]:
    """One hostile value, then many at once, in a healthy and in a sick machine's report; then one text everywhere."""
    found = []
    for number in range(_EACH * len(_COMMANDS)):
        words = _COMMANDS[number % len(_COMMANDS)]
        found.append(_attack(f"values drawn ({number})", words, partial(_drawn, ground, number)))
    for words in _COMMANDS:
        for text in _TEXTS:
            found.append(_attack(f"{text[:12]!r} in every text", words, partial(_one_text, ground, text)))
    return found


def _attack(name: str, words: list[str], setup: Callable[[Attack], object]) -> Attack:
    one = words[0] == "healthcheck"
    codes = frozenset({0, 1}) if one else frozenset({0, 1, 2, 3})
    given = [_NAME] if words == ["explain"] else ["--from", _NAME]
    report = not one and words[-1] != "svg"  # of a machine without GPUs there is no picture: one line, exit 3
    return Attack(f"{' '.join(words)} with {name}", [*words, *given], setup, codes=codes, report=report)


def _drawn(ground: Ground, number: int, attack: Attack) -> None:
    draw = ground.random(f"report {number}")
    report = tree(ground.sick if number % 2 else ground.report)
    for _ in range(1 if number % 3 else draw.randrange(2, 12)):
        places = [path for path in leaves(report) if path[0] in ("snapshot", "policy", "target")]
        if not places:
            break
        place = draw.choice(places)
        report = planted(report, place, hostile(draw))
        attack.name += f", {'.'.join(map(str, place))}"
    (attack.folder / _NAME).write_text(json.dumps(report), "utf-8", "surrogatepass")


def _one_text(ground: Ground, text: str, attack: Attack) -> None:
    (attack.folder / _NAME).write_text(json.dumps(_everywhere(tree(ground.sick), text)))


_NAME = "report.json"
_TEXTS = ("$(touch $TRAP)`touch $TRAP`'\";touch $TRAP #", "\x1b]0;x\x07\u202e\x9b2J\r", "9" * 300, "a\n\nb")
_KEPT = ("kind", "missing", "status", "severity", "layer", "build", "kernel_flavour", "found_by", "import_fault")


def _everywhere(value: Any, text: str, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _everywhere(item, text, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_everywhere(item, text, key) for item in value]
    return value + text if isinstance(value, str) and key not in _KEPT else value
