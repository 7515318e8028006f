"""What the rows of one table follow by the rules of those who publish them: a slip in one row breaks the rule."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .tables import TABLES
from .versions import numbers

if TYPE_CHECKING:
    from .store import Store

WHEELS = "https://download.pytorch.org/whl/"
OTHER_CUDNN = ("2.11.0",)
"""torch releases whose default build came with another cuDNN than the release's notes tell."""


def _lines(m: Store) -> list[str]:
    """One row in a line, so that a change of a row is a change of a line."""
    problems = []
    for table in TABLES:
        path = Path(m.directory, f"{table}.json")
        if not path.is_file():  # all in one file, or a table of the built-in matrix
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        if lines[:1] != ["["] or lines[-1:] != ["]"] or len(lines) - 2 != len(m.rows(table)):
            problems.append(f"{table}: not one row in a line, between lines of [ and ]")
    return problems


def _ptx(m: Store) -> list[str]:
    """PTX runs on all that is newer, a family's (f) on newer ones of its major, a variant's (a) on its own alone."""
    plain = sorted((row.target for row in m.ptx_targets if row.target[-1].isdigit()), key=numbers)
    problems = []
    for row in m.ptx_targets:
        base = row.target.rstrip("af")
        newer = tuple(cc for cc in plain if numbers(cc) >= numbers(base))
        family = tuple(cc for cc in newer if numbers(cc)[0] == numbers(base)[0])
        if base not in plain:
            problems.append(f"ptx_portability {row.target}: no row of {base}")
        elif row.runs_on != {"a": (base,), "f": family}.get(row.target[-1], newer):
            problems.append(f"ptx_portability {row.target}: runs_on is not what its kind of target runs on")
    return problems


def _open_modules(m: Store) -> list[str]:
    """The open kernel module begins with Turing, and is the only one from Blackwell on; Tegra has its own."""
    problems = []
    for row in m.capabilities:
        cc = numbers(row.cc.rstrip("af"))
        wanted = "unsupported" if cc < (7, 5) else "supported" if cc < (10,) else "required"
        if row.open_module != ("tegra" if row.tegra else wanted):
            problems.append(f"compute_capability {row.cc}: open_module {row.open_module}")
    return problems


def _indexes(m: Store) -> list[str]:
    problems = []
    for row in m.index_urls:
        if "/" not in row.tag and row.url != f"{WHEELS}{row.tag}":
            problems.append(f"index_urls {row.tag}: {row.url} is not the address of its tag")
        if row.tag.startswith("cu") and not {"linux_x86_64"} <= set(row.platforms):
            problems.append(f"index_urls {row.tag}: no wheels for linux_x86_64")
        if row.tag.startswith("rocm") and row.platforms != ("linux_x86_64",):
            problems.append(f"index_urls {row.tag}: ROCm is for linux_x86_64 alone")
    return problems


def _builds(m: Store) -> list[str]:
    linux = {(row.torch, row.tag) for row in m.builds if row.platform == "linux_x86_64"}
    return [
        f"torch_builds {row.torch} {row.tag} windows: there is none for linux_x86_64"
        for row in m.builds
        if row.platform == "windows" and (row.torch, row.tag) not in linux
    ]


def _cudnn_of_torch(m: Store) -> list[str]:
    return [
        f"torch_releases {row.torch}: cudnn {row.cudnn} is not that of its default build"
        for row in m.releases
        if row.cudnn and row.torch not in OTHER_CUDNN and row.pypi_linux_x86_64 in row.cudnn_per_build
        if row.cudnn != row.cudnn_per_build[row.pypi_linux_x86_64]
    ]


def _toolkits(m: Store) -> list[str]:
    """PTX counts 6.x through CUDA 9 and 10, then the CUDA major less four; CUDA 12.6 brought no new one."""
    problems = []
    for row in m.toolkits:
        if numbers(row.version)[:2] != numbers(row.cuda):
            problems.append(f"toolkits {row.version}: cuda {row.cuda} is not of this version")
            continue
        major, minor = numbers(row.cuda)
        isa = f"6.{minor + 3 * (major == 10)}" if major < 11 else f"{major - 4}.{minor - (major == 12 and minor > 5)}"
        if row.ptx_isa != isa:
            problems.append(f"toolkits {row.version}: ptx_isa {row.ptx_isa} is not {isa}")
    return problems


def _nccl(m: Store) -> list[str]:
    return [
        f"nccl {row.version}: wheel_cu{major} {text!r}"
        for row in m.nccl_rows
        for major, text in ((11, row.wheel_cu11), (12, row.wheel_cu12), (13, row.wheel_cu13))
        if text not in ("", "yes")
    ]


LAWS = (_lines, _ptx, _open_modules, _indexes, _builds, _cudnn_of_torch, _toolkits, _nccl)
