"""Engines on sockets and folders of their own: dockerd, and Podman's service (its API alone)."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from .layouts import Layout


@contextlib.contextmanager
def podman_service(folder: Path) -> Iterator[str]:
    """`podman system service`; its address."""
    folder.mkdir(parents=True)
    socket = folder / "podman.sock"
    with tempfile.TemporaryDirectory(prefix="p") as short, (folder / "log").open("wb") as log:
        # Podman takes no runroot of over 50 characters
        podman = ["podman", "--root", folder / "root", "--runroot", f"{short}/r", "--storage-driver", "vfs"]
        child = subprocess.Popen([*podman, "system", "service", "--time=0", f"unix://{socket}"], stdout=log, stderr=log)
        try:
            _wait(socket, child)
            yield f"unix://{socket}"
        finally:
            _end(child)


@contextlib.contextmanager
def dockerd(folder: Path) -> Iterator[str]:
    """Docker's engine without network; its address. Where the kernel has overlays, layers are not copied."""
    folder.mkdir(parents=True)
    socket = folder / "docker.sock"
    command = [
        "dockerd",
        "--iptables=false",
        "--bridge=none",
        f"--storage-driver={_storage()}",
        "--host",
        f"unix://{socket}",
    ]
    command += [
        "--data-root",
        str(folder / "data"),
        "--exec-root",
        str(folder / "exec"),
        "--pidfile",
        str(folder / "pid"),
    ]
    with (folder / "log").open("wb") as log:
        child = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            _wait(socket, child)
            yield f"unix://{socket}"
        finally:
            _end(child)


def _storage() -> str:
    return "overlay2" if "\toverlay\n" in Path("/proc/filesystems").read_text() else "vfs"


def load(address: str, layout: Layout, name: str, archive: Path) -> None:
    """Put the image `latest` of a layout into an engine under this name, as `docker load` does."""
    copy = [
        "skopeo",
        "copy",
        "--insecure-policy",
        "--override-arch",
        "amd64",
        f"oci:{layout.folder}:latest",
        f"docker-archive:{archive}:{name}",
    ]
    done = subprocess.run(copy, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    import docker

    client = docker.DockerClient(base_url=address, timeout=120)
    with archive.open("rb") as file:
        client.images.load(file)
    client.close()


def _wait(socket: Path, child: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        assert child.poll() is None, "the engine ended at its start: see its log"
        if socket.exists():
            return
        time.sleep(0.1)
    raise AssertionError("the engine made no socket")


def _end(child: subprocess.Popen[bytes]) -> None:
    child.terminate()
    try:
        child.wait(30)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait(10)
