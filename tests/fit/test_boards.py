"""Names of boards to their memory sizes, and a training that goes on to adapters where all weights do not fit."""

from __future__ import annotations

import pytest

from compat_matrix import Matrix
from doctor.fit.cards import Unclear, boards
from doctor.fit.ladder import ladder, ways
from doctor.fit.shape import typical
from doctor.fit.work import Work

from ..rows import for_each
from .test_fit_command import asked

M = Matrix.load()
ADAPTED = "LoRA", "LoRA, ZeRO 3 / FSDP", "QLoRA", "QLoRA, ZeRO 3 / FSDP"


@for_each(
    ("gpus", "sizes"),
    [
        ("H100", (80, 94)), ("8xA100", (40, 64, 80)), ("V100", (16, 32)), ("GTX 1060", (3, 6)), ("P100", (12, 16)),
        ("RTX 4060 Ti", (8, 16)), ("RTX 5060 Ti", (8, 16)), ("GH200", (96, 144)), ("A800", (40, 80)),
        ("A40", (48,)), ("RTX 4060 Ti 16GB", (16,)), ("A100-80GB", (80,)), ("RTX 4090", (24,)), ("H200", (141,)),
    ],
)  # fmt: skip
def test_a_name_of_several_boards_has_each_memory_size_once(gpus: str, sizes: tuple[int, ...]) -> None:
    found = boards(M, gpus)
    assert tuple(board.gib for board in found) == sizes
    assert [board.memory for board in found] == sorted({board.memory for board in found})
    assert {board.count for board in found} == {8 if gpus.startswith("8x") else 1}


def test_every_name_of_the_matrix_names_its_own_memory() -> None:
    """A board's whole name finds it, with the memory that the matrix lists for it."""
    for row in M.gpus:
        if not row.memory_gib or len(m_rows := M.gpu(row.name).rows) > 1 or not m_rows or "," in row.name:
            continue
        listed = {row.memory_gib * 1.0, *(round(mib / 1024) * 1.0 for mib in row.memory_mib)}
        try:
            found = boards(M, row.name)
        except Unclear as unclear:
            assert "/" in row.name or "&" in row.name or " and " in row.name, (row.name, str(unclear))
            continue
        assert {board.gib for board in found} & listed, row.name


@for_each(
    ("count", "gpus", "way"),
    [
        (7e9, "RTX 4090", "LoRA"), (7e9, "RTX 3060", "QLoRA"), (7e9, "T4", "QLoRA"), (13e9, "A10G", "QLoRA"),
        (70e9, "8xA100-40GB", "LoRA, ZeRO 3 / FSDP"), (70e9, "8xRTX 4090", "QLoRA, ZeRO 3 / FSDP"),
        (1e9, "RTX 4090", "8-bit optimizer"), (1e9, "A100-80GB", "none"), (3e12, "RTX 4090", ""),
    ],
)  # fmt: skip
def test_where_a_full_training_does_not_fit_adapters_are_the_next_way(count: float, gpus: str, way: str) -> None:
    (board,), shape = boards(M, gpus), typical(count)
    found = ways(shape, count, Work(), board)
    first = next((rung.name for rung in found if rung.within(board.memory)), "")
    assert first == way
    plain = {rung.name for rung in ladder(shape, count, Work(), board) if rung.within(board.memory)}
    assert bool(plain) != any(rung.name in ADAPTED for rung in found), "only where no way to train all weights fits"
    for rung in found:
        if rung.name not in ADAPTED:
            continue
        name, _, shared = rung.name.partition(", ")
        work = Work(lora=16, base={"LoRA": "bf16", "QLoRA": "nf4"}[name], checkpointing=True)
        same = {one.name: one for one in ladder(shape, count, work, board)}
        assert rung.held == same[shared or "none"].held, "as its flags count it"


def test_adapters_are_no_way_where_they_were_not_meant() -> None:
    (board,) = boards(M, "RTX 4090")
    for work in (Work(task="inference", dtype="bf16"), Work(lora=8)):
        assert not {rung.name for rung in ways(typical(70e9), 70e9, work, board)} & set(ADAPTED)


def test_the_answer_names_the_adapters_and_what_all_weights_would_take() -> None:
    found = asked("--params", "7B", "--gpus", "RTX 4090")
    assert found["first_that_fits"] == "LoRA" and found["exit_code"] == 0 and found["enough"]["gpus"] > 1
    assert any(
        one["name"] == "QLoRA" and one["fits"] and "--lora 16 --base nf4" in one["what"] for one in found["ways"]
    )
    assert found["pace"]["gpu_ms"][0] > 0


@pytest.mark.slow
def test_each_size_of_every_chip_is_answered() -> None:
    chips = {row.name.split()[-1].split("-")[0] for row in M.gpus if row.memory_gib}
    for chip in sorted(chips):
        try:
            sizes = boards(M, chip)
        except Unclear:
            continue
        assert len({board.gib for board in sizes}) == len(sizes), chip
