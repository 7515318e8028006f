"""The time for a proof is the documented one, or --timeout's: no agent has a smaller one of its own."""

from __future__ import annotations

import sys

import pytest

from doctor.proof.plan import SPEED, TOTAL_S, TRAINING, Level, Plan
from doctor.proof.run import prove

PROVEN = "import json; print(json.dumps({'torch_proof': {'device': 'cpu', 'right': True}}))"
ARGUMENTS = "import json, sys; print(json.dumps({'arguments': sys.argv[1:]}))"
START_S = 10.0
"""Kept for the start of each agent."""


def given(level: Level, total_s: float) -> dict[str, float]:
    """The seconds that each agent got of a machine on which nothing takes any time."""
    scripts = {"torch_proof": PROVEN, "torch_speed": ARGUMENTS, "training_speed": ARGUMENTS}
    commands = {name: [sys.executable, "-I", "-S", "-c", script] for name, script in scripts.items()}
    found = prove(Plan(level=level, device="cpu", total_s=total_s, commands=commands))
    words = {name: found[name][0].lines[-1]["arguments"] for name in scripts if name in found and name != "torch_proof"}
    return {name: float(argv[argv.index("--seconds") + 1]) for name, argv in words.items()}


@pytest.mark.parametrize("level", ["quick", "standard", "full"])
@pytest.mark.parametrize("more_s", [0.0, 500.0])
def test_a_slow_machine_may_take_all_of_it(level: Level, more_s: float) -> None:
    total_s = TOTAL_S[level] + more_s
    seconds = given(level, total_s)
    later_s = TRAINING[level][1] + START_S if level in TRAINING else 0.0
    assert total_s - later_s - 2 * START_S <= seconds["torch_speed"] <= total_s - later_s
    if level in TRAINING:
        assert total_s - 2 * START_S <= seconds["training_speed"] <= total_s


def test_a_short_time_is_shared_out() -> None:
    assert SPEED["full"][1] > 60  # less than it takes
    assert 40 <= given("full", 60.0)["torch_speed"] <= 60
