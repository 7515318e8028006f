"""An image on disk: an OCI layout or the output of `docker save`, as a folder or a tar.

Sources: image-spec, image-layout.md; moby, image/tarexport (manifest.json of `docker save`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from . import manifest as man
from .blobs import Blobs, FolderBlobs, TarBlobs
from .descriptor import Descriptor
from .layer import Layer
from .source import Image, ImageError

_REF_NAME = "org.opencontainers.image.ref.name"
_TAR = "application/vnd.oci.image.layer.v1.tar"


class _Saved(Struct, frozen=True, rename="pascal"):
    config: str
    layers: tuple[str, ...] = ()
    repo_tags: tuple[str, ...] | None = None


class LayoutSource:
    """The image at `path`; `tag` selects one if there are several."""

    def __init__(self, path: str, tag: str = "") -> None:
        self._path, self._tag = path, tag
        self._blobs: Blobs = FolderBlobs(path) if Path(path).is_dir() else TarBlobs(path)

    def image(self, platform: str) -> Image:
        """See `Source`."""
        if self._blobs.has("index.json"):
            return self._of_layout(platform)
        if self._blobs.has("manifest.json"):
            return self._of_archive(platform)
        raise ImageError(
            f"{self._path} contains no image: neither index.json (OCI layout) nor manifest.json (docker save)"
        )

    def statements(self, image: Image) -> Mapping[str, Any]:
        """See `Source`."""
        return man.read_statements(image, self)

    def open_layer(self, layer: Layer, offset: int = 0) -> Iterator[bytes]:
        """See `Source`."""
        return self._blobs.pieces(layer.name or _blob(layer.digest), offset)

    def manifest(self, one: Descriptor) -> bytes:
        """See `manifest.Reader`."""
        return self.blob(one, man.MAX_MANIFEST)

    def blob(self, one: Descriptor, limit: int) -> bytes:
        """See `manifest.Reader`."""
        return self._blobs.read(_blob(one.digest), limit)

    def _of_layout(self, platform: str) -> Image:
        index = man.parse(self._blobs.read("index.json", man.MAX_MANIFEST), f"index.json of {self._path}")
        if not isinstance(index, man.Index):
            raise ImageError(f"index.json in {self._path} is not an image index")
        one = self._tagged(index)
        return man.read_image(self._named(), self.manifest(one), one.digest, platform, self)

    def _tagged(self, index: man.Index) -> Descriptor:
        images = [one for one in index.manifests if not man.is_attestation(one)]
        named = {one.note(_REF_NAME) or one.note("io.containerd.image.name"): one for one in images}
        if self._tag:
            for name, one in named.items():
                if self._tag in (name, name.rpartition(":")[2]):
                    return one
            raise ImageError(f"{self._path} has no image named {self._tag}; it has {', '.join(filter(None, named))}")
        if not images:
            raise ImageError(f"index.json in {self._path} lists no image")
        if len(images) > 1 and len({str(one.platform) for one in images}) < len(images):
            names = ", ".join(name or one.digest[:19] for name, one in named.items())
            raise ImageError(f"{self._path} contains several images ({names}): choose one with {self._path}:TAG")
        return images[0]

    def _of_archive(self, platform: str) -> Image:
        what = f"manifest.json of {self._path}"
        listed = man.decode(self._blobs.read("manifest.json", man.MAX_MANIFEST), list[_Saved], what)
        images = [one for one in listed if not self._tag or any(self._names(name) for name in one.repo_tags or ())]
        if len(images) != 1:
            names = ", ".join(name for one in listed for name in one.repo_tags or ("<untagged>",))
            raise ImageError(f"{self._path} contains {names or 'no image'}: choose one with {self._path}:TAG")
        saved = images[0]
        if len(saved.layers) > man.MAX_LAYERS:
            raise ImageError(f"{what} lists {len(saved.layers)} layers: no engine runs an image with more than 127")
        data = self._blobs.read(saved.config, man.MAX_CONFIG)
        digest = Path(saved.config).name.removesuffix(".json")
        if man.is_digest(f"sha256:{digest}"):  # docker names the file by it
            man.hold_against(data, f"sha256:{digest}", -1, f"the config of {self._path}")
        layers = tuple(Layer("", -1, _TAR, name) for name in saved.layers)
        return Image(self._named(), "", man.parse_config(data, f"the config of {self._path}"), layers)

    def _names(self, name: str) -> bool:
        return self._tag in (name, name.rpartition(":")[2])

    def _named(self) -> str:
        return f"{self._path}:{self._tag}" if self._tag else self._path


def _blob(digest: str) -> str:
    kind, _, value = digest.partition(":")
    return f"blobs/{kind}/{value}"
