"""An image's evidence as a Snapshot: what the config does not show is Missing, never guessed."""

from __future__ import annotations

import re

from ..patient.env_names import pick
from ..snapshot import (
    ABSENT,
    NOT_ASKED,
    CompatLibrary,
    Container,
    Environment,
    EnvVar,
    Host,
    Missing,
    Python,
    Snapshot,
    Target,
    Torch,
)
from ..snapshot.host import ContainerKind
from .evidence import Evidence
from .source import Image

_NO_LAYER = Missing("not-asked", "the image config does not show it, and no layer was read")
_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
_TRUE = ("1", "t", "T", "true", "True", "TRUE")


def snapshot_of(image: Image, found: Evidence, kind: ContainerKind = "docker") -> Snapshot:
    """The facts of the image; `kind`: what it will run in."""
    architecture = str(image.config.get("architecture") or "")
    kept = pick(found.env)
    return Snapshot(
        target=Target(kind="image", name=image.name),
        host=Host(
            system=str(image.config.get("os") or "linux"),
            os_id=found.os_id or _NO_LAYER,
            os_version=found.os_version or _NO_LAYER,
            libc="musl" if found.musl else _NO_LAYER,
            architecture=_MACHINES.get(architecture, architecture) or _NO_LAYER,
            environment=tuple(EnvVar(name, value) for name, value in kept.items()),
        ),
        container=Container(
            kind=kind,
            evidence="the image will run in a container",
            visible_devices=found.env.get("NVIDIA_VISIBLE_DEVICES"),
            driver_capabilities=found.env.get("NVIDIA_DRIVER_CAPABILITIES"),
            requirements=tuple(EnvVar(n, v) for n, v in sorted(found.env.items()) if n.startswith("NVIDIA_REQUIRE_")),
            require_disabled=found.env.get("NVIDIA_DISABLE_REQUIRE", "") in _TRUE,
            image_cuda=found.env.get("CUDA_VERSION"),
            image_torch=found.stated_torch or None,
            image_torch_source=found.stated_torch_source or ABSENT,
            compat=_compat(found),
        ),
        python=Python(patient=Environment(version=found.python or _NO_LAYER)),
        torch=_torch(found),
        witnesses=_witnesses(found),
    )


def _compat(found: Evidence) -> tuple[CompatLibrary, ...] | Missing:
    if found.compat is None:
        return _NO_LAYER
    path, version, cuda = found.compat
    return (
        CompatLibrary(
            path=path,
            version=version or _NO_LAYER,
            cuda_version=cuda,
            host_branches=_NO_LAYER,
            brand_ids=_NO_LAYER,
            loads=_NO_LAYER,
        ),
    )


def _torch(found: Evidence) -> Torch:
    torch = found.torch
    sass, ptx = _arch_list(found.arch_list)
    return Torch(
        version=torch.version or _NO_LAYER,
        build=torch.build or _NO_LAYER,  # type: ignore[arg-type]
        cuda=torch.cuda or (ABSENT if torch.build in ("cpu", "rocm", "xpu") else _NO_LAYER),
        wheel_tag=torch.tag or NOT_ASKED,
        sass=sass or _NO_LAYER,
        ptx=ptx if sass else _NO_LAYER,
    )


def _arch_list(words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(SASS, PTX) of TORCH_CUDA_ARCH_LIST: `8.0 9.0a 12.0+PTX`."""
    sass, ptx = [], []
    for word in words:
        if found := re.fullmatch(r"(\d{1,2}\.\d[af]?)(\+PTX)?", word):
            sass.append(found[1])
            ptx += [found[1]] if found[2] else []
    return tuple(sass), tuple(ptx)


def _witnesses(found: Evidence) -> dict[str, tuple[str, ...]]:
    rows = {
        "torch.version": found.torch.source,
        "container.image_torch": found.stated_torch_source,
        "torch.sass": "TORCH_CUDA_ARCH_LIST" if found.arch_list else "",
    }
    return {path: (source,) for path, source in rows.items() if source}
