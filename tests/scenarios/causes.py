"""A cause is listed once: what follows from it names it and has no steps of its own, in every format."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree

from doctor.commands.run_check import render
from doctor.judge.report import Report
from doctor.report.healthline import healthline

ENDS_WORK = ("reboot", "shutdown", "--gpu-reset", "power cycle", "rmmod", "modprobe -r")
"""Commands that no reader may find twice: they end what others run."""


def listed_once(report: Report) -> None:
    """Each assertion is about one format; all are written from this report."""
    roots = list({(f.id, f.title): f for f in report.findings if not f.cause}.values())
    consequences = [f for f in report.findings if f.cause]
    fixed = {f.id for f in roots if f.fixes}
    assert {f.cause for f in consequences} <= {f.id for f in roots}, "a cause is a finding of this report, and a root"
    for one in consequences:
        assert not (one.fixes and one.cause in fixed), f"{one.id} has steps beside those of {one.cause}"
        commands = " ".join(step.command for fix in one.fixes for step in fix.steps)
        assert not any(word in commands for word in ENDS_WORK), f"{one.id}: {commands}"
    for check in (_json, _sarif, _junit, _github, _for_people):
        check(report, roots, consequences)
    more = sum(f.status == report.verdict for f in roots) - 1
    line = healthline(report)
    assert (f"(+{more} more)" in line) == (more > 0 and report.verdict in ("fail", "unknown")), line


def rendered(report: Report, format_: str) -> str:
    flags = {"format_": format_, "output": "report", "verbose": 1, "ascii_": False, "no_color": True}
    return render(report, flags).decode()


def _json(report: Report, roots: list[Any], consequences: list[Any]) -> None:
    found = json.loads(rendered(report, "json"))["findings"]
    assert [(f["id"], f["cause"], bool(f["fixes"])) for f in found] == [
        (f.id, f.cause, bool(f.fixes)) for f in report.findings
    ]


def _sarif(report: Report, roots: list[Any], consequences: list[Any]) -> None:
    results = json.loads(rendered(report, "sarif"))["runs"][0]["results"]
    levels = [one["level"] for one in results]
    assert levels.count("error") == sum(f.status == "fail" for f in roots)
    assert levels.count("warning") == sum(f.status == "warn" for f in roots)
    for one in consequences:
        said = [r for r in results if r["ruleId"] == one.id and f"Consequence of {one.cause}." in r["message"]["text"]]
        assert said and all(r["level"] == "note" for r in said), one.id
        assert one.fixes or all("Fix: " not in r["message"]["text"] for r in said)


def _junit(report: Report, roots: list[Any], consequences: list[Any]) -> None:
    suite = ElementTree.fromstring(rendered(report, "junit")).find("testsuite")
    assert suite is not None
    failed = [case.get("name") for case in suite if case.find("failure") is not None]
    assert sorted(failed) == sorted(f.id for f in roots if f.status == "fail")
    assert suite.get("failures") == str(len(failed))
    skipped = {(case.get("name"), one.get("message")) for case in suite if (one := case.find("skipped")) is not None}
    for one in consequences:
        assert any(name == one.id and f"Consequence of {one.cause}." in (why or "") for name, why in skipped), one.id


def _github(report: Report, roots: list[Any], consequences: list[Any]) -> None:
    rows = rendered(report, "github").splitlines()
    assert sum(row.startswith("::error ") for row in rows) == sum(f.status == "fail" for f in roots)
    for one in consequences:
        assert any(row.startswith("::notice ") and f"::Consequence of {one.cause}." in row for row in rows), one.id


def _for_people(report: Report, roots: list[Any], consequences: list[Any]) -> None:
    """Only roots have a page of their own, and steps are printed for them alone."""
    for format_ in ("text", "markdown", "html"):
        text = " ".join(rendered(report, format_).split())
        for one in consequences:
            assert f"gpudoctor explain {one.id}" not in text or one.id in {f.id for f in roots}, (format_, one.id)
