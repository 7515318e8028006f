"""Shared by the checks of container engines on the host: which engines exist, and which GPU support they have."""

from __future__ import annotations

from collections.abc import Iterator

from ..findings import NotExamined, Skip
from ..fixes.where import container_kind
from ..snapshot import Engine, Missing, Snapshot, known
from ._seen import is_wsl


def engines_here(s: Snapshot) -> tuple[Engine, ...]:
    """The engines on a host with an NVIDIA driver; Skip in a container, without a driver and without an engine."""
    if container_kind(s):
        raise Skip("in a container: the engine runs on the host")
    if is_wsl(s):
        raise NotExamined("container engines are not checked in WSL")
    if isinstance(s.driver.kernel_version, Missing) and s.driver.kernel_version.reason == "absent":
        raise Skip("no NVIDIA driver is loaded", without="gpu")
    found = known(s.engines.engines)
    if found is None:
        raise NotExamined("gpudoctor did not look for container engines")
    if not found:
        raise Skip("no container engine is listening here")
    return found


def answering(s: Snapshot) -> Iterator[Engine]:
    """The engines that answered; Skip if none did."""
    found = engines_here(s)
    answers = [engine for engine in found if not isinstance(engine.version, Missing)]
    if not answers:
        why = next(engine.version for engine in found if isinstance(engine.version, Missing))
        raise NotExamined(f"{found[0].kind}: {why.detail}")
    yield from answers


def has_cdi(s: Snapshot, engine: Engine) -> bool:
    """Whether GPUs can be named through CDI: the engine has found some, or a specification for them is on disk."""
    devices = known(engine.cdi_devices) or ()
    return any(name.startswith("nvidia.com/gpu=") for name in devices) or any(
        spec.devices for spec in known(s.engines.cdi) or ()
    )


def has_runtime(engine: Engine) -> bool:
    """Whether one of NVIDIA's runtimes is registered."""
    return any("nvidia" in name for name in known(engine.runtimes) or ())
