"""Wheels of flash-attn: the names of the files of each release on GitHub, or what the workflow builds at a tag."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from itertools import product
from typing import Any, NamedTuple

from packaging.version import Version

from ..versions import numbers
from .package_index import Release
from .rows import Found

RELEASES = tuple(
    f"https://api.github.com/repos/Dao-AILab/flash-attention/releases?per_page=100&page={n}" for n in (1, 2)
)
_INDEX = "PyPI: each flash-attn (read {day}), source distributions only"
_URL = "https://github.com/Dao-AILab/flash-attention/releases/download/v{version}/"
_NAME = re.compile(
    r"flash_attn-(?P<version>[\d.]+(?:post\d+)?)\+(?P<tag>cu\d+)torch(?P<torch>[\d.]+)cxx11abi(?P<abi>FALSE|TRUE)"
    r"-cp(?P<python>3\d+)-cp3\d+-(?P<platform>linux_(?:x86_64|aarch64))\.whl"
)
_NEW_ABI = (Version("2.8.0"), (2, 6))
"""From this release on, files labelled FALSE for this torch and newer were built with the new C++ ABI (issue 1783)."""

_MATCHED = "wheels are matched on torch minor, CUDA major, python and C++ ABI: cxx11abi FALSE/TRUE must match torch"
_LABELS = (
    "the files labelled FALSE for torch 2.6 to 2.8 were compiled with the new C++ ABI too (torch of cu126 to cu129): "
    "they do not load in a torch 2.6 with the old one (flash-attention issue 1783)"
)


class File(NamedTuple):
    """One wheel, by its name. tag: cu12 or cu123; python: '3.12'."""

    version: str
    tag: str
    torch: str
    abi: str
    python: str
    platform: str


def releases(
    text: str,
    published: Mapping[str, Release],
    wheels: Iterable[dict[str, Any]] = (),
    extensions: Iterable[dict[str, Any]] = (),
    day: str = "",
) -> list[Found]:
    """GitHub's answer about the releases (JSON): every wheel of those that the index has too.

    published: releases on the index, by version; wheels, extensions: the rows of `extension_wheels` and `extensions`
    that are there. Raises ValueError.
    """
    data = json.loads(text)
    if not isinstance(data, list) or not all(isinstance(one, dict) and "assets" in one for one in data):
        raise ValueError("not GitHub's list of releases (no assets)")
    own = [one for one in files(asset["name"] for each in data for asset in each["assets"]) if one.version in published]
    names = "github.com/Dao-AILab/flash-attention/releases/tag/v{the release}: names of the files"
    readme = "github.com/Dao-AILab/flash-attention/blob/v{the release}/README.md"
    day = day or date.today().isoformat()
    source = f"{names} (read {day}); {readme}; {_INDEX.format(day=day)}"
    return [*_rows(own, wheels, source), *_extensions(own, published, extensions, source)]


def workflow(
    text: str,
    version: str,
    published: Mapping[str, Release],
    wheels: Iterable[dict[str, Any]] = (),
    extensions: Iterable[dict[str, Any]] = (),
) -> list[Found]:
    """.github/workflows/publish.yml at the tag of a release: what it builds. Else as `releases`. Raises ValueError."""
    source = "github.com/Dao-AILab/flash-attention/blob/v{the release}/.github/workflows/publish.yml, README.md there"
    source += f"; {_INDEX.format(day=date.today().isoformat())}"
    early = sorted(set(re.findall(r"'((\d+\.\d+)\.\d+\.dev\d+)'", text)))
    own = list(_built(text, version))
    found = _rows(own, wheels, source)
    for one in found:
        notes = [
            f"those for torch {minor} were compiled with {dev}" for dev, minor in early if f"'{minor}'" in one.key[3]
        ]
        if notes and "min_capability" in one.fields:
            one.fields["note"] = notes[0]
    for one in _extensions(own, published, extensions, source):
        notes = [f"; those for torch {minor} were compiled with {dev}" for dev, minor in early]
        found.append(one._replace(fields={**one.fields, "note": one.fields["note"] + "".join(notes)}))
    return [one._replace(confidence="documented") for one in found]


def _extensions(
    own: list[File], published: Mapping[str, Release], rows: Iterable[dict[str, Any]], source: str
) -> list[Found]:
    """A row of `extensions` for each release that has none: its day, and the torch and CUDA of its wheels."""
    listed = {row["version"] for row in rows if row["package"] == "flash-attn"}
    found = []
    for version in sorted({one.version for one in own} - listed, key=Version):
        tags = sorted({one.tag for one in own if one.version == version})
        if version not in published:
            continue
        torches = sorted({one.torch for one in own if one.version == version}, key=numbers)
        release = published[version]
        fields = {
            "date": release.day, "requires_python": release.requires_python, "torch": f"wheels: {' '.join(torches)}",
            "cuda": f"wheels {' '.join(tags)}", "min_sm": "8.0 (Turing not supported by 2.x)",
            "platforms": "linux x86_64 wheels on GitHub releases; PyPI has only the sdist (needs nvcc)",
            "note": _MATCHED,
        }  # fmt: skip
        found.append(Found("extensions", ("flash-attn", version), fields, source))
    return found


def files(names: Iterable[str]) -> list[File]:
    """The wheels among these names."""
    found = (_NAME.fullmatch(name) for name in names)
    return [
        File(m["version"], m["tag"], m["torch"], m["abi"], f"3.{m['python'][1:]}", m["platform"]) for m in found if m
    ]


def _built(text: str, version: str) -> Iterator[File]:
    lists = dict(re.findall(r"^\s*(os|python-version|torch-version|cuda-version|cxx11_abi): *\[(.*)\]", text, re.M))
    if not {"python-version", "torch-version", "cuda-version", "cxx11_abi"} <= set(lists):
        raise ValueError("not the workflow that builds the wheels (no matrix of Python, torch and CUDA)")
    values = {name: re.findall(r"[\w.-]+", inside) for name, inside in lists.items()}
    block = re.search(r"^( *)exclude:\n((?:\1 .*\n|\s*#.*\n|\s*\n)*)", text, re.M)
    pairs = re.findall(r"^\s*(-)?\s*([\w-]+): *['\"]?([\w.-]+)['\"]?\s*$", block[2] if block else "", re.M)
    excluded: list[dict[str, str]] = []
    for dash, name, value in pairs:
        if dash:
            excluded.append({})
        excluded[-1][name] = value
    short = numbers(version) >= (2, 6, 4)  # since then the name has the CUDA major alone
    for combination in product(*values.values()):
        one = dict(zip(values, combination, strict=True))
        if any(all(one.get(name) == value for name, value in each.items()) for each in excluded):
            continue
        torch, cuda = ".".join(one["torch-version"].split(".")[:2]), one["cuda-version"].split(".")
        platform = "linux_aarch64" if one.get("os", "").endswith("-arm") else "linux_x86_64"
        tag = f"cu{cuda[0]}" if short else f"cu{cuda[0]}{cuda[1]}"
        yield File(version, tag, torch, one["cxx11_abi"], one["python-version"], platform)


def _rows(found: list[File], rows: Iterable[dict[str, Any]], source: str) -> list[Found]:
    """The rows of `extension_wheels` for these files: torch releases with the same ABIs and platforms together."""
    listed = {row["version"] for row in rows if row["package"] == "flash-attn"}
    tags: dict[tuple[str, str], set[str]] = {}
    for one in found:
        tags.setdefault((one.version, one.tag[2:4]), set()).add(one.tag)
    many = {version for (version, _), names in tags.items() if len(names) > 1}
    result = []
    for (version, major), names in sorted(tags.items(), key=lambda each: (Version(each[0][0]), each[0][1])):
        tag = min(names)
        if version in many:
            continue  # up to 2.3.5, wheels for each minor release of CUDA 11: a row of CUDA 12 alone would deny them
        here = [one for one in found if (one.version, one.tag) == (version, tag) and not _mislabeled(one)]
        groups: dict[tuple[Any, ...], list[str]] = {}
        for torch in sorted({one.torch for one in here}, key=numbers):
            of_torch = [one for one in here if one.torch == torch]
            abis = sorted({one.abi for one in of_torch})
            platforms = sorted({one.platform for one in of_torch}, reverse=True)
            few = len({one.python for one in of_torch}) == 1  # added later, for one Python
            groups.setdefault((tuple(abis), tuple(platforms), few), []).append(torch)
        for (abis_, platforms_, _), torches in groups.items():
            of_group = [one for one in here if one.torch in torches]
            there = {f"{one.torch} {one.python}" for one in of_group}
            pythons = sorted({one.python for one in of_group}, key=numbers)
            absent = [f"{torch} {python}" for torch in torches for python in pythons]
            fields: dict[str, Any] = {
                "torch": torches, "pythons": pythons, "abis": list(abis_), "platforms": list(platforms_),
                "absent": [one for one in absent if one not in there],
                "url": f"{_URL}flash_attn-{{version}}+{tag if len(tag) > 4 else 'cu{cuda}'}"
                "torch{torch}cxx11abi{abi}-{python}-{python}-{platform}.whl",
            }  # fmt: skip
            if version not in listed:
                fields["min_capability"] = "8.0"
                if any(one[:3] == (version, tag, torches[0]) and _mislabeled(one) for one in found):
                    fields["note"] = _LABELS
            result.append(Found("extension_wheels", ("flash-attn", version, major, str(torches)), fields, source))
    return result


def _mislabeled(one: File) -> bool:
    return one.abi == "FALSE" and Version(one.version) >= _NEW_ABI[0] and numbers(one.torch) >= _NEW_ABI[1]
