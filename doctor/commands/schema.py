"""`gpudoctor schema`: the JSON Schema of the report."""

from __future__ import annotations

import click


@click.command()
@click.argument("what", type=click.Choice(("check", "image")), default="check", metavar="[check|image]")
def schema(what: str) -> int:
    """Print the JSON Schema (2020-12) of `check --format json`, or of `image --format json`."""
    from ..report.schema import image_schema, report_schema
    from .write import write

    write(image_schema() if what == "image" else report_schema(), None)
    return 0
