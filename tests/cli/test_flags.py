"""The two readers of flags, with and without click, understand the same."""

from __future__ import annotations

import click
from hypothesis import given
from hypothesis import strategies as st

from doctor.commands.check import check
from doctor.commands.click_flags import settled
from doctor.commands.flags import CHECK, HEALTHCHECK, Flag, read_flags
from doctor.commands.healthcheck import healthcheck

from ..rows import for_each

WORDS = st.sampled_from(
    [name for flag in CHECK + HEALTHCHECK for name in flag.names]
    + [
        "json",
        "text",
        "x",
        "-",
        "--",
        "",
        "5",
        "0",
        "-1",
        "1e3",
        "3601",
        "--format=json",
        "--timeout=7",
        "--expect=",
        "-vv",
        "-ox",
        "--ascii=1",
        "--form",
        "-fmd",
        "md",
        "-vo",
        "fail",
        "--fail-on=warn",
        "a b",
        "--from=-",
        "٣",
    ]
)


def by_click(command: click.Command, arguments: list[str]) -> dict[str, object] | None:
    try:
        return settled(dict(command.make_context("x", list(arguments)).params))
    except (click.ClickException, click.exceptions.Exit):
        return None


@for_each(("command", "flags"), [(check, CHECK), (healthcheck, HEALTHCHECK)])
def test_every_flag_is_known_to_click_in_the_same_way(command: click.Command, flags: tuple[Flag, ...]) -> None:
    assert [(p.name, list(p.opts)) for p in command.params] == [(f.dest, list(f.names)) for f in flags]
    assert by_click(command, []) == read_flags(flags, [])


@given(st.lists(WORDS, max_size=5))
def test_what_is_read_without_click_is_what_click_reads(arguments: list[str]) -> None:
    for command, flags in ((check, CHECK), (healthcheck, HEALTHCHECK)):
        read = read_flags(flags, arguments)
        assert read is None or read == by_click(command, arguments)
