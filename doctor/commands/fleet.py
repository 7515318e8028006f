"""`gpudoctor fleet`: the reports of many nodes in one database, and what they say together."""

from __future__ import annotations

from typing import Any

import click

from .click_flags import options
from .flags import report_flags


@click.group()
def fleet() -> None:
    """Compare the reports of many nodes: what is broken, which node differs, which is slow, what changed."""


@fleet.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATHS...")
@click.option("-o", "--output", metavar="FILE", help="The database to write. Required.")
@click.option("--nodes", metavar="NODESET", help="Nodes that were asked for: gpu-[001-512]; those missing are named.")
@click.option("--jobs", type=click.IntRange(1, 256), metavar="N", help="Processes for judging. Default: one a core.")
@click.option("--judge", is_flag=True, help="Judge all reports here, those of this gpudoctor and matrix too.")
def load(**flags: Any) -> int:
    """Put reports into a database: of folders, files and standard input ('-').

    \b
    gpudoctor fleet load spool/ more.jsonl.gz - -o now.db
    gpudoctor fleet load spool/ --nodes 'gpu-[001-512]' -o now.db

    Reads .json files (one report or envelope), .jsonl and .ndjson files (one per line), the folders of gpudoctor
    record, and whatever begins like a report, also as .gz, in all subfolders. The node's name comes from the envelope,
    from the name that pdsh or clush puts before a line, from the file's or recording's name, or from a line's field
    node. What is no report is listed as refused; the rest is loaded.

    Exit codes: 0 written, 2 wrong usage or nothing written, 3 written, and no node has answered.
    """
    from .fleet_load import run_load

    return run_load(flags)


@fleet.command()
@click.argument("database", metavar="DB")
@click.option("--since", metavar="DB", help="Also show what changed since this earlier database.")
@click.option("--node", metavar="NAME", help="One node's own report, judged again as check --from does.")
@click.option("--query", metavar="SQL", help="The rows of one SELECT over the tables of docs/fleet.md.")
@options(report_flags("text", "json", "markdown", "html", "csv"))
@click.option("-v", "--verbose", count=True, help="Show all nodes, repair steps and lagging GPUs.")
@click.option("--fail-on", type=click.Choice(("slow", "odd", "unknown")),
              help="Also exit 1 for slow nodes, for slow or odd ones, or for nodes without a verdict.")  # fmt: skip
@click.option("--mask-nodes", is_flag=True,
              help="Replace node names with pseudonyms, for sharing; the same in all reports of DB.")  # fmt: skip
def report(**flags: Any) -> int:
    """Say what is broken and what to repair first, which nodes are odd, which are slow, and what changed.

    \b
    gpudoctor fleet report now.db --since last.db
    gpudoctor fleet report now.db --node gpu-038
    gpudoctor fleet report now.db --query 'select node, driver from node where gpus < 8'

    Exit codes: 0 all nodes answered and none failed, 1 a node failed (--fail-on lowers the bar), 2 wrong usage or
    unreadable input, 3 none failed, but a node or file could not be judged.
    """
    from .fleet_report import run_report

    return run_report(flags)
