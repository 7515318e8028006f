"""`gpudoctor completion`: a script that makes a shell complete commands, flags, check ids, GPUs and files."""

from __future__ import annotations

import click

from .click_flags import Command


@click.command(cls=Command)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def completion(shell: str) -> int:
    """Print the completion script for a shell.

    \b
    bash   eval "$(gpudoctor completion bash)"      in ~/.bashrc
    zsh    eval "$(gpudoctor completion zsh)"       in ~/.zshrc, after compinit
    fish   gpudoctor completion fish > ~/.config/fish/completions/gpudoctor.fish
    """
    from click.shell_completion import get_completion_class

    from ..cli import gpudoctor
    from .completions import VARIABLE

    kind = get_completion_class(shell)
    if kind is None:
        raise click.ClickException(f"completion {shell}: the installed version of click does not support it")
    click.echo(kind(gpudoctor, {}, "gpudoctor", VARIABLE).source())
    return 0
