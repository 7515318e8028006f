"""What NVIDIA's container images ask of the driver, and what is in them, by the image's name alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .versions import numbers

if TYPE_CHECKING:
    from .rows_more import Image, NgcImage
    from .store import Store


def image_requirements(m: Store, tag: str, arch: str = "x86_64") -> tuple[str, ...]:
    """NVIDIA_REQUIRE_CUDA of nvidia/cuda:TAG, one text for each list that it was published with; () for none known.

    A tag that no row names has the lists of its CUDA minor version (they go with that, not with the patch).
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
    """The variable's text as the image has it: the terms stand driver by driver, each with all of its brands."""
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
    """The oldest driver that any published list of nvidia/cuda:TAG lets start, on some GPU; '' where none is known.

    A version ('520.61.05') where it is that of the CUDA version itself, a branch ('470') of the alternatives.
    """
    found: list[str] = []
    for text in image_requirements(m, tag, arch):
        if minimum := re.match(r"cuda>=([\d.]+)", text):
            grade = m.driver_for_cuda("1", minimum[1])  # type: ignore[attr-defined]
            found += [grade.floor_full] if grade.floor_full else []
        found += re.findall(r"driver>=(\d+)", text)
    return min(found, key=numbers, default="")


def ngc_image(m: Store, release: str) -> NgcImage | None:
    """The row of a monthly release ('25.03') of NVIDIA's framework containers; its CUDA is that of all of them."""
    return next((row for row in m.ngc_images if row.release == release), None)
