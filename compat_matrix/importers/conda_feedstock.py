"""conda-forge's builds of pytorch, as the recipe of its feedstock has them: an archive of that repository."""

from __future__ import annotations

import fnmatch
import io
import re
import tarfile
from collections.abc import Iterable
from datetime import datetime, timezone
from typing import Any

from ..versions import numbers
from .rows import Found

ARCHIVE = "https://github.com/conda-forge/pytorch-cpu-feedstock/archive/refs/heads/main.tar.gz"
_PLATFORMS = {"linux-64": "linux_x86_64", "linux-aarch64": "linux_aarch64", "win-64": "windows"}
_READ = re.compile(r"(recipe/(meta\.yaml|build\.sh|bld\.bat)|\.ci_support/[^/]+\.yaml)$")
_SOURCE = "github.com/conda-forge/pytorch-cpu-feedstock/tree/{commit}: recipe and .ci_support"


def read(archive: bytes, rows: Iterable[dict[str, Any]] = ()) -> list[Found]:
    """A row for each CUDA version and platform that the recipe builds. archive: .tar.gz, from GitHub or `git archive`.
    rows: those of `conda`; one that says the same keeps its commit, for most commits change no build.

    Raises ValueError where it is another.
    """
    files, commit, day = _files(archive)
    recipe = files.get("recipe/meta.yaml", "")
    version = re.search(r'^{% set version = "([\d.]+)" %}', recipe, re.M)
    build = re.search(r"^{% set build = (\d+) %}", recipe, re.M)
    if not version or not build:
        raise ValueError("not an archive of conda-forge's pytorch-cpu-feedstock (no recipe/meta.yaml with a version)")
    listed = {(row["torch"], row["cuda"], row["platform"]): row for row in rows}
    found: dict[tuple[str, ...], Found] = {}
    for path, text in sorted(files.items()):
        cuda, platform = _value(text, "cuda_compiler_version"), _PLATFORMS.get(_value(text, "target_platform"), "")
        if not path.startswith(".ci_support/") or not re.match(r"\d", cuda) or not platform:
            continue
        if _value(text, "arm_variant_type") == "tegra" or _value(text, "is_rc") == "True":
            continue
        script = files.get("recipe/bld.bat" if platform == "windows" else "recipe/build.sh", "")
        sass, ptx = _architectures(script, cuda, platform)
        fields: dict[str, Any] = {
            "build": f"cuda{cuda.replace('.', '')}*", "build_number": int(build[1]),
            "pythons": sorted(set(re.findall(r"^- (\d+\.\d+)\.\* \*_cp", text, re.M)), key=numbers),
            "cuda_floor": cuda.split(".")[0], "needs_cuda": "__cuda" in recipe,
            "sass": sass, "ptx": ptx,
        }  # fmt: skip
        if platform != "windows":
            fields["glibc"] = _value(text, "c_stdlib_version")
        key = (version[1], cuda, platform)
        if any(listed.get(key, {}).get(field) != value for field, value in fields.items()):
            fields |= {"date": day, "commit": commit[:8]}
        found[key] = Found("conda", key, fields, _SOURCE.format(commit=commit), "documented")
    return list(found.values())


def _files(archive: bytes) -> tuple[dict[str, str], str, str]:
    """The texts of an archive by path within the repository; its commit and its day."""
    files, day = {}, ""
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as tar:
            commit = tar.pax_headers.get("comment", "")
            for member in tar:
                path = re.sub(r"^.*?(?=(recipe|\.ci_support)/)", "", member.name)
                if member.isfile() and _READ.match(path):
                    content = tar.extractfile(member)
                    files[path] = content.read().decode("utf-8", "replace") if content else ""
                    day = datetime.fromtimestamp(member.mtime, timezone.utc).date().isoformat()
    except (tarfile.TarError, EOFError, OSError) as error:
        raise ValueError(f"not a .tar.gz: {error}") from None
    return files, commit, day


def _value(text: str, name: str) -> str:
    """The first entry of a list in a file of .ci_support."""
    found = re.search(rf"^{name}:\n- '?([^'\n]*)'?$", text, re.M)
    return found[1] if found else ""


def _architectures(script: str, cuda: str, platform: str) -> tuple[list[str], list[str]]:
    """(machine code, PTX) of TORCH_CUDA_ARCH_LIST in the branch of a build script for this CUDA."""
    branch = ""
    if platform == "windows":
        for wanted, listed in re.findall(
            r'cuda_compiler_version[^"]*" ?== ?"([\d.]+)" \(\s*set "(TORCH_CUDA_ARCH_LIST=[^"]*)"', script
        ):
            branch = branch or (listed if cuda.startswith(wanted) else "")
    for patterns, inside in re.findall(r"^\s*(\d[\d.\[\]|* ]*)\)\n(.*?);;", script, re.M | re.S):
        if any(fnmatch.fnmatchcase(cuda, one.strip()) for one in patterns.split("|")):
            branch = branch or inside
    arm, _, other = branch.partition("else") if "aarch64" in branch else (branch, "", branch)
    listed = re.search(r"TORCH_CUDA_ARCH_LIST=\"?([\d.;+PTX]+)", arm if platform == "linux_aarch64" else other)
    words = listed[1].split(";") if listed else []
    return [word.removesuffix("+PTX") for word in words], [w.removesuffix("+PTX") for w in words if w.endswith("+PTX")]
