"""An image in a registry: manifest, index by platform, config; no layer unless one is requested."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from . import manifest as man
from .credentials import credentials_for
from .descriptor import Descriptor
from .http import Access, Registry
from .layer import Layer
from .reference import HUB, Reference
from .source import Image, ImageError

_ACCEPT = ", ".join((*man.MANIFEST_TYPES, *man.INDEX_TYPES))
_MOST_PAGES = 5
_HUB_HOST = "registry-1.docker.io"


class RegistrySource:
    """The image that `reference` names."""

    def __init__(self, reference: Reference, access: Access) -> None:
        self.reference = reference
        host = _HUB_HOST if reference.registry == HUB else reference.registry
        self.registry = Registry(
            host,
            f"repository:{reference.path}:pull",
            credentials_for(reference.registry, reference.path, access.timeout_s),
            access,
        )

    def image(self, platform: str) -> Image:
        """See `Source`."""
        data, response = self.registry.get(
            f"{self.reference.path}/manifests/{self.reference.version}", {"Accept": _ACCEPT}, man.MAX_MANIFEST
        )
        announced = response.headers.get("Docker-Content-Digest", "")
        digest = self.reference.digest or (announced if man.is_digest(announced) else man.digest_of(data))
        return man.read_image(str(self.reference), data, digest, platform, self)

    def manifest(self, one: Descriptor) -> bytes:
        """See `manifest.Reader`."""
        path = f"{self.reference.path}/manifests/{one.digest}"
        return self.registry.get(path, {"Accept": one.media_type or _ACCEPT}, man.MAX_MANIFEST)[0]

    def blob(self, one: Descriptor, limit: int) -> bytes:
        """See `manifest.Reader`."""
        return self.registry.get(f"{self.reference.path}/blobs/{one.digest}", {}, limit)[0]

    def statements(self, image: Image) -> Mapping[str, Any]:
        """See `Source`."""
        return man.read_statements(image, self)

    def open_layer(self, layer: Layer, offset: int = 0) -> Iterator[bytes]:
        """See `Source`."""
        headers = {"Range": f"bytes={offset}-"} if offset else {}
        response = self.registry.open(f"{self.reference.path}/blobs/{layer.digest}", headers)
        if response.status_code == 206 and not response.headers.get("Content-Range", "").startswith(f"bytes {offset}-"):
            raise ImageError(f"{self.registry.host} sent a different part of the layer than requested")
        return self.registry.pieces(response, 0 if response.status_code == 206 else offset)

    def tags(self) -> list[str]:
        """The tags in the same repository, from the first pages that the registry returns."""
        path, found = f"{self.reference.path}/tags/list?n=1000", list[str]()
        for _ in range(_MOST_PAGES):
            data, response = self.registry.get(path, {}, man.MAX_MANIFEST)
            page = man.decode(data, dict[str, Any], f"the tag list of {self.reference.path}").get("tags")
            found += [tag for tag in page if isinstance(tag, str)] if isinstance(page, list) else []
            following = re.match(r"<([^>]{1,2000})>;\s*rel=\"?next", response.headers.get("Link", ""))
            if not following:
                break
            path = following[1].partition("/v2/")[2] or path
        return found

    def other(self, tag: str) -> RegistrySource:
        """Another image of the release line, with the same login."""
        found = RegistrySource.__new__(RegistrySource)
        found.reference, found.registry = self.reference.with_tag(tag), self.registry
        return found
