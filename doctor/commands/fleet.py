"""`gpudoctor fleet`: the reports from many nodes in one database, and what they show together."""

from __future__ import annotations

from typing import Any

import click

from .click_flags import options
from .duration import Duration
from .flags import DISPLAY, SPEC, report_flags

ENGINES = ("ssh", "slurm", "kubernetes", "ray")
LEVELS = ("quick", "standard", "full")


@click.group()
def fleet() -> None:
    """Examine many nodes and compare their reports: what is broken, which node differs, which is slow, what changed."""


@fleet.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATHS...")
@click.option("-o", "--output", metavar="FILE", help="The database to write. Required.")
@click.option(
    "--nodes", metavar="NODESET", help="The nodes you expect, such as gpu-[001-512]; missing ones are listed."
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 256),
    metavar="N",
    help="Number of worker processes. Default: one per core, at most 8.",
)
@click.option(
    "--judge",
    is_flag=True,
    help="Judge all reports again, even those already judged by this version of gpudoctor and its matrix.",
)
def load(**flags: Any) -> int:
    """Load reports from folders, files and standard input ('-') into a database.

    \b
    gpudoctor fleet load spool/ more.jsonl.gz - -o now.db
    gpudoctor fleet load spool/ --nodes 'gpu-[001-512]' -o now.db

    Reads .json files (one report or envelope), .jsonl and .ndjson files (one per line), folders written by gpudoctor
    record, and anything that begins like a report, plain or gzipped (.gz), in all subfolders. The node's name comes
    from the envelope, from the name that pdsh or clush puts before a line, from the file's or recording's name, or from
    a line's "node" field. Anything that is not a report is listed as refused; the rest is loaded.

    Exit codes: 0 written, 2 wrong usage or nothing written, 3 written, but no node has answered.
    """
    from .fleet_load import run_load

    return run_load(flags)


@fleet.command()
@click.option("--on", required=True, type=click.Choice(ENGINES), help="How to reach the nodes.")
@click.option("-o", "--output", metavar="FILE", help="The database to write. Required.")
@click.option("--nodes", metavar="NODESET", help="The nodes, such as gpu-[001-512]; ssh: also @groups.")
@click.option("--hostfile", metavar="FILE", help="ssh: a file with one nodeset per line.")
@click.option("--partition", metavar="NAME", help="Slurm: the nodes of this partition.")
@click.option("--wait", type=Duration(), metavar="TIME",
              help="Slurm, and Kubernetes with --prove: how long to wait for busy nodes.")  # fmt: skip
@click.option(
    "--drain", is_flag=True, help="Slurm: drain the nodes with a proven fault of their own; each is listed first."
)
@click.option(
    "--selector", metavar="LABELS", help="Kubernetes: the nodes with these labels, such as nvidia.com/gpu.present=true."
)
@click.option("--namespace", metavar="NAME", help="Kubernetes: the pods' namespace. Default: kubectl's current one.")
@click.option(
    "--image",
    metavar="REF",
    help="Kubernetes: an image with a shell and python3 (--command: gpudoctor). Default: python:3-slim.",
)
@click.option("--runtime-class", metavar="NAME", help="Kubernetes: the runtime class of the pods, such as nvidia.")
@click.option("--print", is_flag=True, help="Kubernetes: only print the objects that a run creates, as YAML.")
@click.option("--address", metavar="HOST:PORT", help="Ray: the head node. Default: auto (this node's cluster).")
@click.option("--expect", metavar="WHAT", help="What each node must have: gpu (default), any, none, 8, H100 or 8xH100.")
@options((SPEC,))
@click.option("--python", "python_", metavar="PATH",
              help="The Python environment to examine on each node; a failure in it fails the node.")  # fmt: skip
@click.option("--command", metavar="CMD",
              help="Run the gpudoctor installed on the nodes, such as /opt/gpudoctor/bin/gpudoctor.")  # fmt: skip
@click.option("--prove", type=click.Choice(LEVELS), is_flag=False, flag_value="quick", metavar="[quick|standard|full]",
              help="With --command: also measure (slow-looking nodes twice more). Default: quick.")  # fmt: skip
@click.option("--links", is_flag=True,
              help="Slurm: also measure the links between nodes, in rounds of pairs. Needs --command.")  # fmt: skip
@click.option("--timeout", type=Duration(1), metavar="TIME",
              help="Time limit per node. Default: 120s; with --prove, and per pair with --links, 300s; with --prove "
                   "full, 12m.")  # fmt: skip
@click.option("--deadline", type=Duration(1), metavar="TIME", help="Time limit for the whole run. Default: none.")
@click.option("--retry", type=click.IntRange(0, 10), default=1, metavar="N",
              help="How many times to retry a node after losing its connection (not pairs of --links). "
                   "Default: 1.")  # fmt: skip
