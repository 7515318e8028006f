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
    """The values with --json put into the format. Raises UsageError where flags exclude each other."""
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
