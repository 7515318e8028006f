"""The backend is the one that uv itself takes by the driver, wherever no GPU's limit binds and no other build of a torch
at least as new gives up less: uv looks at the driver's version alone, and so takes cu132 on a driver for CUDA 13.0."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from compat_matrix.ranks import dominates
from compat_matrix.resolver import Question, resolve, uv_backend
from compat_matrix.versions import numbers
from doctor.cli import run

from ..judging import matrix
from ..rows import Faults

UV = Path(sys.executable).with_name("uv")
LINUX = {  # astral-sh/uv, crates/uv-torch/src/backend.rs: LINUX_CUDA_DRIVERS, what PyTorch publishes of it
    "cu132": "580", "cu130": "580", "cu129": "525.60.13", "cu128": "525.60.13", "cu126": "525.60.13", "cu124": "525.60.13",
    "cu121": "525.60.13", "cu118": "450.80.2", "cu117": "450.80.2", "cu116": "450.80.2", "cu115": "450.80.2",
    "cu113": "450.80.2", "cu111": "450.80.2", "cu102": "440.33", "cu101": "418.39",
}  # fmt: skip
WINDOWS = {**dict.fromkeys(LINUX, "452.39"), "cu132": "580", "cu130": "580", "cu102": "441.22", "cu101": "418.96",
           **dict.fromkeys(("cu129", "cu128", "cu126", "cu124", "cu121"), "528.33")}  # fmt: skip

FIRST_580 = {"linux": "580.65.06", "windows": "580.88"}
"""The first driver of that branch: there is none that is 580 and nothing more."""


@pytest.mark.parametrize(("os_", "table"), [("linux", LINUX), ("windows", WINDOWS)])
def test_every_row_of_its_table(os_: str, table: dict[str, str]) -> None:
    m = matrix()
    rows = {row.tag: row for row in m.index_urls}
    with Faults() as faults:
        for tag, floor in table.items():
            with faults.of(tag):
                column = rows[tag].min_driver_linux if os_ == "linux" else rows[tag].min_driver_windows
                assert numbers(column) == numbers(floor)
                first = next(name for name, low in table.items() if numbers(low) <= numbers(floor))
                driver = {"580": FIRST_580[os_]}.get(floor, floor)
                q = Question(gpus=("8.0",) if numbers(floor) >= (450,) else ("7.0",), driver=driver, os=os_)
                assert uv_backend(m, q) == first
                best, *others = resolve(m, q).candidates
                there = [one for one in others if one.build.tag == first]
                newest = max(there, key=lambda one: numbers(one.build.torch), default=None)
                # uv stays with an index that gets no newer torch, and does not ask what a build gives up
                assert best.build.tag == first or (newest and dominates(best, newest))


@pytest.mark.slow
def test_what_uv_itself_asks_first() -> None:
    """uv offline names the index that it would have asked."""
    m = matrix()
    drivers = ("580.65.06", "570.86.15", "535.183.01", "525.60.13", "470.256.02", "450.80.02", "440.33.01", "418.39")
    with Faults() as faults:
        for driver in drivers:
            with faults.of(driver):
                done = subprocess.run(
                    [str(UV), "pip", "install", "--python", sys.executable, "--dry-run", "--offline", "--no-config",
                     "--torch-backend=auto", "-v", "torch"],
                    env={**os.environ, "UV_CUDA_DRIVER_VERSION": driver}, capture_output=True, text=True, timeout=60, check=False,
                )  # fmt: skip
                asked = re.findall(r"download\.pytorch\.org/whl/cu(\d+)", done.stderr)  # at once: in any order
                assert asked and f"cu{max(asked, key=int)}" == uv_backend(m, Question(gpus=("8.0",), driver=driver)), (
                    done.stderr[-500:]
                )


@pytest.mark.parametrize("driver", ["525.60.13", "535.183.01", "550.163.01", "570.86.15", "580.82.07", "470.256.02"])
def test_an_answer_that_is_not_uvs_says_why(capsys: pytest.CaptureFixture[str], driver: str) -> None:
    assert run(["resolve", "--gpu", "A100", "--driver", driver]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert run(["resolve", "--gpu", "A100", "--driver", driver, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    tag = found["uv_backend"]
    differs = tag not in ("", found["candidates"][0]["tag"])
    choice = f"uv's --torch-backend=auto, based on the driver alone, would choose {tag}"
    assert (f"{choice}, where the newest torch is " in text) is differs


def test_a_build_that_gives_up_less_comes_before_uvs(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["torch==2.14.1", "--gpu", "H100", "--driver", "580"],
                  ["--gpu", "RTX 4090", "--driver", "581.57", "--os", "windows"]):  # fmt: skip
        assert run(["resolve", *words]) == 0
        text = " ".join(capsys.readouterr().out.split())
        assert "torch 2.14.1 for CUDA 13.0: " in text and "Trade-offs:" not in text
        assert "would choose cu132: that build of torch 2.14.1 cannot compile kernels at run time from PTX" in text
