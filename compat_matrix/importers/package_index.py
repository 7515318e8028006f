"""Every release of the packages that people pin beside torch, from the package index: their metadata, and the names of
the files in their wheels. No wheel is downloaded: metadata is a file of its own, and of an archive its end is read, of
a source distribution its beginning.

Sources: packaging.python.org, Simple repository API (PEP 691, 714) and core metadata; PKWARE's APPNOTE for the ranges.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tarfile
import urllib.error
import zipfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from email.parser import HeaderParser
from typing import Any, NamedTuple

from packaging.requirements import Requirement
from packaging.tags import Tag
from packaging.utils import parse_sdist_filename, parse_wheel_filename
from packaging.version import Version

from ..versions import numbers
from . import web
from .rows import Found


class Package(NamedTuple):
    """How a project publishes. resolved: `resolve` chooses among its releases, so a new row has the lowest compute
    capability of the release before it; pinned: built with the torch that it pins, so for the CUDA of that torch on
    the index; through: the package of `extensions` whose torch a release has that pins none; elsewhere: with wheels
    for more platforms on PyTorch's own index; sources: some releases are source distributions alone; kernels, binding:
    the packages of its own that hold the CUDA code and that ask for torch."""

    resolved: bool = False
    pinned: bool = False
    through: str = ""
    elsewhere: bool = False
    sources: bool = False
    kernels: str = ""
    binding: str = ""


PACKAGES = {
    "vllm": Package(resolved=True, pinned=True, sources=True),
    "sglang": Package(resolved=True, pinned=True, through="vllm"),
    "bitsandbytes": Package(resolved=True),
    "xformers": Package(resolved=True, elsewhere=True, sources=True),
    "flash-attn": Package(sources=True),
    "sglang-kernel": Package(),
    "flashinfer-python": Package(sources=True),
    "flashinfer-cubin": Package(),
    "deepspeed": Package(sources=True),
    "transformer-engine": Package(kernels="transformer-engine-cu12", binding="transformer-engine-torch"),
}
_JSON = "application/vnd.pypi.simple.v1+json"
_LINUX = {"platform_system": "Linux", "sys_platform": "linux", "platform_machine": "x86_64", "python_version": "3.12"}
_DRIVERS = {
    "11": "450 (CUDA 11 minor version compatibility)", "12": "525 (CUDA 12 minor version compatibility)", "13": "580",
}  # fmt: skip
"""The floor of the driver for each CUDA major that these packages are published for."""


class Release(NamedTuple):
    """One release that is not withdrawn: its wheels' file names and addresses; day: of its first file, for a wheel may
    be replaced later under a build tag; source: the address of its source distribution, '' for none."""

    version: str
    day: str
    requires_python: str
    wheels: dict[str, str]
    source: str = ""


def index() -> str:
    """The package index that pip asks, by its own settings: its help names the address. Raises ValueError."""
    words = [sys.executable, "-m", "pip", "install", "--help"]
    printed = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "1000"})
    found = re.search(r"--index-url <url>.*?\(default\s+(\S+)\)", printed.stdout, re.DOTALL)
    if found is None:
        raise ValueError("pip does not say which package index it asks")
    return found[1].rstrip("/")


def releases(package: str, address: str, sources: bool = False) -> list[Release]:
    """Final releases with wheels, oldest first; with `sources` those with a source distribution too. Raises OSError,
    ValueError."""
    page = json.loads(web.read(f"{address}/{package}/", {"Accept": _JSON}))
    found: dict[Version, Release] = {}
    for file in page["files"]:
        name, is_source = file["filename"], file["filename"].endswith(".tar.gz")
        if file.get("yanked") or not (name.endswith(".whl") or (sources and is_source)):
            continue
        version = (parse_sdist_filename if is_source else parse_wheel_filename)(name)[1]
        if version.is_prerelease or version.local or version == Version("0"):  # 0.0.0: the name was reserved
            continue
        day = str(file.get("upload-time", ""))[:10]
        one = found.setdefault(version, Release(str(version), day, file.get("requires-python") or "", {}))
        one = found[version] = one._replace(day=min(filter(None, (one.day, day)), default=""))
        if is_source:
            found[version] = one._replace(source=file["url"])
        else:
            one.wheels[name] = file["url"]
    return [found[version] for version in sorted(found)]


def read(package: str, rows: Iterable[dict[str, Any]], builds: dict[str, str], address: str = "") -> list[Found]:
    """The rows of a package's releases. rows: those of `extensions` that are there; builds: release of torch -> tag of
    its build on the index. Raises OSError, ValueError."""
    address = address or index()
    how = PACKAGES[package]
    rows = list(rows)
    listed = {row["version"]: row for row in rows if row["package"] == package}
    torches = {row["version"]: row.get("torch", "") for row in rows if row["package"] == how.through}
    found = releases(package, address, how.sources)
    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(metadata, found))
        names = list(pool.map(_libraries, found)) if package == "bitsandbytes" else [()] * len(found)
        bindings = releases(how.binding, address, sources=True) if how.binding else []
        binding_texts = dict(zip((one.version for one in bindings), pool.map(metadata, bindings), strict=True))
    kernels = {one.version: one.wheels for one in releases(how.kernels, address)} if how.kernels else {}
    result, day = [], date.today().isoformat()
    for release, text, libraries in zip(found, texts, names, strict=True):
        needs = [*_requires(text), *_requires(binding_texts.get(release.version, ""))]
        platforms = platforms_of(kernels.get(release.version, release.wheels))
        if how.sources and platforms and "linux" not in platforms and release.source:
            platforms = f"sdist; wheels for {platforms}"
        fields = _fields(release, needs, "" if how.elsewhere else platforms, libraries)
        if platforms.startswith("sdist"):  # which any Python builds
            fields.pop("pythons", None)
        for_one_torch = how.pinned or (
            how.resolved and "pythons" in fields
        )  # a Python extension links torch's libraries
        derived = _torch(fields, needs, how.through, torches) if for_one_torch else ""
        if release.version in listed:
            source = ""
        else:
            beside = f" and {how.through}" if derived else ""
            inside = ", and of the libraries in them" if libraries else ""
            source = f"PyPI: metadata and names of the wheels of {_all_of(package)}{beside}{inside} (read {day})"
            _complete(package, release, fields, majors_of(text), derived, rows, builds)
        confidence = "derived" if derived else "measured"
        result.append(Found("extensions", (package, release.version), fields, source, confidence))
    return result


def _all_of(package: str) -> str:
    """'each vllm'; 'each A, B and C' where other packages hold its kernels and ask for torch."""
    how = PACKAGES[package]
    *front, last = filter(None, (package, how.kernels, how.binding))
    return "each " + (f"{', '.join(front)} and {last}" if front else last)


def _requires(text: str) -> list[str]:
    return HeaderParser().parsestr(text).get_all("Requires-Dist", [])


def _fields(release: Release, lines: list[str], platforms: str, libraries: Iterable[str]) -> dict[str, Any]:
    """What the metadata and the names of the wheels say."""
    here = [
        line for line in lines
        if (need := Requirement(line)).name == "torch"
        and (need.marker is None or need.marker.evaluate({**_LINUX, "extra": "srt"}))
    ]  # fmt: skip
    fields: dict[str, Any] = {"date": release.day}
    if release.requires_python:
        fields["requires_python"] = release.requires_python
    if here and (specifier := re.sub(r"^torch|[\s()]", "", here[0].partition(";")[0])):  # in the order of the metadata
        fields["torch"] = specifier
    if platforms:
        fields["platforms"] = platforms
    if pythons := pythons_of(release):
        fields["pythons"] = pythons
    if cudas := sorted({f"{one[:-1]}.{one[-1]}" for one in libraries}, key=numbers):
        fields["cuda"] = f"one library per CUDA version inside the wheel: {cudas[0]} to {cudas[-1]}"
    return fields


def majors_of(text: str) -> list[str]:
    """The CUDA majors that a release has extras for (cu12, core-cu13), or whose libraries it always asks for."""
    extras = HeaderParser().parsestr(text).get_all("Provides-Extra", [])
    always = [need.name for line in _requires(text) if (need := Requirement(line)).marker is None]
    found = (re.search(r"(?:^|[-_])cu(\d\d)$", name) for name in [*extras, *always])
    return sorted({one[1] for one in found if one})


def _torch(fields: dict[str, Any], lines: list[str], package: str, torches: dict[str, str]) -> str:
    """Make a torch that is not one release what it is: that of the newest `package` that the release asks for, if its
    range ends and that pins one; else what the metadata says, which the torch it was built with is part of. torches: by
    release of `package`. Returns that release, '' if the torch is not its."""
    if fields.get("torch", "==").startswith("==") and "torch" in fields:
        return ""
    needs = [Requirement(line) for line in lines if line.startswith(package)] if package else []
    for need in needs:
        ends = any(one.operator in ("==", "<=", "<", "~=") for one in need.specifier)
        if need.name == package and ends and need.marker and need.marker.evaluate({**_LINUX, "extra": "srt"}):
            newest = max(need.specifier.filter(torches), key=Version, default="")
            if torches.get(newest, "").startswith("=="):
                fields["torch"] = torches[newest]
                return newest
    if "torch" in fields:
        fields["torch"] = f"metadata: {fields['torch']}"
    return ""


def _complete(
    package: str,
    release: Release,
    fields: dict[str, Any],
    majors: list[str],
    through: str,
    rows: list[dict[str, Any]],
    builds: dict[str, str],
) -> None:
    """Fill what follows from the rest in a new row. through: the release of another package whose torch it has."""
    how = PACKAGES[package]
    if not release.wheels:
        fields["platforms"] = "sdist only"
    if not how.resolved:
        if majors:
            fields["cuda"] = " or ".join(majors)
        fields.setdefault("platforms", "any platform")
        return
    pinned = re.fullmatch(r"==(\d[\d.]*)", fields.get("torch", ""))
    major = builds.get(pinned[1], "")[2:4] if how.pinned and pinned else ""
    if major in _DRIVERS:
        fields["cuda"] = f"PyPI wheel CUDA {major}"
        fields["min_driver"] = _DRIVERS[major]
        fields["note"] = "CUDA: that of the torch it pins, and the driver for that"
        if through:
            fields["note"] = (
                f"torch: that of {how.through} {through}, the newest it goes with; CUDA and driver: of that"
            )
    fields.setdefault("platforms", platforms_of(release.wheels) or "linux")
    source, newest = (how.through, Version(through)) if through else (package, Version(release.version))
    older = [row for row in rows if row["package"] == source and Version(row["version"]) <= newest]
    if older and release.wheels and (floor := older[-1].get("min_sm")):
        fields["min_sm"] = floor


def platforms_of(wheels: Iterable[str]) -> str:
    """'linux x86_64 aarch64, windows' of the names of wheels; '' where they are for any platform."""
    tags: set[Tag] = {tag for name in wheels for tag in parse_wheel_filename(name)[3]}
    linux = [m for m in ("x86_64", "aarch64") if any("linux" in t.platform and t.platform.endswith(m) for t in tags)]
    windows = ["windows"] if any(tag.platform == "win_amd64" for tag in tags) else []
    return ", ".join([f"linux {' '.join(linux)}"] * bool(linux) + windows)


def pythons_of(release: Release) -> list[str]:
    """'3.12' of each cp312 wheel, without the free-threaded ones; empty where one wheel is for several Pythons."""
    tags = {tag for name in release.wheels for tag in parse_wheel_filename(name)[3]}
    if any(t.abi in ("abi3", "none") for t in tags):
        return []
    found = {
        f"{m[1]}.{m[2]}" for t in tags if not t.abi.endswith("t") and (m := re.match(r"cp(\d)(\d+)$", t.interpreter))
    }
    return sorted(found, key=numbers)


def metadata(release: Release) -> str:
    """METADATA of a wheel; where there is none, PKG-INFO of the source distribution."""
    if not release.wheels:
        return _package_info(release.source)
    url = next(iter(release.wheels.values()))
    try:
        return web.text(f"{url}.metadata")
    except urllib.error.HTTPError:  # the index has none beside the wheel
        with _archive(url) as archive:
            names = [one for one in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", one)]
            if not names:
                raise ValueError(f"{url}: a wheel without METADATA") from None
            return archive.read(names[0]).decode("utf-8", "replace")


def _archive(url: str) -> zipfile.ZipFile:
    """A wheel on a server, of which only what is read is fetched. Raises OSError, ValueError."""
    try:
        return zipfile.ZipFile(io.BufferedReader(web.Ranges(url), 1 << 16))
    except zipfile.BadZipFile as error:  # also where its end could not be read
        raise error.__context__ if isinstance(error.__context__, OSError) else ValueError(f"{url}: {error}") from None


def _package_info(url: str) -> str:
    """It stands among the first files of the archive: what follows is not read."""
    with (
        web.answer_to(url) as answer,
        tarfile.open(fileobj=answer, mode="r|gz") as archive,
    ):
        for member in archive:
            if re.fullmatch(r"[^/]+/PKG-INFO", member.name) and (file := archive.extractfile(member)):
                return file.read().decode("utf-8", "replace")
    return ""


def _libraries(release: Release) -> tuple[str, ...]:
    """CUDA versions ('118') of the libraries in the Linux wheel, by their names."""
    url = next((url for name, url in release.wheels.items() if "x86_64" in name or name.endswith("any.whl")), "")
    if not url:
        return ()
    with _archive(url) as archive:
        found = (re.search(r"libbitsandbytes_cuda(\d{3})(?:_nocublaslt)?\.so$", name) for name in archive.namelist())
        return tuple(match[1] for match in found if match)
