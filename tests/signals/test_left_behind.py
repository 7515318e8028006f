"""A signal at any command: within two seconds nothing of ours runs, not even a child inside a hung driver."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ..proof.proving import environment, variables

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


def marked(mark: str) -> dict[int, str]:
    """Living processes whose environment holds the mark, with their command lines."""
    found = {}
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and mark.encode() in Path(f"/proc/{entry}/environ").read_bytes():
                words = Path(f"/proc/{entry}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                if words:  # a zombie has none
                    found[int(entry)] = words
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
    started: dict[str, subprocess.Popen[bytes]] = {}
    faults = []
    for name, (machine, words, _) in runs.items():
        env = {**hung[machine], "GPUDOCTOR_TEST_MARK": f"mark-{name}-{tmp_path}"}
        started[name] = subprocess.Popen(
            [COMMAND, words[0], *([] if name == "watch" else ["--timeout", "600"]), *words[1:]],
            env=env,
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    try:
        for name, child in started.items():
            until = time.monotonic() + 300
            while len(marked(f"mark-{name}-")) < runs[name][2] and child.poll() is None and time.monotonic() < until:
                time.sleep(0.05)
            if child.poll() is not None:
                faults.append((name, "over before the signal", child.communicate()))
        time.sleep(1)
        for child in started.values():
            child.send_signal(number)
        until = time.monotonic() + 300  # nothing here ends by itself before
        left: dict[str, dict[int, str]] = {}
        while time.monotonic() < until:
            left = {name: marked(f"mark-{name}-") for name in started}
            left["watch"] = {pid: words for pid, words in left["watch"].items() if not words.startswith("sleep")}
            if not any(left.values()):
                break
            time.sleep(0.1)
        faults += [(name, rest) for name, rest in left.items() if rest]
    finally:
        for name, child in started.items():
            child.kill()
            for pid in marked(f"mark-{name}-"):
                os.kill(pid, signal.SIGKILL)
            child.communicate()
    assert not faults
