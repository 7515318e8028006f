"""Annotations of GitHub Actions: `::error file=...,line=...,title=...::message`.

Source: docs.github.com/actions, workflow commands; what is escaped: actions/toolkit packages/core/src/command.ts.
"""

from __future__ import annotations

from collections.abc import Sequence

from .outcome import Outcome

_COMMANDS = {"fail": "error", "warn": "warning", "info": "notice", "unknown": "notice", "consequence": "notice"}


def render_github(found: Sequence[Outcome], preface: Sequence[str] = ()) -> bytes:
    """A line for each; what passed or was skipped is omitted. `preface`: a notice, its head as the title."""
    rows = [f"::notice title={_property(preface[0])}::{_data(chr(10).join(preface[1:]))}\n"] if preface else []
    for one in found:
        if one.level not in _COMMANDS:
            continue
        given = {"file": one.file, "line": str(one.line) if one.line else "", "title": f"{one.title} [{one.rule}]"}
        properties = ",".join(f"{key}={_property(value)}" for key, value in given.items() if value)
        message = " ".join(filter(None, (one.detail, one.fix and f"Fix: {one.fix}"))) or one.title
        rows.append(f"::{_COMMANDS[one.level]} {properties}::{_data(message)}\n")
    return "".join(rows).encode("utf-8", "backslashreplace")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
