"""One document of a format, read by a parser of that format that is not ours; each raises where it is none."""

from __future__ import annotations

import csv
import json
import re
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from jsonschema import Draft7Validator, Draft202012Validator
from junitparser import JUnitXml
from markdown_it import MarkdownIt
from packaging.requirements import Requirement
from prometheus_client.parser import text_string_to_metric_families

from doctor.report.schema import compare_schema, fleet_schema, image_schema, report_schema, topo_schema

from .test_page import TAGS, Page

SARIF = Path(__file__).parents[1] / "recipes" / "sarif-schema-2.1.0.json"
_MADE = {
    "report": report_schema,
    "image": image_schema,
    "topo": topo_schema,
    "compare": compare_schema,
    "fleet": fleet_schema,
}
_PROPERTY = r"(?:file|line|title)=(?! )(?:[^%:,\r\n]|%25|%0D|%0A|%3A|%2C)+"
_GITHUB = re.compile(rf"::(error|warning|notice) ({_PROPERTY}(?:,{_PROPERTY})*)::((?:[^%\r\n]|%25|%0D|%0A)+)")
"""A workflow command as the runner reads it (actions/runner, ActionCommand.cs)."""
_OWN_MARKUP = re.compile(r"</?(?:details|summary|sub)>")


@cache
def _published(schema: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads(_MADE[schema]()))


@cache
def _of_sarif() -> Draft7Validator:
    return Draft7Validator(json.loads(SARIF.read_text()))


def read_json(text: str, schema: str = "") -> Any:
    """The value; `schema`: report, image or topo, which it must satisfy."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    found = json.loads(text, parse_constant=refuse)
    if schema:
        problems = [error.message for error in _published(schema).iter_errors(found)]
        assert not problems, problems[:3]
    return found


def read_sarif(text: str) -> list[dict[str, Any]]:
    """Its results."""
    log = read_json(text)
    problems = [error.message for error in _of_sarif().iter_errors(log)]
    assert not problems, problems[:3]
    (run,) = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert all(rules[one["ruleIndex"]] == one["ruleId"] for one in run["results"])
    assert not (bare := [one["ruleId"] for one in run["results"] if one["message"]["text"].startswith(".")]), bare[:3]
    results: list[dict[str, Any]] = run["results"]
    return results


def read_junit(text: str) -> Any:
    """Its one suite, whose counts are those of its cases."""
    (suite,) = JUnitXml.fromstring(text.encode())
    cases = list(suite)
    assert suite.tests == len(cases) and suite.errors == 0
    assert suite.failures == sum(not case.is_passed and not case.is_skipped for case in cases)
    assert suite.skipped == sum(case.is_skipped for case in cases)
    return suite


def read_github(text: str) -> list[tuple[str, ...]]:
    """(command, properties, message) of every line."""
    assert not text or text.endswith("\n")
    found = [(_GITHUB.fullmatch(row), row) for row in text.splitlines()]
    assert not (bad := [row for match, row in found if match is None]), bad[:3]
    return [match.groups() for match, _ in found if match]


def read_html(text: str) -> Page:
    """One document that may run and load nothing but its own style and script."""
    assert text.startswith("<!DOCTYPE html>") and text.rstrip().endswith("</html>")
    page = Page(text)
    assert not page.open and set(page.tags) <= TAGS
    assert [page.tags.count(tag) for tag in ("html", "head", "body", "script")] == [1] * 4
    assert text.count("<title>", 0, text.index("</head>")) == 1
    policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]+)">', text)
    assert policy and policy[1].startswith("default-src &#39;none&#39;") and policy.start() < text.index("<style>")
    return page


def read_svg(text: str) -> ElementTree.Element:
    """One picture."""
    root = ElementTree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    return root


def read_markdown(text: str) -> list[Any]:
    """Tokens of CommonMark with tables: a heading or table first, every table one, every fence closed, no markup but ours."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    assert tokens[0].type in ("heading_open", "table_open"), text[:80]
    every = [*tokens, *(child for token in tokens for child in token.children or ())]
    fenced = [line for token in every if token.type == "fence" for line in token.content.splitlines()]
    rules = [line for line in text.splitlines() if re.fullmatch(r"\|(?: -+:? \|)+", line)]
    assert len(rules) - sum(line in rules for line in fenced) == sum(token.type == "table_open" for token in every)
    assert sum(token.type == "fence" for token in every) * 2 == sum(
        bool(re.match(r" *`{3,}", line)) for line in text.splitlines()
    )
    markup = [token.content for token in every if token.type in ("html_block", "html_inline")]
    assert not (left := [one for one in markup if "<" in _OWN_MARKUP.sub("", one)]), left[:3]
    for tag in ("details", "summary", "sub"):
        assert sum(one.count(f"<{tag}>") for one in markup) == sum(one.count(f"</{tag}>") for one in markup), tag
    return tokens


def read_text(text: str) -> list[str]:
    """Lines without a control character."""
    assert text.endswith("\n") and not [c for c in text if not c.isprintable() and c != "\n"]
    return text.splitlines()


def read_line(text: str) -> str:
    """One line for a probe, as the node problem detector takes it too."""
    (line,) = read_text(text)
    assert len(line) <= 80 and line.isascii() and line.split()[0] in ("OK", "FAIL", "UNKNOWN")
    return line


def read_prometheus(text: str) -> dict[str, Any]:
    """Families by name."""
    found = {family.name: family for family in text_string_to_metric_families(text)}
    assert found and all(family.samples for family in found.values())
    return found


def read_requirements(text: str) -> list[Requirement]:
    """Lines of a requirements file; options are pip's."""
    rows = [row for row in text.splitlines() if row and not row.startswith("#")]
    return [Requirement(row) for row in rows if not row.startswith("--")]


def read_pyproject(text: str) -> dict[str, Any]:
    """Its tables."""
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    found: dict[str, Any] = tomllib.loads(text)
    assert all(map(Requirement, found["project"]["dependencies"]))
    return found


def read_dockerfile(text: str) -> list[Any]:
    """Its instructions."""
    import io

    from dockerfile_parse import DockerfileParser

    found: list[Any] = DockerfileParser(fileobj=io.BytesIO(text.encode())).structure
    assert found[0]["instruction"] == "FROM" and {one["instruction"] for one in found} <= {"FROM", "ENV", "RUN", "ARG"}
    return found


def read_conda(text: str) -> Any:
    """What conda env reads."""
    from ruamel.yaml import YAML

    found = YAML(typ="safe").load(text)
    assert found["dependencies"] and found["channels"]
    return found


def read_csv(text: str) -> list[list[str]]:
    """Rows of one length, none of whose cells a spreadsheet takes for a formula."""
    rows = list(csv.reader(StringIO(text), strict=True))
    assert len({len(row) for row in rows}) == 1 and len(set(rows[0])) == len(rows[0])
    assert not (bad := [cell for row in rows for cell in row if cell.lstrip()[:1] in "=+@" and cell.strip()]), bad[:3]
    return rows


PARSERS = {
    "text": read_text, "json": read_json, "markdown": read_markdown, "html": read_html, "svg": read_svg,
    "sarif": read_sarif, "junit": read_junit, "github": read_github, "line": read_line,
    "prometheus": read_prometheus, "node-problem-detector": read_line, "requirements": read_requirements,
    "csv": read_csv, "pyproject": read_pyproject, "dockerfile": read_dockerfile, "environment-yml": read_conda, "edited": read_requirements,
}  # fmt: skip
