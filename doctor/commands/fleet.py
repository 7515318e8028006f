"""`gpudoctor fleet`: the reports of many nodes in one database, and what they say together."""

from __future__ import annotations

from typing import Any

import click


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

    Read are .json (one report or envelope) and .jsonl (one a line), each also as .gz; of folders all below them. A
    node is named by the envelope, the file's name, or the field node of a line. What is none is listed, and the rest
    goes on.

    Exit codes: 0 written, 2 wrong usage or nothing written, 3 written, and no node has answered.
    """
    from .fleet_load import run_load

    return run_load(flags)
