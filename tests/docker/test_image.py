"""The Dockerfile builds, its image holds a working gpudoctor, and its HEALTHCHECK is the one that is meant."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]


def test_docker_is_given_every_file_that_the_package_is_built_from() -> None:
    """Of the checkout, Docker takes only what .dockerignore lets through; a build needs all that pyproject.toml names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    hatch = project["tool"]["hatch"]
    wheel = hatch["build"]["targets"]["wheel"]
    used = ["pyproject.toml", project["project"]["readme"], hatch["version"]["path"]]
    used += project["project"]["license-files"] + wheel["packages"] + [hook["path"] for hook in wheel["hooks"].values()]
    used += list(wheel["shared-data"])
    let_through = [Path(line[1:]) for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    assert len(used) > 8
    assert [name for name in used if not any(Path(name).is_relative_to(path) for path in let_through)] == []


@pytest.mark.buildah
def test_dockerfile_builds_and_the_image_is_sound(tmp_path: Path) -> None:
    script = Path(__file__).with_name("build.sh")
    done = subprocess.run([str(script), str(tmp_path)], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:] + done.stdout[-3000:]
    lines = done.stdout.splitlines()
    assert lines[0] == "['CMD', 'gpudoctor', 'healthcheck'] 65534:65534"
    assert lines[1].startswith("gpudoctor 0.")
    assert lines[-1].startswith("OK") and len(lines[-1]) <= 80
