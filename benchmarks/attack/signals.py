"""Signals at several moments of the commands that start children: two seconds later nothing of ours runs."""

from __future__ import annotations

import signal

from tests.proof.proving import environment
from tests.signals.test_left_behind import _HANGING_TORCH, _pip

from .engine import Attack
from .ground import Ground

_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGQUIT)
_MOMENTS = (0.0, 0.05, 0.08, 0.12, 0.2, 0.4, 1.2, 2.5)
_EVEN = 3
"""One in so many of all combinations is tried, in turn."""


def attacks(ground: Ground) -> list[Attack]:
    """Commands in hung driver calls, hung imports, a slow pip and a watched program."""
    if ground.fakes is None:
        return []
    hung = {
        name: ground.machine(ground.folder("machine"), name)
        for name in ("nvml-hangs-init", "cuinit-hangs", "healthy-h100")
    }
    slow = environment(ground.folder("slow"), _HANGING_TORCH)
    pip = _pip(ground.folder("pip"))
    bare = str(ground.bare)
    commands = (
        ("nvml-hangs-init", ["check", "--no-import", "--python", bare]),
        ("cuinit-hangs", ["check", "--no-import", "--format", "json", "-o", "out.json", "--python", bare]),
        ("healthy-h100", ["check", "--python", str(slow)]),
        ("nvml-hangs-init", ["healthcheck", "--python", bare]),
        ("healthy-h100", ["healthcheck", "--python", str(slow)]),
        ("cuinit-hangs", ["record", "out", "--no-import", "--python", bare]),
        ("cuinit-hangs", ["fix", "--python", bare, "--no-import"]),
        ("healthy-h100", ["fix", "--apply", "--yes", "--no-import", "--python", str(pip)]),
        ("cuinit-hangs", ["prove", "--quick", "--python", bare]),
        ("healthy-h100", ["prove", "--quick", "--python", str(slow)]),
        ("nvml-hangs-init", ["watch", "--", "sh", "-c", "exec sleep 5"]),
        ("healthy-h100", ["watch", "-o", "out.json", "--format", "json", "--", "sh", "-c", "exec sleep 5"]),
    )
    found, turn = [], 0
    for machine, words in commands:
        for number in _SIGNALS:
            for moment in _MOMENTS:
                turn += 1
                if turn % _EVEN == 0:
                    env = {"LD_LIBRARY_PATH": "", **hung[machine]}
                    found.append(_attack(words, number, moment, env))
    return found


def _attack(words: list[str], number: signal.Signals, moment: float, env: dict[str, str]) -> Attack:
    ended = {-number.value, 128 + number.value, 130, 0, 1, 2, 3}
    if words[0] == "healthcheck" and number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        ended -= {2, 3}
    return Attack(
        f"{number.name} to {' '.join(words[:3])} after {moment:g} s",
        words,
        env=env,
        codes=frozenset(ended),
        report=None,
        deadline_s=30,  # an interrupted watch still looks at the machine
        signal=(number, moment),
        spare="sleep 5",
    )
