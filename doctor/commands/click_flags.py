"""Flags as click options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import click

from .flags import MAX_S, MIN_S, SHORT, Flag, contradiction

Function = Callable[..., int]


class Number(click.FloatRange):
    """A number within bounds, called so in messages."""

    name = "number"


class Format(click.Choice):  # type: ignore[type-arg]  # generic since click 8.2
    """Formats by their names, or as `SHORT` has them."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return super().convert(SHORT.get(value, value), param, ctx)


HEADINGS = {
    "Where": {"--python", "--target", "--root", "--from", "--replay", "--pid", "--device", "--nodes", "--nproc"},
    "How to judge": {
        "--expect", "--require", "--only", "--skip", "--fail-on", "--building", "--config", "--no-config", "--matrix",
        "--strict", "--spec", "--baseline", "--regression-percent",
    },
    "Output": {
        "--format", "--json", "--output", "--quiet", "--verbose", "--brief", "--ascii", "--no-color", "--no-redact",
        "--plot", "--ignore", "--help",
    },
}  # fmt: skip
"""Heading in a command's help to its options; all others say what to examine and come first."""
_FEW = 12


class Command(click.Command):
    """A command whose help shows its options in groups if there are many."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Under `HEADINGS`; in one list if there are few."""
        params = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        rows = [(param, row) for param in params if (row := param.get_help_record(ctx)) is not None]
        groups: dict[str, list[tuple[str, str]]] = {"What to examine": [], **{heading: [] for heading in HEADINGS}}
        for param, row in rows:
            of = (heading for heading, names in HEADINGS.items() if names & set(param.opts))
            groups[next(of, "What to examine")].append(row)
        for heading, found in (groups if len(rows) > _FEW else {"Options": [row for _, row in rows]}).items():
            if found:
                with formatter.section(heading):
                    formatter.write_dl(found)


def options(flags: Sequence[Flag]) -> Callable[[Function], Function]:
    """A decorator that gives a command these options, in this order."""

    def decorate(function: Function) -> Function:
        @wraps(function)
        def judged(*arguments: Any, **values: Any) -> int:
            return function(*arguments, **settled(values))

        command: Function = judged
        for flag in reversed(flags):
            command = click.option(*flag.names, flag.dest, help=flag.help, **_about(flag))(command)
        return command

    return decorate


def settled(values: dict[str, Any]) -> dict[str, Any]:
    """The values with --json put into the format. Raises UsageError if flags cannot be combined."""
    json = values.pop("json_", False)
    if "format_" in values and (wrong := contradiction(values, json)):
        raise click.UsageError(wrong)
    return values


def _about(flag: Flag) -> dict[str, Any]:
    if flag.kind in ("on", "json"):
        return {"is_flag": True}
    if flag.kind == "count":
        return {"count": True}
    about: dict[str, Any] = {"metavar": flag.metavar} if flag.metavar else {}
    if flag.kind == "many":
        return {**about, "multiple": True}
    if flag.kind == "choice":
        about["type"] = (Format if flag.dest == "format_" else click.Choice)(flag.choices)
    elif flag.kind == "seconds":
        about["type"] = Number(MIN_S, MAX_S)
    elif flag.kind == "number":
        about["type"] = Number(0, 100, min_open=True)
    return {**about, "default": flag.default}
