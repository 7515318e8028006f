"""A candidate as lines for pip, uv, conda and a Dockerfile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from compat_matrix.builds import _build
from compat_matrix.candidate import Candidate
from compat_matrix.pythons import shared_pythons
from compat_matrix.resolver import Question
from compat_matrix.versions import numbers

from ..fixes.install import Install, conda_words, name_of, pip_line, uv_line

if TYPE_CHECKING:
    from compat_matrix import Matrix


USUAL_PYTHON = "3.12"
"""The newest Python that most packages support today."""


class Lines(Struct, frozen=True):
    """What to paste. request: the same as data; conda: '' if conda-forge has none; image: Dockerfile lines."""

    request: Install
    pip: str
    uv: str
    conda: str
    image: tuple[str, ...]


def requirements(m: Matrix, q: Question, one: Candidate) -> tuple[str, ...]:
    """torch and its companions, with the local version if the index's wheels have one."""
    built = _build(
        m, one.build, one.grade, one.why, one.served, python=q.python or None, packages=("torchvision", "torchaudio")
    )
    wished = {wish.package for wish in q.wishes}
    specs = built.tagged if one.index and one.chosen and built.tagged else built.requirements
    for wish in q.wishes:
        if wish.specifier and wish.package in one.companions:  # a torchvision for several torches: the requested one
            specs = tuple(_exact(text, wish.package, one.companions[wish.package]) for text in specs)
            if wish.package not in map(name_of, specs):  # its metadata names no torch
                specs = (*specs, f"{wish.package}=={one.companions[wish.package]}")
    only_wishes = wished and not wished & {"torch", "torchvision", "torchaudio"}
    return specs[:1] if only_wishes else specs


def _exact(text: str, package: str, version: str) -> str:
    """`torchvision==0.29.1` for `torchvision>=0.29.0`, with the local version that it has; other packages stay."""
    if name_of(text) != package:
        return text
    _, plus, local = text.partition("+")
    return f"{package}=={version}{plus}{local}"


def request(m: Matrix, q: Question, one: Candidate) -> Install:
    """The candidate as one request: from torch's index alone, or along with the default index if a wish needs that."""
    torch = requirements(m, q, one)
    wishes = tuple(chosen.requirement for chosen in one.chosen)
    indexes = tuple(dict.fromkeys(c.index for c in one.chosen if c.index and c.index != one.index))
    if not one.chosen:
        return Install(packages=torch, index=one.index)
    if not one.index and not indexes:
        return Install(packages=(*torch, *wishes))
    first, *more = [url for url in (*indexes, one.index) if url]
    return Install(packages=(*torch, *wishes), extra_index=first, more_indexes=tuple(more))


def lines(m: Matrix, q: Question, one: Candidate) -> Lines:
    """Every way to install the candidate."""
    wanted = request(m, q, one)
    pip = "python -m pip" if q.os == "windows" else "python3 -m pip"
    return Lines(
        wanted, pip_line(wanted, pip), uv_line(wanted), conda(m, q, one), image(q, one, wanted, pythons(m, q, one))
    )


def conda_spec(m: Matrix, q: Question, one: Candidate) -> str:
    """`pytorch=2.8.0=cuda129*` from conda-forge for the same torch and this machine; '' if there is none."""
    if one.chosen or one.grade == "forward-compat":
        return ""
    found = m.conda_builds(q.gpus, q.driver or None, q.os, q.arch, q.python.rstrip("t") or None, one.build.torch)
    return found[0].spec if found and not q.python.endswith("t") else ""


def conda(m: Matrix, q: Question, one: Candidate) -> str:
    """`conda install ...`, or ''."""
    spec = conda_spec(m, q, one)
    return conda_words("install", ["-c", "conda-forge", spec]) if spec else ""


def image(q: Question, one: Candidate, wanted: Install, pythons: tuple[str, ...]) -> tuple[str, ...]:
    """Dockerfile lines: torch's wheels include CUDA, so a plain Python image starts on every driver."""
    if q.os == "windows" or q.python.endswith("t"):  # the official images have no free-threaded Python
        return ()
    python = q.python.rstrip("t") or pythons[-1]
    compat = f"# needs {one.compat_package} from NVIDIA's repository in the image, for this host's driver"
    return (
        f"FROM python:{python}-slim",
        *((compat,) if one.compat_package else ()),
        "ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility",
        f"RUN {pip_line(wanted, 'pip')} --no-cache-dir",
    )


def pythons(m: Matrix, q: Question, one: Candidate) -> tuple[str, ...]:
    """Pythons that torch and the chosen packages have wheels for on this platform, up to the usual one."""
    listed = shared_pythons(m, one.build.torch, q.platform, (row for choice in one.chosen for row in choice.rows))
    plain = [text for text in listed if not text.endswith("t") and numbers(text) <= numbers(USUAL_PYTHON)]
    return tuple(plain) or listed or (USUAL_PYTHON,)
