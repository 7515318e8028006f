"""torch releases from the package index, by the ordinary client: pip's own report of a dry run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from datetime import date
from typing import Any

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from .rows import Found

PLATFORMS = {
    "linux_x86_64": ("manylinux_2_28_x86_64", "manylinux2014_x86_64", "manylinux1_x86_64"),
    "linux_aarch64": ("manylinux_2_28_aarch64", "manylinux2014_aarch64"),
    "windows": ("win_amd64",),
}
"""Platform of the matrix -> platform tags that its wheels have had."""
_SYSTEMS = {"linux_x86_64": ("Linux", "x86_64"), "linux_aarch64": ("Linux", "aarch64"), "windows": ("Windows", "AMD64")}
PYTHONS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.13t", "3.14", "3.14t", "3.15", "3.15t")
_TIMEOUT_S = 120


class PipFailed(Exception):
    """pip gave no report: its last line."""


def answer_of(command: list[str], timeout_s: float = _TIMEOUT_S, tries: int = 3) -> subprocess.CompletedProcess[str]:
    """What it printed. Asked again where no answer came: some hundred are asked one after the other, and all that came
    before would be lost. Raises PipFailed."""
    for _ in range(tries):
        try:
            return subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
        except subprocess.TimeoutExpired:
            continue
    raise PipFailed(f"no answer within {timeout_s:g} s, {tries} times")


def pip_report(version: str, python: str, platform: str) -> dict[str, Any] | None:
    """What pip would install as torch==version there; None where the index has no wheel for it. Raises PipFailed."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--no-deps", "--report", "-"),
            *("--only-binary", ":all:", "--python-version", python.rstrip("t"), "--target", folder),
            *(("--implementation", "cp", "--abi", f"cp{python.replace('.', '')}") if python.endswith("t") else ()),
            *(word for tag in PLATFORMS[platform] for word in ("--platform", tag)),
            f"torch=={version}",
        ]
        done = answer_of(command)
    if done.returncode:
        if "No matching distribution" in done.stderr:
            return None
        raise PipFailed((done.stderr.strip().splitlines() or ["pip failed without a word"])[-1])
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def newest(count: int) -> list[str]:
    """The newest releases that the index has, newest first. Raises PipFailed."""
    command = [sys.executable, "-m", "pip", "index", "versions", "torch", "--python-version", "3.12"]
    command += ["--only-binary", ":all:"]
    done = answer_of(command)
    listed = re.search(r"^Available versions: (.*)$", done.stdout, re.M)
    if not listed:
        raise PipFailed((done.stderr.strip().splitlines() or ["pip index told no versions"])[-1])
    found = [Version(text) for text in listed[1].split(", ")]
    return [str(v) for v in sorted(found, reverse=True) if not v.local and not v.is_prerelease][:count]


def read_reports(reports: Iterable[tuple[str, dict[str, Any]]], day: str = "") -> list[Found]:
    """A row for each version in pip's reports, (platform, report) each: what all of them together say.

    Raises ValueError where one is not a report of torch.
    """
    rows: dict[str, dict[str, Any]] = {}
    for platform, report in reports:
        try:
            item = next(entry for entry in report["install"] if entry["metadata"]["name"] == "torch")
            metadata, wheel = item["metadata"], item["download_info"]["url"].rsplit("/", 1)[-1]
            version = Version(metadata["version"])
        except (KeyError, TypeError, StopIteration, IndexError):
            raise ValueError("not a report of pip about torch") from None
        fields = rows.setdefault(version.base_version, {})
        fields["requires_python"] = metadata.get("requires_python", "")
        pythons = fields.setdefault(f"pythons_{platform}", [])
        if (name := _python(wheel)) and name not in pythons:
            pythons.append(name)
            pythons.sort(key=lambda text: (Version(text.rstrip("t")), text))
        pins = _pins(metadata.get("requires_dist", []), platform)
        fields[f"pypi_{platform}"] = _tag(pins)
        if platform == "linux_x86_64":
            fields.update({name: pins.get(name, "") for name in ("cuda_runtime", "cudnn", "nccl", "triton")})
    source = f"the report of pip about torch on the package index (read {day or date.today().isoformat()})"
    return [Found("torch_releases", (version,), fields, source) for version, fields in rows.items()]


def ask(versions: Iterable[str], pythons: Iterable[str] = PYTHONS) -> Iterator[tuple[str, dict[str, Any]]]:
    """(platform, report) of every wheel of these releases, by asking pip for each. Raises PipFailed."""
    pythons = tuple(pythons)
    for version in versions:
        allowed = SpecifierSet()
        for platform in PLATFORMS:
            for python in pythons:
                if python.rstrip("t") not in allowed:
                    continue
                if report := pip_report(version, python, platform):
                    allowed = SpecifierSet(report["install"][0]["metadata"].get("requires_python", ""))
                    yield platform, report


def _python(wheel: str) -> str:
    """'3.13' or '3.13t' of a wheel's file name."""
    found = re.search(r"-cp(\d)(\d+)-cp\d+(t?)-", wheel)
    return f"{found[1]}.{found[2]}{found[3]}" if found else ""


def _pins(requires: Iterable[str], platform: str) -> dict[str, str]:
    """What the metadata pins of CUDA, cuDNN, NCCL and triton on this platform, as the matrix words it."""
    system, machine = _SYSTEMS[platform]
    pins: dict[str, str] = {}
    for text in requires:
        need = Requirement(text)
        about = {"platform_system": system, "platform_machine": machine, "extra": "", "python_version": "3.12"}
        if need.marker and not need.marker.evaluate(about):
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
