"""Answers of `gpudoctor matrix query` about cuDNN and NCCL: which work with a CUDA or torch version, and vice versa."""

from __future__ import annotations

from compat_matrix import Matrix
from compat_matrix.versions import numbers

from .matrix_answer import Found, Query, listed_cuda, unlisted

_MOST = 8


def cudnn_for_cuda(m: Matrix, query: Query) -> Found:
    major = listed_cuda(m, query.value)[0][0]
    rows = [row for row in m.cudnn_rows if major in row.cuda_majors and row.confidence != "memory"]
    return _newest("cuDNN", major, [(row.version, row.source) for row in rows])


def nccl_for_cuda(m: Matrix, query: Query) -> Found:
    major = listed_cuda(m, query.value)[0][0]
    rows = [row for row in m.nccl_rows if getattr(row, f"wheel_cu{major}", "") == "yes"]
    return _newest("NCCL", major, [(row.version, row.source) for row in rows])


def _newest(title: str, major: int, found: list[tuple[str, str]]) -> Found:
    if not found:
        raise unlisted(f"a {title} release for CUDA {major}")
    found.sort(key=lambda one: numbers(one[0]), reverse=True)
    versions = tuple(version for version, _ in found)
    more = " and older" if len(versions) > _MOST else ""
    return Found(versions, (f"{title} for CUDA {major}: {', '.join(versions[:_MOST])}{more}",), (found[0][1],))


def cuda_for_cudnn(m: Matrix, query: Query) -> Found:
    row = m.cudnn(query.value)
    if row is None:
        raise unlisted(f"cuDNN {query.value!r}")
    majors = tuple(map(str, row.cuda_majors))
    return Found(majors, (f"cuDNN {row.version}: CUDA {' and '.join(majors)}",), (row.source,))


def gpu_for_cudnn(m: Matrix, query: Query) -> Found:
    row = m.cudnn(query.value)
    if row is None or not row.min_cc:
        raise unlisted(f"GPU support of cuDNN {query.value!r}")
    lines = [
        f"cuDNN {row.version} for CUDA {major}: compute capability {cc} or higher" for major, cc in row.min_cc.items()
    ]
    return Found(tuple(dict.fromkeys(row.min_cc.values())), tuple(lines), (row.source,))


def cuda_for_nccl(m: Matrix, query: Query) -> Found:
    row = m.nccl(query.value)
    majors = tuple(str(one) for one in (11, 12, 13) if row and getattr(row, f"wheel_cu{one}") == "yes")
    if row is None or not majors:
        raise unlisted(f"the CUDA version for NCCL {query.value!r}")
    return Found(majors, (f"NCCL {row.version}: wheels for CUDA {' and '.join(majors)}",), (row.source,))


def torch_for_cudnn(m: Matrix, query: Query) -> Found:
    wanted = numbers(query.value)
    found = [
        (f"{row.torch}+{tag}", row.source)
        for row in m.releases
        for tag, version in (row.cudnn_per_build or {row.pypi_linux_x86_64: row.cudnn}).items()
        if wanted and numbers(version)[: len(wanted)] == wanted
    ]
    return _torches("cuDNN", query.value, found)


def torch_for_nccl(m: Matrix, query: Query) -> Found:
    wanted = numbers(query.value)
    found = [(row.torch, row.source) for row in m.releases if wanted and numbers(row.nccl)[: len(wanted)] == wanted]
    return _torches("NCCL", query.value, found)


def _torches(title: str, version: str, found: list[tuple[str, str]]) -> Found:
    if not found:
        raise unlisted(f"a torch release with {title} {version}")
    found.sort(key=lambda one: numbers(one[0]), reverse=True)
    names = tuple(name for name, _ in found)
    more = f", and {len(names) - 2 * _MOST} older" if len(names) > 2 * _MOST else ""
    return Found(names, (f"{title} {version}: torch {', '.join(names[: 2 * _MOST])}{more}",), (found[0][1],))
