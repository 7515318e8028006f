"""What a table's rows follow because of their publishers' rules: a slip in one row breaks the rule."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .lint_sources import RECALLED, sources
from .rows_library import CudaError, NvmlError
from .tables import TABLES, row_name
from .versions import by_release, numbers
from .wish import allowed, is_prefix

if TYPE_CHECKING:
    from .store import Store

WHEELS = "https://download.pytorch.org/whl/"
OTHER_CUDNN = ("2.11.0",)
"""torch releases whose default build came with a cuDNN other than the one in the release notes."""


def _lines(m: Store) -> list[str]:
    """One row per line, so that changing a row changes one line."""
    problems = []
    for table in TABLES:
        path = Path(m.directory, f"{table}.json")
        if not path.is_file():  # all in one file, or a table of the built-in matrix
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        if lines[:1] != ["["] or lines[-1:] != ["]"] or len(lines) - 2 != len(m.rows(table)):
            problems.append(f"{table}: must have one row per line, with [ and ] on lines of their own")
    return problems


def _ptx(m: Store) -> list[str]:
    """PTX runs on everything newer, a family's (f) on newer ones with its major, a variant's (a) only on its own."""
    plain = sorted((row.target for row in m.ptx_targets if row.target[-1].isdigit()), key=numbers)
    problems = []
    for row in m.ptx_targets:
        base = row.target.rstrip("af")
        newer = tuple(cc for cc in plain if numbers(cc) >= numbers(base))
        family = tuple(cc for cc in newer if numbers(cc)[0] == numbers(base)[0])
        if base not in plain:
            problems.append(f"ptx_portability {row.target}: no row for {base}")
        elif row.runs_on != {"a": (base,), "f": family}.get(row.target[-1], newer):
            problems.append(f"ptx_portability {row.target}: runs_on does not match its kind of target")
    return problems


def _open_modules(m: Store) -> list[str]:
    """The open kernel module starts with Turing, and is the only one for Grace Hopper and from Blackwell on; Tegra has
    its own."""
    problems = []
    for row in m.capabilities:
        cc = numbers(row.cc.rstrip("af"))
        wanted = "unsupported" if cc < (7, 5) else "supported" if cc < (10,) else "required"
        if row.open_module != ("tegra" if row.tegra else wanted):
            problems.append(f"compute_capability {row.cc}: open_module {row.open_module}")
    by_cc = {row.cc: row.open_module for row in m.capabilities}
    return problems + [
        f"gpus {gpu.id}: open_module {gpu.open_module}, but must be {needed}"
        for gpu in m.gpus
        if gpu.open_module != (needed := "required" if " GH200 " in gpu.name else by_cc.get(gpu.cc, gpu.open_module))
    ]


def _variants(m: Store) -> list[str]:
    """Code for a variant (a, f) is for the same GPUs as its base, so their driver is the same."""
    bases = {row.cc: row for row in m.capabilities}
    return [
        f"compute_capability {row.cc}: first_driver {row.first_driver} differs from {base.first_driver} for {base.cc}"
        for row in m.capabilities
        if (base := bases.get(row.cc.rstrip("af"))) and row.first_driver != base.first_driver
    ]


def _indexes(m: Store) -> list[str]:
    problems = []
    for row in m.index_urls:
        if "/" not in row.tag and row.url != f"{WHEELS}{row.tag}":
            problems.append(f"index_urls {row.tag}: {row.url} is not the URL for its tag")
        if row.tag.startswith("cu") and not {"linux_x86_64"} <= set(row.platforms):
            problems.append(f"index_urls {row.tag}: no wheels for linux_x86_64")
        if row.tag.startswith("rocm") and row.platforms != ("linux_x86_64",):
            problems.append(f"index_urls {row.tag}: ROCm is only for linux_x86_64")
    return problems


def _builds(m: Store) -> list[str]:
    linux = {(row.torch, row.tag) for row in m.builds if row.platform == "linux_x86_64"}
    return [
        f"torch_builds {row.torch} {row.tag} windows: there is no such build for linux_x86_64"
        for row in m.builds
        if row.platform == "windows" and (row.torch, row.tag) not in linux
    ]


def _cudnn_of_torch(m: Store) -> list[str]:
    return [
        f"torch_releases {row.torch}: cudnn {row.cudnn} differs from its default build's"
        for row in m.releases
        if row.cudnn and row.torch not in OTHER_CUDNN and row.pypi_linux_x86_64 in row.cudnn_per_build
        if row.cudnn != row.cudnn_per_build[row.pypi_linux_x86_64]
    ]


def _requires(m: Store) -> list[str]:
    """What a wheel requires is listed for every release from the first one on, and so for the newest."""
    listed = {row.torch for row in m.requires_rows}
    first = min(map(numbers, listed), default=())
    return [
        f"torch_requires: torch {row.torch} is missing"
        for row in m.releases
        if listed and row.torch not in listed and numbers(row.torch) > first
    ]


def _toolkits(m: Store) -> list[str]:
    """PTX versions are 6.x for CUDA 9 and 10, then the CUDA major minus four; CUDA 12.6 added no new one."""
    problems = []
    for row in m.toolkits:
        if numbers(row.version)[:2] != numbers(row.cuda):
            problems.append(f"toolkits {row.version}: cuda {row.cuda} does not match this version")
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


_POWERS = (
    ("tf32_tensor_tflops", (0.5,)), ("bf16_tensor_tflops", (1.0,)), ("fp16_tensor_fp16acc_tflops", (1.0, 2.0)),
    ("fp8_tensor_fp32acc_tflops", (1.0, 2.0)), ("int8_tensor_tops", (1.0, 2.0, 4.0)), ("fp4_tensor_tflops", (4.0, 8.0)),
)  # fmt: skip
"""Dense rates of a chip's tensor cores, as multiples of its fp16 rate with fp32 accumulation."""
_ROUNDED, _OTHER_CLOCK = 0.02, 0.055
"""How far rounded figures may differ; and a vendor's fp32 from cores x boost clock, which it rounds down or up."""


