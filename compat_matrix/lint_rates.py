"""Measured products must be held against the peaks that the specifications list."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .store import Store

_PEAK = {
    "fp32": "fp32_tflops", "tf32": "tf32_tensor_tflops", "fp16": "fp16_tensor_fp32acc_tflops",
    "bf16": "bf16_tensor_tflops", "fp8": "fp8_tensor_fp32acc_tflops", "int8": "int8_tensor_tops",
    "fp4": "fp4_tensor_tflops",
}  # fmt: skip
_PRODUCTS = ("matmul_tflops", "matmul_tflops_best_shape", "gemm_tops")
_HALF_PERCENT = 0.006


def measured_shares(m: Store) -> list[str]:
    """Products held against another peak than the specifications have."""
    specs = {spec.id: spec for spec in m.gpu_specs}
    by_name = {row.name: specs.get(row.id) for row in m.gpus}
    problems = []
    for row in m.performance:
        if row.metric not in _PRODUCTS or not row.spec_peak or not row.median:
            continue
        where = f"performance {row.gpu_name} {row.metric} {row.pattern}"
        peak = getattr(by_name.get(row.gpu_name), _PEAK.get(row.pattern, ""), None)
        if peak and abs(row.spec_peak / peak - 1) > _HALF_PERCENT:
            problems.append(f"{where}: spec_peak {row.spec_peak:g} is not the {peak:g} of gpu_specs")
    return problems


RATES = (measured_shares,)
