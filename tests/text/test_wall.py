"""The wall: what a text says is judged in doctor/text alone, and the judge sees no difference to a machine."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.verdicts import texts
from doctor.commands.assess import known_ids
from doctor.judge import judge
from doctor.snapshot import Target
from doctor.text import read
from doctor.text.messages import catalogue

from ..judging import POLICY, matrix

ROOT = Path(__file__).parents[2]
ROOMS = ("checks", "fixes", "judge", "findings")
HOMONYMS = {"nvrtc-builtins", "link-libcuda"}
"""A library and a fix that are called as a message is."""
EVERY = 4


def trees() -> Iterator[tuple[str, ast.Module]]:
    for room in ROOMS:
        for path in sorted((ROOT / "doctor" / room).rglob("*.py")):
            yield str(path.relative_to(ROOT)), ast.parse(path.read_text("utf-8"))


@pytest.mark.slow
def test_no_rule_reads_where_a_snapshot_came_from_or_what_a_text_says() -> None:
    found = [
        f"{path}:{node.lineno} reads {ast.unparse(node)}"
        for path, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and (node.attr == "symptoms" or (node.attr == "target" and ast.unparse(node.value) in ("s", "snapshot")))
    ]
    assert [row.partition(":")[0] for row in found] == ["doctor/judge/judge.py"], found  # the report names the place


def test_a_renderer_knows_of_a_text_by_the_report_s_own_field() -> None:
    """A name that a Snapshot has for texts alone, or the kind of a target, is read by no renderer."""
    found = []
    for path in sorted((ROOT / "doctor" / "report").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr == "symptoms":
                found.append(f"{path.name}:{node.lineno} reads symptoms")
            if isinstance(node, ast.Compare) and "target.kind" in ast.unparse(node.left):
                found += [
                    f"{path.name}:{node.lineno} asks for a text" for x in node.comparators if "text" in ast.unparse(x)
                ]
    assert not found


@pytest.mark.slow
def test_no_message_is_named_outside_the_room_of_texts() -> None:
    names = {message.id for message in catalogue()} - set(known_ids()) - HOMONYMS
    found = [
        f"{path}:{node.lineno} names {node.value}"
        for path, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in names
    ]
    assert not found


@pytest.mark.slow
def test_the_judge_sees_no_difference_between_a_text_and_a_machine() -> None:
    different = []
    for name, text in list(texts())[::EVERY]:
        s = read(text)
        one, other = (judge(x, matrix(), POLICY) for x in (s, s.replace({"target": Target(kind="live")})))
        if [(c.id, c.status) for c in one.checks] != [(c.id, c.status) for c in other.checks]:
            different.append(name)
    assert not different
