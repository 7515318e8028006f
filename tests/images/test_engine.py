"""Images in real engines: dockerd and Podman's service, through the docker SDK."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from doctor.images.engine import EngineSource, addresses
from doctor.images.source import ImageError

from ..cli.command import COMMAND, one_line
from .engines import dockerd, load, podman_service
from .layouts import Layout, config, layer

HISTORY = "RUN /bin/sh -c pip install torch==2.8.0 --index-url https://download.pytorch.org/whl/cu128 # buildkit"
LAYERS = [layer({"etc/os-release": b"ID=debian\n"}), layer({"opt/app": b"x" * 5000})]
HOST = ["--driver", "580", "--gpu", "H100"]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    layout = Layout(tmp_path_factory.mktemp("app"))
    about = config(env={"PYTHON_VERSION": "3.12.7"}, history=["COPY a / # buildkit", HISTORY], Entrypoint=["/opt/app"])
    layout.tag("latest", layout.image(about, LAYERS))
    return layout


@pytest.fixture(scope="module")
def podman(tmp_path_factory: pytest.TempPathFactory, app: Layout) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("podman")
    with podman_service(folder / "service") as address:
        load(address, app, "localhost/app:1", folder / "app.tar")
        yield address


@pytest.fixture(scope="module")
def docker_engine(tmp_path_factory: pytest.TempPathFactory, app: Layout) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("docker")
    with dockerd(folder / "engine") as address:
        load(address, app, "app:1", folder / "app.tar")
        yield address


def holds(source: EngineSource) -> None:
    """The image is told whole, and its layers are streamed."""
    image = source.image("linux/amd64")
    assert image.platform == "linux/amd64"
    assert image.config["config"]["Entrypoint"] == ["/opt/app"]
    assert "PYTHON_VERSION=3.12.7" in image.config["config"]["Env"]
    assert [row["created_by"] for row in image.config["history"]][-1] == HISTORY
    assert len(image.layers) == 2
    for one, blob in zip(image.layers, LAYERS, strict=True):
        tar = gzip.decompress(blob.data)
        assert one.digest == blob.diff_id
        assert b"".join(source.open_layer(one)) == tar
        assert b"".join(source.open_layer(one, 700)) == tar[700:]


def run(*arguments: str, env: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    variables = {key: value for key, value in os.environ.items() if key not in ("DOCKER_HOST", "CONTAINER_HOST")}
    command = [str(COMMAND), "image", *arguments]
    return subprocess.run(command, capture_output=True, timeout=60, env={**variables, **env}, check=False)


@pytest.mark.podman
def test_podman_holds_it(podman: str) -> None:
    holds(EngineSource("localhost/app:1", "podman", podman, 30))
    done = run(
        "localhost/app:1", *HOST, "--format", "json", env={"CONTAINER_HOST": podman, "DOCKER_HOST": "unix:///nowhere"}
    )
    assert done.returncode == 0, done.stderr
    image = json.loads(done.stdout)["image"]
    assert (image["source"], image["torch"], image["layers"]) == ("podman", "2.8.0+cu128", 2)
    env = {"CONTAINER_HOST": podman, "DOCKER_HOST": "unix:///nowhere"}
    done = run("localhost/app:1", "--all-layers", "--format", "json", env=env)
    assert [one["digest_checked"] for one in json.loads(done.stdout)["image"]["layers_read"]] == [True, True]


@pytest.mark.docker
def test_docker_holds_it(docker_engine: str) -> None:
    holds(EngineSource("app:1", "docker", docker_engine, 30))
    done = run("app:1", *HOST, env={"DOCKER_HOST": docker_engine})
    assert done.returncode == 0 and b"app:1 (in the Docker engine here)" in done.stdout
    assert b"torch 2.8.0+cu128" in done.stdout
    done = run("app:1", "--all-layers", env={"DOCKER_HOST": docker_engine})
    assert b"2 of them match their digests" in b" ".join(done.stdout.split())
    assert "has no image app:2" in one_line(run("app:2", "--from", "docker", env={"DOCKER_HOST": docker_engine}))
    with pytest.raises(ImageError, match="has no layer"):
        source = EngineSource("app:1", "docker", docker_engine, 30)
        b"".join(source.open_layer(type(source.image("").layers[0])("sha256:" + "0" * 64, -1, "")))


def test_an_engine_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    gone = {"DOCKER_HOST": f"unix://{tmp_path}/no.sock", "CONTAINER_HOST": f"unix://{tmp_path}/no.sock"}
    for engine in ("docker", "podman"):
        line = one_line(run("app:1", "--from", engine, env=gone), code=3)
        assert f"cannot reach {engine.capitalize()} at {tmp_path}/no.sock" in line


def test_without_a_variable_the_usual_sockets_are_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    monkeypatch.delenv("CONTAINER_HOST", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "podman").mkdir()
    path = tmp_path / "podman" / "podman.sock"
    (tmp_path / "podman" / "podman.sock").touch()
    assert f"unix://{path}" not in addresses("podman")  # a file is no socket
    path.unlink()
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))
        assert f"unix://{path}" in addresses("podman")


def test_a_registry_is_asked_without_the_docker_sdk() -> None:
    code = (
        "import sys; sys.argv = ['gpudoctor', 'image', '127.0.0.1:9/a:1', '--from', 'registry']\n"
        "from doctor.__main__ import dispatch\n"
        "assert dispatch(sys.argv[1:]) == 3 and 'requests' in sys.modules\n"
        "assert 'docker' not in sys.modules and 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
