"""The first and the last screen of five machines are the golden ones, and each answers: what is wrong, why, what to type."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.fakes.fixtures import fakes  # noqa: F401 (a fixture)
from tests.scenarios.torch_build import Workshop

from .take import COLUMNS, HERE, ROWS, SCREENS, parts, screens

ANSWERS = {
    "rtx5090-cu124": ("PyTorch 2.6.0+cu124 does not support your RTX 5090 (sm_120)", "This build is older than",
                      "/opt/venv/bin/python3 -m pip "),
    "docker-without-gpus": ("This container was not given the GPU", "libcuda, libnvidia-ml", "docker run --gpus all"),
    "h100-cpu-torch": ("PyTorch 2.9.1+cpu is a CPU-only build", "This build has no CUDA support", "/opt/venv/bin/python3 -m pip "),
    "gpu-lost": ("no longer responds", "NVML reports that it is lost", "on the host"),
    "expect-8xh200": ("No problems found", "passed", "gpudoctor prove"),
}  # fmt: skip
"""What is wrong, why, and what to type or do."""


def test_golden_screens(tmp_path: Path, fakes: Path) -> None:  # noqa: F811
    """`python -m tests.screens.take` writes them anew: look at each difference."""
    workshop = Workshop(tmp_path / "workshop")
    with ThreadPoolExecutor(2) as pool:
        taken = pool.map(lambda name: screens(name, tmp_path, fakes, workshop), SCREENS)
        for name, text in zip(SCREENS, taken, strict=True):
            assert text == (HERE / f"{name}.txt").read_text("utf-8"), name


def test_each_screen_answers_what_is_wrong_why_and_what_to_type() -> None:
    assert set(ANSWERS) == set(SCREENS) == {path.stem for path in HERE.glob("*.txt")}
    for name, answers in ANSWERS.items():
        for screen in parts((HERE / f"{name}.txt").read_text("utf-8")):
            rows = screen.splitlines()
            assert len(rows) <= ROWS and all(len(row) <= COLUMNS for row in rows)
            for answer in answers:
                assert answer in " ".join(screen.split()), (name, answer, screen)
