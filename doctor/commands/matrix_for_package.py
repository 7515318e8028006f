"""Answers of `gpudoctor matrix query` about packages other than torch: what works with a release, and vice versa."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import click

from compat_matrix import Matrix
from compat_matrix.drivers import floors
from compat_matrix.packages import (
    Kind,
    PackageRow,
    cuda_of,
    floor_of,
    goes_with,
    package_names,
    package_rows,
    plain,
    pythons_of,
    torch_of,
)
from compat_matrix.rows_library import Framework
from compat_matrix.rows_more import Extension
from compat_matrix.unlisted import unlisted as neighbors
from compat_matrix.versions import by_release, minor, numbers, order
from compat_matrix.wish import Wish

from .matrix_answer import Found, Query, driver_row, listed_cuda, named_capability, release_of, unlisted
from .matrix_package_words import cuda_words, lines_of, pythons, torch_words

_MOST = 8
"""Releases in a line of text; JSON has them all."""
_MOST_UNKNOWN = 3
"""After those that are known to work."""
Question = Callable[[Matrix, Query], Found]


def package_named(m: Matrix, word: str) -> str:
    """The package's name in the matrix; '' if it has none of that name."""
    own, short = word.casefold().replace("_", "-"), plain(word)
    if short not in package_names(m):
        return ""
    return own if any(row.package == own for row in package_rows(m, short)) else short


def of_release(m: Matrix, package: str, version: str) -> tuple[PackageRow, ...]:
    """The rows of a release. Raises ClickException if none is listed, with the nearest releases."""
    rows = package_rows(m, package, version)
    if rows:
        return rows
    every = package_rows(m, package)
    if numbers(version) > numbers(every[0].version):
        raise click.ClickException(f"{package} {version} is newer than this matrix (newest: {every[0].version})")
    beside = neighbors(m, Wish(package, version))
    near = [one for one in (beside.below, beside.above) if one] if beside else _nearest(every, version)
    raise unlisted(f"{package} {version!r}", hint=f" (nearest listed: {' and '.join(near)})" if near else "")


def _nearest(rows: tuple[PackageRow, ...], version: str) -> list[str]:
    """The releases on either side of one, of a package that `resolve` does not judge."""
    if not (wanted := order(version)):
        return []
    have = sorted({row.version for row in rows if order(row.version)}, key=by_release)
    older = [one for one in have if by_release(one) < wanted]
    return [*older[-1:], *have[len(older) :][:1]]


def release(m: Matrix, package: str, version: str, wheels: str) -> Found:
    """`vllm 0.33.0`: everything one release works with; without a version, the releases that the matrix lists."""
    if not version:
        rows = package_rows(m, package)
        versions = tuple(dict.fromkeys(row.version for row in rows))
        span = f"releases {versions[-1]} to {versions[0]} ({len(versions)})" if len(versions) > 1 else "one release"
        lines = [f"{package}: {span} in this matrix; the newest:"]
        return Found(versions, (*lines, *lines_of(m, package_rows(m, package, versions[0]), wheels)), (rows[0].source,))
    rows = of_release(m, package, version)
    return Found(
        tuple(dict.fromkeys(row.version for row in rows)),
        tuple(lines_of(m, rows, wheels)),
        tuple(dict.fromkeys(row.source for row in rows)),
    )


def which(package: str, kind: Kind) -> Question:
    """`vllm for torch 2.14.0`: the releases of a package that work with a value."""

    def question(m: Matrix, query: Query) -> Found:
        value, name = _value(m, kind, query)
        rows = [(row, goes_with(m, row, kind, value, query.wheels)) for row in package_rows(m, package)]
        if all(good is None for _, good in rows):
            raise click.ClickException(f"this matrix does not list which {package} works with which {kind}")
        chosen = [row for row, good in rows if good]
        versions = tuple(dict.fromkeys(row.version for row in chosen))
        unsaid = [
            one for one in dict.fromkeys(row.version for row, good in rows if good is None) if one not in versions
        ]
        most = _MOST if not versions else _MOST_UNKNOWN
        older = f" and {len(unsaid) - most} older" if len(unsaid) > most else ""
        more = f"; unknown for {', '.join(unsaid[:most])}{older}" if unsaid else ""
        if not versions:
            return Found((), (f"no release of {package} in this matrix works with {name}{more}",), (rows[0][0].source,))
        lines = [
            f"{package} for {name}: {', '.join(versions[:_MOST])}{' and older' if len(versions) > _MOST else ''}{more}"
        ]
        first = [row for row in chosen if row.version == versions[0]]
        lines += [f"  {line}" for line in lines_of(m, tuple(first), query.wheels) if not line.startswith("  ")]
        return Found(versions, tuple(lines), tuple(dict.fromkeys(row.source for row in first)))

    return question


def _value(m: Matrix, kind: Kind, query: Query) -> tuple[str, str]:
    """The value as the tables have it, and its name in a sentence. Raises ClickException if it is not listed."""
    if kind == "torch":
        release = release_of(m, query.value)
        return release, f"torch {release}"
    if kind == "cuda":
        found = listed_cuda(m, query.value)
        cuda = ".".join(map(str, found[0])) if len(found) == 1 else str(found[0][0])
        return cuda, f"CUDA {cuda}"
    if kind == "gpu":
        capability = named_capability(m, query.value)
        return capability, f"{query.value} (compute capability {capability})"
    if kind == "driver":
        driver_row(m, query.value, query.os)
        return query.value, f"driver {query.value}"
    if kind in ("cudnn", "nccl"):
        title, row = ("cuDNN", m.cudnn(query.value)) if kind == "cudnn" else ("NCCL", m.nccl(query.value))
        if row is None:
            raise unlisted(f"{title} {query.value!r}")
        return query.value, f"{title} {query.value}"
    short = ".".join(map(str, numbers(query.value)[:2]))
    if not any(short in pythons_of(m, row.torch, query.wheels) for row in m.releases):
        raise unlisted(f"Python {query.value!r}")
    return short, f"Python {short}"


