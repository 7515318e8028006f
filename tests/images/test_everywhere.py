"""The command's verdicts are the same wherever the modelled images lie: registry, archive, Docker, Podman."""

from __future__ import annotations

import csv
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ..cli.command import gpudoctor
from .engines import dockerd, load, podman_service
from .layouts import Layout
from .modelled import IMAGES
from .registries import Running
from .test_verdicts import HOSTS, TABLE

_GPUS = [word for gpu in dict.fromkeys(gpu for gpu, _ in HOSTS) for word in ("--gpu", gpu)]
_DRIVERS = [word for driver in dict.fromkeys(driver for _, driver in HOSTS) for word in ("--driver", driver)]
CONFIG_ALONE = [name for name in IMAGES if name not in ("attested:1", "zstd:1")]
"""An engine or an archive keeps no attestations, and skopeo makes no archive of layers in zstd."""


def wrong(
    names: list[str], tmp_path: Path, put: Callable[[str, Layout], list[str]], env: dict[str, str]
) -> list[object]:
    """What differs from the table. `put`: brings an image there; the words of the command that name it."""
    rows = list(csv.DictReader(TABLE.open(encoding="utf-8"), delimiter="\t"))
    found: list[object] = []
    for name in names:
        layout = Layout(tmp_path / name.replace(":", "_"))
        layout.tag("latest", IMAGES[name](layout))
        done = gpudoctor(
            "image", *put(name, layout), *_GPUS, *_DRIVERS, "--platform", "linux/amd64", "--format", "json", env=env
        )
        assert done.returncode in (1, 3), done.stderr
        given = {(one["host"], one["driver"]): one for one in json.loads(done.stdout)["hosts"]}
        by_gpu = {
            (host.partition(",")[0].removeprefix("GeForce "), driver): one for (host, driver), one in given.items()
        }
        for row in (row for row in rows if row["image"] == name):
            one = by_gpu[row["gpu"], row["driver"]]
            first = one["findings"][0]["id"] if one["findings"] else ""
            told = (one["verdict"], one["grade"], one["forward_compat"], one["label"], first)
            wanted = tuple(row[key] for key in ("verdict", "grade", "forward_compat", "label", "finding"))
            found += [] if told == wanted else [(name, row["gpu"], row["driver"], told, wanted)]
    return found


@pytest.mark.registry
def test_in_a_registry(plain_registry: Running, tmp_path: Path) -> None:
    def put(name: str, layout: Layout) -> list[str]:
        return [plain_registry.push(layout, f"all/{name}"), "--from", "registry"]

    assert wrong(list(IMAGES), tmp_path, put, {}) == []


@pytest.mark.registry
def test_in_an_archive_of_docker_save(tmp_path: Path) -> None:
    def put(name: str, layout: Layout) -> list[str]:
        archive = tmp_path / f"{name.replace(':', '_')}.tar"
        copy = ["skopeo", "copy", "--insecure-policy", "--override-arch", "amd64", f"oci:{layout.folder}:latest"]
        subprocess.run([*copy, f"docker-archive:{archive}:{name}"], check=True, capture_output=True, timeout=120)
        return [str(archive)]

    assert wrong(CONFIG_ALONE, tmp_path, put, {}) == []


@pytest.mark.docker
def test_in_docker(tmp_path: Path) -> None:
    with dockerd(tmp_path / "engine") as address:

        def put(name: str, layout: Layout) -> list[str]:
            load(address, layout, name, tmp_path / f"{name.replace(':', '_')}.tar")
            return [name, "--from", "docker"]

        assert wrong(CONFIG_ALONE, tmp_path, put, {"DOCKER_HOST": address}) == []


@pytest.mark.podman
def test_in_podman(tmp_path: Path) -> None:
    with podman_service(tmp_path / "engine") as address:

        def put(name: str, layout: Layout) -> list[str]:
            load(address, layout, f"localhost/{name}", tmp_path / f"{name.replace(':', '_')}.tar")
            return [f"localhost/{name}", "--from", "podman"]

        assert wrong(CONFIG_ALONE, tmp_path, put, {"CONTAINER_HOST": address}) == []


def test_in_an_unpacked_root_folder(tmp_path: Path) -> None:
    """A root has no config and so no label: what its files are decides."""
    site = tmp_path / "root/usr/local/lib/python3.11/site-packages"
    (site / "torch").mkdir(parents=True)
    (site / "torch/version.py").write_text("__version__ = '2.6.0+cu124'\ncuda = '12.4'\nhip = None\n")
    (site / "torch/__init__.py").touch()
    info = site / "torch-2.6.0+cu124.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.6.0+cu124\n")
    python = tmp_path / "root/usr/local/bin/python3.11"
    python.parent.mkdir()
    python.touch()
    python.with_name("python3").symlink_to("python3.11")

    def put(name: str, layout: Layout) -> list[str]:
        return [str(tmp_path / "root")]

    assert len([row for row in TABLE.read_text().splitlines() if row.startswith("pytorch:2.6.0\t")]) >= 6
    assert wrong(["pytorch:2.6.0"], tmp_path, put, {}) == []
