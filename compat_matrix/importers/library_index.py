"""Wheels of cuDNN and NCCL on the package index: which releases there are for each CUDA major."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Any
from urllib.error import HTTPError

from packaging.version import Version

from .package_index import Release, index, releases
from .rows import Found

MAJORS = ("11", "12", "13")


def read(table: str, rows: Iterable[dict[str, Any]], address: str = "") -> list[Found]:
    """Rows of `cudnn` or `nccl`. rows: those that are there. Raises OSError, ValueError."""
    address = address or index()
    listed = {row["version"]: row for row in rows}
    ranges = [(Version(row["version"]), Version(row["until"])) for row in listed.values() if row.get("until")]
    wheels: dict[str, dict[str, Release]] = {}
    for major in MAJORS:
        for release in _releases(f"nvidia-{table}-cu{major}", address):
            version = release.version
            if table == "cudnn":  # 9.26.0.51: its build is no release
                version = ".".join(version.split(".")[:3])
            of_version = wheels.setdefault(version, {})
            if major not in of_version or not Version(release.version).is_postrelease:
                of_version[major] = release
    source = (
        f"PyPI: names of the wheels of each nvidia-{table}-cu{', -cu'.join(MAJORS)} (read {date.today().isoformat()})"
    )
    found = []
    for version, by_major in sorted(wheels.items(), key=lambda each: Version(each[0])):
        if version not in listed and any(low <= Version(version) <= high for low, high in ranges):
            continue  # one row stands for all of them
        fields: dict[str, Any] = {
            f"wheel_cu{major}": release.version if table == "cudnn" else "yes" for major, release in by_major.items()
        }
        if version not in listed:
            fields["date"] = min(release.day for release in by_major.values())
            if table == "cudnn":
                fields["cuda_majors"] = sorted(map(int, by_major))
        found.append(Found(table, (version,), fields, "" if version in listed else source))
    return found


def _releases(package: str, address: str) -> list[Release]:
    try:
        return releases(package, address)
    except HTTPError as error:
        if error.code == 404:  # no such package for this CUDA major yet
            return []
        raise
