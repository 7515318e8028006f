"""The project's image in Docker's own engine: it is started there, and its HEALTHCHECK changes state for real."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..fakes import Machine, build_fakes
from ..images.engines import dockerd


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """An engine that holds the image of our Dockerfile. Docker's own builder copies the whole file system for each
    instruction where its storage is vfs, so buildah builds it."""
    folder = tmp_path_factory.mktemp("healthcheck")
    script = [Path(__file__).with_name("build.sh"), folder, folder / "image.tar"]
    done = subprocess.run(script, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    with dockerd(folder / "engine") as address:
        env = {**os.environ, "DOCKER_HOST": address}
        docker(env, "load", "-q", "-i", str(folder / "image.tar"))
        yield env


def docker(env: dict[str, str], *words: str) -> str:
    done = subprocess.run(["docker", *words], env=env, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


def becomes(env: dict[str, str], wanted: str) -> str:
    """Wait until the engine calls the container so; the last output of its health check."""
    health: dict[str, object] = {}
    for _ in range(120):
        health = json.loads(docker(env, "inspect", "--format", "{{json .State.Health}}", "app"))
        log = health.get("Log")
        if health.get("Status") == wanted and isinstance(log, list) and log:
            return str(log[-1]["Output"])
        time.sleep(0.5)
    raise AssertionError(health)


@pytest.mark.docker
def test_the_health_check_of_the_image_changes_state(engine: dict[str, str], tmp_path: Path) -> None:
    """Healthy with a driver and a GPU (simulated ones), unhealthy when the GPU is lost, and healthy again."""
    tmp_path.chmod(0o755)
    healthy, lost = Machine.load("healthy-h100"), Machine.load("gpu-lost")
    variables = healthy.install(build_fakes(tmp_path / "built"), tmp_path / "driver")
    subprocess.run(["mknod", tmp_path / "nvidia0", "c", "195", "0"], check=True)
    given = [word for name, value in variables.items() for word in ("-e", f"{name}={value}")]
    docker(
        engine, "run", "-d", "--init", "--name", "app", "--network", "none", "-v", f"{tmp_path}:{tmp_path}",
        "--device", f"{tmp_path}/nvidia0:/dev/nvidia0", "--health-interval", "1s", "--health-start-period", "0s",
        "--health-retries", "1", *given, "gpudoctor:1", "sleep", "600",
    )  # fmt: skip
    scenario = Path(variables["GPUDOCTOR_FAKE_SCENARIO"])
    before = scenario.read_text()
    try:
        said = becomes(engine, "healthy")
        assert said.startswith(("OK", "UNKNOWN")) and "H100" in said, said
        scenario.write_text("".join(f"{key} = {value}\n" for key, value in lost.scenario.items()))
        assert becomes(engine, "unhealthy").startswith("FAIL gpu-fell-off-bus")
        scenario.write_text(before)
        assert becomes(engine, "healthy") == said
    finally:
        subprocess.run(["docker", "rm", "-f", "app"], env=engine, capture_output=True, check=False)


@pytest.mark.docker
def test_check_in_a_container_without_a_gpu(engine: dict[str, str]) -> None:
    """As the engine starts it: nothing was given, and the report says so."""
    run = ["docker", "run", "--rm", "--network", "none", "gpudoctor:1", "gpudoctor", "check", "--format", "json"]
    done = subprocess.run(run, env=engine, capture_output=True, text=True, timeout=120, check=False)
    report = json.loads(done.stdout)
    assert report["snapshot"]["container"]["kind"] == "docker"
    assert done.returncode == 1 and report["verdict"] == "fail"
