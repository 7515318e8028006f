"""`gpudoctor record DIR`: save the raw facts, for `check --replay DIR`."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import click

from .click_flags import Command
from .write import echo


@click.command(cls=Command)
@click.argument("folder", metavar="DIR")
@click.option("--no-import", is_flag=True, help="Do not import torch.")
@click.option("--prove", is_flag=True, help="Also compute on the GPU (prove --quick) and save the measurements.")
@click.option("--python", "python_", metavar="PATH", help="Examine this Python interpreter or environment.")
@click.option("--target", metavar="TARGET", help="Examine docker:NAME, podman:NAME, ssh:HOST or kubectl:NAMESPACE/POD.")
@click.option("--root", metavar="DIR", help="Examine this root file system instead of this machine.")
@click.option(
    "--timeout",
    type=click.FloatRange(0.1, 3600),
    help="Time limit for the probes, in seconds (3x for importing torch). Default: 20.",
)
@click.option(
    "--no-redact", is_flag=True, help="Save names, paths, UUIDs and secrets as they are: do not share the folder."
)
def record(**flags: Any) -> int:
    """Save the collected facts (masked) to a folder, for diagnosis elsewhere: gpudoctor check --replay DIR."""
    from ..probes.collect import gather_all, snapshot_of
    from ..report.progress import Progress
    from ..targets.recording import write_recording
    from .sources import options, refuse_missing_python

    folder = flags["folder"]
    _usable(folder)
    if flags["prove"] and (flags["root"] or flags["no_import"]):
        raise click.ClickException(f"--prove cannot be used with --{'root' if flags['root'] else 'no-import'}")
    excluded = [name for name in ("prove", "root", "python_") if flags["target"] and flags[name]]
    if excluded:
        raise click.ClickException(f"--target cannot be used with --{excluded[0].rstrip('_')}")
    with Progress() as progress:
        if flags["target"]:
            from .far import far_recording

            recording = far_recording(flags, progress)
        elif flags["prove"]:
            from .proving import gather_and_prove

            recording = gather_and_prove(options(flags), "quick", say=progress)
        else:
            recording = gather_all(options(flags), progress)
    if flags["python_"]:
        refuse_missing_python(flags["python_"], snapshot_of(recording))
    try:
        write_recording(folder, recording, redact=None if flags["no_redact"] else _masked)
    except OSError as error:
        raise click.ClickException(f"cannot write {folder}: {error.strerror or error}") from None
    echo(f"Recorded to {folder}. Diagnose it with: gpudoctor check --replay {folder}")
    return 0


def _masked(content: Any) -> Any:
    """Without names, addresses, UUIDs and secrets."""
    from ..snapshot.redact import redact
    from .local_names import local_names

    return redact(content, local_names())


def _usable(folder: str) -> None:
    """Refuse a folder that is not new, empty or an older recording, before anything is measured."""
    from ..targets.recording import foreign_name

    try:
        name = foreign_name(folder)
        near = next(path for path in (Path(folder), *Path(folder).absolute().parents) if path.exists())
        if not os.access(near, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise click.ClickException(f"cannot write {folder}: {error.strerror}") from None
    if name:
        from ..report.clean import printable

        raise click.ClickException(
            f"{folder} contains {printable(name)}, which gpudoctor record did not write: choose a new or empty folder"
        )
