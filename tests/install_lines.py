"""Whether the matrix has what an install line names as published: versions, their indexes, conda's builds."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator

from compat_matrix.versions import numbers, torch_version

from .judging import matrix

PYTORCH = "https://download.pytorch.org/whl/"
_AFTER = ("--index-url", "--extra-index-url", "--default-index", "--index")


def of_fixes(fixes: Iterable[object]) -> Iterator[str]:
    """Every command of fixes, those of other tools and of notes too; fixes as structs or as JSON."""
    for fix in fixes:
        for step in _field(fix, "steps") or ():
            yield str(_field(step, "command"))
            for way in _field(step, "alternatives") or ():
                yield str(_field(way, "command"))
        yield from (line.strip() for line in str(_field(fix, "note") or "").splitlines() if line.startswith("  "))


def _field(thing: object, name: str) -> object:
    return thing.get(name) if isinstance(thing, dict) else getattr(thing, name, None)


def unpublished(command: str) -> list[str]:
    """What a command installs that no row of the matrix has; empty where every line is sound or installs no torch."""
    problems: list[str] = []
    for line in re.split(r" && |; |\n", command):
        found = re.search(r"\b(?:pip3?|uv pip) install (.*)", line)
        if found:
            problems += [f"{problem}: {line}" for problem in _pip(_words(found[1]))]
        found = re.search(r"\bconda install (.*)", line)
        if found:
            problems += [f"{problem}: {line}" for problem in _conda(_words(found[1]))]
    return problems


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _pip(words: list[str]) -> Iterator[str]:
    urls = [words[i + 1] for i, word in enumerate(words[:-1]) if word in _AFTER]
    tags = [url.removeprefix(PYTORCH).strip("/") for url in urls if url.startswith(PYTORCH)]
    for tag in tags:
        if matrix().index_url(tag) is None:
            yield f"no row for the index {tag}"
    pinned = dict(word.split("==", 1) for word in words if re.fullmatch(r"[\w-]+==[\w.+]+", word))
    if "torch" in pinned:
        yield from _torch(pinned, tags)


def _torch(pinned: dict[str, str], tags: list[str]) -> Iterator[str]:
    base, _, local = pinned["torch"].partition("+")
    release = matrix().torch_release(base).release
    if release is None:
        if numbers(base) > min(
            numbers(row.torch) for row in matrix().releases
        ):  # before: the user's own, kept as it is
            yield f"no release {base}"
        return
    if local and tags and local not in tags:
        yield f"{local} from the index {tags}"
    for tag in [local] if local else tags:
        row = matrix().index_url(tag)
        builds = [build for build in matrix().torch_builds(base) if build.tag == tag and build.published != "dropped"]
        if row and base not in row.torch and not builds:
            yield f"{base} is not on the index {tag}"
    if not tags and all(
        getattr(release, f"pypi_{name}") == "none" for name in ("linux_x86_64", "linux_aarch64", "windows")
    ):
        yield f"{base} is not on PyPI"
    for name in ("torchvision", "torchaudio"):
        if name in pinned:
            fits = {e.version for e in matrix().companions(base) if e.package == name}
            if pinned[name].partition("+")[0] not in fits:
                yield f"{name} {pinned[name]} is no companion of {base}"
            if (
                "+" in pinned[name]
                and local
                and torch_version(pinned["torch"])
                and not pinned[name].endswith(f"+{local}")
            ):
                yield f"{name} of another build than torch"


def _conda(words: list[str]) -> Iterator[str]:
    for word in words:
        if word.startswith("pytorch"):
            name, _, rest = word.partition("=")
            version, _, build = rest.partition("=")
            if name != "pytorch" or not any(row.torch == version and row.build == build for row in matrix().conda_rows):
                yield f"no row of conda-forge for {word}"
