"""NVIDIA_REQUIRE_* of a container's image against the driver, by the rules of both tools that read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from .fact import Missing, known

if TYPE_CHECKING:
    from ..formats.require import RequireResult
    from .snapshot import Snapshot

_BRANDS = (
    "unknown", "quadro", "tesla", "nvs", "grid", "geforce", "titan", "vapps", "vpc", "vcs", "vws", "cloudgaming",
    "quadrortx", "nvidiartx", "nvidia", "geforcertx", "titanrtx",
)  # fmt: skip
"""libnvidia-container's word for each NVML brand number."""


class Required(Struct, frozen=True):
    """What the image asks for (variable, expression), and each tool's answer."""

    requested: tuple[tuple[str, str], ...]
    hook: RequireResult
    """libnvidia-container, the legacy hook."""
    toolkit: RequireResult
    """The container toolkit in its csv mode (Jetson)."""


def required(s: Snapshot, cuda: str | None) -> Required | Missing | None:
    """None if the image asks for nothing or the asking is disabled; `cuda`: the version that the driver reports."""
    from ..formats.require import (
        RequireGpu,
        RequireHost,
        evaluate_container_toolkit,
        evaluate_libnvidia_container,
        requirements,
    )

    c = s.container
    if isinstance(c.requirements, Missing):
        return c.requirements
    environment = {v.name: v.value for v in c.requirements}
    environment["CUDA_VERSION"] = c.image_cuda if isinstance(c.image_cuda, str) else ""
    if known(c.require_disabled):
        return None
    requested = tuple(requirements(environment))
    if not requested:
        return None
    gpus = None
    if not isinstance(s.gpus, Missing) and s.gpus:
        gpus = tuple(RequireGpu(known(g.compute_capability), brand(known(g.brand_id))) for g in s.gpus)
    host = RequireHost(cuda, known(s.driver.version), gpus)
    return Required(
        requested, evaluate_libnvidia_container(requested, host), evaluate_container_toolkit(requested, host)
    )


def brand(number: int | None) -> str | None:
    """libnvidia-container's word for an NVML brand number."""
    return _BRANDS[number] if number is not None and 0 <= number < len(_BRANDS) else None
