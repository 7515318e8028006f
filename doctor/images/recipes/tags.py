"""Base images by their tag: those that do not exist, and those whose NVIDIA apt repository has an old key."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from pkgutil import get_data
from typing import TYPE_CHECKING, Any

from compat_matrix.versions import numbers

from .judged import Judged
from .lint import Fault
from .packages import line_in

if TYPE_CHECKING:
    from compat_matrix import Matrix

_LISTED = re.compile(r"(?:docker\.io/|nvcr\.io/|public\.ecr\.aws/)?(?:nvidia|pytorch)/")
_OPEN_SINCE = (13, 0)
"""CUDA minor versions from here on still get new patches and systems."""
_APT_UPDATE = re.compile(r"\bapt(?:-get)?\s+(?:-\S+\s+)*update\b")
_KEY_MENDED = re.compile(r"(?i)3bf863cc|cuda-keyring|sources\.list\.d/\S*(?:cuda|nvidia|\*)|allow-(?:insecure|unauth)")


def tag_faults(j: Judged) -> Iterator[Fault]:
    """In rule order."""
    yield from published(j.stage.image, j.stage.image_line, j.m)
    yield from _old_key(j)


def published(image: str, line: int, m: Matrix | None = None) -> Iterator[Fault]:
    """Whether an image with this name exists, for those whose tags are known."""
    what = _not_published(image, m or _built_in()) if _LISTED.match(image) else ""
    if what:
        yield Fault(rule="image-not-published", line=line, detail=what)


@lru_cache(maxsize=1)
def _built_in() -> Matrix:
    from compat_matrix import Matrix

    return Matrix.load()


def _not_published(image: str, m: Matrix) -> str:
    name = image.partition("@")[0].removeprefix("docker.io/")
    if re.fullmatch(r"nvidia/cuda(?::latest)?", name):
        return f"{image}: there is no `latest` tag."
    if found := re.fullmatch(r"nvidia/cuda:(\d{1,2}\.\d(?:\.\d+)?-(?:base|runtime|devel))", name):
        return f"{found[1]} does not name an operating system."
    if found := re.match(r"(?:nvcr\.io/|public\.ecr\.aws/)?nvidia/cuda:(\d{1,2}\.\d\.\d{1,2})-", name):
        return _cuda_tag(m, found[1], name.partition(":")[2])
    if found := re.match(r"pytorch/pytorch:(\d\.\d{1,2}\.\d)-cuda(\d{2}\.\d)-cudnn\d-(?:devel|runtime)$", name):
        tags = {build.tag for build in m.torch_builds(found[1], "linux_x86_64")}
        if tags and f"cu{found[2].replace('.', '')}" not in tags:
            cuda = sorted((tag for tag in tags if tag.startswith("cu")), key=lambda tag: int(tag[2:]))
            return f"torch {found[1]} was published for {', '.join(cuda)}, not for CUDA {found[2]}."
    return ""


def _cuda_tag(m: Matrix, version: str, tag: str) -> str:
    """Why nvidia/cuda cannot have this tag; '' if no reason is known."""
    minor = numbers(version)[:2]
    rows = [row for row in m.images if numbers(row.tag)[:2] == minor and row.confidence == "documented"]
    patches = {row.tag for row in rows if row.tag.count(".") == 2}
    if not patches or minor >= _OPEN_SINCE:
        return ""
    last = max(patches, key=numbers)
    if numbers(version) > numbers(last) and version not in {row.version for row in m.toolkits}:
        return f"The last release of CUDA {'.'.join(map(str, minor))} is {last}."
    systems = sorted(one for row in rows if row.tag == version for one in row.os_variants if one.startswith("ubuntu"))
    ubuntu = re.search(r"-ubuntu(\d\d)\.(\d\d)$", tag)
    if ubuntu and systems:
        wanted = f"ubuntu{ubuntu[1]}{ubuntu[2]}"
        if wanted > systems[-1] or wanted < systems[0]:
            have = ", ".join(dict.fromkeys(f"{one[6:8]}.{one[8:]}" for one in systems))
            return f"CUDA {version} was published for Ubuntu {have}."
    cudnn = re.search(r"-cudnn(\d?)-", tag)
    if cudnn and cudnn[1] and numbers(version) >= (12, 4, 1):
        return f"From 12.4.1 on, tags have cudnn without a number: {tag.replace(cudnn[0], '-cudnn-')}."
    if cudnn and minor <= (12, 2) and cudnn[1] not in ("7", "8"):
        return f"{tag}: up to CUDA 12.2, tags have cudnn8 (or cudnn7)."
    if cudnn and minor == (12, 3) and not cudnn[1]:
        return f"{tag}: for CUDA 12.3, tags have cudnn with its number (12.3.2 has cudnn9)."
    return ""


def _old_key(j: Judged) -> Iterator[Fault]:
    """NVIDIA's apt repositories have had a new key since 27 April 2022; older images reject them."""
    rows: Any = json.loads(get_data(__package__, "old_keys.json") or b"[]")
    name, _, tag = j.stage.image.partition("@")[0].removeprefix("docker.io/").partition(":")
    found = [(row, re.fullmatch(row["tag"], tag)) for row in rows if row["image"] == name]
    if not any(one and numbers(one[1]) <= numbers(row["through"]) for row, one in found):
        return
    for step in j.stage.whole:
        if step.word not in ("RUN", "COPY", "ADD"):
            continue
        update = _APT_UPDATE.search(step.value) if step.word == "RUN" else None
        if _KEY_MENDED.search(step.value[: update.start()] if update else step.value):
            return
        if update:
            if not re.match(r"[^\n&;|]*(?:\|\||allow-(?:insecure|unauth))", step.value[update.end() :]):
                detail = (
                    f"{j.stage.image} has NVIDIA's repository key from before April 27, 2022, so apt-get update fails."
                )
                yield Fault(rule="apt-key-rotated", line=line_in(step, j.rows, "update"), detail=detail)
            return
