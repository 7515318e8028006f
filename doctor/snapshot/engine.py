"""The container engines of this machine, and what they know of NVIDIA GPUs."""

from __future__ import annotations

from msgspec import Struct

from .fact import NOT_ASKED, Missing, Section


class Engine(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One engine, by its own `/info` on its socket. A field that an engine does not tell is not asked."""

    kind: str
    """docker or podman."""
    socket: str = ""
    version: str | Missing = NOT_ASKED
    """Missing with the reason where the engine did not answer."""
    runtimes: tuple[str, ...] | Missing = NOT_ASKED
    default_runtime: str | Missing = NOT_ASKED
    cgroup_driver: str | Missing = NOT_ASKED
    """systemd or cgroupfs."""
    rootless: bool | Missing = NOT_ASKED
    userns: bool | Missing = NOT_ASKED
    """Its containers' users are mapped to others (userns-remap)."""
    cdi_devices: tuple[str, ...] | Missing = NOT_ASKED
    """Those that it has found itself, such as `nvidia.com/gpu=0`."""


class CdiSpec(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A CDI specification of NVIDIA GPUs on disk."""

    path: str
    devices: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    """Driver versions in the names of the libraries that it mounts."""


class Engines(Section, frozen=True, kw_only=True, omit_defaults=True):
    """What the host of containers is set up for; not asked where no NVIDIA driver is loaded."""

    engines: tuple[Engine, ...] | Missing = NOT_ASKED
    hook: bool | Missing = NOT_ASKED
    """Whether the NVIDIA Container Toolkit's hook or runtime is installed: `docker run --gpus` needs no more."""
    toolkit_version: str | Missing = NOT_ASKED
    no_cgroups: bool | Missing = NOT_ASKED
    """`no-cgroups` of the toolkit's config.toml."""
    cdi: tuple[CdiSpec, ...] | Missing = NOT_ASKED
    char_links: bool | Missing = NOT_ASKED
    """Whether /dev/char has the links to NVIDIA's nodes, by which systemd finds them again."""