def of_package(wanted: str, package: str) -> Question:
    """`torch for vllm 0.33.0`, `python for tensorflow 2.15`: what works with a release of a package."""

    def question(m: Matrix, query: Query) -> Found:
        values, lines, keys = [], [], {}
        for row in of_release(m, package, query.value):
            found, words = _ANSWERS[wanted](m, row, query)
            if found or words:
                values += found
                lines.append(f"{row.package} {row.version}: {words or ', '.join(found[:_MOST])}")
                keys[row.source] = 0
        if not lines:
            raise click.ClickException(f"the {wanted} for {package} {query.value} is not in this matrix")
        return Found(tuple(dict.fromkeys(values)), tuple(dict.fromkeys(lines)), tuple(keys))

    return question


def _torch_for(m: Matrix, row: PackageRow, query: Query) -> tuple[list[str], str]:
    found = list(torch_of(m, row) or ())
    words = torch_words(m, row)
    listed = f" (listed: {', '.join(found[:_MOST])}{' and older' if len(found) > _MOST else ''})"
    return found, words + (listed if len(found) > 1 else "") if words else ""


def _cuda_for(m: Matrix, row: PackageRow, query: Query) -> tuple[list[str], str]:
    return list(cuda_of(m, row, query.wheels) or ()), cuda_words(m, row, query.wheels)


def _python_for(m: Matrix, row: PackageRow, query: Query) -> tuple[list[str], str]:
    found = list(pythons(m, row, query.wheels))
    return found, f"Python {', '.join(found)}" if found else ""


def _driver_for(m: Matrix, row: PackageRow, query: Query) -> tuple[list[str], str]:
    if isinstance(row, Extension) and row.min_driver and query.os == "linux":
        return [row.min_driver.split(" ")[0]], f"driver {row.min_driver} or newer"
    found = []
    for cuda in cuda_of(m, row, query.wheels) or ():
        majors = [one for one in m.toolkit_versions() if str(one[0]) == cuda]
        full, lowest, _ = floors(m, minor(cuda) or min(majors), query.os)
        found.append((cuda, lowest or full))
    words = "; ".join(f"driver {floor} or newer for its CUDA {cuda} build" for cuda, floor in found if floor)
    return [floor for _, floor in found if floor], words


def _gpu_for(m: Matrix, row: PackageRow, query: Query) -> tuple[list[str], str]:
    floor = floor_of(row)
    if floor:
        text = f" ({row.min_sm})" if isinstance(row, Extension) and row.min_sm != floor else ""
        return [floor], f"compute capability {floor} or higher{text}"
    good = [one.cc for one in m.capabilities if one.cc[-1].isdigit() and goes_with(m, row, "gpu", one.cc, query.wheels)]
    if not good and isinstance(row, Extension) and (row.min_sm or row.sass_text):
        return [], row.min_sm or row.sass_text
    return good, f"compute capability {', '.join(good)}" if good else ""


def _cudnn_for(m: Matrix, row: PackageRow, query: Query) -> tuple[list[str], str]:
    if isinstance(row, Framework):
        return ([row.cudnn], f"cuDNN {row.cudnn}") if row.cudnn else ([], "")
    return ([row.cuda], f"CUDA: {row.cuda}") if isinstance(row, Extension) and "cuDNN" in row.cuda else ([], "")


def brings_cudnn(m: Matrix, package: str) -> bool:
    """Whether a package has its own cuDNN rather than torch's."""
    return any(isinstance(row, Framework) for row in package_rows(m, package))


_ANSWERS: dict[str, Callable[[Matrix, PackageRow, Query], tuple[list[str], str]]] = {
    "torch": _torch_for, "cuda": _cuda_for, "python": _python_for, "driver": _driver_for, "gpu": _gpu_for,
    "cudnn": _cudnn_for,
}  # fmt: skip
OF_A_RELEASE = tuple(_ANSWERS)
KINDS = cast("tuple[Kind, ...]", ("torch", "cuda", "python", "driver", "gpu", "cudnn", "nccl"))


def through_torch(wanted: str, package: str, inner: Question) -> Question:
    """`torchaudio for vllm 0.33.0`: what works with the torch that a release pins."""

    def question(m: Matrix, query: Query) -> Found:
        rows = of_release(m, package, query.value)
        found = torch_of(m, rows[0])
        if not found:
            raise click.ClickException(f"the {wanted} for {package} {query.value} is not in this matrix")
        if len(found) > 3:  # no pin: any of many
            raise click.ClickException(
                f"{package} {query.value} does not pin torch: name a torch version, such as {wanted} for torch "
                f"{found[0]}"
            )
        below = inner(m, Query(found[0], query.os, query.wheels))
        lines = (f"{rows[0].package} {rows[0].version}: {torch_words(m, rows[0])}", *below.lines)
        return Found(below.values, lines, tuple(dict.fromkeys((rows[0].source, *below.sources))))

    return question
