"""Container images for the fuzzer: manifests, configs, archives; valid ones, and what takes them."""

from __future__ import annotations

import contextlib
import io
import json
import tarfile
import tempfile
from pathlib import Path

from compat_matrix import Matrix
from doctor.images import manifest as man
from doctor.images.about import about
from doctor.images.evidence import evidence
from doctor.images.importer import snapshot_of
from doctor.images.layer import Layer
from doctor.images.layout import LayoutSource
from doctor.images.source import Image, ImageError

from ..images.layouts import Layout
from ..images.modelled import IMAGES


def manifests() -> list[bytes]:
    """Manifests and indexes of the modelled images."""
    return [data for data in _blobs() if b'"schemaVersion"' in data]


def configs() -> list[bytes]:
    """Their configs."""
    return [data for data in _blobs() if b'"rootfs"' in data]


def archives() -> list[bytes]:
    """An OCI layout and what `docker save` writes, as tars."""
    found = []
    with tempfile.TemporaryDirectory() as text:
        layout = Layout(Path(text) / "image")
        layout.tag("latest", IMAGES["alpine:3.12"](layout))
        found.append(layout.to_tar(Path(text) / "image.tar").read_bytes())
    out = io.BytesIO()
    saved = [{"Config": "c.json", "RepoTags": ["a:1"], "Layers": ["1/layer.tar", "2/layer.tar"]}]
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, data in (
            ("c.json", b'{"config": {}}'),
            ("1/layer.tar", b"x" * 600),
            ("manifest.json", json.dumps(saved).encode()),
        ):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
        link = tarfile.TarInfo("2/layer.tar")
        link.type, link.linkname = tarfile.SYMTYPE, "../1/layer.tar"
        tar.addfile(link)
    return [*found, out.getvalue()]


def _blobs() -> list[bytes]:
    with tempfile.TemporaryDirectory() as text:
        layout = Layout(Path(text))
        for make in IMAGES.values():
            make(layout)
        return [path.read_bytes() for path in sorted((Path(text) / "blobs" / "sha256").iterdir())]


def manifest(data: bytes) -> object:
    """As a manifest or an index, and one image chosen of it."""
    try:
        found = man.parse(data, "the manifest")
        return man.choose(found, "linux/arm64", "x") if isinstance(found, man.Index) else man.layers_of(found)
    except ImageError as error:
        return _one_line(error)


def config(data: bytes) -> object:
    """Everything that is read of a config."""
    m = Matrix.load()
    try:
        image = Image(
            "docker.io/vllm/vllm-openai:v0.10.2", "", man.parse_config(data, "the config"), (Layer("", -1, ""),)
        )
    except ImageError as error:
        return _one_line(error)
    found = evidence(image, m)
    return about(image, "registry", found, snapshot_of(image, found), m)


def archive(data: bytes) -> object:
    """The image of an archive, and its layers."""
    with tempfile.TemporaryDirectory() as text:
        path = Path(text) / "image.tar"
        path.write_bytes(data)
        with contextlib.suppress(ImageError):
            source = LayoutSource(str(path))
            for layer in source.image("").layers:
                for _ in source.open_layer(layer, 3):
                    pass
    return None


def _one_line(error: ImageError) -> str:
    text = str(error)
    assert "\n" not in text
    return text
