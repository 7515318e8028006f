"""The last lines of a report: they name commands that do what they are said to do."""

from __future__ import annotations

import re
from typing import Any

from msgspec.structs import replace

from doctor.commands.assess import assess
from doctor.findings import Expect, Policy
from doctor.judge.plan import plan
from doctor.report.again import again_flags
from doctor.report.ending import verdict
from doctor.report.lines import plain
from doctor.report.steps import plan_text
from doctor.report.terminal import Display
from doctor.snapshot import Snapshot, Target
from doctor.snapshot.measured import Measured, Watch

from ..cli.command import gpudoctor
from ..healthy import healthy
from ..judging import POLICY, matrix, report
from ..rows import for_each
from ..torches import no_kernel_image, with_torch


def two_causes() -> Snapshot:
    """A V100 with a torch that dropped it, in an environment that --python names."""
    sick = no_kernel_image(with_torch(healthy("v100"), "2.11.0", "cu130"))
    return sick.replace({"python.chosen_because": "--python /opt/my venv"})


def end(s: Snapshot, policy: Policy = POLICY) -> str:
    return " ".join(plain(verdict(report(s, policy), 400, 0), False).split())


def test_fix_is_named_with_the_flags_that_find_the_same() -> None:
    s = two_causes()
    assert "gpudoctor fix" not in end(s), "one step is all, and it stands there"
    told = end(s, replace(POLICY, require=("apex",), building=True))
    assert "All steps: gpudoctor fix --require apex --building --python '/opt/my venv'. Then check again" in told


def test_watch_does_not_send_into_its_own_usage_error() -> None:
    """A bare `gpudoctor watch` only says what it lacks; the machine's own faults show by `check`."""
    s = two_causes().with_(measured=Measured(level="watch", watch=Watch(program="python", seconds=5.0)))
    told = end(s)
    assert "Then check again: gpudoctor check" in told
    assert "gpudoctor fix" not in told, "it measures nothing, so it would not find what was watched"


ASKED: tuple[tuple[dict[str, Any], dict[str, Any], str], ...] = (
    ({"require": ("apex", "vllm")}, {}, "--require apex --require vllm"),
    ({"expect": Expect.parse("8xH100")}, {}, "--expect 8xH100"),
    ({"expect": Expect.parse("RTX 5090")}, {}, "--expect 'RTX 5090'"),
    ({"building": True}, {"target": Target(kind="root", name="/srv/a root")}, "--root '/srv/a root' --building"),
    ({}, {"target": Target(kind="docker", name="web")}, "--target docker:web"),
)


@for_each("asked, facts, flags", ASKED)
def test_who_looks_again_asks_the_same_of_the_same(asked: dict[str, Any], facts: dict[str, Any], flags: str) -> None:
    s = two_causes().with_(**facts)
    policy = replace(POLICY, **asked)
    command = f"gpudoctor check {flags} --python '/opt/my venv'"
    assert command in end(s, policy)
    assert again_flags(policy, s) in f" {command}"
    steps = plan_text(plan(s, matrix(), policy, "", assess), Display(width=100), command)
    last = [row for row in steps.splitlines() if "check again:" in row or "you have finished:" in row]
    assert last and all(row.endswith(f": {command}") for row in last)


def test_each_command_is_named_with_flags_that_it_knows() -> None:
    policy = replace(POLICY, require=("apex",), building=True, expect=Expect.parse("any"))
    for command in ("check", "fix", "prove", "watch"):
        known = {f"--{name}" for name in re.findall(r"--([a-z-]+)", gpudoctor(command, "--help").stdout.decode())}
        assert set(re.findall(r"--[a-z]+", again_flags(policy, two_causes(), command))) <= known, command
