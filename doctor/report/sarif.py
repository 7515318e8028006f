"""SARIF 2.1.0 (docs.oasis-open.org/sarif): findings that code hosts show on the line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .outcome import Outcome, Ruled

_LEVELS = {"fail": "error", "warn": "warning", "info": "note", "unknown": "note", "consequence": "note"}
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def render_sarif(
    found: Sequence[Outcome], rules: Mapping[str, Ruled], version: str, preface: Sequence[str] = ()
) -> bytes:
    """One run; what passed or was skipped is omitted. `preface`: notifications of the run."""
    shown = [one for one in found if one.level in _LEVELS]
    used = list(dict.fromkeys(one.rule for one in shown))
    driver = {
        "name": "gpudoctor",
        "version": version,
        "rules": [_rule(name, rules[name]) for name in used],
    }
    results = [_result(one, used.index(one.rule)) for one in shown]
    run: dict[str, Any] = {"tool": {"driver": driver}, "results": results}
    if preface:
        notes = [{"level": "note", "message": {"text": text}} for text in preface]
        run["invocations"] = [{"executionSuccessful": True, "toolExecutionNotifications": notes}]
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, ensure_ascii=False, indent=2).encode("utf-8", "backslashreplace") + b"\n"


def _rule(name: str, rule: Ruled) -> dict[str, Any]:
    text = "\n\n".join(filter(None, (rule.help, rule.source and f"Source: {rule.source}"))) or rule.title
    return {"id": name, "shortDescription": {"text": rule.title or name}, "help": {"text": text}}


def _result(one: Outcome, index: int) -> dict[str, Any]:
    text = " ".join(filter(None, (f"{one.title}.", one.detail, one.fix and f"Fix: {one.fix}")))
    found: dict[str, Any] = {
        "ruleId": one.rule,
        "ruleIndex": index,
        "level": _LEVELS[one.level],
        "message": {"text": text},
    }
    if one.file:
        where = {"artifactLocation": {"uri": _uri(one.file)}, "region": {"startLine": max(1, one.line)}}
        found["locations"] = [{"physicalLocation": where}]
    else:
        found["locations"] = [{"logicalLocations": [{"name": "this machine", "kind": "resource"}]}]
    return found


def _uri(path: str) -> str:
    from urllib.parse import quote

    return quote(path.replace("\\", "/").removeprefix("./"))
