"""Releases of torchvision and torchaudio from the package index, and the torch that each asks for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from email.parser import HeaderParser
from typing import Any

from packaging.requirements import Requirement
from packaging.version import Version

from .package_index import index, metadata, releases
from .rows import Found

COMPANIONS = ("torchvision", "torchaudio")


def read(rows: Iterable[dict[str, Any]], address: str = "") -> list[Found]:
    """A row for each release that goes with a torch in the tables. rows: those of `companions` that are there.

    Raises OSError, ValueError.
    """
    rows, address = list(rows), address or index()
    oldest = min(Version(row["torch"]) for row in rows if row["package"] in COMPANIONS and row["torch"] != "*")
    return [found for package in COMPANIONS for found in _of(package, rows, oldest, address)]


def _of(package: str, rows: list[dict[str, Any]], oldest: Version, address: str) -> list[Found]:
    listed = {(row["torch"], row["version"]) for row in rows if row["package"] == package}
    versions = {version for _, version in listed}
    first = min(Version(row["version"]) for row in rows if row["package"] == package)
    wanted = [one for one in releases(package, address) if Version(one.version) >= first]
    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(metadata, wanted))
    source = f"PyPI: metadata of each {package} (read {date.today().isoformat()})"
    found = []
    for release, text in zip(wanted, texts, strict=True):
        torch, relation = _asks_for(text)
        if release.version in versions if torch == "*" else Version(torch) < oldest:
            continue  # its torch is known from elsewhere, or older than all in the tables
        fields: dict[str, Any] = {"relation": relation}
        if (torch, release.version) not in listed:
            fields["requires_python"] = release.requires_python
        found.append(Found("companions", (torch, package, release.version), fields, source))
    return found


def _asks_for(text: str) -> tuple[str, str]:
    """('2.8.0', '==') of a release; ('*', 'any') where its metadata does not name torch."""
    for line in HeaderParser().parsestr(text).get_all("Requires-Dist", []):
        need = Requirement(line)
        if need.name == "torch" and (pin := re.fullmatch(r"(==|>=)(\d[\d.]*)", str(need.specifier))):
            return pin[2], pin[1]
    return "*", "any"
