"""The page of options: which command takes which, read from the commands themselves."""

from __future__ import annotations

from collections.abc import Iterator

import click

from doctor.cli import gpudoctor
from doctor.commands.click_flags import HEADINGS

MANY = 3
"""Commands from which on an option has a column of its own."""

WORDS = """\
A dot: the command takes the option. Options that only one or two commands take are in the last table. The `--help` of a
command describes each of its options."""


def pages() -> dict[str, str]:
    """Path to text."""
    taken = dict(commands(gpudoctor, click.Context(gpudoctor, info_name="gpudoctor")))
    takers: dict[str, list[str]] = {}
    for command, names in taken.items():
        for name in names:
            takers.setdefault(name, []).append(command)
    shared = sorted((name for name, own in takers.items() if len(own) >= MANY), key=lambda name: -len(takers[name]))
    parts = ["# Options", WORDS]
    under = {name: heading for heading, names in HEADINGS.items() for name in names}
    for heading in ("What to examine", *HEADINGS):
        wide = [name for name in shared if under.get(name, "What to examine") == heading]
        rows = [
            f"| [`{command}`]({command.split(' ')[0]}.md) | "
            + " | ".join("•" if name in names else "" for name in wide)
            + " |"
            for command, names in taken.items()
            if set(names) & set(wide)
        ]
        head = f"| command | {' | '.join(f'`{name}`' for name in wide)} |"
        parts += [f"## {heading}", "\n".join([head, "| --- |" + " :---: |" * len(wide), *rows])]
    own = [
        f"| `{name}` | {', '.join(f'`{command}`' for command in takers[name])} |"
        for name in sorted(set(takers) - set(shared))
    ]
    table = "\n".join(["| option | commands |", "| --- | --- |", *own])
    parts += ["## Options of one or two commands", table, "[All commands](index.md)"]
    return {"commands/options.md": "\n\n".join(parts) + "\n"}


def commands(group: click.Group, context: click.Context) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each command that runs, with its options, each by its long name."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None:
            raise SystemExit(f"{name}: no such command")
        inner = click.Context(command, info_name=name, parent=context)
        if isinstance(command, click.Group):
            yield from commands(command, inner)
            continue
        found = (param for param in command.params if isinstance(param, click.Option) and not param.hidden)
        yield inner.command_path.partition(" ")[2], tuple(max(param.opts, key=len) for param in found)
