"""Golden screens: what a user sees of `gpudoctor check` in a terminal of 80x24. `python -m tests.screens.take` writes them.

Each file holds the first screen (as with `| head -24`) and the last one (a row is left for the prompt).
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

from tests.fakes import build_fakes
from tests.scenarios import take
from tests.scenarios.torch_build import Workshop

HERE = Path(__file__).parent
COLUMNS, ROWS = 80, 24
PROMPT = "$"
RULE = "=" * COLUMNS
SCREENS = {
    "rtx5090-cu124": "an RTX 5090 with a torch from before Blackwell",
    "docker-without-gpus": "a container that was started without the driver",
    "h100-cpu-torch": "the CPU build of torch beside an H100",
    "gpu-lost": "one of two GPUs is lost",
    "expect-8xh200": "eight healthy H200",
}
"""Scenario to what it is."""


def screens(name: str, folder: Path, fakes: Path, workshop: Workshop) -> str:
    """The golden text of one scenario: laid out, looked at, and judged by the real command in a terminal."""
    scenario = take.load(name)
    recording = take.record(scenario, folder / name, fakes, workshop)
    rows = in_terminal("check", "--replay", str(recording), *scenario.check)
    first, last = rows[:ROWS], [*rows[-(ROWS - 1) :], PROMPT]
    return "\n".join([f"{name}: {SCREENS[name]}", RULE, *first, RULE, *last, RULE]) + "\n"


def parts(golden: str) -> tuple[str, str]:
    """First and last screen of a golden text."""
    _, first, last, _ = golden.split(RULE + "\n")
    return first, last


def in_terminal(*words: str) -> list[str]:
    """The rows of a terminal of 80 columns after the command; longer lines go on in the next row, as terminals do."""
    control, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    env |= {"TERM": "xterm-256color", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    child = subprocess.Popen(
        [sys.executable, "-m", "doctor", *words],
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=subprocess.DEVNULL,
        env=env,
    )
    os.close(terminal)
    said = b""
    while True:
        try:
            part = os.read(control, 65536)
        except OSError:
            break
        if not part:
            break
        said += part
    os.close(control)
    child.wait(120)
    text = re.sub(r"gpudoctor \S+ · matrix \S+", "gpudoctor VERSION · matrix DATE", said.decode("utf-8"))
    text = re.sub(r"\d+ (?=passed|skipped|unknown|checks wait)", "N ", text)  # a new check changes them
    return [row.rstrip() for line in text.replace("\r", "").splitlines() for row in _folded(line)]


def _folded(line: str) -> list[str]:
    return [line[start : start + COLUMNS] for start in range(0, len(line), COLUMNS)] or [""]


def main() -> None:
    """Write all golden files anew."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        fakes, workshop = build_fakes(folder / "fakes"), Workshop(folder / "workshop")
        for name in SCREENS:
            (HERE / f"{name}.txt").write_text(screens(name, folder, fakes, workshop), "utf-8")


if __name__ == "__main__":
    main()
