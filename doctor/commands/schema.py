"""`gpudoctor schema`: the JSON Schema of the report."""

from __future__ import annotations

import click


@click.command()
@click.argument("what", type=click.Choice(("check", "image", "topo")), default="check", metavar="[check|image|topo]")
def schema(what: str) -> int:
    """Print the JSON Schema (2020-12) of `check --format json`, `image --format json` or `topo --format json`."""
    from ..report.schema import image_schema, report_schema, topo_schema
    from .write import write

    made = {"check": report_schema, "image": image_schema, "topo": topo_schema}
    write(made[what](), None)
    return 0
