"""The odd one out, NVLink that is not seen, and tables whose rows of network cards were left out."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from doctor.cli import run

from ..rows import for_each


def table(rows: list[list[str]], nics: int = 0) -> str:
    """As `nvidia-smi topo -m` prints it, without the rows of the cards."""
    count = len(rows)
    heads = [f"GPU{i}" for i in range(count)] + [f"NIC{i}" for i in range(nics)]
    lines = ["\t".join(["", *heads, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"])]
    for i, row in enumerate(rows):
        cards = ["PIX" if i == card else "SYS" for card in range(nics)]
        lines.append("\t".join([f"GPU{i}", *row, *cards, "0-55", "0", "N/A"]))
    return "\n".join(lines) + "\n"


def mesh(count: int, bond: str, without: tuple[int, ...] = (), fewer: dict[int, str] | None = None) -> list[list[str]]:
    """Every two joined alike, but those that are not, and those with another bond."""
    other = fewer or {}

    def cell(i: int, j: int) -> str:
        if i == j:
            return "X"
        return "SYS" if i in without or j in without else other.get(i, other.get(j, bond))

    return [[cell(i, j) for j in range(count)] for i in range(count)]


def answer(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, *words: str) -> dict[str, Any]:
    file = tmp_path / "topo.txt"
    file.write_text(text)
    assert run(["topo", str(file), *words, "--format", "json"]) in (0, 3)
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    for form in ("text", "markdown", "html"):
        run(["topo", str(file), *words, "--format", form])
        printed = unescape(" ".join(capsys.readouterr().out.split()))
        assert all(words in printed for words in found["odd"]), form
    return found


@for_each(
    ("rows", "gpu", "words"),
    [
        (
            mesh(8, "NV18", (2,)),
            "B200",
            "Only GPU2 has no NVLink, while the other 7 GPUs are connected by NV18: that GPU, its",
        ),
        (
            mesh(8, "NV12", (0, 7)),
            "A100-SXM4-80GB",
            "Only GPU0, GPU7 have no NVLink, while the other 6 GPUs are connected by NV12: those GPUs, their",
        ),
        (mesh(4, "NV6", (3,)), "V100-SXM2-16GB", "Only GPU3 has no NVLink, while the other 3"),
        (mesh(8, "NV18", fewer={5: "NV16"}), "H100 80GB HBM3", "GPU5 (NV16) has fewer NVLinks than the others (NV18)"),
        (mesh(8, "SYS"), "H100-SXM", "These GPUs have NVLink (NV18), but the table shows none"),
        (mesh(2, "NODE"), "H200", "These GPUs have NVLink (NV18), but the table shows none"),
        (mesh(8, "NV18"), "H200", ""),
        (mesh(2, "SYS"), "RTX 3090", ""),  # NVLink by a bridge, which need not be there
        (mesh(8, "NODE"), "L40S", ""),
        (mesh(8, "NV18", (4, 5, 6, 7)), "H100-SXM", ""),  # half: the way that this machine is built or shared
    ],
)
def test_what_is_odd(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: list[list[str]], gpu: str, words: str
) -> None:
    odd = answer(tmp_path, capsys, table(rows), "--gpu", gpu)["odd"]
    assert len(odd) == bool(words) and all(one.startswith(words) for one in odd), odd


def test_a_hybrid_cube_mesh_has_no_odd_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """DGX-1 with V100: each GPU is joined to four others, by one or two links."""
    ways = {(0, 1): 1, (0, 2): 1, (0, 3): 2, (0, 4): 2, (1, 2): 2, (1, 3): 1, (1, 5): 2, (2, 3): 2, (2, 6): 1,
            (3, 7): 1, (4, 5): 1, (4, 6): 1, (4, 7): 2, (5, 6): 2, (5, 7): 1, (6, 7): 2}  # fmt: skip
    rows = [
        ["X" if i == j else f"NV{n}" if (n := ways.get((min(i, j), max(i, j)), 0)) else "SYS" for j in range(8)]
        for i in range(8)
    ]
    assert answer(tmp_path, capsys, table(rows), "--gpu", "V100-SXM2-16GB")["odd"] == []


def test_rows_of_network_cards_may_be_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(tmp_path, capsys, table(mesh(8, "NV8"), nics=8))
    assert found["nearest_nics"] == {f"GPU{i}": [f"NIC{i}"] for i in range(8)}
    assert "the rows for NIC0 to NIC7 are missing from this text" in found["notes"]
    file = tmp_path / "cut.txt"
    file.write_text("\n".join(table(mesh(8, "NV8"), nics=8).splitlines()[:-1]) + "\n")
    assert run(["topo", str(file)]) == 2 and "the row for GPU7 is missing" in capsys.readouterr().err
