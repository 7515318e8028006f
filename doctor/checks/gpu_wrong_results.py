"""A GPU computed wrong values, or its copies arrived corrupted.

What is wrong: gpudoctor's own kernel, a matmul or a convolution in torch gave different numbers than float64 for the
same random input; or a copy inside the GPU's memory, between it and the host, or to another GPU, arrived with different
bytes. Nothing that this GPU computes can be trusted.

Symptoms: losses that become NaN or differ from run to run, models that do not learn, checksums that differ.

Why it happens: most often a defective or overclocked chip or memory; heat; memory errors that ECC would have reported,
if ECC is off; rarely a bug in the driver or a library. Between two GPUs: an IOMMU or ACS that interferes with direct
copies.

How to fix it: stop using the GPU. Set clocks and voltages to their defaults, reset it and measure again. If the results
are still wrong, have the board replaced. On a rented machine, use another host.

How it is judged: float32 is compared with float64 on the CPU. Each matmul that is timed (bf16, fp16, TF32, fp8, int8,
fp4, fp32) is compared with float64 on the same GPU by Freivalds' check, whose bound follows from the roundoff of the
format, sums in float32 and the inner size k; it is then repeated 20 times. Elements that differ between repeats are
wrong if they are off by more than the bound; otherwise, they are reported as `gpu-results-not-repeatable`, a warning. A
matmul that is off by less than the bound, but by more than rounding usually explains, is reported as
`gpu-results-suspect`. If no timed matmul on a GPU can be checked (every check fails, or time or memory runs out), the
result is unknown. Copies are compared bit by bit.

Source: results of `gpudoctor prove`; doctor/patient/speed_freivalds.py derives the bound.
"""

from __future__ import annotations

from typing import Any

from ..findings import Check, Finding, Findings, Fix, Matrix, NotExamined, Policy, Skip
from ..snapshot import Gpu, Measured, Missing, NeedsFact, Snapshot, StepEnd, known
from ..snapshot.measured_proof import PROVES_NOTHING
from ._measured import measured
from ._readings import name_of