def _rates(m: Store) -> list[str]:
    """Within a row, dense rates differ by powers of two; otherwise its note says what the source has."""
    problems = []
    for row in m.gpu_specs:
        base = row.fp16_tensor_fp32acc_tflops
        for field, factors in _POWERS if base else ():
            rate = getattr(row, field)
            noted = field.partition("_")[0] in row.spec_note
            if rate and base and not noted and all(abs(rate / base / one - 1) > _ROUNDED for one in factors):
                wanted = " or ".join(f"{one:g}" for one in factors)
                problems.append(
                    f"gpu_specs {row.id}: {field} {rate:g} is not fp16 {base:g} x {wanted}, and no note explains it"
                )
        if row.fp32_tflops and row.cuda_cores and row.boost_mhz:
            by_clock = row.cuda_cores * row.boost_mhz * 2e-6
            if abs(row.fp32_tflops / by_clock - 1) > _OTHER_CLOCK and "fp32" not in row.spec_note:
                problems.append(f"gpu_specs {row.id}: fp32 {row.fp32_tflops:g}, but cores x boost gives {by_clock:.1f}")
        if row.sustained_share is not None and not (0 < row.sustained_share < 1 and "sustained" in row.spec_note):
            problems.append(f"gpu_specs {row.id}: sustained_share needs its derivation in spec_note")
    return problems


def _ecc(m: Store) -> list[str]:
    """Tesla boards retire pages since the K20 and Quadro boards since the GV100; rows are remapped since Ampere;
    GeForce does neither (docs.nvidia.com/deploy: dynamic-page-retirement, a100-gpu-mem-error-mgmt)."""
    since = {"datacenter": (3, 5), "workstation": (7, 0)}
    return [
        f"gpus {row.id}: ecc {row.ecc} for a {row.segment} GPU of compute capability {row.cc}"
        for row in m.gpus
        if row.ecc and (row.ecc != "yes" or row.segment not in since or numbers(row.cc or "0") < since[row.segment])
    ]


def _frameworks(m: Store) -> list[str]:
    """A row for a minor names releases of that minor, oldest first."""
    return [
        f"frameworks {row.package} {row.version}: its releases must be those of this minor version, oldest first"
        for row in m.frameworks
        if row.releases
        and (
            not all(is_prefix(row.version) and allowed(row.version, one) for one in row.releases)
            or list(row.releases) != sorted(row.releases, key=by_release)
        )
    ]


def _notes(m: Store) -> list[str]:
    """No note tells a fact that has no source, and no cause of an error is one."""
    found = [
        f"{table} {row_name(row)[1]}: its note is from memory"
        for table in TABLES
        for row in m.rows(table)
        if RECALLED.search(row.note)
    ]
    return found + [
        f"{table} {row_name(row)[1]}: its causes are from memory"
        for table in ("cuda_errors", "nvml_errors")
        for row in m.rows(table)
        if isinstance(row, (CudaError, NvmlError)) and row.causes_confidence == "memory"
    ]


LAWS = (
    _lines, sources, _notes, _rates, _ecc, _ptx, _open_modules, _variants, _indexes, _builds, _cudnn_of_torch,
    _toolkits, _nccl, _requires, _frameworks,
)  # fmt: skip
