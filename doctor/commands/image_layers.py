"""`gpudoctor image --layers`: how much will be read, the reading itself, and what it adds to the config's facts."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..images.about import needs
from ..images.layers import LayerFacts, layers_snapshot, scan, with_layers
from ..images.source import Image, Source
from ..judge.preflight_answer import ImageAbout, LayerAnswer
from ..report.amounts import stored
from ..report.progress import Progress
from ..snapshot import Snapshot, known
from .write import echo

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat_matrix import Matrix

_EACH_S = 0.2
_MOST_DIGESTS = 1000


def read_layers(
    source: Source, image: Image, env: Mapping[str, str], s: Snapshot, m: Matrix, about: ImageAbout, everything: bool
) -> tuple[Snapshot, ImageAbout]:
    """The image's facts and what is shown of it, with what its layers contain. `env`: the variables in its config.

    `everything`: read every layer to the end, so that what was not found is known to be absent. Raises ImageError.
    """
    total = sum(layer.size for layer in image.layers) if all(layer.size >= 0 for layer in image.layers) else None
    _announce(len(image.layers), total, everything)
    with Progress() as say:
        facts = scan(image.layers, source.open_layer, _Counter(say, total), env, everything)
    read = with_layers(s, layers_snapshot(facts, image.name, env))
    lowest, what = needs(read, m)
    return read, replace(
        about,
        torch=known(read.torch.version) or "",
        torch_cuda=known(read.torch.cuda) or "",
        torch_source=_source(facts, s, read),
        python=known(read.python.patient.version) or about.python,
        lowest_driver=lowest,
        lowest_driver_for=what,
        layers_read=_answers(facts),
        driver_libraries=facts.driver_libraries,
        notes=facts.remarks,
    )


def _announce(count: int, total: int | None, everything: bool) -> None:
    """How much it will be at most, before the first byte."""
    size = "an unknown number of bytes" if total is None else stored(total)
    layers = "one layer" if count == 1 else f"{count} layers"
    most = "" if everything else "at most "
    how = "" if everything else ", newest first, until torch and everything it needs from the image have been found"
    echo(f"gpudoctor: reading {most}{size} in {layers}{how}", err=True)


class _Counter:
    """Shows progress a few times a second."""

    def __init__(self, say: Progress, total: int | None) -> None:
        self._say, self._count, self._next = say, 0, 0.0
        self._of = f" of {max(total >> 20, 1)}" if total else ""

    def __call__(self, count: int) -> None:
        self._count += count
        now = monotonic()
        if now >= self._next:
            self._next = now + _EACH_S
            self._say(f"layers, {self._count >> 20}{self._of} MiB")


def _source(facts: LayerFacts, before: Snapshot, read: Snapshot) -> str:
    """Where the torch version comes from, and what the config says if that differs."""
    version, stated = known(read.torch.version), known(before.torch.version)
    if not version or not facts.torch_site:
        return "" if version is None else "the config; no torch was found in the layers that were read"
    text = facts.torch_folder
    if stated and stated.partition("+")[0] != version.partition("+")[0]:
        text += f" (the config says {stated})"
    return text


def _answers(facts: LayerFacts) -> tuple[LayerAnswer, ...]:
    return tuple(
        LayerAnswer(
            digest=one.layer.digest or one.layer.name,
            read=one.read,
            bytes=one.layer.size if one.layer.size >= 0 else None,
            digest_checked=one.checked,
        )
        for one in facts.layers[:_MOST_DIGESTS]
    )
