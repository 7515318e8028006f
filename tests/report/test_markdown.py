"""The Markdown report: whole, and no fact in it is markup."""

from __future__ import annotations

import re

from msgspec.structs import replace

from doctor.report.brief import render_brief
from doctor.report.groups import counted
from doctor.report.markdown import escape, fenced, render_markdown

from ..healthy import healthy
from ..judging import report
from .samples import COMMAND, HOSTILE, LAYERS, hostile, sick


def outside_of_code(text: str) -> str:
    """The text without fenced blocks and code spans."""
    text = re.sub(r"(?ms)^\s*(`{3,})\w*\n.*?^\s*\1$", "", text)
    return re.sub(r"`[^`\n]+`", "", text)


def test_it_tells_verdict_cause_consequences_fixes_and_machine() -> None:
    text = render_markdown(sick(), LAYERS)
    order = ["gpudoctor: FAIL", "Root cause", "title of driver-not-loaded", "Fix: Install", COMMAND, "Or: Use another card",
             "This also causes", "title of cpu-only-torch", "Also found", "title of torch-not-installed",
             "| GPUs | 1x NVIDIA H100", "nvidia-smi shows", "<details>", "Checks:", "<summary>Facts"]  # fmt: skip
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_nothing_failed_is_said_with_counts() -> None:
    calm = report(healthy())
    text = render_markdown(calm, LAYERS)
    assert "No check failed: " in text
    assert f"{sum(c.status == 'pass' for c in calm.checks)} passed" in text


def test_what_was_not_examined_may_be_the_problem() -> None:
    """'No problems found' only where no check is unknown, in a report and in its forty lines."""
    calm = report(healthy())
    assert any(check.status == "unknown" for check in calm.checks)
    known = replace(calm, checks=tuple(replace(c, status="pass") if c.status == "unknown" else c for c in calm.checks))
    for render in (render_markdown, render_brief):
        assert f"No check failed: {counted(calm.checks)}." in render(calm, LAYERS)
        assert "No problems found" not in render(calm, LAYERS)
        assert f"No problems found: {counted(known.checks)}." in render(known, LAYERS)


def test_details_are_closed_and_fences_are_even() -> None:
    for found in (sick(), hostile(), report(healthy())):
        text = render_markdown(found, LAYERS)
        assert text.count("<details>") == text.count("</details>") == 2
        assert "```" not in outside_of_code(text)


def test_facts_are_no_markup() -> None:
    text = outside_of_code(render_markdown(hostile(), LAYERS))
    assert "<script" not in text
    assert "@everyone" not in text
    assert not re.search(r"(?<!\\)\]\(", text)
    assert not [c for c in text if not c.isprintable() and c != "\n"]
    for row in text.split("\n"):
        if row.startswith("| "):
            assert len(re.findall(r"(?<!\\)\|", row)) in (3, 5), row


def test_escaping_is_one_line_and_keeps_the_words() -> None:
    assert escape("2.8.0+cu128 /opt/a-b (x)") == "2.8.0+cu128 /opt/a-b (x)"
    assert "\n" not in escape(HOSTILE)
    assert escape("a|b_c`") == "a\\|b\\_c\\`"


def test_a_fence_is_longer_than_what_it_holds() -> None:
    opening, body, closing = fenced("a\n````\nb")
    assert opening == "`````sh" and closing == "`````"
    assert "````" in body
