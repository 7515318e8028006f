"""`gpudoctor compare`: two looks at a machine, or two machines, and which change broke it."""

from __future__ import annotations

from typing import Any

import click

from .click_flags import Command, options
from .flags import CHECK, report_flags

_OF_CHECK = (
    "verbose", "no_import", "python_", "expect", "require", "only", "skip", "config", "no_config", "matrix",
    "timeout", "no_redact",
)  # fmt: skip


_FLAGS = [flag for flag in CHECK if flag.dest in _OF_CHECK]
_LISTED = {"verbose": "List every changed fact, however many a group has."}
"""Help for what another command's flag does here."""


@click.command(cls=Command)
@click.argument("old", required=False, metavar="OLD")
@click.argument("new", required=False, metavar="[NEW]")
@click.option(
    "--target", "targets", multiple=True, metavar="WHERE", help="Examine docker:NAME, podman:NAME, ssh:HOST or "
    "kubectl:NAMESPACE/POD as NEW. Given twice: OLD and NEW.",
)  # fmt: skip
@click.option(
    "--ignore", "ignored", multiple=True, metavar="FACT", help="Leave this fact out of the lists: host.kernel, "
    "host.environment, 'host.environment[CC]' or a pattern (*). Repeatable.",
)  # fmt: skip
@options(
    [
        *report_flags(
            "text", "json", "markdown", "html", quiet="Print only the verdict, in one sentence (text output)."
        ),
        *(flag._replace(help=_LISTED.get(flag.dest, flag.help)) for flag in _FLAGS),
    ]
)
def compare(**flags: Any) -> int:
    """Say what changed between two reports, and which change explains what is broken now.

    \b
    gpudoctor compare yesterday.json                     a saved report with this machine
    gpudoctor compare yesterday.json today.json          two saved reports, or folders of recordings
    gpudoctor compare now.db:gpu-016 now.db:gpu-017      two nodes in a fleet database
    gpudoctor compare --target docker:good --target docker:bad

    A changed fact explains a finding if the finding goes away when everything is judged again with the old value.
    Both sides are judged by this version of gpudoctor, with the expectations of OLD's report.

    Exit codes: 0 no new failure, 1 a new failure, 2 wrong usage or unreadable input, 3 something required is unknown
    on one side.
    """
    from .run_compare import run_compare

    return run_compare(flags)
