"""`gpudoctor fix`: the plan for failures and warnings; --apply runs its steps in the environment."""

from __future__ import annotations

from typing import Any

import click

from .click_flags import Command, options
from .flags import MATRIX, SPEC, report_flags


@click.command(cls=Command, context_settings={"show_default": False})
@click.argument("check_id", metavar="[ID]", required=False)
@click.option(
    "--apply", "apply_", is_flag=True, help="Run the steps in the Python environment after asking for confirmation."
)
@click.option("--dry-run", is_flag=True, help="Print the steps and change nothing; same as without --apply.")
@click.option("--yes", is_flag=True, help="With --apply: do not ask for confirmation.")
@click.option("--restore-file", metavar="FILE", help="Where --apply saves the list of previously installed packages.")
@options(report_flags("text", "json"))
@click.option("--no-redact", is_flag=True, help="Show names, paths and addresses as they are; secrets stay masked.")
@click.option("--no-import", is_flag=True, help="Only read torch's files; do not import it.")
@click.option("--python", "python_", metavar="PATH", help="Diagnose and repair this Python interpreter or environment.")
@click.option(
    "--from", "from_", metavar="REPORT", help="Print the plan for a saved JSON report ('-': stdin). Not with --apply."
)
@click.option(
    "--replay", metavar="DIR", help="Print the plan for a recording made with `gpudoctor record`. Not with --apply."
)
@click.option("--expect", metavar="WHAT", help="Expected GPUs: gpu (default), any, none, 8, H100 or 8xH100.")
@click.option(
    "--require", metavar="PKG", multiple=True, help="This package must be installed and compatible. Repeatable."
)
@click.option("--only", metavar="ID", multiple=True, help="Run only this check. Repeatable.")
@click.option("--skip", metavar="ID", multiple=True, help="Skip this check. Repeatable.")
@click.option("--building", is_flag=True, help="Assume that CUDA extensions will be compiled on this machine.")
@options((SPEC,))
@click.option("--config", metavar="FILE", help="Read this gpudoctor.toml or pyproject.toml.")
@click.option("--no-config", is_flag=True, help="Do not search for a configuration file.")
@options((MATRIX,))
@click.option("--timeout", type=click.FloatRange(0.1, 3600), help="Deadline for the probes, in seconds. Default: 20.")
def fix(**flags: Any) -> int:
    """Print the steps that fix failures and warnings (or what the check ID found), in order and without repeats.

    --apply runs only the steps in the examined Python environment, for failures or for the given ID: drivers, the
    kernel and system packages are never touched. It first saves a list of the installed packages so that they can be
    restored.

    Exit codes: 0 nothing failed (steps for warnings may be printed) or the repair succeeded; 1 something is left to
    do; 2 wrong usage, unreadable input, or an --apply step failed.
    """
    from .run_fix import run_fix

    return run_fix(flags)
