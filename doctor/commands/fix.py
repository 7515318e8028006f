"""`gpudoctor fix`: the plan for what failed or is warned of, and with --apply its steps in the environment."""

from __future__ import annotations

from typing import Any

import click

from .click_flags import Command, options
from .flags import report_flags


@click.command(cls=Command, context_settings={"show_default": False})
@click.argument("check_id", metavar="[ID]", required=False)
@click.option("--apply", "apply_", is_flag=True, help="Carry out the steps in the Python environment, after asking.")
@click.option("--dry-run", is_flag=True, help="Print the steps and change nothing, as without --apply.")
@click.option("--yes", is_flag=True, help="With --apply: do not ask.")
@click.option("--restore-file", metavar="FILE", help="Where --apply writes what was installed before.")
@options(report_flags("text", "json"))
@click.option("--no-redact", is_flag=True, help="Keep names, paths and addresses as they are; secrets stay masked.")
@click.option("--no-import", is_flag=True, help="Read torch's files only, do not import it.")
@click.option("--python", "python_", metavar="PATH", help="Diagnose and repair this Python interpreter or environment.")
@click.option("--from", "from_", metavar="REPORT", help="Plan for a saved JSON report ('-': stdin). Not with --apply.")
@click.option("--replay", metavar="DIR", help="Plan for what `gpudoctor record` saved. Not with --apply.")
@click.option("--expect", metavar="WHAT", help="gpu (default), any, none, 8, H100 or 8xH100.")
@click.option("--require", metavar="PKG", multiple=True, help="This package must be installed and fit. Repeatable.")
@click.option("--only", metavar="ID", multiple=True, help="Run only this check. Repeatable.")
@click.option("--skip", metavar="ID", multiple=True, help="Leave this check out. Repeatable.")
@click.option("--building", is_flag=True, help="CUDA extensions are going to be compiled here.")
@click.option("--config", metavar="FILE", help="Read this gpudoctor.toml or pyproject.toml.")
@click.option("--no-config", is_flag=True, help="Search for no such file.")
@click.option("--matrix", metavar="PATH", help="Judge by this matrix (see matrix export), not by the built-in one.")
@click.option("--timeout", type=click.FloatRange(0.1, 3600), help="Deadline of the probes in seconds. Default: 20.")
def fix(**flags: Any) -> int:
    """Print the steps that repair what failed or is warned of (or what the check ID found), in order, each once.

    --apply runs only the steps in the patient's Python environment, for what failed or for the ID: drivers, the kernel
    and the system's packages are never touched. What was installed before is written to a file that restores it.

    Exit codes: 0 nothing failed (steps of warnings may be printed), or repaired; 1 something is left to do; 2 wrong
    usage, unreadable input, or a step of --apply that failed.
    """
    from .run_fix import run_fix

    return run_fix(flags)
