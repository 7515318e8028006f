"""Rates: measured products are compared with the peaks in the specifications, and a list's thresholds match the values
and boards that it names."""

from __future__ import annotations

import re
from collections import Counter
from math import isfinite
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .store import Store

_PEAK = {
    "fp32": "fp32_tflops", "tf32": "tf32_tensor_tflops", "fp16": "fp16_tensor_fp32acc_tflops",
    "bf16": "bf16_tensor_tflops", "fp8": "fp8_tensor_fp32acc_tflops", "int8": "int8_tensor_tops",
    "fp4": "fp4_tensor_tflops",
}  # fmt: skip
_PRODUCTS = ("matmul_tflops", "matmul_tflops_best_shape", "gemm_tops")
_BANDS = (*_PRODUCTS, "gemm_tflops", "device_memory_bw", "h2d_bw", "d2h_bw", "sm_clock_under_load")
_UNITS = {
    "achievable_fraction_gemm": "fraction", "achievable_fraction_membw": "fraction", "cuda_graph_replay": "us",
    "d2d_copy_bw": "GB/s", "d2h_bw": "GB/s", "dcgm_target_power": "W", "device_memory_bw": "GB/s",
    "device_memory_bw_pass_threshold": "GB/s", "event_record_cost": "us", "gemm_tflops": "TFLOP/s",
    "gemm_tops": "TOP/s", "h2d_bw": "GB/s", "h2d_bw_pass_threshold": "GB/s", "kernel_launch_overhead": "us",
    "matmul_tflops": "TFLOP/s", "matmul_tflops_best_shape": "TFLOP/s", "nccl_all_reduce_busbw": "GB/s",
    "nccl_all_reduce_busbw_pass_threshold": "GB/s", "nccl_all_reduce_latency": "us", "p2p_bw": "GB/s",
    "p2p_bw_pass_threshold": "GB/s", "p2p_read_bw": "GB/s", "sgemm_tflops": "TFLOP/s", "sm_clock_under_load": "MHz",
    "torch_total_memory": "GiB",
}  # fmt: skip
"""The unit of each metric; products of integers are in TOP/s."""
_INTEGERS = "int8"
_ACCEPTANCE_SOURCE = "nvidia-dcgm-nvvs-diag-skus"
"""DCGM's list of products: thresholds, and comments that name neither board nor conditions."""
_HALF_PERCENT = 0.006
_CORES = {"3": 192, "5": 128, "6": 128, "6.0": 64, "7": 64, "8": 128, "8.0": 64}
"""fp32 lanes of an SM by capability or its major, 128 where it is neither: CUDA C++ Programming Guide, arithmetic
instructions (docs.nvidia.com/cuda/cuda-c-programming-guide)."""
_OF_MEASURED, _ROUNDED = "75% of measured", 0.015
_COPIES, _SMALL_COPIES = ("copy", "scale (copy-like)"), "p2pBandwidthLatencyTest"
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
        if row.kind == "measured" and row.metric in _BANDS and not (row.pattern.strip() and row.conditions.strip())
    ]


def copies_to_compare(m: Store) -> list[str]:
    """A copy from a tool whose copies are too small to be compared with those of `prove` (1 GiB)."""
    return [
        f"performance {row.gpu} {row.metric} {row.pattern}: copies of {_SMALL_COPIES} are too small for a band"
        for row in m.performance
        if row.pattern in _COPIES and row.metric == "device_memory_bw" and _SMALL_COPIES in row.conditions
    ]


def figures(m: Store) -> list[str]:
    """A figure that no measurement can have: none, zero or less, or no number."""
    return [
        f"performance {row.gpu} {row.metric} {row.pattern}: {name} {value} is not a number above 0"
        for row in m.performance
        for name, value in (("median", row.median), ("min", row.min), ("max", row.max))
        if (value is None and name == "median") or (value is not None and not (isfinite(value) and value > 0))
    ]


def order_of_figures(m: Store) -> list[str]:
    """A median outside of its own smallest and largest sample, or these two in the wrong order."""
    problems = []
    for row in m.performance:
        where = f"performance {row.gpu} {row.metric} {row.pattern}"
        if row.min is not None and row.max is not None and row.min > row.max:
            problems.append(f"{where}: min {row.min:g} is above max {row.max:g}")
        elif row.median is not None and (
            (row.min is not None and row.median < row.min) or (row.max is not None and row.median > row.max)
        ):
            problems.append(f"{where}: median {row.median:g} is not between min and max")
    return problems


def units(m: Store) -> list[str]:
    """A unit other than that of the metric, in which bands and readings are compared; a metric without one."""
    problems = []
    for row in m.performance:
        wanted = _UNITS.get(row.metric, "")
        if row.pattern == _INTEGERS and wanted == "TFLOP/s":
            wanted = "TOP/s"
        if row.unit != wanted:
            right = f"must be {wanted}" if wanted else "belongs to no listed metric"
            problems.append(f"performance {row.gpu} {row.metric} {row.pattern}: unit {row.unit!r} {right}")
    return problems


def sources_of_measured(m: Store) -> list[str]:
    """A measurement whose only source is DCGM's list of products."""
    return [
        f"performance {row.gpu} {row.metric} {row.pattern}: DCGM's product list is not evidence of a measurement"
        for row in m.performance
        if row.kind == "measured" and row.source.startswith(_ACCEPTANCE_SOURCE)
    ]


def tool_names(m: Store) -> list[str]:
    """A tool or pattern in two spellings that differ only in case or spaces: a band reads only one of them."""
    spellings: dict[str, Counter[str]] = {}
    for row in m.performance:
        spellings.setdefault("".join(row.pattern.casefold().split()), Counter())[row.pattern] += 1
    return [
        f"performance {row.gpu} {row.metric}: {row.pattern!r} is written {usual!r} in other rows"
        for row in m.performance
        if (usual := spellings["".join(row.pattern.casefold().split())].most_common(1)[0][0]) != row.pattern
    ]


RATES = (
    derived_specs, measured_shares, thresholds, boards_of_skus, conditions_of_measured, copies_to_compare, figures,
    order_of_figures, units, sources_of_measured, tool_names,
)  # fmt: skip
