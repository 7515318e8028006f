"""Each modelled image against described hosts: verdict, grade and what the image's own requirement is worth there.

`verdicts.tsv` was written once and then read line by line: a line that changes is to be understood, not only updated.
"""

from __future__ import annotations

import csv
from pathlib import Path

from compat_matrix import Matrix
from doctor.findings import Policy
from doctor.images.evidence import evidence
from doctor.images.hosts import described
from doctor.images.importer import snapshot_of
from doctor.images.layout import LayoutSource
from doctor.judge.preflight import preflight

from .layouts import Layout
from .modelled import IMAGES

HOSTS = (
    ("H100", "535.183.01"), ("H100", "580.65.06"), ("A100", "470.256.02"), ("RTX 4090", "535.183.01"),
    ("RTX 5090", "570.86.15"), ("GTX 1080", "580.65.06"), ("RTX A5000", "550.54.15"),
)  # fmt: skip
TABLE = Path(__file__).with_name("verdicts.tsv")
LEFT_OUT = ("torch_run", "driver.cu_init", "gpus", "torch.sass", "python.distributions")


def verdicts(m: Matrix, folder: Path, name: str) -> list[tuple[str, ...]]:
    """(gpu, driver, verdict, grade, forward compatibility, label, first finding) for each host."""
    layout = Layout(folder)
    layout.tag("latest", IMAGES[name](layout))
    source = LayoutSource(str(folder))
    image = source.image("linux/amd64")
    found = evidence(image, m, source.statements(image))
    s = snapshot_of(image, found)
    rows = []
    for gpu, driver in HOSTS:
        one, _ = preflight(
            s, described(m, driver, gpu, "x86_64")[1], gpu, m, Policy(left_out=LEFT_OUT, judged_on="2026-11-22")
        )
        first = one.findings[0].id if one.findings else ""
        rows.append((gpu, driver, one.verdict, one.grade, one.forward_compat, one.label, first))
    return rows


def test_every_image_on_every_host(tmp_path: Path) -> None:
    m = Matrix.load()
    wanted: dict[str, list[tuple[str, ...]]] = {}
    for row in csv.DictReader(TABLE.open(encoding="utf-8"), delimiter="\t"):
        wanted.setdefault(row["image"], []).append(tuple(list(row.values())[1:]))
    wrong = []
    for name in IMAGES:
        for row, was in zip(verdicts(m, tmp_path / name.replace(":", "_"), name), wanted[name], strict=True):
            wrong += [] if row == was else [(name, row, was)]
    assert wrong == []
    assert len(IMAGES) >= 12 and len(HOSTS) >= 6


def test_the_table_is_of_these_images() -> None:
    rows = list(csv.DictReader(TABLE.open(encoding="utf-8"), delimiter="\t"))
    assert {row["image"] for row in rows} == set(IMAGES)
    assert {row["verdict"] for row in rows} == {"pass", "warn", "fail", "unknown"}
