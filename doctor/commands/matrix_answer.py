"""What the answers of `gpudoctor matrix query` share."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import click
import msgspec

from compat_matrix import Matrix
from compat_matrix.close_names import unlisted_gpu
from compat_matrix.drivers import Platform
from compat_matrix.rows_driver import DriverBranch
from compat_matrix.versions import minor, numbers

Lines = list[str]


class Found(msgspec.Struct, frozen=True):
    """An answer: what works with it, the sentences that explain how, and keys of sources."""

    values: tuple[str, ...]
    lines: tuple[str, ...]
    sources: tuple[str, ...] = ()


class Answered(NamedTuple):
    """An answer as JSON has it, as lines of text, and the keys of its sources."""

    data: Any
    lines: Lines
    sources: tuple[str, ...] = ()


class Query(msgspec.Struct, frozen=True):
    """The question: the value, and the system it applies to."""

    value: str
    os: Platform
    wheels: str
    """Platform of wheels: linux_x86_64, linux_aarch64 or windows."""


def unlisted(what: str, newer: bool = False, hint: str = "") -> click.ClickException:
    """The refusal for what the matrix does not list."""
    return click.ClickException(f"{what} is {'newer than' if newer else 'not listed in'} this matrix{hint}")


def cited(m: Matrix, sources: tuple[str, ...]) -> Lines:
    """A line for each source."""
    return [f"source: {m.source(key)}" for key in sources]


_END_OF_ONE = re.compile(r"; (?![^()]*\))")
"""Between the parts of a source's text, and not inside brackets."""


def cited_shortly(m: Matrix, sources: tuple[str, ...]) -> Lines:
    """One line: the first source alone, and where the others are."""
    every = [part for key in sources for part in _END_OF_ONE.split(m.source(key))]
    more = f" (first of {len(every)}; matrix query --sources lists all)" if len(every) > 1 else ""
    return [f"source: {every[0]}{more}"] if every else []


def named_capabilities(m: Matrix, text: str) -> dict[str, str]:
    """Compute capability -> name, oldest first, for a capability or a GPU name; for a name shared by boards with
    different chips, one entry per chip. Raises ClickException when neither is listed."""
    if m.compute_capability(text):
        return {text: text}
    rows = m.gpu(name=text).rows or m.gpus_like(text).rows
    found = {row.cc: f"{row.name} with {row.chip or row.architecture}" for row in reversed(rows) if row.cc}
    if not found:
        raise click.ClickException(unlisted_gpu(m, text))
    return dict(sorted(found.items(), key=lambda one: numbers(one[0])))


def named_capability(m: Matrix, text: str) -> str:
    """The one compute capability of a name or number. Raises ClickException when there is none, or several."""
    found = named_capabilities(m, text)
    if len(found) > 1:
        several = ", ".join(f"{cc} ({name})" for cc, name in found.items())
        raise click.ClickException(f"{text!r} could be any of {several}: give its compute capability instead")
    return next(iter(found))


def listed_cuda(m: Matrix, text: str) -> tuple[tuple[int, int], ...]:
    """The listed CUDA versions that a text names, oldest first: one for '12.8', all of a major for '12'. Raises
    ClickException if none is listed."""
    version, every = numbers(text)[:2], m.toolkit_versions()
    found = tuple(one for one in every if version and one[: len(version)] == version)
    if found:
        return found
    refuse_reported_only(m, text)
    raise unlisted(f"CUDA {text!r}", bool(version) and version > every[-1])


def driver_row(m: Matrix, text: str, os: Platform) -> DriverBranch:
    """The branch of a driver. Raises ClickException if it is not listed."""
    branch = m.driver_branch(text, os)
    if branch.row is None:
        raise unlisted(f"driver {text!r}", branch.status == "newer-than-matrix")
    return branch.row


def windows_only(m: Matrix, text: str) -> str:
    """The sentence for a driver version that only Windows has (576.88); '' for any other."""
    row = m.driver_branch(text, "windows").row
    if row is None or m.driver_branch(text).row:
        return ""
    return f"driver {text} is a Windows driver (branch {row.branch}): answered for Windows; for WSL add --os wsl"


def refuse_reported_only(m: Matrix, text: str) -> None:
    """Raises ClickException for a CUDA version that a driver reports but that was never published: 12.7."""
    version = minor(text)
    reporting = next((row.branch for row in m.drivers if version and minor(row.cuda) == version), None)
    if reporting and version not in m.toolkit_versions():
        raise click.ClickException(f"CUDA {text} was never published: only driver branch {reporting} reports it")


def release_of(m: Matrix, text: str) -> str:
    """The torch release of a version. Raises ClickException if none is listed."""
    found = m.torch_release(text)
    if found.release is None:
        raise unlisted(f"torch {text!r}", found.status == "newer-than-matrix")
    return found.release.torch
