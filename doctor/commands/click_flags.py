"""Flags as click options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from .flags import MAX_S, MIN_S, Flag

Function = Callable[..., int]


class Number(click.FloatRange):
    """A number within bounds, called so in messages."""

    name = "number"


def options(flags: Sequence[Flag]) -> Callable[[Function], Function]:
    """A decorator that gives a command these options, in this order."""

    def decorate(function: Function) -> Function:
        for flag in reversed(flags):
            function = click.option(*flag.names, flag.dest, help=flag.help, **_about(flag))(function)
        return function

    return decorate


def _about(flag: Flag) -> dict[str, Any]:
    if flag.kind == "on":
        return {"is_flag": True}
    if flag.kind == "count":
        return {"count": True}
    about: dict[str, Any] = {"metavar": flag.metavar} if flag.metavar else {}
    if flag.kind == "many":
        return {**about, "multiple": True}
    if flag.kind == "choice":
        about["type"] = click.Choice(flag.choices)
    elif flag.kind == "seconds":
        about["type"] = Number(MIN_S, MAX_S)
    elif flag.kind == "number":
        about["type"] = Number(0, 100, min_open=True)
    return {**about, "default": flag.default}
