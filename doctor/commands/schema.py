"""`gpudoctor schema`: the JSON Schema of the report."""

from __future__ import annotations

import click

from .click_flags import Command, options
from .flags import OUTPUT

KINDS = ("check", "image", "topo", "compare", "fleet")


@click.command(cls=Command)
@click.argument("what", type=click.Choice(KINDS), default="check", metavar="[check|image|topo|compare|fleet]")
@click.option("--fleet", is_flag=True, help="Same as `schema fleet`.")
@options((OUTPUT,))
def schema(what: str, fleet: bool, output: str | None) -> int:
    """Print the JSON Schema (2020-12) for the JSON output of `check`, `image`, `topo`, `compare` or `fleet report`."""
    if fleet and what not in ("check", "fleet"):
        raise click.UsageError(f"--fleet cannot be used with {what}")
    from ..report import schema as schemas
    from .write import write

    made = {
        "check": schemas.report_schema,
        "image": schemas.image_schema,
        "topo": schemas.topo_schema,
        "compare": schemas.compare_schema,
        "fleet": schemas.fleet_schema,
    }
    write(made["fleet" if fleet else what](), output)
    return 0
