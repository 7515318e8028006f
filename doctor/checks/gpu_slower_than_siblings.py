"""One GPU is slower than the other GPUs of the same model in this machine.

What is wrong: the matmul or memory speed of this GPU is less than 90 % of the median for this machine's other GPUs with
the same model, power limit and link, or less than 70 % of the fastest of them, or its copy speed is less than 60 % of
the median. This GPU was measured together with them, and again alone. Below 70 % of the fastest, and for copies always,
it is a failure if no other program is using the GPU.

Symptoms: training on all GPUs is as slow as this one, because the others wait for it at each step.

Why it happens: heat (a fan, a slot at the end of the airflow), a power cable or power brake, clocks that were locked
low, another program, a link that came up narrow, or a defect.

How to fix it: fix the cause if the report names it above this finding; otherwise reset the GPU's clocks and measure
again. If it stays slower, leave it out of jobs that run on all GPUs, and have the board checked.

The check needs no table of what the model can do, so it also finds slow GPUs that the matrix does not list. It finds
nothing if all GPUs are equally slow, or if there is only one.

Source: measurements of the siblings in `gpudoctor prove`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..findings import Check, Finding, Findings, Fix, Matrix, NotExamined, Policy, Skip
from ..snapshot import Load, Snapshot, known
from ._measured import measured
from ._readings import ONE_GPU, name_of

if TYPE_CHECKING:
    from ..findings.measured_siblings import Slower

CHECK = Check(
    __name__,
    title="A GPU is slower than its siblings",
    sound="No GPU is much slower than others of its model",
    severity="error",
    layer="speed",
    tags=("measured", "gpu", "speed", "multi-gpu"),
    downstream_of=(
        "clock-held-low",
        "thermally-throttled",
        "power-capped",
        "gpu-too-hot",
        "gpu-power-or-thermal-limited",
        "gpu-wrong-results",
    ),
    needs_gpu=False,
)
FAIL_PERCENT = 70


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Each GPU with a rate below those of the others of its model."""
    names = [known(gpu.name) for gpu in known(s.gpus) or ()]
    if names and len(set(names)) == len(names):
        raise Skip(ONE_GPU if len(names) == 1 else "no two GPUs are the same model")
    measured(s)
    from ..findings.measured_siblings import alike, slower

    if not alike(s):
        raise NotExamined("no two GPUs of the same model were measured")
    for device, found in slower(s).items():
        yield _finding(s, device, found)


def _finding(s: Snapshot, device: str, found: list[Slower]) -> Finding:
    from ..findings.measured_gpu import gpu_of
    from ..findings.measured_rates import load_of, number

    gpu = gpu_of(s, device)
    worst = min(found, key=lambda one: one.percent)
    figures = [f"{_what(f)} {number(f.rate.value)} {f.rate.unit} (the others: {number(f.median)})" for f in found]
    load = load_of(s.measured, gpu.key, worst.rate.kind) if gpu else None
    proof = next((one for one in known(s.measured.torch) or () if one.device == device), None)
    others = known(load.others) if load else None
    busy = bool(proof and proof.busy) or bool(others)
    alone = any("before" in one.rate.detail for one in found)
    words = [f"{device}: {'; '.join(figures)}.", "It was just as slow when measured again alone." if alone else ""]
    facts = {
        "device": device,
        "rates": [
            {"what": f.rate.what, "value": f.rate.value, "median": f.median, "percent": f.percent} for f in found
        ],
        "percent": worst.percent,
    }
    title = f"{name_of(gpu) if gpu else device} reaches only {worst.percent} % of the speed of its siblings"
    subject = gpu.key if gpu else device
    if busy:
        words.append(
            "Another program was using this GPU, so this result says little: measure again when the GPU is free."
        )
        return CHECK.remark(title, " ".join(filter(None, words)), facts=facts, subject=subject)
    words.append(_why(s, load, worst))
    make = CHECK.fail if worst.percent < FAIL_PERCENT and others == 0 else CHECK.warn
    fixes = _fixes(s, gpu.key if gpu else "", device)
    return make(title, " ".join(filter(None, words)), facts=facts, subject=subject, fixes=fixes)


def _what(one: Slower) -> str:
    return one.rate.what if one.rate.kind != "memory" else f"memory {one.rate.what}"


def _why(s: Snapshot, load: Load | None, worst: Slower) -> str:
    """What NVML showed for it and for the others meanwhile."""
    from ..findings.measured_rates import share

    if load is None:
        return "NVML did not report this GPU's clocks during the measurement."
    if worst.rate.kind == "copy":
        return "Most likely, its link came up narrow or slow, or it shares a PCIe switch with other devices."
    for words, reasons in (
        ("Heat slowed it down", ("sw-thermal", "hw-thermal")),
        ("Its hardware protection (power supply or power brake) slowed it down", ("power-brake", "hw-slowdown")),
        ("Its power limit slowed it down", ("power-cap",)),
    ):
        if share(load, *reasons) > 0:
            return f"{words} during the measurement."
    clock = known(load.clock_sm_mhz)
    theirs = [
        mhz
        for other in known(s.measured.loads) or ()
        if other.phase == load.phase and other.key != load.key and (mhz := known(other.clock_sm_mhz))
    ]
    usual = sorted(theirs)[len(theirs) // 2] if theirs else None
    if clock and usual and clock < 0.95 * usual:
        return (
            f"Its SM clock was {clock:.0f} MHz, while the others ran at {usual:.0f} MHz: suspect locked clocks, "
            "power or heat."
        )
    return "According to NVML, neither heat nor power slowed it down: suspect the board."


def _fixes(s: Snapshot, key: str, device: str) -> tuple[Fix, ...]:
    from ..fixes.gpu_state import replace_board
    from ..fixes.speed import clocks_reset, here, measured_again

    again = here(
        "prove-again",
        "Measure this GPU again, alone and together with the others",
        "A defect produces the same figures every time, but a neighbor's job does not.",
        f"gpudoctor prove --quick --device {device} && gpudoctor prove --quick",
    )
    if not key:
        return (again,)
    return (*measured_again((clocks_reset(s, key),)), again, *measured_again(replace_board(s, key)[-1:]))
