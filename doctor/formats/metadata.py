"""Installed Python distributions, from the text files that installers leave; no import, no email parser.

METADATA (dist-info) and PKG-INFO (egg-info) are header lines up to the first empty line; the rest is a description.
"""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Tuple

from .lazy import lazy

_MAX_HEADER = 1 << 20
_MAX_REQUIREMENTS = 4096
_SEPARATORS = lazy(r"[-_.]+")
_EGG_PYTHON = lazy(r"-py\d[\d.]*(?:-.+)?$")
_SINGLE = ("name", "version", "requires-python")


class Metadata(NamedTuple):
    """Header fields as written. ``name`` and ``version`` are None in a broken file; take them from the folder then."""

    name: Optional[str]
    version: Optional[str]
    requires_dist: Tuple[str, ...]
    requires_python: Optional[str]


class DirectUrl(NamedTuple):
    """direct_url.json (PEP 610): where a distribution that is not from an index came from."""

    url: str
    editable: bool
    vcs: str


def parse_metadata(text: str) -> Metadata:
    """Read the header block; unknown and repeated single fields are ignored, nothing is raised."""
    header = text.partition("\n\n")[0][:_MAX_HEADER]
    if "\r" in header:
        header = text[:_MAX_HEADER].replace("\r\n", "\n").partition("\n\n")[0]
    single: "dict[str, str]" = {}
    requires: List[str] = []
    folding = False
    for line in header.split("\n"):
        if line[:1] in (" ", "\t"):  # a long field may go on in the next line
            if folding and requires:
                requires[-1] += " " + line.strip()
            continue
        folding = False
        if line[:1] not in "NnVvRr":
            continue
        key, _, value = line.partition(":")
        key, value = key.rstrip().lower(), value.strip()
        if key == "requires-dist":
            folding = bool(value) and len(requires) < _MAX_REQUIREMENTS
            if folding:
                requires.append(value)
        elif key in _SINGLE and value:
            single.setdefault(key, value)
    return Metadata(single.get("name"), single.get("version"), tuple(requires), single.get("requires-python"))


def dist_info_name(folder: str) -> Optional[Tuple[str, Optional[str]]]:
    """``torch-2.13.0+cpu.dist-info`` -> (``torch``, ``2.13.0+cpu``); also egg-info. None for any other name.

    The name is not normalised. Leftovers of an interrupted pip (``~orch-2.0.dist-info``) keep their tilde.
    """
    if folder.endswith(".dist-info"):
        stem = folder[: -len(".dist-info")]
    elif folder.endswith(".egg-info"):
        stem = _EGG_PYTHON.sub("", folder[: -len(".egg-info")])
    else:
        return None
    name, _, version = stem.partition("-")
    return (name, version or None) if name else None


def normalize(name: str) -> str:
    """The name by which distributions are compared: ``Nvidia_CUDNN.cu12`` -> ``nvidia-cudnn-cu12``."""
    return _SEPARATORS.sub("-", name).lower()


def parse_installer(text: str) -> Optional[str]:
    """INSTALLER: ``pip``, ``uv``, ``conda`` ..., or None."""
    words = text.split()
    return words[0][:40] if words else None


def parse_direct_url(text: str) -> Optional[DirectUrl]:
    """direct_url.json, or None where it is none."""
    import json  # few distributions have one

    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or not isinstance(data.get("url"), str):
        return None
    folder, vcs = data.get("dir_info"), data.get("vcs_info")
    return DirectUrl(
        data["url"],
        isinstance(folder, dict) and folder.get("editable") is True,
        str(vcs.get("vcs", "")) if isinstance(vcs, dict) else "",
    )
