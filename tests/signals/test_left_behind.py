"""A signal at any command: two seconds later nothing of ours runs, not even a child inside a hung driver."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from ..proof.proving import environment, variables
from ..reaction import HANG_S, too_slow

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
COMMAND = str(Path(sys.executable).parent / "gpudoctor")
_HANGING_TORCH = "import time\ntime.sleep(600)\n"
_SLOW_PIP = """
import subprocess, sys, time
if "freeze" in sys.argv:
    raise SystemExit(0)
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
time.sleep(600)
"""


def marked(marks: Iterable[str]) -> dict[str, dict[int, str]]:
    """Of each mark, the living processes whose environment holds it, with their command lines."""
    found: dict[str, dict[int, str]] = {mark: {} for mark in marks}
    for entry in os.listdir("/proc"):
        try:
            variables = Path(f"/proc/{entry}/environ").read_bytes() if entry.isdigit() else b""
            for mark in found:
                if mark.encode() in variables:
                    words = Path(f"/proc/{entry}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                    if words:  # a zombie has none
                        found[mark][int(entry)] = words
        except OSError:
            continue
    return found


def _pip(folder: Path) -> Path:
    """An environment with the CPU build of torch by its metadata, and a pip that never ends."""
    prefix = environment(folder, "__version__ = '2.6.0+cpu'\n")
    site = next((prefix / "lib").glob("python3*")) / "site-packages"
    (site / "pip").mkdir()
    (site / "pip" / "__init__.py").write_text("")
    (site / "pip" / "__main__.py").write_text(_SLOW_PIP)
    for name, version in (("pip", "24.0"), ("torch", "2.6.0+cpu")):
        info = site / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (site / "torch" / "version.py").write_text("__version__ = '2.6.0+cpu'\ncuda = None\nhip = None\n")
    return prefix


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=SLOW), pytest.param(signal.SIGKILL, marks=SLOW)]
)
def test_nothing_is_left_behind(fakes: Path, tmp_path: Path, number: signal.Signals) -> None:
    hung = {
        name: variables(fakes, tmp_path / name, name) for name in ("nvml-hangs-init", "cuinit-hangs", "healthy-h100")
    }
    bare, slow = environment(tmp_path / "bare", None), environment(tmp_path / "slow", _HANGING_TORCH)
    pip = _pip(tmp_path / "pip")
    runs = {
        "check": ("nvml-hangs-init", ["check", "--no-import", "--python", str(bare)], 2),
        "check of libcuda": ("cuinit-hangs", ["check", "--no-import", "--python", str(bare)], 2),
        "check of torch": ("healthy-h100", ["check", "--python", str(slow)], 2),
        "healthcheck": ("nvml-hangs-init", ["healthcheck", "--python", str(bare)], 2),
        "record": ("cuinit-hangs", ["record", str(tmp_path / "record"), "--no-import", "--python", str(bare)], 2),
        "fix": ("cuinit-hangs", ["fix", "--python", str(bare), "--no-import"], 2),
        "fix --apply": ("healthy-h100", ["fix", "--apply", "--yes", "--no-import", "--python", str(pip)], 3),
        "prove": ("cuinit-hangs", ["prove", "--quick", "--python", str(bare)], 2),
        "watch": ("nvml-hangs-init", ["watch", "--", "sh", "-c", "exec sleep 600"], 3),
    }
    marks = {name: f"GPUDOCTOR_TEST_MARK=mark-{name}-{tmp_path}" for name in runs}

    def living() -> dict[str, dict[int, str]]:
        found = marked(marks.values())
        of_name = {name: found[mark] for name, mark in marks.items()}
        of_name["watch"] = {pid: words for pid, words in of_name["watch"].items() if not words.startswith("sleep")}
        return of_name

    started: dict[str, subprocess.Popen[bytes]] = {}
    faults = []
    for name, (machine, words, _) in runs.items():
        variable, _, mark = marks[name].partition("=")
        started[name] = subprocess.Popen(
            [COMMAND, words[0], *([] if name == "watch" else ["--timeout", "600"]), *words[1:]],
            env={**hung[machine], variable: mark},
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    try:
        until = time.monotonic() + HANG_S
        for name, child in started.items():
            mark = marks[name]
            while len(marked([mark])[mark]) < runs[name][2] and child.poll() is None and time.monotonic() < until:
                time.sleep(0.05)
            if child.poll() is not None:
                faults.append((name, "over before the signal", child.communicate()))
        time.sleep(1)
        for child in started.values():
            child.send_signal(number)
        late = too_slow(living)
        faults += [(name, "alive", rest) for name, rest in living().items() if name in late]
    finally:
        for child in started.values():
            child.kill()
        for rest in marked(marks.values()).values():
            for pid in rest:
                os.kill(pid, signal.SIGKILL)
        for child in started.values():
            child.communicate()
    assert not faults


_BEFORE_ANYBODY_WAITS = """
import signal, sys, time
from pathlib import Path
from doctor.commands.ended import ending_children
from doctor.probes.start import Options, Started

def words():
    return Path(sys.argv[2]).read_text().strip() if Path(sys.argv[2]).exists() else ""

with ending_children():
    Started(Options(python=sys.argv[1], ask_driver=False))
    while not words():
        time.sleep(0.01)
    signal.raise_signal(signal.SIGTERM)
"""


def test_a_run_that_nobody_waits_for_yet(tmp_path: Path) -> None:
    """A busy machine starts the patient's Python long before this process has imported what waits for it."""
    hanging, noted = tmp_path / "hanging" / "bin" / "python", tmp_path / "pid"
    hanging.parent.mkdir(parents=True)
    hanging.write_text(f"#!/bin/sh\necho $$ > '{noted}'; sleep 1000 & wait\n")
    hanging.chmod(0o755)
    (hanging.parent.parent / "pyvenv.cfg").write_text("home = /nowhere\n")
    words = [sys.executable, "-c", _BEFORE_ANYBODY_WAITS, str(hanging.parents[1]), str(noted)]
    done = subprocess.run(words, capture_output=True, timeout=HANG_S, check=False)
    assert done.returncode == -signal.SIGTERM and not done.stderr
    folder = Path("/proc") / noted.read_text().strip()

    def living() -> dict[str, str]:
        words = (folder / "cmdline").read_bytes() if folder.exists() else b""  # a zombie has none
        return {"python": str(words)} if words else {}

    assert not too_slow(living)
