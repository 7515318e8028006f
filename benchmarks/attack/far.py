"""The other end of `--target`: tools that answer for it with endless streams, wrong types and hostile values."""

from __future__ import annotations

import json
import shlex
from functools import partial
from typing import Any

from .engine import Attack
from .ground import Ground, hostile

_TARGETS = ("docker:web", "podman:web", "ssh:gpu1", "kubectl:team/pod")
_HELLO = json.dumps({"hello": [3, 11, 0]})
_LINES: tuple[dict[str, Any], ...] = (
    {"hello": [3, 11, 0]},
    {"old": "3.6"},
    {"file": {"at": "proc", "path": "/proc/version", "data": ""}},
    {"bye": True},
    {"agent": "nvml", "line": {"begin": "nvmlInit"}},
    {"agent": "cuda", "end": 0, "hung": False, "seconds": 0.1, "stderr": ""},
)
_STREAMS = (
    "exec yes '{\"x\": 1}'",
    'exec yes \'{"agent": "nvml", "line": {}}\'',
    "exec yes x >&2",
    "exec cat /dev/zero",
    "exec cat /dev/zero >&2",
    "head -c 200000 /dev/urandom",
    "printf '\\377\\376'",
    "exec sleep 600",
    "kill -9 $$",
    "exit 255",
    "yes '[],' | head -n 3000000 | tr -d '\\n'",
    "printf '%0200000d' 0 >&2; exit 1",
    "sleep 600 & exit 0",
    "exec <&-; sleep 600",
    "yes '{\"file\":' | head -n 100000 | tr -d '\\n'",
    "exec >&-; exec sleep 600",
)


def attacks(ground: Ground) -> list[Attack]:
    """Each stream from a drawn tool, before and after a greeting; each field of an answer with hostile values."""
    draw = ground.random("far")
    found = []
    for stream in _STREAMS:
        for before in ("", f"printf '%s\\n' {shlex.quote(_HELLO)}; "):
            found.append(_attack(draw.choice(_TARGETS), before + stream))
    for _ in range(60):
        line = dict(draw.choice(_LINES))
        line[draw.choice((*line, "seconds", "end", "agent", "file"))] = hostile(draw)
        rows = [_HELLO, json.dumps(line), *(['{"bye": true}'] if draw.random() < 0.5 else [])]
        found.append(_attack(draw.choice(_TARGETS), "".join(f"cat {n}; " for n in range(len(rows))), rows))
    return found


def _attack(target: str, script: str, rows: list[str] | None = None) -> Attack:
    words = ["check", "--target", target, "--timeout", "1"]
    shell = "ulimit -v 1500000; exec {it}"
    name = f"{target}: {(rows or ['', script])[1][:100]}"
    setup = partial(_tool, tool=target.partition(":")[0], script=script, rows=rows or [])
    return Attack(name, words, setup, shell=shell, report=None, deadline_s=150.0)


def _tool(attack: Attack, tool: str, script: str, rows: list[str]) -> None:
    folder = attack.folder / "bin"
    folder.mkdir()
    for number, row in enumerate(rows):
        (folder / str(number)).write_text(row + "\n")
    (folder / tool).write_text(f"#!/bin/sh\ncd {shlex.quote(str(folder))}\n{script}\n")
    (folder / tool).chmod(0o700)
    attack.env = {"PATH": f"{folder}:/usr/bin:/bin"}
