"""Rates: measured products are compared with the peaks in the specifications, and a list's thresholds match the values
and boards that it names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .store import Store

_PEAK = {
    "fp32": "fp32_tflops", "tf32": "tf32_tensor_tflops", "fp16": "fp16_tensor_fp32acc_tflops",
    "bf16": "bf16_tensor_tflops", "fp8": "fp8_tensor_fp32acc_tflops", "int8": "int8_tensor_tops",
    "fp4": "fp4_tensor_tflops",
}  # fmt: skip
_PRODUCTS = ("matmul_tflops", "matmul_tflops_best_shape", "gemm_tops")
_BANDS = (*_PRODUCTS, "gemm_tflops", "device_memory_bw", "h2d_bw", "d2h_bw")
_HALF_PERCENT = 0.006
_CORES = {"3": 192, "5": 128, "6": 128, "6.0": 64, "7": 64, "8": 128, "8.0": 64}
"""fp32 lanes of an SM by capability or its major, 128 where it is neither: CUDA C++ Programming Guide, arithmetic
instructions (docs.nvidia.com/cuda/cuda-c-programming-guide)."""
_OF_MEASURED, _ROUNDED = "75% of measured", 0.015
_SKU = re.compile(r"(.+) \(dev ([0-9A-F]{4})([0-9A-F]{4})?\)")


def measured_shares(m: Store) -> list[str]:
    """Products compared with a peak other than the one in the specifications."""
    specs = {spec.id: spec for spec in m.gpu_specs}
    by_name = {row.name: specs.get(row.id) for row in m.gpus}
    problems = []
    for row in m.performance:
        if row.metric not in _PRODUCTS or not row.spec_peak or not row.median:
            continue
        where = f"performance {row.gpu_name} {row.metric} {row.pattern}"
        peak = getattr(by_name.get(row.gpu_name), _PEAK.get(row.pattern, ""), None)
        if peak and abs(row.spec_peak / peak - 1) > _HALF_PERCENT:
            problems.append(f"{where}: spec_peak {row.spec_peak:g} differs from {peak:g} in gpu_specs")
    return problems


def thresholds(m: Store) -> list[str]:
    """A threshold that claims to be 75 % of what was measured on the same board, but is not."""
    measured = {row.gpu: row.median for row in m.performance if row.metric == "device_memory_bw" and row.median}
    return [
        f"performance {row.gpu} {row.metric}: {row.median:g} is not {_OF_MEASURED}, {measured[row.gpu]:g}"
        for row in m.performance
        if row.metric == "device_memory_bw_pass_threshold" and f", {_OF_MEASURED}" in row.conditions and row.median
        if row.gpu in measured and abs(row.median / (measured[row.gpu] or 1.0) / 0.75 - 1) > _ROUNDED
    ]


def boards_of_skus(m: Store) -> list[str]:
    """A board (dev: PCI device, and subsystem if needed to identify it) assigned to the wrong product: one without its
    device; with a subsystem, one that the board's own name does not belong to, unless it is only a board number."""
    devices = {row.name: row.device_ids for row in m.gpus}
    problems = []
    for row in m.performance:
        found = _SKU.fullmatch(row.gpu)
        if not found or not row.gpu_name or row.gpu_name not in devices:
            continue
        name, device, subsystem = found.groups()
        model = re.search(r"[A-Z]*\d+[A-Z]*", row.gpu_name)
        other = subsystem and model and not re.match(r"PG\d", name) and not re.search(rf"{model[0]}(?!\d)", name)
        if device not in devices[row.gpu_name] or other:
            problems.append(
                f"performance {row.gpu} {row.metric}: the board does not belong to the product {row.gpu_name}"
            )
    return problems


def derived_specs(m: Store) -> list[str]:
    """SM counts that do not follow from the cores, and NVLink links that `nvlink` has for no GPU."""
    links = {(row.links, 2 * (row.total_gb_s_per_direction or 0)) for row in m.nvlinks}
    named = {row.id: row for row in m.gpus}
    problems = []
    for spec in m.gpu_specs:
        cc = named[spec.id].cc if spec.id in named else ""
        cores = _CORES.get(cc, _CORES.get(cc.partition(".")[0], 128))
        if cc and spec.sm_count and spec.cuda_cores and spec.cuda_cores != cores * spec.sm_count:
            problems.append(
                f"gpu_specs {spec.id}: {spec.cuda_cores:g} cores are not {cores} in each of {spec.sm_count:g}"
            )
        if spec.nvlink_links and (spec.nvlink_links, spec.nvlink_total_gb_s) not in links:
            problems.append(
                f"gpu_specs {spec.id}: nvlink has no row with {spec.nvlink_links:g} links, {spec.nvlink_total_gb_s}"
            )
    return problems


def conditions_of_measured(m: Store) -> list[str]:
    """A measured rate that does not say how it was measured, although a band would be based on it."""
    return [
        f"performance {row.gpu} {row.metric} {row.pattern}: measured, but tool or conditions are missing"
        for row in m.performance
        if row.kind == "measured" and row.metric in _BANDS and not (row.pattern and row.conditions)
    ]


RATES = (derived_specs, measured_shares, thresholds, boards_of_skus, conditions_of_measured)
