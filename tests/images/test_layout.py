"""Images on disk: OCI layouts and archives of `docker save`, as folders and as tars."""

from __future__ import annotations

import gzip
import json
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.images.layer import Layer
from doctor.images.layout import LayoutSource
from doctor.images.source import ImageError

from .layouts import CONFIG, MANIFEST, Blob, Layout, config, layer, sha256, tar_of

CUDA = config(env={"CUDA_VERSION": "12.8.0"}, Entrypoint=["/opt/nvidia/nvidia_entrypoint.sh"])
FILES = layer({"etc/motd": b"hello", "bin/tool": b"\0" * 5000})


def a_layout(folder: Path) -> Layout:
    layout = Layout(folder)
    layout.tag("latest", layout.image(CUDA, [layer({"etc/os-release": b"ID=ubuntu"}), FILES]))
    return layout


def saved(path: Path, blobs: list[Blob], tags: tuple[str, ...] = ("app:1",)) -> Path:
    """What `docker save` writes; the second layer is a link to the first where both are the same."""
    data = json.dumps(CUDA).encode()
    name = f"{sha256(data).partition(':')[2]}.json"
    files: dict[str, bytes | tarfile.TarInfo] = {name: data}
    layers = []
    for number, blob in enumerate(blobs):
        folder = f"{number:064x}"
        layers.append(f"{folder}/layer.tar")
        if number and blob is blobs[0]:
            link = tarfile.TarInfo(layers[-1])
            link.type, link.linkname = tarfile.SYMTYPE, f"../{0:064x}/layer.tar"
            files[layers[-1]] = link
        else:
            files[layers[-1]] = blob.data
    files["manifest.json"] = json.dumps([{"Config": name, "RepoTags": list(tags), "Layers": layers}]).encode()
    path.write_bytes(tar_of(files))
    return path


def test_a_layout_is_read_as_a_folder_and_as_a_tar(tmp_path: Path) -> None:
    layout = a_layout(tmp_path / "image")
    for path in (layout.folder, layout.to_tar(tmp_path / "image.tar")):
        source = LayoutSource(str(path))
        image = source.image("linux/amd64")
        assert image.config["config"]["Entrypoint"] == ["/opt/nvidia/nvidia_entrypoint.sh"]
        assert image.platform == "linux/amd64"
        assert [one.media_type.rpartition("+")[2] for one in image.layers] == ["gzip", "gzip"]
        assert b"".join(source.open_layer(image.layers[1])) == FILES.data
        assert b"".join(source.open_layer(image.layers[1], 100)) == FILES.data[100:]


