"""The Dockerfile builds, its image holds a working gpudoctor, and its HEALTHCHECK is the one that is meant."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest


@pytest.mark.buildah
def test_dockerfile_builds_and_the_image_is_sound(tmp_path: Path) -> None:
    script = Path(__file__).with_name("build.sh")
    done = subprocess.run([str(script), str(tmp_path)], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:] + done.stdout[-3000:]
    lines = done.stdout.splitlines()
    assert lines[0] == "['CMD', 'gpudoctor', 'healthcheck'] 65534:65534"
    assert lines[1].startswith("gpudoctor 0.")
    assert lines[-1].startswith("OK") and len(lines[-1]) <= 80
