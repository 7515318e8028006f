"""What is shown about an image itself: the facts in its config, and the lowest driver for its contents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compat_matrix import Matrix

from ..formats.require import requirements
from ..judge.preflight import lowest_driver, needed
from ..judge.preflight_answer import ImageAbout
from ..snapshot import Snapshot, known
from .evidence import Evidence
from .source import Image

_MAX_WORDS = 40
_MAX_TEXT = 300


def about(image: Image, kind: str, found: Evidence, s: Snapshot, m: Matrix) -> ImageAbout:
    """For an image with a config."""
    inner: Mapping[str, Any] = image.config.get("config") or {}
    lowest, what = needs(s, m)
    sizes = [layer.size for layer in image.layers]
    return ImageAbout(
        name=image.name,
        source=kind,
        digest=image.digest,
        platform=image.platform,
        cuda=found.env.get("CUDA_VERSION", ""),
        torch=found.torch.version or ("unknown version" if found.torch.source else ""),
        torch_cuda=found.torch.cuda,
        torch_source=found.torch.source,
        python=found.python,
        requires=tuple(requirements(found.env)),
        requires_disabled=known(s.container.require_disabled) is True,
        visible_devices=found.env.get("NVIDIA_VISIBLE_DEVICES"),
        driver_capabilities=found.env.get("NVIDIA_DRIVER_CAPABILITIES"),
        entrypoint=(*_words(inner.get("Entrypoint")), *_words(inner.get("Cmd"))),
        user=inner["User"][:_MAX_TEXT] if isinstance(inner.get("User"), str) else "",
        labels=found.labels,
        layers=len(sizes),
        bytes=sum(sizes) if all(size >= 0 for size in sizes) else None,
        lowest_driver=lowest,
        lowest_driver_for=what,
    )


def about_root(folder: str, s: Snapshot, m: Matrix) -> ImageAbout:
    """For an unpacked root folder: files, but no config."""
    lowest, what = needs(s, m)
    return ImageAbout(
        name=folder,
        source="folder",
        torch=known(s.torch.version) or "",
        torch_cuda=known(s.torch.cuda) or "",
        torch_source="its files" if known(s.torch.version) else "",
        python=known(s.python.patient.version) or "",
        lowest_driver=lowest,
        lowest_driver_for=what,
    )


def needs(s: Snapshot, m: Matrix) -> tuple[str, str]:
    """(lowest driver, what requires it)."""
    cuda, what = needed(s)
    lowest = lowest_driver(m, cuda) if cuda else ""
    return lowest, what if lowest else ""


def _words(value: object) -> tuple[str, ...]:
    words = value if isinstance(value, list) else [value] if isinstance(value, str) else []
    return tuple(word[:_MAX_TEXT] for word in words[:_MAX_WORDS] if isinstance(word, str))