CHECK = Check(
    __name__,
    title="A GPU computes wrong values",
    sound="Every compared result is correct",
    severity="critical",
    layer="hardware",
    tags=("measured", "gpu", "health"),
    downstream_of=("gpu-hardware-ecc-fault", "row-remap-pending", "gpu-recovery-action-needed"),
    needs_gpu=False,
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails for each device with a wrong result, through libcuda alone or through torch."""
    found_by = measured(s)
    from ..findings.measured_results import not_compared, not_verified

    drivers, proofs = known(found_by.driver) or (), known(found_by.torch) or ()
    pairs = known(found_by.pairs) or ()
    done = [known(d.right) for d in drivers] + [known(t.right) for t in proofs] + [known(p.right) for p in pairs]
    left = not_compared(s)
    if all(right is None for right in done) and not left:
        raise NotExamined("nothing that was computed could be compared")
    from ..findings.measured_gpu import gpu_of
    from ..findings.measured_path import paths

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
                f"{wrong} from a small kernel run through libcuda alone are wrong, so torch is not the cause.",
                {"elements": driver.elements, "wrong_elements": driver.wrong_elements},
            )
    for path in paths(s):
        gpu = gpu_of(s, path.device, path.key)
        if path.word == "gpu-wrong-results" and (gpu.key if gpu else path.device) not in reported:
            facts = {"device": path.device, **_facts(found_by, path.device)}
            yield _finding(s, gpu, path.device, path.device, f"{path.reason}.", facts)
    yield from _between(s)
    for end in not_verified(found_by):
        yield _unverified(s, end)
    gpus = [d.right for d in drivers] + [t.right for t in proofs if t.device != "cpu"]
    for proof in proofs:
        if proof.device == "cpu" and known(proof.right) is False:
            yield CHECK.fail(
                "torch computes wrong values on the CPU",
                "Either torch's libraries are damaged or the machine's memory is faulty.",
                facts={"matmul_error": known(proof.matmul_error), "conv_error": known(proof.conv_error)},
                subject="cpu",
                fixes=_cpu(),
            )
    if left:
        raise NeedsFact("measured", left)
    if all(known(right) is None for right in (*gpus, *(pair.right for pair in pairs))):
        raise Skip("only the CPU was measured, not a GPU", without="gpu")


def _between(s: Snapshot) -> Findings:
    """Copies from GPU to GPU that arrived damaged: reported on the GPU that is involved in most of them."""
    from ..findings.measured_gpu import gpu_of
    from ..findings.measured_results import damaged, suspect_of
    from ..fixes.between_gpus import of_pairs
    from ..fixes.speed import here

    pairs = damaged(s.measured)
    if not pairs:
        return
    device, names = suspect_of(pairs), [f"{pair.source} to {pair.target}" for pair in pairs]
    gpu, first = gpu_of(s, device), pairs[0]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    error = f": {first.error}" if first.error else ""
    words = [f"Data copied from {', '.join(names[:3])}{more} arrives with wrong bytes{error}."]
    if first.peer_access is not None and not isinstance(first.peer_access, Missing):
        words.append(
            f"The GPUs {'copy' if first.peer_access else 'do not copy'} data to each other directly (peer access)."
        )
    if known(first.peer_access):
        words.append("Most likely, an IOMMU or ACS interferes, or a link between the GPUs is down.")
    again = here(
        "prove-again",
        "Run gpudoctor prove again",
        "If it fails again, use the two GPUs separately, with one job on each.",
    )
    yield CHECK.fail(
        f"Copies between GPUs arrive corrupted: {names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''}",
        " ".join(words),
        facts={"pairs": [[pair.source, pair.target] for pair in pairs], "peer_access": known(first.peer_access)},
        subject=gpu.key if gpu else device,
        fixes=of_pairs(s) if known(first.peer_access) else (again,),
    )


def _unverified(s: Snapshot, end: StepEnd) -> Finding:
    """Rates without a single product that was checked: fast results may be wrong."""
    from ..findings.measured_gpu import gpu_of
    from ..fixes.speed import here, with_more_time

    gpu = gpu_of(s, end.device)
    detail = end.detail.rstrip(".") or end.fault
    left_out = end.fault in PROVES_NOTHING
    if left_out and "memory" in detail:
        again = here(
            "prove-again",
            "Run gpudoctor prove again once memory is free",
            "Stop the programs that are using the GPU's memory (nvidia-smi lists them), or wait for them to finish.",
        )
    elif left_out:
        again = with_more_time(s.measured)
    else:
        again = here(
            "prove-again",
            "Run gpudoctor prove again, with a newer torch if there is one",
            "If every check fails, this torch may lack something that the checks use.",
        )
    return CHECK.unknown(
        f"No matmul that was timed on {end.device} could be verified",
        f"The step '{end.step}' {'was not completed' if left_out else 'failed'}: {detail}. The rates were measured, "
        "but whether the matmuls are correct is unknown.",
        facts={"device": end.device, "step": end.step, "fault": end.fault},
        subject=gpu.key if gpu else end.device,
        fixes=(again,),
    )


def _finding(s: Snapshot, gpu: Gpu | None, device: str, name: str, detail: str, facts: dict[str, Any]) -> Finding:
    from ..fixes.gpu_state import replace_board, reset
    from ..fixes.speed import here, leave_out, measured_again

    words = [detail]
    if gpu:
        errors = known(gpu.ecc_uncorrected_volatile)
        if errors:
            words.append(f"Its memory has had {errors} uncorrectable error{'s' * (errors > 1)}: that is the cause.")
        elif known(gpu.ecc_enabled) is True:
            words.append(
                "ECC is on and has counted no errors. Most likely the chip, its clocks or its power supply is at fault."
            )
        else:
            words.append("ECC does not protect its memory. Most likely the memory is defective or overclocked.")
    fixes: tuple[Fix, ...] = (
        here(
            "prove-again",
            "Set clocks and voltages to their defaults, and run gpudoctor prove again",
            "Undo all overclocking and undervolting first.",
        ),
    )
    if gpu:
        sick = measured_again((*reset(s, gpu.key), *replace_board(s, gpu.key)[-1:]))
        fixes = (*leave_out(s, device), *sick)
    title = f"{name_of(gpu) if gpu else name} computes wrong values"
    return CHECK.fail(title, " ".join(words), facts=facts, subject=gpu.key if gpu else name, fixes=fixes)


def _facts(m: Measured, device: str) -> dict[str, Any]:
    """Which products and copies were wrong."""
    from ..findings.measured_results import copies_of, products_of

    products = [p.what for p in products_of(m, device) if known(p.right) is False]
    copies = [c.what for c in copies_of(m, device) if known(c.right) is False]
    return {name: found for name, found in (("products", products), ("copies", copies)) if found}


def _cpu() -> tuple[Fix, ...]:
    from ..fixes.speed import here

    return (
        here("prove-again", "Reinstall torch and test the memory", "Try gpudoctor prove in a new environment first."),
    )
