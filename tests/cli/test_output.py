"""Where the report goes, and what happens when it cannot go there."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path

from ..checks.test_no_nvidia_gpu import without_gpu
from ..healthy import healthy
from .command import COMMAND, gpudoctor, one_line, save


def test_output_replaces_a_file_as_a_whole(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    target.write_text("x" * 1_000_000)
    done = gpudoctor("check", "--from", save(tmp_path, healthy()), "--format", "json", "--output", target)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert json.loads(target.read_bytes())["verdict"] == "pass"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.json", "report.json"]


def test_a_folder_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    one_line(gpudoctor("check", "--from", save(tmp_path, healthy()), "-o", tmp_path / "no" / "out.json"))


def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [str(COMMAND), "check", "--from", str(save(tmp_path, healthy()))],
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1 and b"Traceback" not in done.stderr


def test_a_reader_that_goes_away_is_met_with_silence(tmp_path: Path) -> None:
    path = save(tmp_path, without_gpu(healthy()))
    for form in ("text", "json"):
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run(
            [str(COMMAND), "check", "--from", str(path), "--format", form],
            stdout=write,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
        os.close(write)
        assert done.stderr == b""


def test_no_colour_and_no_progress_outside_of_a_terminal(tmp_path: Path) -> None:
    done = gpudoctor("check", "--from", save(tmp_path, without_gpu(healthy())))
    assert b"\x1b" not in done.stdout + done.stderr


def on_a_terminal(*arguments: str | Path, **env: str) -> bytes:
    """What the command writes where stdout and stderr are a terminal."""
    control, terminal = pty.openpty()
    variables = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS")}
    child = subprocess.Popen(
        [str(COMMAND), *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=terminal,
        env={**variables, "TERM": "xterm-256color", **env},
    )
    os.close(terminal)
    parts = []
    while True:
        try:
            part = os.read(control, 65536)
        except OSError:
            break
        if not part:
            break
        parts.append(part)
    os.close(control)
    child.wait(60)
    return b"".join(parts)


def test_colour_on_a_terminal_unless_it_is_not_wanted(tmp_path: Path) -> None:
    path = save(tmp_path, without_gpu(healthy()))
    assert b"\x1b[" in on_a_terminal("check", "--from", path)
    assert b"\x1b[" not in on_a_terminal("check", "--from", path, "--no-color")
    assert b"\x1b[" not in on_a_terminal("check", "--from", path, NO_COLOR="1")
    assert b"\x1b[" not in on_a_terminal("check", "--from", path, TERM="dumb")


def test_a_live_line_while_looking_at_this_machine() -> None:
    seen = on_a_terminal("check", "--no-import", "--expect", "any", "--format", "json")
    assert b"gpudoctor: examining " in seen
    assert seen.index(b"gpudoctor: examining ") < seen.index(b"schema_version")
