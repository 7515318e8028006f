"""`gpudoctor schema`: the JSON Schema of the report."""

from __future__ import annotations

import click


@click.command()
def schema() -> int:
    """Print the JSON Schema (2020-12) of `check --format json`."""
    from ..report.schema import report_schema
    from .write import write

    write(report_schema(), None)
    return 0
