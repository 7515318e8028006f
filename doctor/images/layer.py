"""One layer of an image, and how its bytes are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Layer:
    """A compressed blob as the manifest names it."""

    digest: str
    """`sha256:` and 64 hexadecimal digits; empty where the source names none (an archive of `docker save`)."""
    size: int
    """Bytes as stored; -1 where the source does not say."""
    media_type: str
    """`application/vnd.oci.image.layer.v1.tar+gzip`, `...tar+zstd`, `...tar`, or Docker's word for the same."""
    name: str = ""
    """What the source finds it by where that is not its digest: the path in an archive."""


class OpenLayer(Protocol):
    """A source's door to the bytes of a layer."""

    def __call__(self, layer: Layer, offset: int = 0) -> Iterator[bytes]:
        """The blob's bytes from `offset` on, as stored (compressed). Raises ImageError where they cannot be had."""
