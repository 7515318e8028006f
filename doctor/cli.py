"""The command line: a lazy group of subcommands, and the one place where errors become one line and an exit code.

Exit codes (DESIGN rule 9): 0 nothing failed, 1 something failed, 2 wrong usage, unreadable input or an internal error,
3 something required is unknown; `healthcheck` answers only 0 or 1.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click

from . import __version__

COMMANDS = {
    "check": "Diagnose this machine (or a saved report) and print the fix.",
    "healthcheck": "One line, exit 0 or 1: for Docker HEALTHCHECK and Kubernetes probes.",
    "fix": "Print the steps that repair what failed; --apply runs those in the Python environment.",
    "record": "Save what was gathered (redacted) to a folder, for check --replay.",
    "list-checks": "List every check.",
    "explain": "Print the manual page of one check.",
    "schema": "Print the JSON Schema of the report.",
    "matrix": "Show and query the compatibility matrix.",
}
"""Subcommand to its line in the help; its file in `commands/` is imported only when it is called."""


class LazyGroup(click.Group):
    """A group that knows its subcommands by name, and imports one only when it is run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        command = getattr(import_module(f".commands.{name}", __package__), name)
        return command if isinstance(command, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS:
            from .commands.suggest import did_you_mean

            ctx.fail(f"no such command {args[0]!r}{did_you_mean(args[0], list(COMMANDS))}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 nothing failed, 1 something failed, 2 wrong usage or unreadable input, "
    "3 something required is unknown.",
)
@click.version_option(__version__, "-V", "--version", message="gpudoctor %(version)s")
def gpudoctor() -> None:
    """The doctor for NVIDIA GPU + PyTorch environments: what is wrong, the proof, and the fix."""


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code; errors are one line on stderr, never a traceback."""
    failed = 1 if arguments[:1] == ["healthcheck"] else 2
    try:
        code = gpudoctor.main(args=list(arguments), prog_name="gpudoctor", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return 2
    except click.ClickException as error:
        return _say(error.format_message(), failed)
    except (click.Abort, KeyboardInterrupt):
        _write("\n")
        return 130
    except BrokenPipeError:
        _quiet_stdout()
        return failed
    except Exception as error:
        if os.environ.get("GPUDOCTOR_TRACEBACK"):
            raise
        return _say(f"internal error: {type(error).__name__}: {error} (GPUDOCTOR_TRACEBACK=1 shows where)", failed)
    return code if isinstance(code, int) else 0


def _say(message: str, code: int) -> int:
    line = " ".join(message.split())
    line = "".join(c if c.isprintable() else "?" for c in line)
    if len(line) > 600:  # somebody's very long argument: what is said of it stands around it
        line = f"{line[:280]} ... {line[-280:]}"
    _write(f"gpudoctor: {line}\n")
    return code


def _write(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # nobody may be listening
        sys.stderr.buffer.write(text.encode("utf-8", "backslashreplace"))
        sys.stderr.flush()


def _quiet_stdout() -> None:
    """The reader went away: nothing more may be written, not even at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
