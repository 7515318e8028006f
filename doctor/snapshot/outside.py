"""The host of a container that was looked into from it."""

from __future__ import annotations

from msgspec import Struct

from .fact import NOT_ASKED, Missing


class Outside(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Facts from outside the container."""

    kernel_version: str | Missing = NOT_ASKED
    """The loaded driver's version; Missing(absent) if none is loaded."""
    libcuda_path: str | Missing = NOT_ASKED
    libcuda_version: str | Missing = NOT_ASKED
    cuda_version: str | Missing = NOT_ASKED
    """The highest that the host's driver offers."""
    gpus: tuple[str, ...] | Missing = NOT_ASKED
    """Names, by NVML."""
    nodes: tuple[str, ...] | Missing = NOT_ASKED
    """Paths of NVIDIA's device nodes."""
    mounted: tuple[str, ...] | Missing = NOT_ASKED
    """What of NVIDIA's is mounted into the container, as paths in it."""
