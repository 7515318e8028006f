"""Outcomes in the formats that code hosts and CI servers read, for machines as well as recipes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .. import __version__

if TYPE_CHECKING:
    from ..judge import Report
    from ..report.outcome import Outcome, Ruled

FORMATS = ("sarif", "junit", "github")


def render_outcomes(
    found: Sequence[Outcome], rules: Mapping[str, Ruled], format_: str, name: str, preface: Sequence[str] = ()
) -> bytes:
    """`name`: name of the suite. `preface`: a heading and sentences about the whole."""
    if format_ == "sarif":
        from ..report.sarif import render_sarif

        return render_sarif(found, rules, __version__, preface)
    if format_ == "junit":
        from ..report.junit import render_junit

        return render_junit(found, name, preface)
    from ..report.github import render_github

    return render_github(found, preface)


def render_report(report: Report, format_: str, preface: Sequence[str] = ()) -> bytes:
    """What every check found."""
    from ..report.outcome import of_report
    from .assess import catalogue_of

    found, rules = of_report(report, {check.id: check.manual for check in catalogue_of(report)})
    return render_outcomes(found, rules, format_, report.target.name or "machine", preface)
