"""The wheel as pip builds it."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import pytest

from ..shared import pip_command

ROOT = Path(__file__).parents[2]


@pytest.mark.network
def test_it_is_small_and_whole(tmp_path: Path) -> None:
    """Under 2.3 MiB, with the templates and the data that the commands read, and none of what people read."""
    command = [*pip_command(), "wheel", "-q", "--no-deps", "-w", str(tmp_path), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.stat().st_size < 2_411_724
    names = set(zipfile.ZipFile(wheel).namelist())
    wanted = {
        "doctor/report/page.html.j2",
        "doctor/report/page.js",
        "doctor/commands/printed/systemd.txt",
        "gpudoctor/py.typed",
    }
    assert wanted <= names and not [name for name in names if name.startswith("doctor/text/catalogue/")]