def test_an_index_is_chosen_by_platform(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    images = [layout.image(config(architecture=name)) for name in ("amd64", "arm64")]
    layout.tag("latest", layout.index([*images, layout.attestation(images[0], {})]))
    for name, platform in (("amd64", "linux/amd64"), ("arm64", "linux/arm64/v8"), ("arm64", "aarch64"), ("amd64", "")):
        assert LayoutSource(str(tmp_path)).image(platform).platform == f"linux/{name}"
    with pytest.raises(ImageError, match=r"no image for linux/s390x; it has linux/amd64, linux/arm64$"):
        LayoutSource(str(tmp_path)).image("linux/s390x")


def test_a_tag_chooses_among_several(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    for name in ("11.8", "12.8"):
        layout.tag(name, layout.image(config(env={"CUDA_VERSION": name})))
    assert "CUDA_VERSION=12.8" in LayoutSource(str(tmp_path), "12.8").image("").config["config"]["Env"]
    for tag, line in (("", "several images"), ("13.0", "has no image named 13.0; it has 11.8, 12.8")):
        with pytest.raises(ImageError, match=line):
            LayoutSource(str(tmp_path), tag).image("")


def test_an_archive_of_docker_save(tmp_path: Path) -> None:
    plain = Blob(tar_of({"etc/motd": b"hello"}), "")
    source = LayoutSource(str(saved(tmp_path / "app.tar", [plain, plain])))
    image = source.image("")
    assert image.config["config"]["Env"] == CUDA["config"]["Env"]
    assert [b"".join(source.open_layer(one, 7)) for one in image.layers] == [plain.data[7:]] * 2
    assert LayoutSource(str(tmp_path / "app.tar"), "1").image("").config == image.config
    with pytest.raises(ImageError, match=r"contains app:1: choose one with .*app\.tar:TAG"):
        LayoutSource(str(tmp_path / "app.tar"), "2").image("")


def _garble(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1] + b" ")


FAULTS: dict[str, tuple[Callable[[Layout], object], str]] = {
    "config changed": (
        lambda x: _garble(_blob_with(x, b'"rootfs"')),
        "does not match its digest: it was changed or damaged in transit",
    ),
    "config cut": (lambda x: _cut(_blob_with(x, b'"rootfs"')), "bytes, not the"),
    "manifest changed": (
        lambda x: _garble(_blob_with(x, b'"layers": [{')),
        "does not match its digest: it was changed or damaged in transit",
    ),
    "config gone": (lambda x: _blob_with(x, b'"rootfs"').unlink(), "cannot read .*blobs/sha256/.*: No such file"),
    "index of nothing": (lambda x: (x.folder / "index.json").write_text('{"manifests": []}'), "lists no image"),
    "index no JSON": (lambda x: (x.folder / "index.json").write_text("{"), "cannot be read"),
    "index deep": (lambda x: (x.folder / "index.json").write_text("[" * 100_000), "cannot be read"),
    "no index": (lambda x: (x.folder / "index.json").unlink(), "contains no image: neither index.json"),
    "a digest that leads out": (
        lambda x: (x.folder / "index.json").write_text('{"manifests": [{"digest": "sha256:../../../etc/passwd", "size": 1}]}'),
        "contains an invalid digest: 'sha256:../../../etc/passwd'",
    ),
    "a link that leads out": (lambda x: _link(_blob_with(x, b'"rootfs"')), "points outside the folder"),
    "a pipe": (lambda x: _pipe(_blob_with(x, b'"rootfs"')), "is a FIFO, not a regular file"),
}  # fmt: skip


def _blob_with(layout: Layout, words: bytes) -> Path:
    return next(path for path in (layout.folder / "blobs" / "sha256").iterdir() if words in path.read_bytes())


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/etc/passwd")


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def test_a_damaged_layout_is_one_line(tmp_path: Path) -> None:
    for number, (name, (damage, line)) in enumerate(FAULTS.items()):
        layout = a_layout(tmp_path / str(number))
        damage(layout)
        with pytest.raises(ImageError, match=line) as caught:
            LayoutSource(str(layout.folder)).image("")
        assert "\n" not in str(caught.value), name


def test_sizes_are_bounded(tmp_path: Path) -> None:
    huge = Layout(tmp_path / "config")
    huge.tag("latest", huge.image(config(labels={"x": "y" * (5 << 20)})))
    with pytest.raises(ImageError, match="over 4 MiB is not plausible"):
        LayoutSource(str(huge.folder)).image("")
    many = Layout(tmp_path / "layers")
    layers = [many.blob(FILES.data, FILES.media_type)] * 10_000
    many.tag("latest", many.json({"schemaVersion": 2, "config": many.json(CUDA, CONFIG), "layers": layers}, MANIFEST))
    with pytest.raises(ImageError, match="lists 10000 layers: no engine runs an image with more than 127"):
        LayoutSource(str(many.folder)).image("")


def test_what_is_no_archive_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a tar")
    (tmp_path / "empty.tar").write_bytes(tar_of({}))
    whole = saved(tmp_path / "app.tar", [FILES]).read_bytes()
    (tmp_path / "cut.tar").write_bytes(whole[:700])
    for name, line in (
        ("text", "cannot read"),
        ("empty.tar", "contains no image"),
        ("cut.tar", "."),
        ("absent", "cannot read"),
    ):
        with pytest.raises(ImageError, match=line) as caught:
            source = LayoutSource(str(tmp_path / name))
            source.image("")
            b"".join(source.open_layer(Layer("", -1, "", f"{0:064x}/layer.tar")))
        assert "\n" not in str(caught.value)


def test_a_header_that_unpacks_to_gigabytes_is_refused(tmp_path: Path) -> None:
    """A pax header of 200 MB of zeros in 200 kB of gzip; tarfile alone would take it into memory."""
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.XHDTYPE, 200 << 20
    path = tmp_path / "bomb.tar.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(header.tobuf(tarfile.USTAR_FORMAT))
        for _ in range(200):
            file.write(bytes(1 << 20))
    with pytest.raises(ImageError, match="cannot read"):
        LayoutSource(str(path))
