"""The wheel as pip builds it."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
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
    packed = zipfile.ZipFile(wheel)
    names = set(packed.namelist())
    wanted = {
        "doctor/report/page.html.j2",
        "doctor/report/page.js",
        "doctor/commands/printed/systemd.txt",
        "gpudoctor/py.typed",
    }
    assert any(name.endswith(".data/data/share/man/man1/gpudoctor.1") for name in names)
    assert wanted <= names and not [name for name in names if name.startswith("doctor/text/catalogue/")]
    (record,) = (name for name in names if name.endswith(".dist-info/RECORD"))
    for name, digest, size in csv.reader(packed.read(record).decode().splitlines()):
        data = packed.read(name)
        told = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        assert not digest or (digest, int(size)) == (f"sha256={told}", len(data)), name
        if name.startswith("compat_matrix/data/"):  # without blanks, one row in a line as `matrix lint` asks for
            source = (ROOT / name).read_text("utf-8")
            assert json.loads(data) == json.loads(source), name
            assert source[0] != "[" or data.count(b"\n") == source.count("\n"), name
