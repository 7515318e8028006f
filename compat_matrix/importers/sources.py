"""What can be renewed, each by its name on the command line: from the files that are given, else from its publisher."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from . import companions_index, conda_feedstock, files, flash_attn, library_index, nvidia_pages, torch_index, web
from .framework_index import FRAMEWORKS
from .framework_index import read as read_framework
from .package_index import PACKAGES, index, releases
from .package_index import read as read_package
from .rows import Found, rows_of

_REDIST = "https://developer.download.nvidia.com/compute/cuda/redist/"
Reader = Callable[[str, Iterable[dict[str, Any]]], list[Found]]


class Document(NamedTuple):
    """A publisher's document: its reader, the tables whose rows the reader is given, and its address."""

    reader: Reader
    tables: tuple[str, ...]
    address: str


DOCUMENTS = {
    "toolkit": Document(files.toolkit, ("toolkits",), _REDIST),
    "compat": Document(nvidia_pages.compat, ("forward_compat",), nvidia_pages.COMPAT),
    "torch-notes": Document(
        files.torch_notes, ("torch_releases",), "https://raw.githubusercontent.com/pytorch/pytorch/main/RELEASE.md"
    ),
    "devices": Document(nvidia_pages.devices, ("gpus", "boards"), nvidia_pages.DEVICES),
    "pci": Document(files.pci, ("gpus", "boards"), "https://pci-ids.ucw.cz/v2.2/pci.ids"),
}
ON_INDEX = ("torch", "companions", "packages", "libraries")
"""What the package index offers."""
NAMES = (*ON_INDEX, *DOCUMENTS, "flash-attn", "conda", "xids", "wheels")
ALL = tuple(name for name in NAMES if name != "wheels")
"""Those with an address: `wheels` reads what was measured here."""


def found(name: str, flags: argparse.Namespace) -> list[Found]:
    """The rows that a source has, `xids` apart. Raises OSError, ValueError."""
    if flags.files and name in ON_INDEX[1:]:
        raise ValueError("it reads the package index, and no file")
    if name in DOCUMENTS:
        document = DOCUMENTS[name]
        rows = [row for table in document.tables for row in rows_of(flags.data, table)]
        result = []
        for where, text in _texts(flags, document.address):
            try:
                result += document.reader(text, rows)
            except ValueError as error:
                raise ValueError(f"{where}: {error}") from None
        return result
    return _OTHERS[name](flags)


def _texts(flags: argparse.Namespace, *addresses: str) -> Iterable[tuple[str, str]]:
    """(name, text) of each file that is given, else of each address."""
    if flags.files:
        return [(str(path), path.read_text("utf-8")) for path in flags.files]
    addresses = (flags.address,) if flags.address else addresses
    return ((one, web.text(one)) for address in addresses for one in _listed(address))


def _listed(address: str) -> list[str]:
    """The address; of NVIDIA's list of CUDA's manifests the newest of them. Raises OSError, ValueError."""
    if not address.endswith("/redist/"):
        return [address]
    names = set(re.findall(r"redistrib_(\d+\.\d+\.\d+)\.json", web.text(address)))
    if not names:
        raise ValueError(f"{address}: no redistrib_X.Y.Z.json in this list")
    newest = sorted(names, key=lambda name: tuple(map(int, name.split("."))))[-10:]
    return [f"{address}redistrib_{name}.json" for name in newest]


def xids_page(flags: argparse.Namespace) -> str:
    """NVIDIA's page with the catalogue. Raises OSError."""
    return next(text for _, text in _texts(flags, nvidia_pages.XIDS))


def _torch(flags: argparse.Namespace) -> list[Found]:
    if flags.files:  # reports of pip for this platform's own Python
        return torch_index.read_reports(("linux_x86_64", json.loads(path.read_text("utf-8"))) for path in flags.files)
    return torch_index.read(flags.version, flags.last)


def _companions(flags: argparse.Namespace) -> list[Found]:
    return companions_index.read(rows_of(flags.data, "companions"))


def _libraries(flags: argparse.Namespace) -> list[Found]:
    return [one for table in ("cudnn", "nccl") for one in library_index.read(table, rows_of(flags.data, table))]


def _packages(flags: argparse.Namespace) -> list[Found]:
    builds = {row["torch"]: row["pypi_linux_x86_64"] for row in rows_of(flags.data, "torch_releases")}
    extensions, frameworks = rows_of(flags.data, "extensions"), rows_of(flags.data, "frameworks")
    result: list[Found] = []
    for package in flags.package or (*PACKAGES, *FRAMEWORKS):
        if package in FRAMEWORKS:
            result += read_framework(package, frameworks)
        else:
            result += read_package(package, extensions, builds)
    return result


def _flash_attn(flags: argparse.Namespace) -> list[Found]:
    wheels, extensions = rows_of(flags.data, "extension_wheels"), rows_of(flags.data, "extensions")
    of_tag = flags.version[0] if flags.files and flags.version else ""
    texts = list(_texts(flags, *flash_attn.RELEASES))
    published = {one.version: one for one in releases("flash-attn", index(), sources=True)}
    if of_tag:  # the workflow at the tag of that release
        return [one for _, text in texts for one in flash_attn.workflow(text, of_tag, published, wheels, extensions)]
    return [one for _, text in texts for one in flash_attn.releases(text, published, wheels, extensions)]


def _conda(flags: argparse.Namespace) -> list[Found]:
    rows = rows_of(flags.data, "conda")
    archives = [path.read_bytes() for path in flags.files] or [web.read(flags.address or conda_feedstock.ARCHIVE)]
    return [one for archive in archives for one in conda_feedstock.read(archive, rows)]


def _wheels(flags: argparse.Namespace) -> list[Found]:
    if not flags.files:
        raise ValueError("give the file to read")
    rows = rows_of(flags.data, "torch_builds")
    return [one for path in flags.files for one in files.wheels(path.read_text("utf-8"), rows)]


_OTHERS: dict[str, Callable[[argparse.Namespace], list[Found]]] = {
    "torch": _torch, "companions": _companions, "libraries": _libraries, "packages": _packages,
    "flash-attn": _flash_attn, "conda": _conda, "wheels": _wheels,
}  # fmt: skip
