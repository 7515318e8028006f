"""A training step takes more or less memory per parameter than the usual rule says.

What is wrong: weights, gradients, AdamW's state and the mixed-precision copies were measured, and their sum per
parameter is far from what the rule says (18 bytes with a half-precision copy, 16 without). Memory plans based on that
rule are then wrong.

Symptoms: `CUDA out of memory` with a model that should fit, or a lot of memory left over.

Why it happens: an allocator setting that fragments memory (PYTORCH_CUDA_ALLOC_CONF, PYTORCH_NO_CUDA_MEMORY_CACHING), an
old PyTorch whose optimizer makes temporary copies, or several contexts in one process.

How to fix it: unset the allocator variables, measure with a newer PyTorch, or use the measured figure for planning.

Threshold: memory_model_percent (25).

Source: torch.cuda's allocator statistics around each part of a training step, measured by `gpudoctor prove`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..findings import Check, Findings, NotExamined, Policy, Skip
from ..snapshot import Missing, NeedsFact, Snapshot, known
from ._measured import measured
from ._readings import limit

if TYPE_CHECKING:
    from compat_matrix import Matrix

    from ..snapshot import TrainingStep

CHECK = Check(
    __name__,
    title="Training memory differs from the estimate",
    sound="Training memory is close to the estimate",
    severity="warning",
    layer="speed",
    tags=("measured", "memory"),
    downstream_of=("environment-variable-breaks-cuda",),
)
_VARIABLES = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_NO_CUDA_MEMORY_CACHING")


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns for each GPU whose step is further from the rule than the threshold."""
    found_by = measured(s)
    if isinstance(found_by.training, Missing):
        if found_by.training.reason not in ("not-asked", "absent"):
            raise NeedsFact("measured.training", found_by.training)
        raise NotExamined("no training step was measured: run gpudoctor prove --quick")
    judged = False
    for step in found_by.training:
        now, rule = known(step.bytes_per_parameter), known(step.expected_bytes_per_parameter)
        if not step.device.startswith("cuda") or now is None or not rule:
            continue
        judged = True
        off = 100 * (now - rule) / rule
        if abs(off) <= limit(p, "memory_model_percent", 25):
            continue
        from ..findings.measured_gpu import gpu_of
        from ..fixes.speed import here

        gpu = gpu_of(s, step.device)
        names = [name for name in _VARIABLES if known(s.host.env(name))]
        parts = {
            "weights": known(step.weights_mib), "gradients": known(step.gradients_mib),
            "optimizer": known(step.optimizer_mib), "activations": known(step.activations_mib),
        }  # fmt: skip
        split = ", ".join(f"{name} {mib:.0f} MiB" for name, mib in parts.items() if mib is not None)
        fix = here(
            "plan-with-measured",
            "Measure with a newer torch and without allocator variables",
            "Until then, use the measured figure for memory planning.",
            f"unset {' '.join(names)} && gpudoctor prove" if names else "gpudoctor prove",
        )
        yield CHECK.warn(
            f"A training step takes {now:.1f} bytes per parameter; the usual rule says {rule:.0f}",
            f"{step.parameters / 1e6:.1f} million parameters, {step.precision or 'mixed precision'}: {split}. "
            + _cause(step, off > 0, names),
            facts={"bytes_per_parameter": now, "expected": rule, "off_percent": round(off, 1), **parts},
            subject=gpu.key if gpu else step.device,
            fixes=(fix,),
        )
    if not judged:
        raise Skip("no training step on a GPU was measured", without="gpu")


_RULE_BYTES = {"weights": 4.0, "gradients": 4.0, "optimizer": 8.0}
"""For AdamW in float32, per parameter; copies in half precision take 2 more."""


def _cause(step: TrainingStep, more: bool, names: list[str]) -> str:
    """The most likely cause: a variable that is set here, or else the part that is furthest from the rule."""
    if names:
        return f"The most likely cause is set here: {', '.join(names)}."
    there = (("weights", step.weights_mib), ("gradients", step.gradients_mib), ("optimizer", step.optimizer_mib))
    each = {name: mib * (1 << 20) / max(1, step.parameters) for name, mib in there if not isinstance(mib, Missing)}
    worst = max(each, key=lambda name: abs(each[name] - _RULE_BYTES[name]), default="")
    if worst and abs(each[worst] - _RULE_BYTES[worst]) >= 1:
        part = {"optimizer": "The optimizer's state takes"}.get(worst, f"The {worst} take")
        return f"{part} {each[worst]:.1f} of these bytes, but the rule says {_RULE_BYTES[worst]:.0f}."
    if more:
        return "Each part matches the rule, so most likely an old torch version makes temporary copies."
    return "Each part matches the rule, so most likely this torch version keeps no half-precision copies."
