"""One layer of an image, and how its bytes are requested."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Layer:
    """A compressed blob as the manifest names it."""

    digest: str
    """`sha256:` and 64 hexadecimal digits; empty if the source has none (an archive from `docker save`)."""
    size: int
    """Bytes as stored; -1 if the source does not say."""
    media_type: str
    """`application/vnd.oci.image.layer.v1.tar+gzip`, `...tar+zstd`, `...tar`, or Docker's name for the same."""
    name: str = ""
    """How the source finds it if not by its digest: the path in an archive."""


class OpenLayer(Protocol):
    """A source's function for reading a layer's bytes."""

    def __call__(self, layer: Layer, offset: int = 0) -> Iterator[bytes]:
        """The blob's bytes from `offset` on, as stored (compressed). Raises ImageError if they are not available."""
