"""Manifests, indexes and configs: bounded, checked against their digests, with one line per error.

Sources: the OCI image specification (image-spec: manifest.md, image-index.md, config.md, descriptor.md); Docker's image
manifest version 2, schema 2.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Protocol

import msgspec
from msgspec import Struct, field

from .descriptor import Descriptor
from .layer import Layer
from .source import Image, ImageError

MAX_MANIFEST = 4 << 20
"""Bytes; the minimum that registries must accept according to the distribution specification."""
MAX_CONFIG = 4 << 20
MAX_LAYERS = 1000
"""Engines run images with at most 127 layers."""
MAX_IMAGES = 1000
INDEX_TYPES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
MANIFEST_TYPES = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}")
MAX_STATEMENT = 32 << 20
_ATTESTATION = "attestation-manifest"
"""Value of the annotation `vnd.docker.reference.type` on BuildKit's attestations."""
_OF = "vnd.docker.reference.digest"
_PREDICATE = "in-toto.io/predicate-type"
_SPDX, _PROVENANCE = "https://spdx.dev/Document", "https://slsa.dev/provenance/"


class Index(Struct, frozen=True, rename="camel"):
    manifests: tuple[Descriptor, ...] = ()


class Manifest(Struct, frozen=True, rename="camel"):
    config: Descriptor
    layers: tuple[Descriptor, ...] = ()


class _Head(Struct, frozen=True, rename="camel"):
    schema_version: int | None = None
    media_type: str = ""
    manifests: msgspec.Raw = field(default_factory=msgspec.Raw)
    config: msgspec.Raw = field(default_factory=msgspec.Raw)


class Reader(Protocol):
    """Where manifests and blobs come from; the caller checks what is read against its descriptor."""

    def manifest(self, one: Descriptor) -> bytes: ...

    def blob(self, one: Descriptor, limit: int) -> bytes: ...


def read_image(name: str, data: bytes, digest: str, platform: str, reader: Reader) -> Image:
    """The image whose manifest (or index) these bytes are. Raises ImageError."""
    hold_against(data, digest, -1, f"the manifest of {name}")
    found = parse(data, f"the manifest of {name}")
    attestation = None
    if isinstance(found, Index):
        one = choose(found, platform, name)
        attestation = next((a for a in found.manifests if a.note(_OF) == one.digest and is_attestation(a)), None)
        digest = one.digest
        data = _checked(reader.manifest(one), one, f"the manifest of {name}")
        found = parse(data, f"the manifest of {name}")
        if isinstance(found, Index):
            raise ImageError(f"{name} contains a nested index")
    what = f"the config of {name}"
    config = parse_config(_checked(reader.blob(found.config, MAX_CONFIG), found.config, what), what)
    return Image(name, digest, config, layers_of(found), attestation)


def read_statements(image: Image, reader: Reader) -> Mapping[str, Any]:
    """An image's SPDX statement, else its provenance; empty if BuildKit attached none."""
    if image.attestation is None:
        return {}
    what = f"the attestation of {image.name}"
    found = parse(_checked(reader.manifest(image.attestation), image.attestation, what), what)
    layers = found.layers if isinstance(found, Manifest) else ()
    for kind in (_SPDX, _PROVENANCE):
        for one in layers:
            if one.note(_PREDICATE).startswith(kind) and 0 <= one.size <= MAX_STATEMENT:
                statement: dict[str, Any] = decode(
                    _checked(reader.blob(one, MAX_STATEMENT), one, what), dict[str, Any], what
                )
                return statement
    return {}


def _checked(data: bytes, one: Descriptor, what: str) -> bytes:
    hold_against(data, one.digest, one.size, what)
    return data