@click.option("-v", "--verbose", count=True, help="Show all nodes, all repair steps and all lagging GPUs.")
@options(DISPLAY)
def run(**flags: Any) -> int:
    """Examine many nodes once, store their answers, and print the report.

    \b
    gpudoctor fleet run --on ssh --nodes '@gpu,login[1-2]' -o now.db
    gpudoctor fleet run --on slurm --partition gpu --wait 10m -o now.db
    gpudoctor fleet run --on kubernetes --selector nvidia.com/gpu.present=true -o now.db
    gpudoctor fleet run --on ray --address auto -o now.db
    gpudoctor fleet run --on slurm --links --command /opt/gpudoctor/bin/gpudoctor -o now.db

    The nodes need python3 (3.8 or newer) and nothing else: a script is sent to that Python; nothing is installed or
    left behind. With --command, each node runs the gpudoctor that is installed there, and its answer is judged here.
    In Kubernetes, this is done in one pod per node; all pods are deleted at the end. Answers are stored as they arrive:
    even a killed run keeps them for gpudoctor fleet report. A node that cannot be examined is listed with the reason.

    With --links, the nodes that answered then run gpudoctor prove --links in pairs: first neighbors on a switch, then
    distant nodes, twice. A node that is slow even in its best pair is measured again with two good nodes.

    Exit codes: 0 all nodes answered and none failed, 1 a node failed, 2 wrong usage or nothing written, 3 none failed,
    but a node could not be examined or judged, 130 interrupted.
    """
    from .fleet_run import run_fleet

    return run_fleet(flags)


@fleet.command()
@click.argument("run", metavar="RUN")
@click.option("--python", "python_", metavar="PATH", help="Examine this Python interpreter or environment.")
@click.option("--prove", type=click.Choice(LEVELS), help="Also measure, as prove does.")
@click.option(
    "--device", default="cuda", metavar="DEVICE", help="With --prove: cuda (default: every GPU), cuda:N or cpu."
)
@click.option("--timeout", type=Duration(1), default=120, metavar="TIME", help="Time limit. Default: 120s.")
def answer(**flags: Any) -> int:
    """Examine this machine for the fleet run with this name, and print the answer for it to collect.

    This is what fleet run --command runs on each node. The answer is a report without findings, masked, compressed, and
    printed in lines that survive login messages and log drivers. It exits as soon as its output is no longer read.

    Exit codes: 0 answered, 2 wrong usage.
    """
    from .fleet_answer import run_answer

    return run_answer(flags)


@fleet.command()
@click.option("--on", required=True, type=click.Choice(("kubernetes", "slurm")), help="Where to look.")
@click.option("--namespace", metavar="NAME", help="Kubernetes: the pods' namespace. Default: kubectl's current one.")
@click.option("--all", is_flag=True, help="Also end runs that may still be running, including those of other users.")
def clean(**flags: Any) -> int:
    """Delete what a killed fleet run left behind: DaemonSet, Jobs and ConfigMap in Kubernetes, or its jobs in Slurm.

    \b
    gpudoctor fleet clean --on kubernetes
    gpudoctor fleet clean --on slurm

    In Kubernetes, these objects have the label gpudoctor/run; in Slurm, they are your own jobs with names such as
    gpudoctor-0123456789ab-1. Each is listed. A run of yours is kept while its process exists on this machine, and a run
    from elsewhere until it must have ended; --all deletes these too.

    Exit codes: 0 done, 2 wrong usage, or something could not be deleted.
    """
    from .fleet_clean import run_clean

    return run_clean(flags["on"], flags["namespace"] or "", flags["all"])


@fleet.command()
@click.argument("database", metavar="DB")
@click.option("--since", metavar="DB", help="Also show what changed since this earlier database.")
@click.option("--node", metavar="NAME", help="Show one node's own report, judged again as with check --from.")
@click.option("--query", metavar="SQL", help="Print the rows of one SELECT over the tables in docs/fleet.md.")
@options(report_flags("text", "json", "markdown", "html", "csv"))
@click.option("-v", "--verbose", count=True, help="Show all nodes, all repair steps and all lagging GPUs.")
@click.option("--fail-on", type=click.Choice(("slow", "odd", "unknown")),
              help="Also exit 1 for slow nodes (slow), slow or odd nodes (odd), or nodes without a verdict "
                   "(unknown).")  # fmt: skip
@options((SPEC,))
@click.option("--mask-nodes", is_flag=True,
              help="Replace node names with pseudonyms (for sharing), the same in all reports from DB.")  # fmt: skip
def report(**flags: Any) -> int:
    """Show what is broken and what to repair first, which nodes are odd, which are slow, and what changed.

    \b
    gpudoctor fleet report now.db --since last.db
    gpudoctor fleet report now.db --node gpu-038
    gpudoctor fleet report now.db --spec team.toml
    gpudoctor fleet report now.db --query 'select node, driver from node where gpus < 8'

    Exit codes: 0 all nodes answered and none failed, 1 a node failed (--fail-on lowers the bar), 2 wrong usage or
    unreadable input, 3 none failed, but a node or file could not be judged.
    """
    from .fleet_report import run_report

    return run_report(flags)
