"""Images assembled as OCI layouts: the blobs, manifests, indexes and attestations that BuildKit would have written.

    layout = Layout(tmp_path / "image")
    one = layout.image(config(env={"CUDA_VERSION": "12.8.0"}), [layer({"etc/motd": b"hello"})])
    layout.tag("latest", one)

`push` copies a layout into a registry by skopeo.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import sys
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

Descriptor = dict[str, Any]
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
TAR = "application/vnd.oci.image.layer.v1.tar"
COMPRESSIONS = {"": TAR, "gzip": f"{TAR}+gzip", "zstd": f"{TAR}+zstd"}
IN_TOTO = "application/vnd.in-toto+json"
SPDX = "https://spdx.dev/Document"
PROVENANCE = "https://slsa.dev/provenance/v0.2"


def sha256(data: bytes) -> str:
    """As a digest names it."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def tar_of(files: Mapping[str, bytes | tarfile.TarInfo]) -> bytes:
    """A tar of these files, always the same bytes; a TarInfo goes in as it is (link, device, folder)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in files.items():
            if isinstance(content, tarfile.TarInfo):
                tar.addfile(content)
                continue
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o644
            tar.addfile(member, io.BytesIO(content))
    return out.getvalue()


class Blob:
    """A layer: its tar, and the bytes that are stored for it."""

    def __init__(self, tar: bytes, compression: str = "gzip") -> None:
        self.diff_id = sha256(tar)
        self.media_type = COMPRESSIONS[compression]
        self.data = compressed(tar, compression)


def compressed(data: bytes, compression: str) -> bytes:
    """The bytes as a layer of that compression ("", gzip, zstd) stores them."""
    if compression == "gzip":
        return gzip.compress(data, 6, mtime=0)
    if compression == "zstd":
        if sys.version_info >= (3, 14):
            from compression import zstd

            return zstd.compress(data)
        import zstandard

        return zstandard.ZstdCompressor().compress(data)
    return data


def layer(files: Mapping[str, bytes | tarfile.TarInfo], compression: str = "gzip") -> Blob:
    """One layer with these files."""
    return Blob(tar_of(files), compression)


def config(
    env: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    history: Sequence[str] = (),
    architecture: str = "amd64",
    **rest: Any,
) -> dict[str, Any]:
    """The config of an image; `rest` goes into its inner object (Entrypoint, Cmd, User ...)."""
    return {
        "architecture": architecture,
        "os": "linux",
        "created": "2026-01-01T00:00:00Z",
        "config": {
            "Env": [
                f"{k}={v}"
                for k, v in ({"PATH": "/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"} | dict(env or {})).items()
            ],
            "Labels": dict(labels or {}),
            **rest,
        },
        "history": [{"created": "2026-01-01T00:00:00Z", "created_by": line, "empty_layer": True} for line in history],
    }


class Layout:
    """A folder that is an OCI layout."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "blobs" / "sha256").mkdir(parents=True, exist_ok=True)
        (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}', "utf-8")
        self._tags: list[Descriptor] = []
        self._write_index()

    def blob(self, data: bytes, media_type: str) -> Descriptor:
        """Store the bytes; what describes them."""
        digest = sha256(data)
        self.path(digest).write_bytes(data)
        return {"mediaType": media_type, "digest": digest, "size": len(data)}

    def path(self, digest: str) -> Path:
        """The file of a blob."""
        return self.folder / "blobs" / "sha256" / digest.partition(":")[2]

    def json(self, value: object, media_type: str) -> Descriptor:
        """Store a JSON document."""
        return self.blob(json.dumps(value).encode(), media_type)

    def image(self, about: Mapping[str, Any], layers: Iterable[Blob] = ()) -> Descriptor:
        """A manifest with its config and layers; its descriptor carries the platform."""
        blobs = list(layers) or [layer({"etc/hostname": b""})]
        full = {**about, "rootfs": {"type": "layers", "diff_ids": [one.diff_id for one in blobs]}}
        if full.get("history"):  # one entry of the history for each layer, the last ones
            history = [dict(entry) for entry in full["history"]]
            for entry in history[-len(blobs) :]:
                entry.pop("empty_layer", None)
            missing = [{"created_by": "COPY"}] * max(0, len(blobs) - len(history))
            full["history"] = missing + history
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": self.json(full, CONFIG),
            "layers": [self.blob(one.data, one.media_type) for one in blobs],
        }
        platform = {"os": about.get("os", "linux"), "architecture": about.get("architecture", "amd64")}
        return {**self.json(manifest, MANIFEST), "platform": platform}

    def index(self, images: Iterable[Descriptor]) -> Descriptor:
        """An index of images (and attestations)."""
        return self.json({"schemaVersion": 2, "mediaType": INDEX, "manifests": list(images)}, INDEX)

    def attestation(self, of: Descriptor, statements: Mapping[str, object]) -> Descriptor:
        """BuildKit's manifest of statements about an image: predicate type to predicate."""
        layers = []
        for kind, predicate in statements.items():
            statement = {
                "_type": "https://in-toto.io/Statement/v0.1",
                "predicateType": kind,
                "subject": [{"name": "pkg:docker/image", "digest": {"sha256": of["digest"].partition(":")[2]}}],
                "predicate": predicate,
            }
            layers.append({**self.json(statement, IN_TOTO), "annotations": {"in-toto.io/predicate-type": kind}})
        about = {
            "architecture": "unknown",
            "os": "unknown",
            "config": {},
            "rootfs": {"type": "layers", "diff_ids": [d["digest"] for d in layers]},
        }
        manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": self.json(about, CONFIG), "layers": layers}
        return {
            **self.json(manifest, MANIFEST),
            "platform": {"os": "unknown", "architecture": "unknown"},
            "annotations": {
                "vnd.docker.reference.type": "attestation-manifest",
                "vnd.docker.reference.digest": of["digest"],
            },
        }

    def tag(self, name: str, one: Descriptor) -> None:
        """Name a manifest or index in the layout."""
        plain = {key: one[key] for key in ("mediaType", "digest", "size")}
        self._tags.append({**plain, "annotations": {"org.opencontainers.image.ref.name": name}})
        self._write_index()

    def to_tar(self, path: Path) -> Path:
        """The layout as one tar, as `skopeo copy oci-archive:` and BuildKit write it."""
        with tarfile.open(path, "w") as tar:
            for file in sorted(self.folder.rglob("*")):
                if file.is_file():
                    tar.add(file, str(file.relative_to(self.folder)))
        return path

    def _write_index(self) -> None:
        index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": self._tags}
        (self.folder / "index.json").write_text(json.dumps(index), "utf-8")
