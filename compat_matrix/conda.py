"""Which build of conda-forge's pytorch to install: rows from the recipes, best first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from .code import code_for_gpu
from .drivers import driver_for_cuda
from .libraries import cudnn_for_gpu
from .rows_torch import CondaBuild
from .served import STALE_MINORS
from .versions import minor, numbers

if TYPE_CHECKING:
    from .store import Store


class CondaChoice(msgspec.Struct, frozen=True):
    """A build and why: grade of the driver (native, minor-version, unknown without a driver version), code by GPU."""

    row: CondaBuild
    grade: str
    why: str
    served_by: dict[str, str]

    @property
    def spec(self) -> str:
        """As typed after `conda install`: `pytorch=2.8.0=cuda129*`."""
        return f"pytorch={self.row.torch}={self.row.build}"


def conda_builds(
    m: Store,
    gpus: Sequence[str],
    driver: str | None = None,
    os: str = "linux",
    arch: str = "x86_64",
    python: str | None = None,
    torch: str | None = None,
) -> tuple[CondaChoice, ...]:
    """conda-forge's builds with machine code for these compute capabilities that run on this driver, best first.

    The recipes do not pin cuDNN: the solver takes the newest, so no build supports GPUs that it dropped.
    """
    platform = "windows" if os == "windows" else f"linux_{'aarch64' if arch in ('aarch64', 'arm64') else 'x86_64'}"
    rows = [row for row in m.conda_rows if row.platform == platform and (not torch or row.torch == torch)]
    rows = [row for row in rows if not python or ".".join(python.split(".")[:2]) in row.pythons] if gpus else []
    found = []
    for row in rows:
        served = {gpu: _code(m, row, gpu) for gpu in gpus}
        grade, why = _driver(m, row, driver, "windows" if os in ("windows", "wsl") else "linux")
        low = row.arch_floor and any(numbers(gpu) < numbers(row.arch_floor) for gpu in gpus)
        if all(served.values()) and not low and grade in ("native", "minor-version", "unknown"):
            found.append(CondaChoice(row, grade, why, served))
    newest = max((numbers(choice.row.torch) for choice in found), default=(0, 0))

    def rank(choice: CondaChoice) -> tuple[object, ...]:
        version, cuda = numbers(choice.row.torch), minor(choice.row.cuda) or (0, 0)
        stale = newest[1] - version[1] > STALE_MINORS
        stage = 1 if choice.grade == "minor-version" else 2 if stale else 0
        near = cuda if stage == 1 else (-cuda[0], -cuda[1])
        return (stage, tuple(-part for part in version), near)

    return tuple(sorted(found, key=rank))


def _code(m: Store, row: CondaBuild, gpu: str) -> str:
    """The target that runs on a GPU, '' if none does or the newest cuDNN has dropped it."""
    code = code_for_gpu(m, gpu, row.sass, (), build_cuda=row.cuda)
    major = numbers(row.cuda)[0]
    rows = [cudnn for cudnn in m.cudnn_rows if major in cudnn.cuda_majors and cudnn.min_cc]
    last = max(rows, key=lambda cudnn: numbers(cudnn.version), default=None)
    dropped = last is not None and cudnn_for_gpu(m, last.version, gpu, major).grade == "dropped"
    return code.by if code.kind == "sass" and not dropped else ""


def _driver(m: Store, row: CondaBuild, driver: str | None, platform: str) -> tuple[str, str]:
    if driver is None:
        return "unknown", "no driver version given"
    answer = driver_for_cuda(m, driver, row.cuda, "windows" if platform == "windows" else "linux")
    return answer.grade if answer.grade != "unknown" else "", answer.reason
