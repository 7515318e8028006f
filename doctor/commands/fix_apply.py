"""Run a plan's steps in the patient's Python environment, and save what is needed to restore it.

Only pip, uv and conda commands that name the patient's environment are run; never a shell, never as another user.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable

import click

from ..findings import Step
from ..fixes.interpreter import tool_of, without_pip
from ..judge.plan import Plan
from ..snapshot import Snapshot, known
from ..snapshot.mask_secrets import mask_secrets
from ..targets.environment import EMPTY, absolute, current_folder
from .ended import Ended
from .tied import run_tied
from .write import echo

_STEP_DEADLINE_S = 3600


def environment_steps(plan: Plan, only: str = "") -> list[Step]:
    """The steps that --apply runs, in the plan's order: those for failures, and for the check that was named.

    A fix with any step outside the environment is left to the user, and so is every fix that depends on it: no CUDA
    build is installed on a machine without a GPU.
    """
    steps: list[Step] = []
    left: set[str] = set()
    for planned in plan.fixes:
        own = [step for step in planned.fix.steps if step.command]
        wanted = planned.finding.status == "fail" or bool(only)
        here = all(s.where == "environment" and s.possible_here and not s.needs_root for s in own)
        here = here and not any("|" in words for s in own for words in commands_of(s))  # to get uv takes a shell
        here = here and wanted and bool(own)
        if here and not left.intersection(planned.waits_for):
            steps += own
        else:
            left.add(planned.finding.id)
    return steps


def apply_plan(
    plan: Plan, snapshot: Snapshot, restore_file: str | None, only: str = "", shown: Callable[[str], str] = mask_secrets
) -> str:
    """Write the restore file, then run the steps; returns the restore file's path. ClickException if one fails.

    shown: a command as it may appear on stderr, which may be a file.
    """
    python = known(snapshot.python.patient.executable)
    if not python:
        raise click.ClickException("the interpreter of this Python environment is unknown: set it with --python")
    steps = environment_steps(plan, only)
    path = os.path.abspath(restore_file or f"gpudoctor-restore-{time.strftime('%Y%m%d-%H%M%S')}.txt")  # noqa: PTH100
    before = _installed(snapshot, python, shown)
    _write_restore(path, snapshot, python, before)
    for number, step in enumerate(steps, 1):
        echo(f"[{number}/{len(steps)}] {shown(step.command)}", err=True)
        _run(step, path, shown)
    added = sorted(set(_names(_installed(snapshot, python, shown, after=True))) - set(_names(before)))
    if added:
        with open(path, "a", encoding="utf-8") as stream:
            uninstall = f"{_pip(snapshot, python, 'uninstall', '-y')} {shlex.join(added)}"
            stream.write(f"# Installed since then; remove first:\n#   {uninstall}\n")
    return path


def _run(step: Step, restore: str, shown: Callable[[str], str]) -> None:
    for words in commands_of(step):
        _one(words, restore, shown)


def commands_of(step: Step) -> list[list[str]]:
    """The words of each of a step's commands: a path that contains `&&` is one quoted word and remains one."""
    lexer = shlex.shlex(step.command, posix=True, punctuation_chars="&|;<>")
    lexer.whitespace_split, lexer.commenters = True, ""
    commands: list[list[str]] = [[]]
    for word in lexer:
        if word == "&&":
            commands.append([])
        else:
            commands[-1].append(word)
    return commands


def _one(words: list[str], restore: str, shown: Callable[[str], str]) -> None:
    command = shown(shlex.join(words))
    argv = [os.path.expanduser(word) for word in words]  # noqa: PTH111
    variables: dict[str, str] = {}
    while argv and (found := re.fullmatch(r"([A-Z][A-Z0-9_]*)=(.*)", argv[0], re.DOTALL)):
        variables[found[1]] = found[2]
        argv = argv[1:]
    if "/" not in argv[0] and shutil.which(argv[0]) is None:
        raise click.ClickException(f"cannot run {argv[0]}: it is not on PATH (restore file: {restore})")
    try:
        # Output of the installer is progress: stdout is the report's.
        code = run_tied(argv, _STEP_DEADLINE_S, sys.stderr.fileno(), variables)
    except subprocess.TimeoutExpired:
        raise click.ClickException(f"did not finish within an hour: {command} (restore file: {restore})") from None
    except OSError as error:
        raise click.ClickException(f"cannot run {argv[0]}: {error.strerror} (restore file: {restore})") from None
    except Ended as ended:
        echo(f"gpudoctor: stopped during: {command} (restore file: {restore})", err=True)
        raise ended
    if code:
        raise click.ClickException(f"exit code {code}: {command} (restore file: {restore})")


def _pip(snapshot: Snapshot, python: str, *words: str) -> str:
    if without_pip(snapshot) and tool_of(snapshot) == "uv":
        rest = [word for word in words[1:] if word != "-y"]
        return shlex.join(["uv", "pip", words[0], "--python", python, *rest])
    return shlex.join([python, "-m", "pip", *words])


def _installed(snapshot: Snapshot, python: str, shown: Callable[[str], str], after: bool = False) -> list[str]:
    """Lines of `pip freeze`, without pip itself. `after`: the steps have run, including one that installs pip."""
    found = known(snapshot.python.distributions)
    if not after and found is not None and without_pip(snapshot) and tool_of(snapshot) == "pip":
        return sorted(f"{d.name}=={d.version}" for d in found)  # neither pip nor uv is available yet
    command = shlex.split(_pip(snapshot, python, "freeze"))
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=120,
            stdin=subprocess.DEVNULL,
            cwd=EMPTY,
            env=absolute(os.environ, current_folder()),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise click.ClickException(
            f"cannot list the installed packages: {shown(shlex.join(command))}: {error}"
        ) from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise click.ClickException(
            f"cannot list the installed packages: {shown(shlex.join(command))}: {mask_secrets(last)}"
        )
    return [line for line in done.stdout.splitlines() if line.strip() and not line.startswith("#")]


def _names(lines: list[str]) -> list[str]:
    names = (line.partition("==")[0].partition(" @ ")[0].strip() for line in lines)
    return [name for name in names if name and not name.startswith("-")]


def _write_restore(path: str, snapshot: Snapshot, python: str, lines: list[str]) -> None:
    """A requirements file: comments explain its use; indexes are where local versions such as +cu128 came from."""
    local = {line.rpartition("+")[2] for line in lines if line.startswith("torch") and "+" in line}
    indexes = [f"--extra-index-url https://download.pytorch.org/whl/{tag}" for tag in sorted(local)]
    head = [
        "# Packages that were installed before gpudoctor fix --apply ran. To restore them:",
        f"#   {_pip(snapshot, python, 'install', '--no-deps', '-r', path)}",
    ]
    try:
        private = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)  # addresses in it may hold passwords
        with open(private, "w", encoding="utf-8") as stream:
            stream.write("\n".join([*head, *indexes, *lines]) + "\n")
    except FileExistsError:
        raise click.ClickException(f"{path} already exists; nothing was changed") from None
    except OSError as error:
        raise click.ClickException(f"cannot write {path}: {error.strerror}; nothing was changed") from None
