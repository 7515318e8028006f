"""The manual page, as man shows it."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

from doctor.cli import ALIASES, COMMANDS, GROUPS, gpudoctor

from ..rows import for_each

PAGE = Path(__file__).parents[2] / "docs" / "gpudoctor.1"
pytestmark = pytest.mark.man


@cache
def read(width: int = 80) -> str:
    """What `man -l` prints without marks for bold and underlined. Fails where it has a warning."""
    command = ["man", "--warnings", "-l", str(PAGE)]
    env = {**os.environ, "MANWIDTH": str(width), "MANPAGER": "cat", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return re.sub(r"\x1b\[[\d;]*m|.\x08", "", done.stdout)


def every(group: click.Group, context: click.Context) -> Iterator[tuple[str, click.Command, click.Context]]:
    """Each command with its words, those of groups too."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context)
        yield inner.command_path.partition(" ")[2], command, inner
        if isinstance(command, click.Group):
            yield from every(command, inner)


def section(words: str) -> str:
    """What stands below a command's heading."""
    own = read().split("\nOPTIONS OF EACH COMMAND\n")[1]
    found = re.search(rf"^   {re.escape(words)}(?: .*)?\n((?:(?:       .*)?\n)*)", own, re.M)
    assert found, words
    return found[1]


def test_it_has_every_option_of_every_command() -> None:
    common = read().split("\nCOMMON OPTIONS\n")[1].split("\nOPTIONS OF EACH COMMAND\n")[0]
    number = 0
    for words, command, context in every(gpudoctor, click.Context(gpudoctor, info_name="gpudoctor")):
        text = section(words)
        for option in (param for param in command.params if isinstance(param, click.Option)):
            number += 1
            long = max(option.opts, key=len)
            assert re.search(rf"(?<!\S){re.escape(long)}(?![\w-])", text), (words, long)
            record = option.get_help_record(context)
            assert record is not None
            help_ = " ".join(record[1].split())
            assert help_ in " ".join(text.split()) or help_ in " ".join(common.split()), (words, help_)
    assert number > 150


def test_it_has_every_command_name_and_exit_code() -> None:
    text = read()
    for name in (*COMMANDS, *ALIASES):
        assert re.search(rf"^       {name}(?: |$)", text, re.M), name
    headings = re.findall(r"^   (\S.*)$", text.split("\nCOMMON OPTIONS\n")[0], re.M)
    assert headings == [*GROUPS, "Other names"]
    assert re.findall(r"^       (\d) ", text.split("\nEXIT STATUS\n")[1], re.M) == ["0", "1", "2", "3"]


@for_each("width", [60, 80, 120])
def test_no_line_is_wider_than_the_screen(width: int) -> None:
    assert max(map(len, read(width).splitlines())) <= width


def test_whatis_gets_one_line() -> None:
    done = subprocess.run(["lexgrog", str(PAGE)], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "gpudoctor - diagnose NVIDIA GPU" in done.stdout, done
