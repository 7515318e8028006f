"""Each modelled image against described hosts: verdict, grade and what the image's own requirement is worth there.

`verdicts.tsv` was written once and then read line by line: a line that changes is to be understood, not only updated.
"""

from __future__ import annotations

import csv
from pathlib import Path

from compat_matrix import Matrix
from doctor.commands.run_image import LEFT_OUT
from doctor.findings import Policy
from doctor.images.evidence import evidence
from doctor.images.hosts import described
from doctor.images.importer import snapshot_of
from doctor.images.layout import LayoutSource
from doctor.judge.preflight import preflight
from doctor.snapshot import CompatLibrary, Snapshot

from ..healthy import healthy
from .layouts import Layout
from .modelled import IMAGES

HOSTS = (
    ("H100", "535.183.01"), ("H100", "580.65.06"), ("A100", "470.256.02"), ("RTX 4090", "535.183.01"),
    ("RTX 5090", "570.86.15"), ("GTX 1080", "580.65.06"), ("RTX A5000", "550.54.15"),
)  # fmt: skip
TABLE = Path(__file__).with_name("verdicts.tsv")
POLICY = Policy(left_out=LEFT_OUT, judged_on="2026-11-22")


def rows() -> list[dict[str, str]]:
    """The lines of the table."""
    return list(csv.DictReader(TABLE.open(encoding="utf-8"), delimiter="\t"))


def read(m: Matrix, folder: Path, name: str) -> Snapshot:
    """The facts of a modelled image."""
    layout = Layout(folder)
    layout.tag("latest", IMAGES[name](layout))
    source = LayoutSource(str(folder))
    image = source.image("linux/amd64")
    return snapshot_of(image, evidence(image, m, source.statements(image)))


def verdicts(m: Matrix, folder: Path, name: str) -> list[tuple[str, ...]]:
    """(gpu, driver, verdict, grade, forward compatibility, label, first finding) for each host."""
    s = read(m, folder, name)
    rows = []
    for gpu, driver in HOSTS:
        one, _ = preflight(s, described(m, driver, gpu, "x86_64")[1], gpu, m, POLICY)
        first = one.findings[0].id if one.findings else ""
        rows.append((gpu, driver, one.verdict, one.grade, one.forward_compat, one.label, first))
    return rows


def test_a_machine_that_was_looked_at_gets_what_one_in_words_gets(tmp_path: Path) -> None:
    """Also where CUDA answers on it, and where it was seen from inside a container with a cuda-compat of its own."""
    m = Matrix.load()
    models = {"H100": "h100", "A100": "a100", "RTX 4090": "rtx4090", "RTX 5090": "rtx5090", "GTX 1080": "gtx1080"}
    compat = CompatLibrary(
        path="/usr/local/cuda/compat/libcuda.so.1", version="590.44.01", cuda_version="13.1", loads=True
    )
    wrong = []
    for name in IMAGES:
        s = read(m, tmp_path / name.replace(":", "_"), name)
        for row in (row for row in rows() if row["image"] == name and row["gpu"] in models):
            cuda = m.driver_branch(row["driver"]).row.cuda
            machine = healthy(models[row["gpu"]], driver=row["driver"], cuda=cuda)
            inside = healthy(models[row["gpu"]], driver=row["driver"], cuda="13.1", container=True)
            flavour = "proprietary" if row["gpu"] == "GTX 1080" else "open"  # the open module needs Turing
            for host in (machine, inside.replace({"container.compat": (compat,)})):
                one, _ = preflight(s, host.replace({"driver.kernel_flavour": flavour}), "host", m, POLICY)
                got = (one.verdict, one.grade, one.forward_compat, one.label)
                wanted = (row["verdict"], row["grade"], row["forward_compat"], row["label"])
                wrong += [] if got == wanted else [(name, row["gpu"], row["driver"], got, wanted)]
    assert wrong == []


def test_every_image_on_every_host(tmp_path: Path) -> None:
    m = Matrix.load()
    wanted: dict[str, list[tuple[str, ...]]] = {}
    for row in rows():
        wanted.setdefault(row["image"], []).append(tuple(list(row.values())[1:]))
    wrong = []
    for name in IMAGES:
        for row, was in zip(verdicts(m, tmp_path / name.replace(":", "_"), name), wanted[name], strict=True):
            wrong += [] if row == was else [(name, row, was)]
    assert wrong == []
    assert len(IMAGES) >= 12 and len(HOSTS) >= 6


def test_the_table_is_of_these_images() -> None:
    assert {row["image"] for row in rows()} == set(IMAGES)
    assert {row["verdict"] for row in rows()} == {"pass", "warn", "fail", "unknown"}
