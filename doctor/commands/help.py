"""`gpudoctor help`: the help of a command, same as --help."""

from __future__ import annotations

import click

from .click_flags import Command
from .suggest import did_you_mean


@click.command("help", cls=Command)
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@click.pass_context
def help_(context: click.Context, words: tuple[str, ...]) -> int:
    """Show the help of a command: gpudoctor help check, gpudoctor help matrix query."""
    parent = context.parent or context
    command: click.Command = parent.command
    for word in words:
        inner = command.get_command(parent, word) if isinstance(command, click.Group) else None
        if inner is None:
            names = command.list_commands(parent) if isinstance(command, click.Group) else []
            raise click.UsageError(f"help: no such command {word!r}{did_you_mean(word, names)}")
        parent, command = click.Context(inner, info_name=inner.name or word, parent=parent), inner
    click.echo(command.get_help(parent))
    return 0
