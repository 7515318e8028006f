"""Image references: `registry/path:tag@digest`, with Docker's defaults.

Source: distribution/reference (reference.go, normalize.go): grammar, and defaults for a missing registry or tag.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .manifest import is_digest
from .source import ImageError

HUB = "docker.io"
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_PATH = re.compile(rf"{_PART}(?:/{_PART})*")
_HOST = re.compile(
    r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*|\[[0-9a-fA-F:]+\])(?::\d{1,5})?"
)
_TAG = re.compile(r"\w[\w.-]{0,127}", re.ASCII)
_MAX_PATH = 255


@dataclass(frozen=True)
class Reference:
    """An image in a registry. `digest` is empty where none was given; with one, `tag` may be empty."""

    registry: str
    path: str
    tag: str
    digest: str = ""

    @property
    def version(self) -> str:
        """What to request from the registry: the digest if there is one."""
        return self.digest or self.tag

    def with_tag(self, tag: str) -> Reference:
        """Another image in the same repository."""
        return Reference(self.registry, self.path, tag)

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        return f"{self.registry}/{self.path}{tag}{f'@{self.digest}' if self.digest else ''}"


def parse_reference(text: str) -> Reference:
    """As `docker pull` reads it. Raises ImageError with one line."""
    rest, at, digest = text.removeprefix("docker://").partition("@")
    if at and not is_digest(digest):
        raise ImageError(
            f"{text[:200]!r}: {digest[:80]!r} is not a valid digest, such as sha256: and 64 hexadecimal digits"
        )
    registry, path = _split(rest)
    path, colon, tag = path.partition(":")
    if colon and not _TAG.fullmatch(tag):
        raise ImageError(f"{text[:200]!r}: {tag[:130]!r} is not a valid tag")
    if not _HOST.fullmatch(registry):
        raise ImageError(f"{text[:200]!r}: {registry[:80]!r} is not a valid registry")
    if path != path.lower():
        raise ImageError(f"{text[:200]!r}: image names must be lowercase")
    if not _PATH.fullmatch(path) or len(path) > _MAX_PATH:
        raise ImageError(f"{text[:200]!r} is not a valid image name, such as nvidia/cuda:12.8.0-base-ubuntu22.04")
    if registry == HUB and "/" not in path:
        path = f"library/{path}"
    return Reference(registry, path, tag or ("" if digest else "latest"), digest)


def _split(text: str) -> tuple[str, str]:
    """The first part is a registry if it looks like a host."""
    first, slash, rest = text.partition("/")
    if not slash or not ("." in first or ":" in first or first == "localhost" or first != first.lower()):
        return HUB, text
    return HUB if first == f"index.{HUB}" else first, rest
