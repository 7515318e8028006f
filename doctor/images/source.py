"""What every image source offers, and how one fails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from .descriptor import Descriptor
from .layer import Layer


class ImageError(Exception):
    """The image cannot be read: one line. `unknown`: it may exist all the same (offline, slow, exit 3), else exit 2."""

    def __init__(self, text: str, unknown: bool = False) -> None:
        super().__init__(text)
        self.unknown = unknown


class TooSlow(ImageError):
    """An answer that takes too long: it is not requested again."""


@dataclass(frozen=True)
class Image:
    """One image for one platform, according to its manifest and config."""

    name: str
    """As a person would write it: `docker.io/nvidia/cuda:12.8.0-base-ubuntu22.04`, or a path."""
    digest: str
    """The manifest's digest; empty if the source has none."""
    config: Mapping[str, Any]
    layers: tuple[Layer, ...]
    """Base first."""
    attestation: Descriptor | None = None
    """BuildKit's manifest of statements about the image (SPDX, provenance), if the index lists one."""

    @property
    def platform(self) -> str:
        """`linux/amd64`, `linux/arm64/v8`; a part missing from the config is `unknown`."""
        words = [str(self.config.get(key) or "unknown") for key in ("os", "architecture")]
        variant = self.config.get("variant")
        return "/".join([*words, variant] if isinstance(variant, str) and variant else words)


class Source(Protocol):
    """Where an image comes from."""

    def image(self, platform: str) -> Image:
        """The image for `linux/amd64` or similar; "" accepts any. Raises ImageError with one line."""

    def statements(self, image: Image) -> Mapping[str, Any]:
        """The SPDX document (else the provenance) that BuildKit attached to the image; empty if there is none."""

    def open_layer(self, layer: Layer, offset: int = 0) -> Iterator[bytes]:
        """See `OpenLayer`."""
