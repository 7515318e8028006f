"""Lines for the default index, against the index itself."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from compat_matrix.resolver import Question, resolve
from compat_matrix.versions import numbers
from compat_matrix.wish import Wish
from doctor.resolve.choice import request

from ..judging import matrix
from ..rows import Faults
from ..shared import pip_command


@pytest.mark.network
@pytest.mark.slow
def test_the_last_ten_releases_are_there_with_their_companions(tmp_path: Path) -> None:
    """pip's dry run of what a plain line names, for each of the ten newest releases of the matrix.

    A machine's own constraints (pip.conf) are about that machine, not about the index.
    """
    m = matrix()
    releases = sorted((row.torch for row in m.releases), key=numbers)[-10:]
    with Faults() as faults:
        for release in releases:
            with faults.of(release):
                q = Question(gpus=("8.0",), driver="620.10", python="3.12", wishes=(Wish("torch", release),))
                plain = [one for one in resolve(m, q).candidates if not one.index]
                wanted = request(m, q, plain[0])
                assert not wanted.index and wanted.packages[0] == f"torch=={release}"
                done = subprocess.run(
                    [*pip_command(), "install", "--quiet", "--dry-run", "--no-deps", "--only-binary", ":all:",
                     "--python-version", "3.12", "--target", str(tmp_path / release), *wanted.packages],
                    capture_output=True, text=True, timeout=120, check=False, env={**os.environ, "PIP_CONSTRAINT": os.devnull},
                )  # fmt: skip
                assert done.returncode == 0, done.stderr[-400:]
