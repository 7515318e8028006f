"""One attack on the real command in real processes, and what has to be true of it to count as survived."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

COMMAND = str(Path(sys.executable).parent / "gpudoctor")
MARK, TRAP = "GPUDOCTOR_ATTACK", "TRAP"
CODES = frozenset({0, 1, 2, 3})
_OURS_RUNS = re.compile(
    r'doctor/[a-z_/]+\.py", line|compat_matrix/|bin/gpudoctor", line \d+.*\n +(?!import |from |File )\S'
)
"""Of a traceback: a line of our own code, or a line of the script that is not one of its imports."""
GONE_S = 2.0
"""How long after its end something of ours may still run."""
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
"""Control and bidirectional characters: none may reach a terminal."""


@dataclass
class Attack:
    """`words` follow `gpudoctor`, run in a new `folder` that `setup` fills (it may change the attack, its name too).

    shell: a line of bash with `{it}` where the command goes; codes: allowed exit codes; report: whether stdout must
    hold one (False: it may; None: nothing is asked of stdout); never: texts that no output may hold; deadline_s: wall
    seconds on a busy machine; after: what else went wrong; signal: send this one so many seconds after the
    start.
    """

    name: str
    words: list[str]
    setup: Callable[[Attack], object] = lambda attack: None
    folder: Path = Path("/nowhere")
    env: dict[str, str] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    data: bytes = b""
    shell: str = ""
    codes: frozenset[int] = CODES
    report: bool | None = True
    never: tuple[str, ...] = ()
    deadline_s: float = 60.0
    after: Callable[[Attack], str] | None = None
    signal: tuple[signal.Signals, float] | None = None
    spare: str = ""
    """A process with these words in its command line is not ours (what `watch` runs)."""


@dataclass
class Ended:
    code: int | None
    out: bytes
    err: bytes
    seconds: float


def carry_out(attack: Attack, scratch: Path, number: int) -> list[str]:
    """Run it in a folder of its own; the reasons why it did not survive, none where it did."""
    attack.folder = scratch / f"attack-{number}" / "here"
    attack.folder.mkdir(parents=True)
    try:
        attack.setup(attack)
        return _carry_out(attack, f"attack-{os.getpid()}-{number}-")
    finally:
        shutil.rmtree(attack.folder.parent, ignore_errors=True)


def _carry_out(attack: Attack, mark: str) -> list[str]:
    trap = attack.folder.parent / "trap"
    env = {k: v for k, v in {**os.environ, **attack.env}.items() if k not in (*attack.without, *_OURS)}
    env |= {MARK: mark, TRAP: str(trap)}
    words = [COMMAND, *attack.words]
    if attack.shell:
        quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
        words = ["/bin/bash", "-c", attack.shell.replace("{it}", quoted)]
    try:
        ended = _run(attack, words, env)
        faults = [*judged(attack, ended), *_left(mark, attack.spare)]
    finally:
        for pid in living(mark):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
    if trap.exists():
        faults.append(f"executed: {trap.read_text()[:200]!r}")
    said = attack.after(attack) if attack.after and ended.code is not None else ""
    return [*faults, said] if said else faults


_OURS = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "GPUDOCTOR_TRACEBACK", "PYTHONPATH")


def _run(attack: Attack, words: list[str], env: dict[str, str]) -> Ended:
    if any("ulimit -f" in word for word in words):  # Python would keep compiled files that were cut short
        env = {**env, "PYTHONDONTWRITEBYTECODE": "1"}
    began = time.monotonic()
    child = subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
        cwd=attack.folder,
        start_new_session=True,
    )
    try:
        if attack.signal:
            number, after_s = attack.signal
            time.sleep(after_s)
            child.send_signal(number)
        out, err = child.communicate(attack.data, timeout=attack.deadline_s)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        return Ended(None, b"", b"", time.monotonic() - began)
    return Ended(child.returncode, out, err, time.monotonic() - began)


def judged(attack: Attack, ended: Ended) -> list[str]:
    """What its exit code and its words show."""
    if ended.code is None:
        return [f"no end within {attack.deadline_s:.0f} s"]
    faults = []
    err = ended.err.decode("utf-8", "replace")
    if ended.code not in attack.codes:
        faults.append(f"exit {ended.code}: {err[-300:]!r}")
    startup = attack.signal is not None and not _OURS_RUNS.search(err)  # Python itself was not up yet
    if ("Traceback (most recent" in err and not startup) or "internal error" in err or "Fatal Python error" in err:
        faults.append(f"stderr: {err[-300:]!r}")
    if hidden := _HIDDEN.search(err):
        faults.append(f"stderr has the character {hidden.group()!r}")
    out = ended.out.decode("utf-8", "replace")
    faults += [f"an output has {text!r}" for text in attack.never if text in out + err]
    if attack.report is None:
        return faults
    if ended.code == 2 and attack.report is not None and (ended.out or err.count("\n") != 1):
        faults.append(f"a refusal is one line on stderr: {out[:100]!r} {err[:300]!r}")
    if ended.code != 2 and attack.report and not out.strip() and ended.code in CODES:
        faults.append(f"exit {ended.code} without a report: {err[:300]!r}")
    if hidden := _HIDDEN.search(out):
        faults.append(f"stdout has the character {hidden.group()!r}")
    if "json" in attack.words and ended.code != 2 and out:
        try:
            json.loads(out)
        except ValueError as error:
            faults.append(f"stdout is no JSON: {error}")
    if attack.words[:1] == ["healthcheck"] and ended.code != 2:
        lines = out + err
        if lines.count("\n") != 1 or (len(lines) > 81 and not err):
            faults.append(f"a healthcheck is one line: {lines[:300]!r}")
    return faults


def _left(mark: str, spare: str) -> Iterator[str]:
    """What still runs two seconds after the end."""
    until = time.monotonic() + GONE_S
    while (left := living(mark, spare)) and time.monotonic() < until:
        time.sleep(0.05)
    if left:
        yield f"still running: {sorted(left.values())}"


def living(mark: str, spare: str = "") -> dict[int, str]:
    """Living processes with this mark in their environment, and their command lines."""
    found = {}
    for entry in sorted(path.name for path in Path("/proc").iterdir()):
        try:
            if entry.isdigit() and mark.encode() in Path(f"/proc/{entry}/environ").read_bytes():
                words = Path(f"/proc/{entry}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                if words and not (spare and spare in words):  # a zombie has none
                    found[int(entry)] = words
        except OSError:
            continue
    return found
