"""torch releases from the package index: the names of their wheels, and the metadata of one wheel for each platform. A
report of pip about a dry run says the same of one wheel."""

from __future__ import annotations

import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from email.parser import HeaderParser
from typing import Any

from packaging.requirements import Requirement
from packaging.version import Version

from .package_index import Release, index, metadata, releases
from .rows import Found

_PYTHONS = ("3.11", "3.12")
"""What is asked for under one of them is a pin: triton had no wheels for 3.12 at first."""
_SYSTEMS = {"linux_x86_64": ("Linux", "x86_64"), "linux_aarch64": ("Linux", "aarch64"), "windows": ("Windows", "AMD64")}
_WHEELS = {
    "linux_x86_64": r"-(manylinux\w*|linux)_x86_64\.whl$",
    "linux_aarch64": r"-(manylinux\w*|linux)_aarch64\.whl$",
    "windows": r"-win_amd64\.whl$",
}


def read(versions: Iterable[str] = (), last: int = 10, address: str = "") -> list[Found]:
    """A row for each of these releases, else for the newest ones, and one for the triton that it asks for.

    Raises OSError, ValueError.
    """
    wanted = set(versions)
    listed = releases("torch", address or index())
    found = [one for one in listed if one.version in wanted] if wanted else listed[-last:]
    if missing := wanted - {one.version for one in found}:
        raise ValueError(f"the index has no torch {', '.join(sorted(missing))}")
    per_platform = [(one, platform, wheels) for one in found for platform, wheels in _platforms(one)]
    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(lambda each: metadata(each[0]._replace(wheels=_newest(each[2]))), per_platform))
    rows: dict[str, dict[str, Any]] = {}
    for (release, platform, wheels), text in zip(per_platform, texts, strict=True):
        head = HeaderParser().parsestr(text)
        fields = rows.setdefault(release.version, {"date": release.day})
        _add(fields, platform, head.get("Requires-Python", ""), wheels, head.get_all("Requires-Dist", []))
    source = f"PyPI: metadata and names of the wheels of each torch (read {date.today().isoformat()})"
    return [one for version, fields in reversed(rows.items()) for one in _found(version, fields, source)]


def read_reports(reports: Iterable[tuple[str, dict[str, Any]]], day: str = "") -> list[Found]:
    """A row for each version in pip's reports, (platform, report) each: what all of them together say.

    Raises ValueError where one is not a report of torch.
    """
    rows: dict[str, dict[str, Any]] = {}
    for platform, report in reports:
        try:
            item = next(entry for entry in report["install"] if entry["metadata"]["name"] == "torch")
            about, wheel = item["metadata"], item["download_info"]["url"].rsplit("/", 1)[-1]
            version = Version(about["version"]).base_version
        except (KeyError, TypeError, StopIteration, IndexError):
            raise ValueError("not a report of pip about torch") from None
        _add(
            rows.setdefault(version, {}), platform, about.get("requires_python", ""), [wheel],
            about.get("requires_dist", []),
        )  # fmt: skip
    source = f"the report of pip about torch on the package index (read {day or date.today().isoformat()})"
    return [Found("torch_releases", (version,), fields, source) for version, fields in rows.items()]


def _platforms(release: Release) -> list[tuple[str, dict[str, str]]]:
    """The wheels of a release by platform of the matrix."""
    found = [
        (platform, {name: url for name, url in release.wheels.items() if re.search(pattern, name)})
        for platform, pattern in _WHEELS.items()
    ]
    return [(platform, wheels) for platform, wheels in found if wheels]


def _newest(wheels: dict[str, str]) -> dict[str, str]:
    """The one for the newest Python, not free-threaded where there is a choice."""
    name = max(wheels, key=lambda one: (not _python(one).endswith("t"), Version(_python(one).rstrip("t") or "0")))
    return {name: wheels[name]}


def _add(
    fields: dict[str, Any], platform: str, requires_python: str, wheels: Iterable[str], requires: list[str]
) -> None:
    """Put into a row what a platform's wheels and their metadata say."""
    fields["requires_python"] = requires_python
    pythons = {*fields.get(f"pythons_{platform}", ()), *filter(None, map(_python, wheels))}
    fields[f"pythons_{platform}"] = sorted(pythons, key=lambda text: (Version(text.rstrip("t")), text))
    pins = _pins(requires, platform)
    if "cuda_runtime" in pins or platform != "linux_x86_64":  # up to 1.12 the CUDA is in the wheel, and not named
        fields[f"pypi_{platform}"] = _tag(pins)
    if platform == "linux_x86_64" and "cuda_runtime" in pins:
        fields.update({name: pins.get(name, "") for name in ("cuda_runtime", "cudnn", "nccl", "triton")})


def _found(version: str, fields: dict[str, Any], source: str) -> list[Found]:
    """The row of a release, and that of its triton."""
    row = Found("torch_releases", (version,), fields, source)
    pin = re.fullmatch(r"(==|~=)?(\d[\d.]*)", fields.get("triton", ""))
    if not pin:
        return [row]
    return [row, Found("companions", (version, "triton", pin[2]), {"relation": pin[1] or "=="}, source)]


def _python(wheel: str) -> str:
    """'3.13' or '3.13t' of a wheel's file name."""
    found = re.search(r"-cp(\d)(\d+)-cp\d+m?(t?)-", wheel)
    return f"{found[1]}.{found[2]}{found[3]}" if found else ""


def _pins(requires: Iterable[str], platform: str) -> dict[str, str]:
    """What the metadata pins of CUDA, cuDNN, NCCL and triton on this platform, as the matrix words it."""
    system, machine = _SYSTEMS[platform]
    pins: dict[str, str] = {}
    for text in requires:
        need = Requirement(text)
        about = {"platform_system": system, "platform_machine": machine, "extra": ""}
        if need.marker and not any(need.marker.evaluate({**about, "python_version": one}) for one in _PYTHONS):
            continue
        version = str(need.specifier).removeprefix("==")
        if need.name == "cuda-toolkit":
            pins["cuda_runtime"] = f"cuda-toolkit {version}"
        elif found := re.fullmatch(r"nvidia-(cuda-runtime|cudnn|nccl)(?:-cu\d+)?", need.name):
            pins[found[1].replace("cuda-runtime", "cuda_runtime")] = version
        elif need.name == "triton":
            pins["triton"] = version
    return pins


def _tag(pins: dict[str, str]) -> str:
    """'cu128' of the pinned CUDA runtime; 'cpu' where none is pinned."""
    found = re.search(r"(\d+)\.(\d+)", pins.get("cuda_runtime", ""))
    return f"cu{found[1]}{found[2]}" if found else "cpu"
