"""How manifests and indexes refer to other content: image-spec, descriptor.md."""

from __future__ import annotations

from msgspec import Struct


class Platform(Struct, frozen=True):
    os: str = "unknown"
    architecture: str = "unknown"
    variant: str = ""

    def __str__(self) -> str:
        return "/".join(filter(None, (self.os, self.architecture, self.variant)))


class Descriptor(Struct, frozen=True, rename="camel"):
    digest: str
    size: int = -1
    media_type: str = ""
    platform: Platform | None = None
    annotations: dict[str, str] | None = None

    def note(self, name: str) -> str:
        """The annotation with that name, or ""."""
        return (self.annotations or {}).get(name, "")
