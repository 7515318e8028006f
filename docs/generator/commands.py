"""A page for each command: its help, as the command prints it."""

from __future__ import annotations

import click

from doctor.cli import COMMANDS, gpudoctor

from .words import cell

WIDTH = 100


def pages() -> dict[str, str]:
    """Path to text."""
    top = click.Context(gpudoctor, info_name="gpudoctor", max_content_width=WIDTH, terminal_width=WIDTH)
    rows = [f"| [`gpudoctor {name}`]({name}.md) | {cell(words)} |" for name, words in COMMANDS.items()]
    index = ["# Commands", "\n".join(["| command | what it does |", "| --- | --- |", *rows]), CODES, OPTIONS]
    made = {"commands/index.md": "\n\n".join(index) + "\n"}
    for name, words in COMMANDS.items():
        command = gpudoctor.get_command(top, name)
        if command is None:
            raise SystemExit(f"{name}: no such command")
        parts = [f"# gpudoctor {name}", words, *_help(command, top, name)]
        made[f"commands/{name}.md"] = "\n\n".join([*parts, "[All commands](index.md)"]) + "\n"
    return made


CODES = """\
| exit code | meaning |
| ---: | --- |
| 0 | nothing failed |
| 1 | something failed (with `--fail-on unknown`, an unknown check too; with `--fail-on warn`, also a warning) |
| 2 | wrong usage, unreadable input or an internal error: one line, no report |
| 3 | nothing failed, but something required is unknown |

`healthcheck` knows 0 and 1 alone, as a Docker HEALTHCHECK does; `watch` ends as the command that it watched."""


OPTIONS = "Which command takes which option: [the table of options](options.md)."


def _help(command: click.Command, parent: click.Context, name: str) -> list[str]:
    context = click.Context(command, info_name=name, parent=parent, max_content_width=WIDTH, terminal_width=WIDTH)
    text = command.get_help(context)
    parts = [f"```text\n{text}\n```"]
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            if found is not None:
                parts += [f"## {name} {inner}", *_help(found, context, inner)]
    return parts
