"""`gpudoctor fleet`: the reports from many nodes in one database, and what they show together."""

from __future__ import annotations

from typing import Any

import click

from .click_flags import options
from .flags import report_flags


@click.group()
def fleet() -> None:
    """Compare reports from many nodes: what is broken, which node differs, which is slow, what changed."""


@fleet.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATHS...")
@click.option("-o", "--output", metavar="FILE", help="The database to write. Required.")
@click.option("--nodes", metavar="NODESET", help="The nodes you asked, such as gpu-[001-512]; missing ones are listed.")
@click.option("--jobs", type=click.IntRange(1, 256), metavar="N", help="Processes for judging. Default: one per core.")
@click.option(
    "--judge", is_flag=True, help="Judge all reports again, even those from this version of gpudoctor and its matrix."
)
def load(**flags: Any) -> int:
    """Load reports from folders, files and standard input ('-') into a database.

    \b
    gpudoctor fleet load spool/ more.jsonl.gz - -o now.db
    gpudoctor fleet load spool/ --nodes 'gpu-[001-512]' -o now.db

    Reads .json files (one report or envelope), .jsonl and .ndjson files (one per line), folders written by gpudoctor
    record, and anything that begins like a report, also gzipped (.gz), in all subfolders. The node's name comes from
    the envelope, from the name that pdsh or clush puts before a line, from the file's or recording's name, or from a
    line's "node" field. Anything that is not a report is listed as refused; the rest is loaded.

    Exit codes: 0 written, 2 wrong usage or nothing written, 3 written, but no node has answered.
    """
    from .fleet_load import run_load

    return run_load(flags)


@fleet.command()
@click.argument("database", metavar="DB")
@click.option("--since", metavar="DB", help="Also show what changed since this earlier database.")
@click.option("--node", metavar="NAME", help="Show one node's own report, judged again as with check --from.")
@click.option("--query", metavar="SQL", help="Print the rows of one SELECT over the tables in docs/fleet.md.")
@options(report_flags("text", "json", "markdown", "html", "csv"))
@click.option("-v", "--verbose", count=True, help="Show all nodes, all repair steps and all lagging GPUs.")
@click.option("--fail-on", type=click.Choice(("slow", "odd", "unknown")),
              help="Also exit 1 for slow nodes, for slow or odd nodes, or for nodes without a verdict.")  # fmt: skip
@click.option("--mask-nodes", is_flag=True,
              help="Replace node names with pseudonyms, for sharing; the same in all reports from DB.")  # fmt: skip
def report(**flags: Any) -> int:
    """Show what is broken and what to repair first, which nodes are odd, which are slow, and what changed.

    \b
    gpudoctor fleet report now.db --since last.db
    gpudoctor fleet report now.db --node gpu-038
    gpudoctor fleet report now.db --query 'select node, driver from node where gpus < 8'

    Exit codes: 0 all nodes answered and none failed, 1 a node failed (--fail-on lowers the bar), 2 wrong usage or
    unreadable input, 3 none failed, but a node or file could not be judged.
    """
    from .fleet_report import run_report

    return run_report(flags)