def digest_of(data: bytes) -> str:
    """The name a registry gives these bytes."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def parse(data: bytes, what: str) -> Index | Manifest:
    """What a registry or layout calls a manifest. Raises ImageError."""
    head: _Head = decode(data, _Head, what)
    if head.schema_version == 1:
        raise ImageError(f"{what} uses Docker's schema 1, from before 2016, which is no longer supported")
    if bytes(head.manifests):
        index: Index = decode(data, Index, what)
        if len(index.manifests) > MAX_IMAGES:
            raise ImageError(f"{what} lists {len(index.manifests)} images: more than {MAX_IMAGES} is not plausible")
        for one in index.manifests:
            _plausible(one, what)
        return index
    if not bytes(head.config):
        raise ImageError(f"{what} is neither a manifest nor an image index")
    manifest: Manifest = decode(data, Manifest, what)
    if len(manifest.layers) > MAX_LAYERS:
        raise ImageError(f"{what} lists {len(manifest.layers)} layers: no engine runs an image with more than 127")
    for one in (manifest.config, *manifest.layers):
        _plausible(one, what)
    if manifest.config.size > MAX_CONFIG:
        raise ImageError(f"{what} lists a config of {manifest.config.size} bytes: over 4 MiB is not plausible")
    return manifest


def parse_config(data: bytes, what: str) -> Mapping[str, Any]:
    """The config as decoded JSON, with the types of everything used from it checked. Raises ImageError."""
    found: dict[str, Any] = decode(data, dict[str, Any], what)
    inner = found.get("config")
    if not isinstance(inner, dict | None):
        raise ImageError(f"{what} is not an image config: its 'config' is not an object")
    return found


def layers_of(manifest: Manifest) -> tuple[Layer, ...]:
    """Base first."""
    return tuple(Layer(one.digest, one.size, one.media_type) for one in manifest.layers)


def choose(index: Index, platform: str, what: str) -> Descriptor:
    """The image for that platform ("": the first). Raises ImageError that lists the available ones."""
    images = [one for one in index.manifests if not is_attestation(one)]
    if not images:
        raise ImageError(f"{what} lists no image")
    if not platform or (len(images) == 1 and images[0].platform is None):
        return images[0]
    wanted = platform_words(platform)
    found = [one for one in images if one.platform and _serves(platform_words(str(one.platform)), wanted)]
    if not found:
        there = ", ".join(dict.fromkeys(str(one.platform) for one in images if one.platform))
        raise ImageError(f"{what} has no image for {platform}" + (f"; it has {there}" if there else ""))
    return found[0]


def is_attestation(one: Descriptor) -> bool:
    """Whether an index lists it as BuildKit's statement about an image."""
    return one.note("vnd.docker.reference.type") == _ATTESTATION


def platform_words(text: str) -> tuple[str, str, str]:
    """(os, architecture, variant) of `linux/amd64`, `arm64`, `linux/arm64/v8`, as named in image indexes."""
    parts = text.lower().split("/")
    system, rest = (parts[0], parts[1:]) if len(parts) > 1 or parts[0] in ("linux", "windows") else ("linux", parts)
    machine = rest[0] if rest else ""
    machine = {"x86_64": "amd64", "aarch64": "arm64", "armhf": "arm"}.get(machine, machine)
    variant = rest[1] if len(rest) > 1 else ""
    return system, machine, "" if (machine, variant) == ("arm64", "v8") else variant


def _serves(have: tuple[str, str, str], wanted: tuple[str, str, str]) -> bool:
    return have[:2] == wanted[:2] and (not wanted[2] or not have[2] or have[2] == wanted[2])


def hold_against(data: bytes, digest: str, size: int, what: str) -> None:
    """Raises ImageError if the bytes do not match the digest or the announced size."""
    if size >= 0 and len(data) != size:
        raise ImageError(f"{what} has {len(data)} bytes, not the {size} that its manifest lists")
    kind, _, wanted = digest.partition(":")
    if hashlib.new(kind, data).hexdigest() != wanted:
        raise ImageError(f"{what} does not match its digest: it was changed or damaged in transit")


def is_digest(text: str) -> bool:
    """Whether it is a digest that can be checked: SHA-256 or SHA-512."""
    return _DIGEST.fullmatch(text) is not None


def _plausible(one: Descriptor, what: str) -> None:
    if not is_digest(one.digest):
        raise ImageError(f"{what} contains an invalid digest: {one.digest[:80]!r}")
    if one.size < 0:
        raise ImageError(f"{what} has no size for {one.digest[:19]}...")


def decode(data: bytes, kind: Any, what: str) -> Any:
    """JSON as a value of this type. Raises ImageError."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise ImageError(f"{what} cannot be read: {error}") from None
    except RecursionError:
        raise ImageError(f"{what} cannot be read: nested too deeply") from None
