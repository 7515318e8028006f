"""Commands in fixes examine what this run was asked to examine: the environment, the device and the soak."""

from __future__ import annotations

import shlex
from typing import Any

from doctor.fixes.speed import with_more_time
from doctor.judge.report import Report
from doctor.snapshot import Measured, Missing, PairProof, ProductProof, SoakPoint

from ..judging import report
from ..proof.stories import BOARDS, proven
from ..rows import Faults, for_each
from ..scenarios.steps import EXAMINES, broken_rules

B = BOARDS["a10"]
MEASURED: dict[str, dict[str, Any]] = {
    "between GPUs, after an export": {
        "pairs": (PairProof(source="cuda:0", target="cuda:1", right=False, peer_access=True),)
    },
    "through the host": {"pairs": (PairProof(source="cuda:0", target="cuda:1", right=False, peer_access=False),)},
    "not repeatable": {
        "products": (
            ProductProof(
                device="cuda:0", what="fp16", right=True, repeats=20, differing_repeats=2, differing_elements=9
            ),
        )
    },
}


def commands(judged: Report) -> list[str]:
    steps = [step for finding in judged.findings for fix in finding.fixes for step in fix.steps]
    return [step.command for step in steps if EXAMINES.search(step.command)]


def test_the_environment_that_was_named() -> None:
    with Faults() as found:
        for name, measured in MEASURED.items():
            machine = proven(B, **measured)
            plain = commands(report(machine))
            named = report(machine.replace({"python.chosen_because": "--python /opt/my env"}))
            with found.of(name):
                assert plain and not any("--python" in command for command in plain)
                assert len(commands(named)) == len(plain)
                assert all(
                    command.count("--python '/opt/my env'") == command.count("gpudoctor") for command in commands(named)
                )
                assert not [rule for rule in broken_rules(named, last_screen=False) if "another environment" in rule]


@for_each(
    ("measured", "words"),
    [
        (Measured(level="standard", device="cuda", timeout_s=240.0), ["--timeout", "600"]),
        (Measured(level="quick", device="cpu", timeout_s=400.0), ["--quick", "--device", "cpu", "--timeout", "800"]),
        (
            Measured(level="full", device="cuda:1,3", timeout_s=Missing("not-asked")),
            ["--full", "--device", "cuda:1,3", "--timeout", "600"],
        ),
        (
            Measured(
                level="quick",
                device="cuda:1",
                timeout_s=720.0,
                soak=tuple(
                    SoakPoint(device="cuda:1", what="fp16", at_s=at, seconds=10.0, rate=1.0) for at in (0.0, 290.0)
                ),
            ),
            ["--quick", "--device", "cuda:1", "--soak", "300", "--timeout", "1440"],
        ),
    ],
)
def test_more_time_for_the_same_proof(measured: Measured, words: list[str]) -> None:
    (step,) = with_more_time(measured).steps
    assert shlex.split(step.command) == ["gpudoctor", "prove", *words]
