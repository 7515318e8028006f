"""Processor time of `gpudoctor compare` for two reports of machines with 8 GPUs. `python -m benchmarks.compare`"""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median

from msgspec.structs import replace

from benchmarks.fleet_cost import cost
from doctor.snapshot import Distribution, Snapshot, known
from doctor.snapshot.measured import Measured, Rate
from tests.cli.command import save
from tests.compare.machines import SITE, harmless
from tests.healthy import healthy
from tests.torches import not_asked, with_torch

SAMPLES = 11
_FIGURES = ("bf16", "fp16", "fp32", "tf32", "fp8")


def machine(driver: str, cuda: str, factor: float, torch: tuple[str, str]) -> Snapshot:
    """8 H100 with 250 packages, measured; `factor`: of all rates."""
    s = not_asked(with_torch(healthy(*["h100"] * 8, driver=driver, cuda=cuda), *torch))
    more = tuple(Distribution(name=f"package-{number}", version="1.0", location=SITE) for number in range(230))
    rates = tuple(
        Rate(kind="matmul", device=f"cuda:{gpu}", what=what, value=700.0 * factor, unit="TFLOP/s", spread_percent=0.5)
        for gpu in range(8)
        for what in _FIGURES
    )
    measured = Measured(
        level="quick", device="cuda", torch_devices=tuple(f"cuda:{gpu}" for gpu in range(8)), rates=rates
    )
    return s.replace({"python.distributions": (*(known(s.python.distributions) or ()), *more), "measured": measured})


def pairs() -> dict[str, tuple[Snapshot, Snapshot]]:
    """What is compared."""
    good = machine("580.82.07", "13.0", 1.0, ("2.8.0", "cu128"))
    before, after, _ = harmless(good, 1)
    gpus = known(after.gpus) or ()
    limited = after.replace({"gpus": tuple(replace(gpu, power_limit_w=300.0) for gpu in gpus)})
    slower = machine("580.82.07", "13.0", 0.7, ("2.8.0", "cu128"))
    return {
        "29 facts that break nothing": (before, after),
        "an older driver, a newer torch": (good, machine("535.183.01", "12.2", 1.0, ("2.9.1", "cu130"))),
        "a lower power limit and rates on 8 GPUs": (before, limited.replace({"measured": slower.measured})),
    }


def main() -> None:
    """A Markdown table: the median of several runs, and the quickest."""
    print("| two 8-GPU reports | CPU s | at best | peak MiB |\n| --- | ---: | ---: | ---: |")
    for name, (old, new) in pairs().items():
        with tempfile.TemporaryDirectory() as folder:
            files = [str(save(Path(folder), side, name=f"{at}.json")) for at, side in enumerate((old, new))]
            found = [cost("compare", *files) for _ in range(SAMPLES)]
        seconds = [one.cpu_s for one in found]
        print(f"| {name} | {median(seconds):.2f} | {min(seconds):.2f} | {max(one.peak_mib for one in found):.0f} |")


if __name__ == "__main__":
    main()
