"""A step that ends others' work says so in every format that has steps, and in the published schema."""

from __future__ import annotations

import json
import re

from doctor.commands.assess import about
from doctor.commands.outcomes import render_report
from doctor.fixes.ending import HOST
from doctor.judge.plan import plan
from doctor.judge.report import Report
from doctor.report.brief import render_brief
from doctor.report.json import render_json
from doctor.report.markdown import render_markdown
from doctor.report.page import render_html
from doctor.report.schema import report_schema
from doctor.report.steps import plan_text
from doctor.report.terminal import Display, render_terminal
from doctor.snapshot import CallFault, Snapshot

from ..healthy import healthy
from ..judging import POLICY, matrix, report


def hung() -> tuple[Snapshot, Report]:
    """A driver that only a reboot brings back, on a server."""
    s = healthy("h100").replace(
        {"driver.faults": (CallFault("nvml", "nvmlInit_v2", "hang"),), "host.chassis": "server"}
    )
    return s, report(s)


def test_every_format_says_whose_work_ends_and_when() -> None:
    s, found = hung()
    layers, titles = about(found)
    texts = {
        "terminal": render_terminal(found, layers, Display(width=100)),
        "markdown": render_markdown(found, layers, titles),
        "html": render_html(found, layers, titles),
        "brief": render_brief(found, titles),
        "plan": plan_text(plan(s, matrix(), POLICY), Display(width=100)),
        **{name: render_report(found, name).decode() for name in ("sarif", "junit", "github")},
    }
    for name, text in texts.items():
        words = " ".join(re.sub(r"\\", "", text).split())
        assert "reboot" in words and f"ends {HOST}" in words, name
        assert "no job on this host is needed any more" in words, name


def test_the_last_screen_has_the_condition_before_the_command() -> None:
    _, found = hung()
    shown = render_terminal(found, about(found)[0], Display(width=80))
    last = shown[shown.rindex("Do this first") :]
    assert f"ends {HOST}" in " ".join(last.split())
    assert last.index("needed any more") < last.index("\n  reboot")


def test_json_and_schema_have_it_as_data() -> None:
    _, found = hung()
    steps = [step for f in json.loads(render_json(found))["findings"] for fix in f["fixes"] for step in fix["steps"]]
    ending = [step for step in steps if step["ends"]]
    assert ending and all(step["ends"] == HOST and step["destructive"] for step in ending)
    schema = json.loads(report_schema())["$defs"]["Step"]
    assert {"ends", "purpose", "destructive"} <= set(schema["required"])
    assert HOST in schema["properties"]["ends"]["enum"]
    assert "operator" in schema["properties"]["where"]["enum"]
