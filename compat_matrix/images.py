"""What NVIDIA's container images require of the driver, and what is in them, from the image's name alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .versions import numbers

if TYPE_CHECKING:
    from .rows_more import Image, NgcImage
    from .store import Store


def image_requirements(m: Store, tag: str, arch: str = "x86_64") -> tuple[str, ...]:
    """NVIDIA_REQUIRE_CUDA of nvidia/cuda:TAG, one text per list that it was published with; () if none is known.

    A tag without a row gets the lists of its CUDA minor version (they depend on that, not on the patch).
    """
    version = next(iter(re.findall(r"^\d{1,2}\.\d(?:\.\d+)?(?![\d.])", tag)), "")
    rows = [row for row in m.images if row.arch == arch and row.confidence != "memory"]
    of_tag = [row for row in rows if row.tag == version]
    if not of_tag and version:
        of_tag = [row for row in rows if numbers(row.cuda_min)[:2] == numbers(version)[:2]]
    system = tag.rpartition("-")[2].replace(".", "")
    of_system = [row for row in of_tag if system in row.os_variants]
    return tuple(dict.fromkeys(expression(row) for row in of_system or of_tag))


def expression(row: Image) -> str:
    """The variable's text as in the image: terms are ordered by driver, each with all of its brands."""
    branches = sorted({branch for one in row.exceptions for branch in one.branches})
    terms = [
        f"brand={brand},driver>={branch},driver<{branch + 1}"
        for branch in branches
        for one in row.exceptions
        if branch in one.branches
        for brand in one.brands
    ]
    return " ".join([f"cuda>={row.cuda_min}", *terms, *row.other_alternatives.split()])


def oldest_driver(m: Store, tag: str, arch: str = "x86_64") -> str:
    """The oldest driver that any published list of nvidia/cuda:TAG allows, on some GPU; '' if none is known.

    A version ('520.61.05') if it comes from the CUDA version itself, a branch ('470') if from the alternatives.
    """
    found: list[str] = []
    for text in image_requirements(m, tag, arch):
        if minimum := re.match(r"cuda>=([\d.]+)", text):
            grade = m.driver_for_cuda("1", minimum[1])  # type: ignore[attr-defined]
            found += [grade.floor_full] if grade.floor_full else []
        found += re.findall(r"driver>=(\d+)", text)
    return min(found, key=numbers, default="")


def ngc_image(m: Store, release: str) -> NgcImage | None:
    """The row of a monthly release ('25.03') of NVIDIA's framework containers, which all have the same CUDA."""
    return next((row for row in m.ngc_images if row.release == release), None)
