"""What a Dockerfile fixes exactly: the packages that pip installs in one version, and the base's system."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from .packages import line_in, pip_installs, requirements
from .stages import Stage

_SYSTEMS = (
    re.compile(r"(?:^|/)(ubuntu|debian|fedora|rockylinux|almalinux):(\d[\d.]*)"),
    re.compile(r":\S*-(ubuntu|rockylinux|ubi)(\d[\d.]*)$"),
)
"""`ubuntu:22.04`; `nvidia/cuda:12.8.1-devel-ubuntu22.04`."""
_IDS = {"rockylinux": "rocky", "ubi": "rhel", "almalinux": "almalinux"}
"""The name in a tag to os-release's ID, where they differ."""


class Pinned(Struct, frozen=True):
    """One package in one version, and the line that says so."""

    name: str
    version: str
    line: int


def pinned(stage: Stage, rows: Sequence[str], files: Mapping[str, str]) -> tuple[Pinned, ...]:
    """The packages whose version the stage fixes, the last install of each; one that is later installed without a
    version is not fixed. files: the requirement files that it installs, by name."""
    found: dict[str, Pinned] = {}
    for install in pip_installs(stage.whole, rows):
        wanted = [(line_in(install.step, rows, one.name, one.name.replace("-", "_")), one) for one in install.wanted]
        for name in install.files:
            wanted += [(install.line, one) for _, one in requirements(files.get(name, ""))]
        for line, one in wanted:
            if one.operator == "==" and not one.version.endswith("*"):
                found[one.name] = Pinned(one.name, one.version, line)
            elif install.upgrade or one.operator:
                found.pop(one.name, None)
    return tuple(found.values())


def system_of(image: str) -> tuple[str, str]:
    """ID and version of a base image's system, by its name alone; ('', '') if that does not say."""
    name = image.partition("@")[0]
    found = next(filter(None, (pattern.search(name) for pattern in _SYSTEMS)), None)
    return (_IDS.get(found[1], found[1]), found[2].rstrip(".")) if found else ("", "")
