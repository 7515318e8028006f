"""A GPU gets slower under sustained load.

What is wrong: during `gpudoctor prove --soak SECONDS`, matrix multiplications were more than 10 % slower in the last
seconds than in the first.

Symptoms: training is fast for a minute and slow from then on; in a machine with several GPUs, those in the middle of
the chassis are the slow ones.

Why it happens: heat (dust, dead fans, a hot room, no air between boards), a power limit that a warm chip reaches at
lower clocks, a power supply that cannot sustain the load. If the clock did not drop: another program on the GPU or on
the host's cores.

How to fix it: improve the cooling; lowering the power limit by a few tens of watts costs little speed. Then run the
soak test again.

A loss of a few percent is normal, because a warm chip leaks more current and clocks lower. The finding is a warning,
never a failure. Loads of less than 10 seconds are not judged.

Source: matrix multiplications, clocks, power, temperature and clock event reasons, recorded every second by
`gpudoctor prove --soak`.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, NotExamined, Policy
from ..snapshot import Missing, NeedsFact, Snapshot
from ._measured import measured
from ._readings import name_of

CHECK = Check(
    __name__,
    title="A GPU gets slower under sustained load",
    sound="No GPU became much slower under sustained load",
    severity="warning",
    layer="speed",
    tags=("measured", "gpu", "speed"),
    downstream_of=("gpu-too-hot", "gpu-wrong-results"),
    needs_gpu=False,
)
FALLS_PERCENT = 10.0
_STEADY = 0.97
"""Share of the first clock: if the last clock is at least that and nothing held it back, heat is not the cause."""
_COOL = (
    "cool-and-soak-again",
    "Improve the cooling, then run the soak test again",
    "Clear the air inlet, check the fans, remove dust, leave room between boards; or lower the power limit a little.",
)
_AGAIN = (
    "soak-again-alone",
    "Run the soak test again with nothing else running",
    "First look for another program on the GPU or on the host's cores.",
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns for each GPU whose last seconds are slower than its first."""
    soak = measured(s).soak
    if isinstance(soak, Missing):
        if soak.reason == "not-asked":
            raise NotExamined("no sustained load was requested; run gpudoctor prove --soak 300")
        raise NeedsFact("measured.soak", soak)
    from ..findings.measured_gpu import gpu_of
    from ..findings.measured_rates import number
    from ..findings.measured_soak import SHORT_S, courses
    from ..fixes.speed import here

    found = [course for course in courses(s.measured) if course.seconds >= SHORT_S]
    if not found:
        raise NotExamined("the load lasted less than 10 seconds")
    for course in found:
        if course.percent > -FALLS_PERCENT:
            continue
        gpu = gpu_of(s, course.device)
        rates = f"{number(course.first)} {course.unit} at first, {number(course.last)} after {course.seconds:.0f} s"
        words = [f"{course.what} matmul: {rates}."]
        if course.clocks:
            words.append(f"SM clock: {course.clocks[0]:.0f} MHz at first, {course.clocks[1]:.0f} MHz at the end.")
        held = [f"{name} in {share:.0f} % of the samples" for name, share in course.reasons.items() if share >= 1]
        held = [word for word in held if not word.startswith("idle")]
        if held:
            words.append(f"Clocks were held back by: {', '.join(held)}.")
        steady = bool(course.clocks) and course.clocks[1] >= _STEADY * course.clocks[0] and not held
        if steady:
            words.append("The clock did not drop, so neither heat nor power slowed the GPU down.")
        if course.hottest_c is not None:
            words.append(f"The GPU reached {course.hottest_c} C.")
        yield CHECK.warn(
            f"{name_of(gpu) if gpu else course.device} loses {-course.percent:.0f} % of its speed under sustained load",
            " ".join(words),
            facts={
                "device": course.device,
                "percent": round(course.percent, 1),
                "first": course.first,
                "last": course.last,
                "seconds": course.seconds,
                "temperature_max_c": course.hottest_c,
                "reasons_percent": {name: round(share, 1) for name, share in course.reasons.items()},
            },
            subject=gpu.key if gpu else course.device,
            fixes=(here(*(_AGAIN if steady else _COOL), f"gpudoctor prove --soak {max(60, round(course.seconds))}"),),
        )
