"""A step that ends others' work says so in every format that has steps, and in the published schema."""

from __future__ import annotations

import json
import re

from doctor.commands.assess import about
from doctor.commands.outcomes import render_report
from doctor.findings import Finding, Fix, Step
from doctor.fixes.ending import HOST, safely
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
from ..rows import for_each


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
        assert "Once the jobs on this host are no longer needed" in words, name


def test_the_last_screen_has_the_condition_before_the_command() -> None:
    _, found = hung()
    shown = render_terminal(found, about(found)[0], Display(width=80))
    last = shown[shown.rindex("Do this first") :]
    assert f"ends {HOST}" in " ".join(last.split())
    assert last.index("no longer needed") < last.index("\n  reboot")


STARTED_ANEW = {
    "Recreate the container with GPUs: a running one cannot get them.": "everything in this container",
    "Stop and start the container: it then gets the GPU again.": "everything in this container",
    "Delete the pod: its controller creates a new one.": "everything in this pod or instance",
    "On RunPod: stop this pod or instance and start it (or a new one) again.": "everything in this pod or instance",
    "Runtime > Disconnect and delete runtime, then connect again.": "everything in this session",
    "Once you no longer need anything in it, shut down the virtual machine that uses the card.": (
        "everything in that virtual machine"
    ),
    "Submit the job to a node whose driver works.": "",
    "Start that image.": "",
    "Choose a host with a newer driver, start there, and run gpudoctor check again.": "",
}


@for_each("text, ends", STARTED_ANEW.items(), ids=STARTED_ANEW)
def test_a_step_without_a_command_says_what_it_ends(text: str, ends: str) -> None:
    step = Step(text=text, where="provider")
    found = Finding(id="x", status="fail", severity="error", title="x", fixes=(Fix(id="x", title="x", steps=(step,)),))
    [told] = safely(Snapshot(), found).fixes[0].steps
    assert (told.ends, told.destructive) == (ends, bool(ends))


def test_starting_the_place_anew_moves_no_fix_behind_another() -> None:
    words = ("Recreate the container with GPUs: a running one cannot get them.", "Pass tensors as files.")
    fixes = tuple(Fix(id=text, title=text, steps=(Step(text=text, where="shell"),)) for text in words)
    found = Finding(id="x", status="fail", severity="error", title="x", fixes=fixes)
    assert tuple(fix.id for fix in safely(Snapshot(), found).fixes) == words


def test_json_and_schema_have_it_as_data() -> None:
    _, found = hung()
    steps = [step for f in json.loads(render_json(found))["findings"] for fix in f["fixes"] for step in fix["steps"]]
    ending = [step for step in steps if step["ends"]]
    assert ending and all(step["ends"] == HOST and step["destructive"] for step in ending)
    schema = json.loads(report_schema())["$defs"]["Step"]
    assert {"ends", "purpose", "destructive"} <= set(schema["required"])
    assert HOST in schema["properties"]["ends"]["enum"]
    assert "operator" in schema["properties"]["where"]["enum"]
