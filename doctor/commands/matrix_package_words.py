"""Describe a release of a package: its torch, CUDA, Pythons, GPUs and platforms, as in its row."""

from __future__ import annotations

from compat_matrix import Matrix
from compat_matrix.packages import PackageRow, cuda_of, floor_of, goes_with, own_torch, pythons_of
from compat_matrix.rows_library import Framework
from compat_matrix.rows_more import Extension, ExtensionWheel
from compat_matrix.versions import numbers


def lines_of(m: Matrix, rows: tuple[PackageRow, ...], wheels: str) -> list[str]:
    lines = []
    for row in rows:
        day = f" ({row.date})" if isinstance(row, Extension) and row.date else ""
        parts = [torch_words(m, row), cuda_words(m, row, wheels), _python_words(m, row, wheels), _more(row)]
        lines.append(f"{row.package} {row.version}{day}: {'; '.join(part for part in parts if part)}")
        lines += [f"  {row.note}"] if row.note else []
    return lines


def torch_words(m: Matrix, row: PackageRow) -> str:
    """`torch 2.14.0`, `torch 2.4 to 2.8`, as the row says it."""
    if isinstance(row, Framework):
        return ""
    if isinstance(row, ExtensionWheel):
        return f"wheels for torch {', '.join(row.torch)}"
    if isinstance(row, Extension):
        return "" if row.torch in ("", "none") else f"torch {row.torch.removeprefix('==')}"
    if row.torch == "*":
        return f"requires no particular torch version; built with torch {'.'.join(map(str, numbers(row.version)[:2]))}"
    return f"torch {row.torch}" if row.relation in ("==", "~=") else f"torch {row.relation} {row.torch}"


def cuda_words(m: Matrix, row: PackageRow, wheels: str) -> str:
    """`CUDA 12.5, cuDNN 9.3`."""
    if isinstance(row, Framework):
        return f"CUDA {row.cuda}" + (f", cuDNN {row.cudnn}" if row.cudnn else "")
    if isinstance(row, Extension) and row.cuda:
        return f"CUDA: {row.cuda}"
    found = cuda_of(m, row, wheels)
    return f"CUDA {', '.join(found)}" if found else ""


def _python_words(m: Matrix, row: PackageRow, wheels: str) -> str:
    if isinstance(row, Extension):
        return f"Python {row.requires_python}" if row.requires_python else ""
    found = pythons(m, row, wheels)
    return f"Python {', '.join(found)}" if found else ""


def _more(row: PackageRow) -> str:
    parts = [f"compute capability {floor} or higher"] if (floor := floor_of(row)) else []
    if isinstance(row, Extension):
        parts += [f"driver {row.min_driver}"] if row.min_driver else []
        parts += [row.platforms] if row.platforms else []
    elif isinstance(row, Framework):
        parts.append(f"with a GPU on {', '.join(row.gpu_platforms)}")
        parts += [f"CUDA wheels come with the extra {row.extra}"] if row.extra else []
    elif isinstance(row, ExtensionWheel):
        parts += [
            f"C++ ABI {' and '.join('new' if one == 'TRUE' else 'old' for one in row.abis)}",
            ", ".join(row.platforms),
        ]
    return "; ".join(parts)


def pythons(m: Matrix, row: PackageRow, wheels: str) -> tuple[str, ...]:
    """The Pythons of a release: those of its wheels, else those that it requires and that its torch has wheels for."""
    if isinstance(row, (Framework, ExtensionWheel)):
        return row.pythons
    every = sorted({one for r in m.releases for one in pythons_of(m, r.torch, wheels) if "t" not in one}, key=numbers)
    if isinstance(row, Extension):
        return tuple(one for one in every if goes_with(m, row, "python", one, wheels))
    found = {one for torch in own_torch(m, row) or () for one in pythons_of(m, torch, wheels)}
    return tuple(one for one in every if one in found)
