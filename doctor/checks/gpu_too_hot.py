"""A GPU is too hot.

What is wrong: the GPU is at or near the temperature at which it throttles to protect itself.

Symptoms: clocks drop under load, and the same work takes longer every minute; `nvidia-smi -q -d
TEMPERATURE,PERFORMANCE` shows a small `T.Limit Temp` and `SW Thermal Slowdown` or `HW Thermal Slowdown: Active`.

Why it happens: dust, a dead fan, a passive board without server fans, cards too close together, a warm room.

How to fix it: check the fans and the airflow; until they are fixed, lower the power limit. If the machine is rented,
use another one.

How it is judged: if the GPU reports its own margin (T.Limit) or slowdown temperature, that value decides: within
temperature_margin_warn_c (5) degrees of it, the finding is a warning; at it, the finding is a failure if a thermal
throttle bit is set. For other GPUs, a temperature below temperature_remark_c (75) is fine; from there on it is a note,
from temperature_warn_c (80) on a warning, and from temperature_fail_c (84) on a failure if a thermal throttle bit is
set. Without a throttle bit, heat alone is not a failure. A margin of 0 or below without that bit is ignored, because
some boards report it wrongly. A laptop runs at its limit by design, so on a laptop the finding is only a note.

Source: nvidia-smi(1), temperature and clocks event reasons; NVML nvmlDeviceGetMarginTemperature.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy
from ..fixes.gpu_state import cool
from ..snapshot import Gpu, Snapshot, known
from ._boards import is_laptop
from ._readings import THERMAL, Readings, limit, listed, name_of

CHECK = Check(
    __name__,
    title="A GPU is too hot",
    sound="No GPU is too hot",
    severity="error",
    layer="hardware",
    tags=("gpu", "health", "speed"),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """One finding or remark per hot GPU."""
    seen = Readings()
    for gpu in listed(s):
        celsius = seen.of("temperature_c", gpu.temperature_c)
        margin = seen.of("temperature_margin_c", gpu.temperature_margin_c)
        if celsius is None and margin is None:
            continue
        throttled = bool((known(gpu.clock_event_reasons) or 0) & THERMAL)
        left = _left(gpu, celsius, margin, throttled)
        level = _level(p, celsius, left, throttled)
        if not level:
            continue
        hot = f"is at {celsius} °C" if celsius is not None else "is hot"
        own = "" if left is None else f", {left} °C below the temperature at which it throttles"
        if left is not None and left <= 0:
            own = ", at or above its temperature limit"
        facts = {"temperature_c": celsius, "left_c": left, "thermal_throttle": throttled}
        title = f"{name_of(gpu)} {hot}{own}" + (
            f"{',' * bool(own)} and is throttling" if throttled and level == "fail" else ""
        )
        if is_laptop(m, gpu):
            level = "remark"
        make = {"fail": CHECK.fail, "warn": CHECK.warn, "remark": CHECK.remark}[level]
        yield make(title, facts=facts, subject=gpu.key, fixes=cool(s, gpu.key))
    seen.end("a temperature")


def _left(gpu: Gpu, celsius: int | None, margin: int | None, throttled: bool) -> int | None:
    """Degrees up to the GPU's own limit; None if it has none that can be trusted."""
    if margin is not None and (margin > 0 or throttled):
        return margin
    slowdown = known(gpu.temperature_slowdown_c)
    return slowdown - celsius if slowdown is not None and slowdown > 0 and celsius is not None else None


def _level(p: Policy, celsius: int | None, left: int | None, throttled: bool) -> str:
    if left is not None:
        if left <= 0 and throttled:
            return "fail"
        if left <= limit(p, "temperature_margin_warn_c", 5):
            return "warn"
        if celsius is None or "temperature_warn_c" not in p.thresholds:
            return ""
        return "warn" if celsius >= p.thresholds["temperature_warn_c"] else ""
    if celsius is None:
        return ""
    if celsius >= limit(p, "temperature_fail_c", 84) and throttled:
        return "fail"
    if celsius >= limit(p, "temperature_warn_c", 80):
        return "warn"
    return "remark" if celsius >= limit(p, "temperature_remark_c", 75) else ""
