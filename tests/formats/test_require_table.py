"""(expression, driver, brand) held against libnvidia-container's answer: yes, no, or error (the tool refuses it).

The lines of nvidia/cuda are worked out from what they list. `require_odd.tsv` has odd spellings, worked out from dsl.c,
and confirmed by that file compiled; `{x*119}` stands for 119 times x. The GPU's architecture is 8.6 throughout.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

from doctor.formats.require import RequireGpu, RequireHost, evaluate_libnvidia_container

from ..images.lines import DRIVERS, LINES

_BRANDS = ("tesla", "nvidia", "geforce", "quadrortx", "nvidiartx", "titan", "unknown")
ODD = Path(__file__).with_name("require_odd.tsv")


def answer(expressions: list[str], cuda: str, driver: str, brand: str) -> str:
    found = [(f"NVIDIA_REQUIRE_{number}", text) for number, text in enumerate(expressions)]
    given = evaluate_libnvidia_container(found, RequireHost(cuda, driver, (RequireGpu("8.6", brand),)))
    return "error" if given.error else "yes" if given.satisfied else "no"


def test_the_lines_of_nvidia_cuda_on_each_driver_and_brand() -> None:
    wrong = []
    for tag, line in LINES.items():
        for driver, cuda in DRIVERS.items():
            for brand in _BRANDS:
                wanted = "yes" if line.starts(cuda, driver, brand) else "no"
                if answer([line.requirement], cuda, driver, brand) != wanted:
                    wrong.append((tag, driver, brand, wanted))
    assert wrong == []
    assert len(LINES) * len(DRIVERS) * len(_BRANDS) >= 200


def test_odd_spellings() -> None:
    rows = list(csv.DictReader(ODD.open(encoding="utf-8"), delimiter="\t"))
    wrong = []
    for row in rows:
        text = re.sub(r"\{(.)\*(\d+)\}", lambda found: found[1] * int(found[2]), row["expression"])
        given = answer([text], row["cuda"], row["driver"], row["brand"])
        wrong += [] if given == row["answer"] else [(row, given)]
    assert wrong == [] and len(rows) >= 70
    assert {row["answer"] for row in rows} == {"yes", "no", "error"}


def test_over_thirty_two_requirements_are_refused() -> None:
    assert answer(["cuda>=12"] * 32, "12.4", "550.54.15", "tesla") == "yes"
    assert answer(["cuda>=12"] * 33, "12.4", "550.54.15", "tesla") == "error"
    assert answer(["cuda>=12"] * 31 + ["cuda>=13"], "12.4", "550.54.15", "tesla") == "no"
