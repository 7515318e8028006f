"""What attacks start from: a report and a recording of a healthy machine, fake driver libraries, environments."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cli.command import save
from tests.fakes import build_fakes
from tests.healthy import healthy
from tests.proof.proving import environment, variables
from tests.sickness import not_loaded

from .engine import COMMAND

STRINGS = (
    "", " ", "\0", "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\r\x1b[2Kgpudoctor: healthy", "\u202eevil",
    "\u2066a\u2069",    "\x9b31m", "\u0085", "\u2028", "\ud7ff\uffff", "\u200b", "a" * 100_000, "$(touch $TRAP)",
    "`touch $TRAP`",
    "'; touch $TRAP #", '"; touch $TRAP #', "\ntouch $TRAP\n", "| touch $TRAP", "&& touch $TRAP", "--no-redact",
    "../../../../etc/passwd", "/dev/zero", "%s%n%x", "{0.__class__}", "{{7*7}}", "<script>alert(1)</script>", "1e999",
    "-1", "9" * 400, "NaN", "0x10", "٣.٤", "Ⅷ", "12.8" * 500, "3.11\n3.12", "GPU-" * 3000, ",".join("0123456789" * 50),
)  # fmt: skip
"""Values for anything that should have been a short, plain text."""
NUMBERS: tuple[Any, ...] = (
    0, -1, 1, 2**31, 2**53 + 1, 2**63, 2**64, 2**100, 10**400, -(2**63) - 1, 0.0, -0.5, 1e308, 1e-320, True, False,
)  # fmt: skip
OTHERS: tuple[Any, ...] = (
    None, [], {}, [[]], [None], {"a": {}}, {"missing": "absent"}, {"missing": "nonsense"}, {"missing": None},
    {"missing": "error", "detail": "\x1b[31m$(touch $TRAP)\u202e"}, [1] * 5000, ["\x1b[2J"] * 50,
)  # fmt: skip


def hostile(draw: random.Random) -> Any:
    """A value that nobody expects."""
    return draw.choice(draw.choice((STRINGS, NUMBERS, OTHERS)))


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The ways to every value in a tree of JSON values, the containers among them."""
    found: list[tuple[Any, ...]] = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        found += leaves(item, (*path, key))
    return found


def planted(value: Any, path: tuple[Any, ...], leaf: Any) -> Any:
    """A copy of the tree with another value at a place."""
    if not path:
        return leaf
    if isinstance(value, dict):
        return {key: planted(item, path[1:], leaf) if key == path[0] else item for key, item in value.items()}
    if isinstance(value, list):
        return [planted(item, path[1:], leaf) if at == path[0] else item for at, item in enumerate(value)]
    return value


@dataclass
class Ground:
    """`scratch` is emptied by its owner; `fakes` is None without a C compiler."""

    scratch: Path
    seed: int
    fakes: Path | None
    report: bytes
    sick: bytes
    recording: Path
    bare: Path
    torch: Path

    def folder(self, name: str) -> Path:
        """A new, empty folder."""
        return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.scratch))

    def machine(self, folder: Path, name: str, driver: dict[str, str] | None = None) -> dict[str, str]:
        """Variables of a run on this machine of the fake driver, installed below a folder."""
        assert self.fakes
        return variables(self.fakes, folder, name, driver)

    def random(self, name: str) -> random.Random:
        """Chances of one attack alone: the same whichever others are tried."""
        return random.Random(f"{self.seed} {name}")


def prepare(scratch: Path, seed: int) -> Ground:
    """Reports, a recording and environments in a scratch folder."""
    fakes = build_fakes(scratch / "fakes") if shutil.which("gcc") else None
    report = save(scratch, healthy(container=True)).read_bytes()
    sick = save(scratch, not_loaded(healthy())).read_bytes()
    bare, torch = environment(_made(scratch / "bare"), None), environment(_made(scratch / "torch"))
    env = variables(fakes, scratch / "driver") if fakes else dict(os.environ)
    recording = scratch / "recording"
    words = [COMMAND, "record", str(recording), "--python", str(torch)]
    subprocess.run(words, env=env, check=True, capture_output=True)
    return Ground(scratch, seed, fakes, report, sick, recording, bare, torch)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def tree(report: bytes) -> dict[str, Any]:
    """A report as JSON values."""
    found: dict[str, Any] = json.loads(report)
    return found
