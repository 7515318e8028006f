"""Questions about cuDNN, NCCL, toolkits and error codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from .code import code_for_gpu, compute_capability
from .rows_driver import Toolkit
from .rows_library import CudaError, Cudnn, Nccl, NvmlError
from .versions import numbers

if TYPE_CHECKING:
    from .rows_driver import Row
    from .store import Store


class LibraryGrade(msgspec.Struct, frozen=True, kw_only=True):
    """A library against a GPU. grade: ok, dropped (this release does not support the GPU), unknown."""

    grade: str
    reason: str
    rows: tuple[Row, ...] = ()


def cudnn_numbers(version: str) -> tuple[int, ...]:
    """'9.10.2.21' -> (9, 10, 2); cuDNN's integers too: '91002' -> (9, 10, 2), '8907' -> (8, 9, 7)."""
    found = numbers(version)
    if len(found) == 1 and found[0] >= 90000:
        return (found[0] // 10000, found[0] // 100 % 100, found[0] % 100)
    if len(found) == 1 and found[0] >= 1000:
        return (found[0] // 1000, found[0] // 100 % 10, found[0] % 100)
    return found[:3]


def cudnn(m: Store, version: str) -> Cudnn | None:
    """The row of a cuDNN version; None when not listed."""
    return m.memo(f"cudnn {version}", lambda: _cudnn(m, version))


def _cudnn(m: Store, version: str) -> Cudnn | None:
    have = cudnn_numbers(version)
    if len(have) < 2:
        return None
    have += (0,) * (3 - len(have))
    for row in m.cudnn_rows:
        if numbers(row.version)[:3] <= have <= numbers(row.until or row.version)[:3]:
            return row
    return None


def cudnn_wheel(m: Store, version: str) -> str:
    """The version of a cuDNN release's wheels, which has a fourth number: 9.10.2 -> 9.10.2.21; '' if not known."""
    if len(numbers(version)) > 3:
        return version
    row = cudnn(m, version)
    wheels = {row.wheel_cu11, row.wheel_cu12, row.wheel_cu13} - {""} if row else set()
    same = {wheel for wheel in wheels if cudnn_numbers(wheel) == cudnn_numbers(version)}
    return wheels.pop() if len(wheels) == len(same) == 1 else ""


def cudnn_for_gpu(m: Store, version: str, capability: str, cuda_major: int | None = None) -> LibraryGrade:
    """Grade a cuDNN version against a GPU. GPUs newer than documented are unknown: they may run its PTX."""
    row, device = cudnn(m, version), numbers(capability)
    if row is None or row.confidence == "memory" or len(device) < 2:
        return LibraryGrade(grade="unknown", reason=f"cuDNN {version} is not listed in this matrix")
    floors = {int(major): cc for major, cc in row.min_cc.items()}
    floor = floors.get(cuda_major) if cuda_major else min(floors.values(), key=numbers, default=None)
    if floor is None:
        why = f"the GPUs that cuDNN {version} supports are not listed"
        return LibraryGrade(grade="unknown", reason=why, rows=(row,))
    if device < numbers(floor):
        why = f"cuDNN {version} needs compute capability {floor} or higher; this GPU has {capability}"
        return LibraryGrade(grade="dropped", reason=why, rows=(row,))
    if (latest := _documented(m, row)) and device[0] > numbers(latest)[0]:
        why = f"cuDNN {version} is documented for compute capabilities only up to {latest}"
        return LibraryGrade(grade="unknown", reason=why, rows=(row,))
    gpu, built_for = compute_capability(m, capability), cuda_major or max(row.cuda_majors, default=0)
    if gpu is not None and built_for and gpu.first_toolkit and numbers(gpu.first_toolkit)[0] > built_for:
        why = f"CUDA {built_for} cannot compile for compute capability {capability}; CUDA {gpu.first_toolkit} can"
        return LibraryGrade(grade="unknown", reason=why, rows=(row,))
    return LibraryGrade(
        grade="ok", reason=f"cuDNN {version} supports compute capability {floor} and newer", rows=(row,)
    )


def _documented(m: Store, row: Cudnn) -> str:
    """The highest compute capability documented for a release, or else for the next one that has it documented: what a
    later release does not support, an earlier one does not either. '' if there is none."""
    later = m.cudnn_rows[m.cudnn_rows.index(row) :]
    return next((one.max_cc_documented for one in later if one.max_cc_documented), "")


def nccl(m: Store, version: str) -> Nccl | None:
    """The row of an NCCL version; '.post1' re-spins have their own rows."""
    wanted = version.strip().casefold()
    exact = next((row for row in m.nccl_rows if row.version == wanted), None)
    if exact or "post" in wanted:
        return exact
    have = numbers(wanted)[:3]
    return next((row for row in m.nccl_rows if "post" not in row.version and numbers(row.version) == have), None)


def nccl_for_gpu(m: Store, version: str, capability: str, cuda_major: int) -> LibraryGrade:
    """Grade an NCCL wheel against a GPU by the machine code measured in it; unmeasured wheels are unknown."""
    row = nccl(m, version)
    held = row.wheel_sass.get(str(cuda_major), ()) if row else ()
    if not row or not held:
        return LibraryGrade(
            grade="unknown", reason=f"the GPU code in NCCL {version} for CUDA {cuda_major} is not listed"
        )
    if code_for_gpu(m, capability, held).kind == "sass":
        return LibraryGrade(grade="ok", reason=f"NCCL {version} has code for {capability}", rows=(row,))
    if numbers(capability) < min(numbers(cc) for cc in held):
        why = f"NCCL {version} for CUDA {cuda_major} supports compute capability {held[0]} and newer"
        return LibraryGrade(grade="dropped", reason=why, rows=(row,))
    why = f"NCCL {version} has no machine code for {capability}; its PTX may run on it"
    return LibraryGrade(grade="unknown", reason=why, rows=(row,))


def toolkit(m: Store, version: str) -> Toolkit | None:
    """A toolkit release; for a bare minor the newest update of it."""
    have = numbers(version)
    rows = [row for row in m.toolkits if have and numbers(row.version)[: len(have)] == have[:3]]
    return max(rows, key=lambda row: numbers(row.version), default=None)


def cuda_error(m: Store, code: int | str) -> CudaError | None:
    """A CUDA error by number, driver name (CUDA_ERROR_...) or runtime name (cudaError...)."""
    text = str(code).strip().casefold()
    for row in m.cuda_errors:
        if text and text in (str(row.code), row.driver_name.casefold(), row.runtime_name.casefold()):
            return row
    return None


def nvml_error(m: Store, code: int | str) -> NvmlError | None:
    """An NVML return code by number or name."""
    text = str(code).strip().casefold()
    rows = (row for row in m.nvml_errors if row.code is not None)
    return next((row for row in rows if text and text in (str(row.code), row.name.casefold())), None)
