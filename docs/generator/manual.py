"""The manual page, gpudoctor.1: each command's arguments and options, as the commands themselves have them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import click

from doctor import __version__
from doctor.cli import ALIASES, COMMANDS, GROUPS, gpudoctor

MANY = 3
"""Commands from which on an option is described once for all of them."""

HEAD = r""".\" Written by docs/generate.py from the commands.
.TH GPUDOCTOR 1 "" "gpudoctor {version}" "User Commands"
.nh
.ad l
.SH NAME
gpudoctor \- diagnose NVIDIA GPU and PyTorch environments
.SH SYNOPSIS
.B gpudoctor
.I COMMAND
[\fIOPTION\fR]... [\fIARGUMENT\fR]...
.SH DESCRIPTION
Finds out what is wrong with the GPUs, driver, container, CUDA libraries, Python and PyTorch of a machine, shows the
facts that prove it, and prints the fix. Without a command it prints its help; \fBgpudoctor check\fR is the place to
start, and \fBgpudoctor help\fR \fICOMMAND\fR describes a command at length.
"""
FOOT = r""".SH EXIT STATUS
.TP
.B 0
Nothing failed.
.TP
.B 1
Something failed (\fB\-\-fail\-on\fR sets what counts as failed).
.TP
.B 2
Wrong usage, unreadable input or an internal error: one line, no report.
.TP
.B 3
Nothing failed, but something required is unknown.
.SH FILES
.TP
.I gpudoctor.toml\fR, \fIpyproject.toml
What you expect of a machine, in this folder or one above it.
"""


class Option(NamedTuple):
    """An option as its command's help shows it."""

    names: str
    help: str


class Entry(NamedTuple):
    """A command, or a command of a group: its words, its arguments, what it says of itself, its options."""

    name: str
    arguments: str
    options: tuple[Option, ...]


def pages() -> dict[str, str]:
    """Path to text, in man(7)."""
    entries = list(_entries(gpudoctor, click.Context(gpudoctor, info_name="gpudoctor")))
    often = Counter(option for entry in entries for option in entry.options)
    shared = [option for option, count in often.items() if count >= MANY]
    parts = [HEAD.format(version=__version__), ".SH COMMANDS\n"]
    for heading, names in GROUPS.items():
        parts.append(f".SS {_text(heading)}\n")
        parts += [f".TP\n.B {_text(name)}\n{_text(COMMANDS[name])}\n" for name in names]
    parts.append(".SS Other names\n")
    parts += [f".TP\n.B {alias}\n{name}\n" for alias, name in ALIASES.items()]
    parts += [".SH COMMON OPTIONS\n", *(_option(option) for option in shared), ".SH OPTIONS OF EACH COMMAND\n"]
    for entry in entries:
        own = [option for option in entry.options if option not in shared]
        common = [option.names.split(", ")[-1].split(" ")[0] for option in entry.options if option in shared]
        parts.append(f".SS {_text(f'{entry.name} {entry.arguments}')}\n")
        parts += [_option(option) for option in own]
        if common:
            parts.append(f"{'.PP' if own else '.'}\nAlso {_text(', '.join(common))}.\n")
    return {"gpudoctor.1": "".join([*parts, FOOT])}


def _entries(group: click.Group, context: click.Context) -> Iterator[Entry]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None:
            raise SystemExit(f"{name}: no such command")
        inner = click.Context(command, info_name=name, parent=context)
        words = inner.command_path.partition(" ")[2]
        pieces = [piece for piece in command.collect_usage_pieces(inner) if piece != "[OPTIONS]"]
        found = (param.get_help_record(inner) for param in command.params if isinstance(param, click.Option))
        yield Entry(words, " ".join(pieces), tuple(Option(*record) for record in found if record is not None))
        if isinstance(command, click.Group):
            yield from _entries(command, inner)


def _option(option: Option) -> str:
    return f".TP\n.B {_text(option.names)}\n{_text(option.help)}\n"


def _text(words: str) -> str:
    """Words as roff takes them: a hyphen that can be copied, choices that may be broken, no line that is a request."""
    words = " ".join(words.split()).replace("\\", "\\e").replace("-", "\\-").replace("|", "|\\:")
    return f"\\&{words}" if words.startswith((".", "'")) else words
