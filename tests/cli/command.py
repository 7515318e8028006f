"""The installed `gpudoctor`, run as a process, and reports saved as files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from doctor.findings import Policy
from doctor.report.json import render_json
from doctor.snapshot import Snapshot

from ..judging import POLICY, report
from ..reaction import unhurried
from . import forks

COMMAND = Path(sys.executable).parent / "gpudoctor"


def gpudoctor(
    *arguments: str | Path,
    data: bytes | None = None,
    env: dict[str, str] | None = None,
    cwd: Path | None = None,
    anew: bool = False,
) -> subprocess.CompletedProcess[bytes]:
    """Run it to its end; stdout and stderr are bytes. `anew`: also its imports."""
    variables = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    variables.update(env or {})
    line = [str(COMMAND), *unhurried(map(str, arguments))]
    if not anew and forks.as_good(variables):
        return forks.run(line, data or b"", variables, cwd)
    return subprocess.run(line, input=data or b"", capture_output=True, timeout=60, env=variables, cwd=cwd, check=False)


def one_line(process: subprocess.CompletedProcess[bytes], code: int = 2) -> str:
    """The one line on stderr of a run that was refused, after asserting that it was refused properly."""
    assert process.returncode == code, process
    assert process.stdout == b"", "a refused run prints no report"
    text = process.stderr.decode()
    assert text.endswith("\n") and text.count("\n") == 1, text
    assert text.startswith("gpudoctor: ")
    assert "Traceback" not in text
    return text


def save(folder: Path, snapshot: Snapshot, policy: Policy = POLICY, name: str = "report.json") -> Path:
    """A report of this Snapshot as a file."""
    path = folder / name
    path.write_bytes(render_json(report(snapshot, policy)))
    return path
