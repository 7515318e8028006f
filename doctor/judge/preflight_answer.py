"""What is said of an image and of each host, before it is started there."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from ..findings import Finding
from .report import MatrixInfo, Tool, Verdict

PREFLIGHT_SCHEMA_VERSION = 1

Grade: TypeAlias = Literal["native", "minor-version", "forward-compat", "impossible", "unknown"]
Label: TypeAlias = Literal["none", "agrees", "stricter", "looser", "unknown"]


class LayerAnswer(Struct, frozen=True, kw_only=True):
    """A layer that was read."""

    digest: str
    read: int
    """Bytes as stored."""
    bytes: int | None
    """Of all of it; None if the source does not say."""
    digest_checked: bool
    """It was read to its end, and is what its digest says."""


class ImageAbout(Struct, frozen=True, kw_only=True):
    """What was read of the image. Empty: it does not say."""

    name: str
    source: str
    """registry, docker, podman, archive or folder."""
    digest: str = ""
    platform: str = ""
    cuda: str = ""
    torch: str = ""
    torch_cuda: str = ""
    torch_source: str = ""
    python: str = ""
    requires: tuple[tuple[str, str], ...] = ()
    """NVIDIA_REQUIRE_* (or what CUDA_VERSION stands for): variable and expression."""
    requires_disabled: bool = False
    """NVIDIA_DISABLE_REQUIRE is set in the image: they are not checked."""
    visible_devices: str | None = None
    driver_capabilities: str | None = None
    entrypoint: tuple[str, ...] = ()
    user: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    layers: int = 0
    bytes: int | None = None
    """Of all layers as stored; None if the source does not say."""
    lowest_driver: str = ""
    """That runs what the image really holds (its torch, else its CUDA), on any GPU."""
    layers_read: tuple[LayerAnswer, ...] | None = None
    """Newest first; None: the layers were not asked for."""
    driver_libraries: tuple[str, ...] = ()
    """Libraries of a driver that lie in the image itself, where the host's belong."""
    notes: tuple[str, ...] = ()
    """What was strange about the layers."""
    lowest_driver_for: str = ""
    """`torch 2.8.0+cu128, built with CUDA 12.8`; `CUDA 12.8 of the image`."""


class HostAnswer(Struct, frozen=True, kw_only=True):
    """One host."""

    host: str
    driver: str
    gpus: tuple[str, ...]
    verdict: Verdict
    grade: Grade
    forward_compat: str = ""
    """Where the driver is too old by itself: possible, not-on-this-gpu, not-on-this-driver, unknown."""
    why: str
    lowest_driver: str = ""
    """For this image on these GPUs."""
    label: Label = "none"
    """What the image asks of the driver against what it needs: stricter, looser, or the same here."""
    label_words: str = ""
    hook: bool | None = None
    """Whether the legacy hook would start it; None if nothing is asked, or a fact is missing."""
    toolkit: bool | None = None
    """The same of the container toolkit's own evaluator, which only Jetson's mode uses."""
    findings: tuple[Finding, ...] = ()
    start: tuple[tuple[str, str], ...] = ()
    """(docker, podman, compose or kubernetes; lines to copy) that start it there; empty if it does not run."""


class SpecRow(Struct, frozen=True, kw_only=True):
    """A line of a spec that is not met, or of which that is unknown."""

    name: str
    """`torch`, `driver`; a package by its name."""
    allowed: str
    found: str
    """What is there instead, or why that is unknown."""
    where: str
    """`image`, or the host's name."""
    fix: str = ""
    """What to do about a deviation."""
    command: str = ""
    """The line of the Dockerfile that does it; empty if none is known, or if the host decides."""


class SpecAnswer(Struct, frozen=True, kw_only=True):
    """The image, and each host, against a spec (`--spec`)."""

    files: tuple[str, ...] = ()
    lines: int
    verdict: Verdict
    """pass, fail or unknown, of the lines that were judged."""
    deviations: tuple[SpecRow, ...] = ()
    unknown: tuple[SpecRow, ...] = ()
    left: tuple[str, ...] = ()
    """Lines that only a host decides, where none was given."""


class Preflight(Struct, frozen=True, kw_only=True):
    """What `gpudoctor image --format json` prints."""

    schema_version: int = PREFLIGHT_SCHEMA_VERSION
    tool: Tool
    matrix: MatrixInfo
    image: ImageAbout
    hosts: tuple[HostAnswer, ...] = ()
    spec: SpecAnswer | None = None
    """None without `--spec`."""
    exit_code: int = 0
