"""Lines that tools print about their environment: what one proves, what it makes likely, and which mean nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from doctor.text import read

from ..judging import ids, report
from ..rows import for_each
from ..soundness.sound import assert_fixes_are_sound

LINES = json.loads((Path(__file__).parent / "tool_lines.json").read_text("utf-8"))


def _name(row: dict[str, Any]) -> str:
    return f"{row.get('proves') or row.get('likely') or 'open'}: {row['text'][:40]}"


@for_each("row", LINES, ids=_name, quick=8)
def test_what_a_line_says(row: dict[str, Any]) -> None:
    s = read(row["text"])
    failing, told = ids(s, status="fail"), report(s)
    if "proves" in row:
        assert [f.id for f in told.findings if f.status in ("fail", "warn")][:1] == [row["proves"]]
        return
    assert not failing
    if "likely" in row:
        assert row["likely"] in told.possible[:3]
    if "harmless" in row:
        causes = [f.id for f in told.findings if f.status == "unknown" and f.id != "required-fact-missing"]
        assert not causes, "nothing is suspected"


@pytest.mark.slow
@for_each("row", [row for row in LINES if "proves" in row], ids=_name)
def test_fixes_of_what_a_line_proves_are_sound(row: dict[str, Any]) -> None:
    assert_fixes_are_sound(read(row["text"]))
