"""A GPU computed wrong values.

What is wrong: a kernel of our own, or a matrix product or convolution by torch, gave different numbers than float64 on
the CPU for the same random input. Everything that this GPU computes is in doubt.

How it shows: losses that become NaN or differ from run to run, models that do not learn, checksums that differ.

Why it happens: most often a defective or overclocked chip or memory; heat; memory errors that ECC would have reported,
if ECC is off; rarely a bug in the driver or a library.

How to fix it: stop using it. Set clocks and voltages to their defaults, reset it and measure again. If the results are
still wrong, have the board replaced. On a rented machine, use another host.

Source: results of `gpudoctor prove` against float64 on the CPU.
"""

from __future__ import annotations

from typing import Any

from ..findings import Check, Finding, Findings, Fix, Matrix, Policy, Skip
from ..snapshot import Gpu, Snapshot, known
from ._measured import measured
from ._readings import name_of

CHECK = Check(
    __name__,
    title="A GPU computes wrong values",
    sound="The GPU computes correct values",
    severity="critical",
    layer="hardware",
    tags=("measured", "gpu", "health"),
    downstream_of=("gpu-hardware-ecc-fault", "row-remap-pending", "gpu-recovery-action-needed"),
    needs_gpu=False,
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails for each device with a wrong result, through libcuda alone or through torch."""
    found_by = measured(s)
    drivers, proofs = known(found_by.driver) or (), known(found_by.torch) or ()
    if all(known(d.right) is None for d in drivers) and all(known(t.right) is None for t in proofs):
        raise Skip("nothing was computed to be compared")
    from ..findings.measured_path import gpu_of, paths

    reported: set[str] = set()
    for driver in drivers:
        if known(driver.right) is False:
            gpu = gpu_of(s, f"cuda:{driver.device}", driver.key)
            reported.add(gpu.key if gpu else f"cuda:{driver.device}")
            wrong = f"{driver.wrong_elements} of {driver.elements} elements" if driver.elements else "Elements"
            yield _finding(
                s,
                gpu,
                f"cuda:{driver.device}",
                driver.name or f"device {driver.device}",
                f"{wrong} of a small kernel through libcuda alone are wrong, so torch is not the cause.",
                {"elements": driver.elements, "wrong_elements": driver.wrong_elements},
            )
    for path in paths(s):
        gpu = gpu_of(s, path.device, path.key)
        if path.word == "gpu-wrong-results" and (gpu.key if gpu else path.device) not in reported:
            yield _finding(s, gpu, path.device, path.device, f"{path.reason}.", {"device": path.device})
    gpus = [d.right for d in drivers] + [t.right for t in proofs if t.device != "cpu"]
    for proof in proofs:
        if proof.device == "cpu" and known(proof.right) is False:
            yield CHECK.fail(
                "torch computes wrong values on the CPU",
                "Its libraries or the machine's memory are damaged.",
                facts={"matmul_error": known(proof.matmul_error), "conv_error": known(proof.conv_error)},
                subject="cpu",
                fixes=_cpu(),
            )
    if all(known(right) is None for right in gpus):
        raise Skip("only the CPU was measured, and no GPU")


def _finding(s: Snapshot, gpu: Gpu | None, device: str, name: str, detail: str, facts: dict[str, Any]) -> Finding:
    from ..fixes.gpu_state import replace_board, reset
    from ..fixes.speed import here, leave_out, measured_again

    words = [detail]
    if gpu:
        errors = known(gpu.ecc_uncorrected_volatile)
        if errors:
            words.append(f"Its memory counts {errors} uncorrectable errors: that is the cause.")
        elif known(gpu.ecc_enabled) is True:
            words.append(
                "ECC is on and has counted no error. Most likely the chip, its clocks or its power supply are at fault."
            )
        else:
            words.append("ECC does not protect its memory. Most likely the memory is defective or overclocked.")
    fixes: tuple[Fix, ...] = (
        here(
            "prove-again",
            "Set clocks and voltages to their defaults, and run the proof again",
            "Undo all overclocking and undervolting first.",
        ),
    )
    if gpu:
        sick = measured_again((*reset(s, gpu.key), *replace_board(s, gpu.key)[-1:]))
        fixes = (*leave_out(s, device), *sick)
    title = f"{name_of(gpu) if gpu else name} computes wrong values"
    return CHECK.fail(title, " ".join(words), facts=facts, subject=gpu.key if gpu else name, fixes=fixes)


def _cpu() -> tuple[Fix, ...]:
    from ..fixes.speed import here

    return (here("prove-again", "Reinstall torch and test the memory", "Prove it in a new environment first."),)
