"""The config's statements and the layers' contents as one Snapshot: the actual contents win over the statements."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ...snapshot import CompatLibrary, Missing, Snapshot

_AT_START = Missing("not-asked", "which libcuda gets loaded is decided only when the container starts")
_OF_THE_SYSTEM = ("os_name", "os_id", "os_version", "libc")


def with_layers(config: Snapshot, layers: Snapshot) -> Snapshot:
    """The image's Snapshot. What comes from the host at the start (libcuda, devices, the kernel) stays unknown."""
    system: dict[str, Any] = {name: getattr(layers.host, name) for name in _OF_THE_SYSTEM}
    known = {name: value for name, value in system.items() if not isinstance(value, Missing)}
    compat = layers.container.compat
    torch = config.torch if _unread(layers.torch.version) else layers.torch
    python = config.python if isinstance(layers.python.patient.prefix, Missing) else layers.python
    candidates = layers.driver.libcuda_candidates
    return replace(
        config,
        host=replace(config.host, **known),
        container=config.container
        if isinstance(compat, Missing)
        else replace(config.container, compat=tuple(map(_at_start, compat))),
        driver=replace(config.driver, libcuda_candidates=candidates) if candidates else config.driver,
        cuda=layers.cuda,
        python=python,
        torch=torch,
        witnesses={**config.witnesses, **layers.witnesses},
        caps=layers.caps,
    )


def _unread(value: object) -> bool:
    return isinstance(value, Missing) and value.reason != "absent"


def _at_start(library: CompatLibrary) -> CompatLibrary:
    """On LD_LIBRARY_PATH it loads; elsewhere the container toolkit decides."""
    return library if library.loads is True else replace(library, loads=_AT_START)
