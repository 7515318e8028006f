"""What every source of images offers, and how one fails."""

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
    """An answer that takes more than its time: it is not asked for again."""


@dataclass(frozen=True)
class Image:
    """One image of one platform, as its manifest and its config say."""

    name: str
    """As a person would write it: `docker.io/nvidia/cuda:12.8.0-base-ubuntu22.04`, or a path."""
    digest: str
    """Of the manifest; empty where the source has none."""
    config: Mapping[str, Any]
    layers: tuple[Layer, ...]
    """Base first."""
    attestation: Descriptor | None = None
    """BuildKit's manifest of statements about the image (SPDX, provenance), where the index lists one."""

    @property
    def platform(self) -> str:
        """`linux/amd64`, `linux/arm64/v8`; a part that the config does not name is `unknown`."""
        words = [str(self.config.get(key) or "unknown") for key in ("os", "architecture")]
        variant = self.config.get("variant")
        return "/".join([*words, variant] if isinstance(variant, str) and variant else words)


class Source(Protocol):
    """Where an image comes from."""

    def image(self, platform: str) -> Image:
        """The image for `linux/amd64` or the like; "" takes what is there. Raises ImageError with one line."""

    def statements(self, image: Image) -> Mapping[str, Any]:
        """The SPDX document (else the provenance) that BuildKit laid beside the image; empty where there is none."""

    def open_layer(self, layer: Layer, offset: int = 0) -> Iterator[bytes]:
        """See `OpenLayer`."""
