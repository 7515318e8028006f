"""Completion in real shells, `help` and `version`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ..cli.command import COMMAND, gpudoctor, one_line
from ..rows import Faults

OFFERED = (
    ("gpudoctor che", "check"),
    ("gpudoctor li", "lint"),
    ("gpudoctor diag", "diagnose"),
    ("gpudoctor lint --form", "--format"),
    ("gpudoctor install --gpu rtx-509", "RTX-5090"),
    ("gpudoctor doctor --only gpu-fell", "gpu-fell-off-bus"),
    ("gpudoctor matrix que", "query"),
    ("gpudoctor check --form", "--format"),
    ("gpudoctor check --format mark", "markdown"),
    ("gpudoctor check --only gpu-fell", "gpu-fell-off-bus"),
    ("gpudoctor explain torch-lacks-n", "torch-lacks-new-gpu-sm"),
    ("gpudoctor resolve --gpu rtx-509", "RTX-5090"),
    ("gpudoctor print slurm-p", "slurm-prolog"),
    ("gpudoctor check --from repo", "report.json"),
)
"""What is typed before the tab, and what stands there after it."""
BASH = """
eval "$(gpudoctor completion bash)"
COMP_WORDS=({line}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 )); COMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}
handler=$(complete -p gpudoctor | sed 's/.*-F \\([^ ]*\\).*/\\1/')
$handler gpudoctor "${{COMP_WORDS[COMP_CWORD]}}" 2>/dev/null
printf '%s\\n' "${{COMPREPLY[@]}}" $(compgen -f -- "${{COMP_WORDS[COMP_CWORD]}}")
"""
ZSH = """
import pty, os, sys, time, select
pid, fd = pty.fork()
if pid == 0:
    os.execvp("zsh", ["zsh", "-f", "-i"])
def read(until, seconds):
    out, end = "", time.time() + seconds
    while time.time() < end and until not in out:
        if select.select([fd], [], [], 0.1)[0]:
            out += os.read(fd, 65536).decode("utf-8", "replace")
    return out
os.write(fd, b"PS1='ready> '; unsetopt PROMPT_SP; autoload -U compinit; compinit -u -D; eval \\"$(gpudoctor completion zsh)\\"; print do''ne\\n")
read("done", 60)
os.write(fd, sys.argv[1].encode() + b"\\t")
out = read(sys.argv[2], 60)
os.write(fd, b"\\x03exit\\n")
sys.exit(0 if sys.argv[2] in out else repr(out[-600:]))
"""


def _env() -> dict[str, str]:
    return {**os.environ, "PATH": f"{COMMAND.parent}:{os.environ['PATH']}", "TERM": "dumb"}


@pytest.mark.slow
def test_in_bash(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text("{}")
    with Faults() as faults:
        for line, wanted in OFFERED:
            with faults.of(line):
                command = ["bash", "--norc", "-c", BASH.format(line=line)]
                done = subprocess.run(command, cwd=tmp_path, env=_env(), capture_output=True, text=True, check=False)
                assert wanted in done.stdout.split(), done


@pytest.mark.zsh
def test_in_zsh(tmp_path: Path) -> None:
    """Typed on a terminal, with a real tab."""
    (tmp_path / "report.json").write_text("{}")
    script = tmp_path / "type.py"
    script.write_text(ZSH)
    with Faults() as faults:
        for line, wanted in OFFERED:
            with faults.of(line):
                command = ["python3", str(script), line, wanted]
                done = subprocess.run(command, cwd=tmp_path, env=_env(), capture_output=True, text=True, check=False)
                assert done.returncode == 0, done.stderr


@pytest.mark.fish
def test_in_fish(tmp_path: Path) -> None:
    """What fish itself says it would offer at a tab."""
    (tmp_path / "report.json").write_text("{}")
    (tmp_path / "gpudoctor.fish").write_bytes(gpudoctor("completion", "fish").stdout)
    with Faults() as faults:
        for line, wanted in OFFERED:
            with faults.of(line):
                command = ["fish", "--no-config", "-c", f"source gpudoctor.fish; complete --do-complete '{line}'"]
                done = subprocess.run(command, cwd=tmp_path, env=_env(), capture_output=True, text=True, check=False)
                assert wanted in [row.split("\t")[0] for row in done.stdout.splitlines()], done


def test_for_no_shell() -> None:
    assert "'tcsh' is not one of" in one_line(gpudoctor("completion", "tcsh"))


def test_help_and_version() -> None:
    for words in (["check"], ["matrix", "query"], ["print"]):
        assert gpudoctor("help", *words).stdout == gpudoctor(*words, "--help").stdout != b""
    assert gpudoctor("help").stdout.startswith(b"Usage: gpudoctor [OPTIONS] COMMAND")
    assert "no such command 'chek'; did you mean check" in one_line(gpudoctor("help", "chek"))
    assert gpudoctor("version").stdout.startswith(b"gpudoctor 0.")
    assert b", matrix 20" in gpudoctor("version").stdout
