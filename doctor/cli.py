"""The command line: a lazy group of subcommands."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

import click

from . import __version__
from .guard import Refusal, guarded

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMMANDS = {
    "check": "Diagnose this machine (or a saved report) and print the fix.",
    "healthcheck": "Print one line and exit 0 or 1, for Docker HEALTHCHECK and Kubernetes probes.",
    "prove": "Run work on the GPU: is it used, are the results right, how fast is it, what limits training?",
    "watch": "Run a command and report what it did with the GPU and what it waited for.",
    "resolve": "Say what to install, here or on a machine you describe: build, install command, reasons.",
    "what-if": "Check this machine (or a report) as if it had a different driver, GPU, torch or Python.",
    "dockerfile": "Find GPU problems in a Dockerfile, compose file or manifest, with line numbers.",
    "fit": "Say whether a model fits on the GPUs, and how to split it if it does not.",
    "topo": "Show how the GPUs are connected, and how the links slow each way of splitting training.",
    "compare": "Say what changed between two reports, and which change broke the machine.",
    "fleet": "Examine and compare many nodes: what is broken, odd, slow, new.",
    "fix": "Print the steps that repair what failed; --apply runs the ones for the Python environment.",
    "image": "Say whether a container image will run on a host; reads the registry, pulls nothing.",
    "record": "Save the collected facts (redacted) to a folder, for check --replay.",
    "list-checks": "List every check.",
    "explain": "Diagnose pasted text, or print the manual page of a check or error.",
    "schema": "Print the JSON Schema of the report.",
    "print": "Print a template file: systemd, Slurm, Kubernetes, compose, GitHub, pre-commit.",
    "mcp": "Run a Model Context Protocol (MCP) server, so that an AI assistant can use gpudoctor.",
    "matrix": "Show and query the compatibility matrix.",
    "trust": "Trust a configuration file found in a folder, so that all its settings apply.",
    "completion": "Print the completion script for bash, zsh or fish.",
    "help": "Show the help of a command.",
    "version": "Print the versions of gpudoctor and its matrix.",
}
"""Subcommand to its line in the help; its file in `commands/` is imported only when it is called."""

GROUPS = {
    "Diagnose": ("check", "healthcheck", "explain", "fix", "what-if", "compare", "record", "list-checks"),
    "Prove and measure": ("prove", "watch"),
    "Choose": ("resolve", "fit", "topo", "matrix"),
    "Containers": ("dockerfile", "image"),
    "Many machines": ("fleet", "print"),
    "More": ("schema", "mcp", "trust", "completion", "help", "version"),
}
"""Heading in the help to its subcommands, each in one group."""

ALIASES = {"doctor": "check", "diagnose": "check", "install": "resolve", "lint": "dockerfile"}
"""What users of other tools type."""


class LazyGroup(click.Group):
    """A group that lists its subcommands by name, and imports one only when it is run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        cmd_name = ALIASES.get(cmd_name, cmd_name)
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        module = import_module(f".commands.{name}", __package__)
        command = getattr(module, name, None) or getattr(module, f"{name}_", None)
        if "_GPUDOCTOR_COMPLETE" in os.environ and isinstance(command, click.Command):
            from .commands.completions import offer

            command = offer(command)
        return command if isinstance(command, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        args = [ALIASES.get(word, word) for word in args[:1]] + args[1:]
        if args and args[0] not in COMMANDS:
            from .commands.suggest import did_you_mean

            ctx.fail(f"no such command {args[0]!r}{did_you_mean(args[0], list(COMMANDS))}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        offered = super().shell_complete(ctx, incomplete)
        names = (name for name in ALIASES if name.startswith(incomplete))
        return offered + [CompletionItem(name, help=f"Same as {ALIASES[name]}.") for name in names]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS))
        for heading, names in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), COMMANDS[name]) for name in names])
        with formatter.section("Other names"):
            formatter.write_dl([(alias.ljust(width), name) for alias, name in ALIASES.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 nothing failed, 1 something failed, 2 wrong usage or unreadable input, "
    "3 something required is unknown.",
)
@click.version_option(__version__, "-V", "--version", message="gpudoctor %(version)s")
def gpudoctor() -> None:
    """The doctor for NVIDIA GPU + PyTorch environments: what is wrong, the evidence, and the fix."""


def run(arguments: Sequence[str]) -> int:
    """Run the command line through click; returns the exit code."""

    def work() -> object:
        try:
            return gpudoctor.main(args=list(arguments), prog_name="gpudoctor", standalone_mode=False)
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message(), err=True)
            return 2
        except click.ClickException as error:
            raise Refusal(error.format_message()) from None
        except click.Abort:
            raise KeyboardInterrupt from None

    return guarded(work, arguments)
