"""Rings and islands over NVLink, and tables as people paste them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from doctor.cli import run
from doctor.topo.rings import Ring, islands, rings

from ..rows import for_each
from .test_odd import answer, mesh, table

CUBE = {(0, 1): 1, (0, 2): 1, (0, 3): 2, (0, 4): 2, (1, 2): 2, (1, 3): 1, (1, 5): 2, (2, 3): 2, (2, 6): 1,
        (3, 7): 1, (4, 5): 1, (4, 6): 1, (4, 7): 2, (5, 6): 2, (5, 7): 1, (6, 7): 2}  # fmt: skip
"""DGX-1 with V100: four GPUs joined to each other, twice, with one link or two across."""


def cells(count: int, ways: dict[tuple[int, int], int], far: str = "SYS") -> list[list[str]]:
    def cell(i: int, j: int) -> str:
        links = ways.get((min(i, j), max(i, j)), 0)
        return "X" if i == j else f"NV{links}" if links else far

    return [[cell(i, j) for j in range(count)] for i in range(count)]


def pairs(*several: tuple[int, ...], links: int) -> dict[tuple[int, int], int]:
    """All of each group joined."""
    return {(i, j): links for group in several for i in group for j in group if i < j}


@for_each(
    ("rows", "gpu", "links", "rate"),
    [
        (cells(8, CUBE), "V100-SXM2-16GB", 6, 150.0),
        (cells(8, dict.fromkeys(CUBE, 1)), "P100-SXM2-16GB", 4, 80.0),
        (mesh(4, "NV4"), "A100-SXM4-40GB", 12, 300.0),
        (mesh(4, "NV2"), "V100-SXM2-32GB", 6, 150.0),
        (cells(4, {(0, 1): 2, (1, 2): 2, (2, 3): 2, (0, 3): 2}), "V100-SXM2-16GB", 4, 100.0),
    ],
)
def test_rings_carry_what_the_slowest_pair_does_not(
    rows: list[list[str]], gpu: str, links: int, rate: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = answer(tmp_path, capsys, table(rows), "--gpu", gpu)
    assert found["rate_gb_s"] == rate and f"over {links} NVLinks per GPU" in found["rate_words"]
    order = [int(name[3:]) for name in found["ring"]]
    assert sorted(order) == list(range(len(rows)))
    assert all(rows[a][b].startswith("NV") for a, b in zip(order, [*order[1:], order[0]], strict=True))
    assert not found["islands"] and found["verdict"].startswith("Rings over NVLink")


@for_each(
    ("rows", "gpu", "joined"),
    [
        (cells(4, pairs((0, 1), (2, 3), links=4)), "RTX 3090", [2, 2]),
        (cells(8, pairs((0, 1, 2, 3), (4, 5, 6, 7), links=4), "NODE"), "A100-SXM4-40GB", [4, 4]),
        (cells(8, pairs((0, 1), (2, 3), (4, 5), (6, 7), links=12)), "H100 PCIe", [2, 2, 2, 2]),
        (cells(3, pairs((0, 2), links=4)), "RTX A6000", [2, 1]),
        (mesh(8, "NV18"), "H200", []),
        (mesh(8, "PIX"), "L40S", []),
    ],
)
def test_islands(
    rows: list[list[str]], gpu: str, joined: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = answer(tmp_path, capsys, table(rows), "--gpu", gpu)
    assert [len(island) for island in found["islands"]] == joined and not found["ring"]
    assert any(note.startswith("NVLink connects the GPUs in islands") for note in found["notes"]) == bool(joined)


def test_rings_are_of_links_of_their_own() -> None:
    assert rings([[0, 1], [1, 0]]) is None
    assert rings([[0, 1, 1], [1, 0, 1], [1, 1, 0]]) == Ring((0, 1, 2), 2)
    assert rings([[0, 1, 0], [1, 0, 1], [0, 1, 0]]) is None  # a chain
    assert islands([[0, 1, 0], [1, 0, 1], [0, 1, 0]]) == ((0, 1, 2),)
    two = [[1 if i != j and (i < 8) == (j < 8) else 0 for j in range(16)] for i in range(16)]
    two[0][8] = two[8][0] = 1
    assert rings(two) is None and len(islands(two)) == 1  # found to have none, in time


@pytest.mark.slow
@for_each(
    "before",
    ["> ", ">> ", "    ", "2026-03-04T10:11:12.345Z ", "[2026-03-04 10:11:12,345] ", "10:11:12 ", "| ", "worker-0  | ",
     "[1,0]<stdout>: ", "12: ", "> 2026-03-04 10:11:12 "],
)  # fmt: skip
def test_a_table_with_something_before_each_line(
    before: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = table(mesh(8, "NV18", (2,)), nics=2)
    wanted = answer(tmp_path, capsys, plain, "--gpu", "H200")
    found = answer(tmp_path, capsys, "".join(before + row + "\n" for row in plain.splitlines()), "--gpu", "H200")
    assert found == wanted and found["odd"]


@for_each(
    ("rows", "words"),
    [
        (mesh(4, "OK"), "All GPUs have peer access"),
        (mesh(2, "CNS"), "No peer access between GPU0 and GPU1: the chipset does not support it"),
        (mesh(4, "GNS"), "and 2 more pairs: the GPU does not support it"),
        (mesh(3, "OK", fewer={2: "NS"}), "No peer access between GPU0 and GPU2, GPU1 and GPU2: not supported"),
    ],
)
def test_a_matrix_of_peers_is_read_as_one(
    rows: list[list[str]], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    heads = "\t".join(["", *(f"GPU{i}" for i in range(len(rows)))])
    text = "\n".join(
        [heads, *("\t".join([f" GPU{i}", *row]) for i, row in enumerate(rows)), "", "Legend:", "  X = Self"]
    )
    file = tmp_path / "p2p.txt"
    file.write_text(text + "\n")
    assert run(["topo", str(file)]) == 0
    assert words in capsys.readouterr().out
    assert run(["topo", str(file), "--format", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert found["cells"] == [list(row) for row in rows] and words in " ".join(found["verdict"])
    assert run(["topo", str(file), "--format", "svg"]) == 2
    file.write_text("\n".join(text.splitlines()[:2]) + "\n")
    assert run(["topo", str(file)]) == 2
    assert "the text is cut off" in capsys.readouterr().err
