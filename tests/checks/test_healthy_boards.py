"""Healthy GPUs of many kinds, at the low end of what such boards give: none of them is alarmed.

Figures in TFLOP/s (int8: TOP/s) and GB/s, of boards that are warm, at their power limit where that is what they live
with, in hosts that are nothing special. By hand: H200 bf16 989 dense at 78 %, 4800 GB/s at 83 %; A100 312 at 80 %;
T4 at 900 of 1590 MHz for 70 W: 65 x 0.57 x 0.65 = 24; L4 at 1100 of 2040 MHz for 72 W: 121 x 0.54 x 0.85 = 55; GeForce
at half rate with float32 sums: RTX 3060 28 SMs x 512 x 1.78 GHz = 25.5; GTX 1080 2560 cores x 2 x 1.73 GHz = 8.9 at 85 %;
PCIe with 16 lanes 15.8, 31.5, 63 at 76 to 85 %.
"""

from __future__ import annotations

from typing import Any

from doctor.snapshot import Missing, Snapshot, TrainingStep

from ..judging import run
from ..proof.stories import STEP, Board, loads, machine, proven
from ..rows import for_each

CAPPED: dict[str, Any] = {"reasons_percent": {"power-cap": 100.0}}
BOARDS = {
    "h200": Board("NVIDIA H200", "2335", "9.0", 143771, 700, 5,
                  {"bf16": 769, "fp16": 735, "tf32": 390, "fp32": 49, "fp8": 1200, "int8": 1100}, 4000, 51),
    "a100-80": Board("NVIDIA A100-SXM4-80GB", "20b2", "8.0", 81920, 400, 4,
                     {"bf16": 247, "fp16": 245, "tf32": 120, "fp32": 18.7, "int8": 380}, 1690, 23.8),
    "a100-pcie": Board("NVIDIA A100-PCIE-40GB", "20f1", "8.0", 40960, 250, 4,
                       {"bf16": 210, "fp16": 205, "tf32": 100, "fp32": 17.0, "int8": 330}, 1250, 23.0),
    "l4": Board("NVIDIA L4", "27b8", "8.9", 23034, 72, 4,
                {"bf16": 55, "fp16": 54, "tf32": 27, "fp32": 11.5, "fp8": 105, "int8": 100}, 250, 22.5),
    "t4": Board("Tesla T4", "1eb8", "7.5", 15360, 70, 3, {"fp16": 24, "fp32": 3.6, "int8": 48}, 235, 11.5),
    "3060": Board("NVIDIA GeForce RTX 3060", "2503", "8.6", 12288, 170, 4,
                  {"bf16": 23.8, "fp16": 24.0, "tf32": 11.9, "fp32": 8.2, "int8": 60}, 318, 24.0),
    "4090": Board("NVIDIA GeForce RTX 4090", "2684", "8.9", 24564, 450, 4,
                  {"bf16": 152, "fp16": 150, "tf32": 78, "fp32": 48, "fp8": 290, "int8": 450}, 890, 24.0),
    "pro6000": Board("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "2bb1", "12.0", 97887, 600, 5,
                     {"bf16": 355, "fp16": 310, "tf32": 170, "fp32": 66, "fp8": 620, "int8": 560, "fp4": 1150}, 1480, 50.0),
    "pro6000-max-q": Board("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "2bb4", "12.0", 97887, 300, 5,
                           {"bf16": 265, "fp16": 250, "tf32": 130, "fp32": 55, "fp8": 480, "int8": 450}, 1470, 50.0),
    "h100-pcie": Board("NVIDIA H100 PCIe", "2331", "9.0", 81559, 350, 5,
                       {"bf16": 440, "fp16": 410, "tf32": 215, "fp32": 33, "fp8": 770, "int8": 700}, 1680, 49.0),
    "v100": Board("Tesla V100-SXM2-16GB", "1db1", "7.0", 16384, 300, 3, {"fp16": 84, "fp32": 13.2}, 770, 11.2),
    "1080": Board("NVIDIA GeForce GTX 1080", "1b80", "6.1", 8192, 180, 3, {"fp16": 7.2, "fp32": 7.5}, 245, 11.5),
    "2080ti": Board("NVIDIA GeForce RTX 2080 Ti", "1e04", "7.5", 11264, 250, 3,
                    {"fp16": 48, "fp32": 11.8, "int8": 150}, 520, 11.8),
    "a10": Board("NVIDIA A10", "2236", "8.6", 23028, 150, 4,
                 {"bf16": 58, "fp16": 58, "tf32": 33, "fp32": 13.9, "int8": 120}, 470, 23.5),
    "a2": Board("NVIDIA A2", "25b6", "8.6", 15356, 60, 4, {"bf16": 8, "fp16": 8, "tf32": 4, "fp32": 2.0, "int8": 14}, 155, 11.9),
    "p100": Board("Tesla P100-PCIE-16GB", "15f8", "6.0", 16384, 250, 3, {"fp16": 8.2, "fp32": 8.0}, 530, 11.2),
    "b200": Board("NVIDIA B200", "2901", "10.0", 183359, 1000, 5,
                  {"bf16": 1500, "fp16": 1480, "tf32": 700, "fp32": 62, "fp8": 2900, "int8": 2500, "fp4": 5800}, 6300, 50.0),
}  # fmt: skip
CHECKS = (
    "matmul-below-range", "memory-bandwidth-below-range", "h2d-below-range", "power-capped", "thermally-throttled",
    "memory-model-off", "power-limit-lowered",
)  # fmt: skip


def alarms(s: Snapshot) -> list[tuple[str, str]]:
    found = [(check_id, run(check_id, s)[0]) for check_id in CHECKS]
    return [(check_id, status) for check_id, status in found if status in ("warn", "fail")]


@for_each("name", BOARDS)
def test_a_healthy_board_at_its_power_limit(name: str) -> None:
    board = BOARDS[name]
    assert alarms(proven(board, machine(board), loads=loads(board, **CAPPED))) == []


AT_LIMIT = {"b200"}
"""Its figures here are more than a tenth below the lowest that was measured: those of a power limit alone."""


@for_each("name", sorted(set(BOARDS) - {"a10"}))  # its products reach half of its peak at 150 W
def test_the_same_where_nvml_shows_nothing(name: str) -> None:
    board = BOARDS[name]
    assert alarms(proven(board, machine(board), loads=Missing("denied"))) == []


@for_each("name", sorted(set(BOARDS) - {"a10"}))
def test_a_power_limit_that_nvml_does_not_show_is_no_reason(name: str) -> None:
    board = BOARDS[name]
    low = [("matmul-below-range", "warn")] if name in AT_LIMIT else []
    assert alarms(proven(board, machine(board), loads=loads(board))) == low


@for_each("name", BOARDS)
def test_half_of_that_is_no_health(name: str) -> None:
    """The bands are not so wide that nothing is seen."""
    board = BOARDS[name]
    slow = {what: value * 0.45 for what, value in board.products.items() if what in ("fp32", "fp16", "bf16")}
    slower = board._replace(products=slow, memory=board.memory * 0.5, h2d=board.h2d * 0.5)
    assert [check_id for check_id, _ in alarms(proven(slower, machine(board)))] == list(CHECKS[:3])


@for_each("rest", [{}, {"precision": "fp32", "bytes_per_parameter": 16.01, "expected_bytes_per_parameter": 16.0}])
def test_memory_of_a_training_as_torch_takes_it(rest: dict[str, Any]) -> None:
    """Blocks of 512 bytes for each tensor, AdamW's steps, a scaler: some percent at most."""
    facts: dict[str, Any] = {name: getattr(STEP, name) for name in STEP.__struct_fields__}
    step = TrainingStep(**{**facts, "bytes_per_parameter": 18.6, **rest})
    assert alarms(proven(BOARDS["h200"], machine(BOARDS["h200"]), training=(step,))) == []


@for_each(("gen", "width", "gb_s"), [(3, 16, 11.0), (3, 8, 5.4), (4, 8, 11.8), (2, 16, 5.5), (4, 4, 5.8)])
def test_a_board_in_a_lesser_slot(gen: int, width: int, gb_s: float) -> None:
    """NVML's maximum is that of board and slot together."""
    board = BOARDS["4090"]
    s = machine(board)
    assert isinstance(s.gpus, tuple)
    card = s.gpus[0].with_(pcie_gen_max=gen, pcie_gen=gen, pcie_width_max=width, pcie_width=width)
    link = {"pcie_gen": gen, "pcie_width": width}
    assert alarms(proven(board._replace(h2d=gb_s), s.replace({"gpus": (card,)}), loads=loads(board, **link))) == []


def test_a_laptop_on_battery() -> None:
    board = Board(
        "NVIDIA GeForce RTX 3060 Laptop GPU",
        "2560",
        "8.6",
        6144,
        80,
        4,
        {"bf16": 6, "fp16": 6, "tf32": 3, "fp32": 2},
        120,
        5.0,
    )
    s = machine(board)
    assert isinstance(s.gpus, tuple)
    lowered = s.replace({"gpus": (s.gpus[0].with_(power_limit_w=40.0),)})
    hot = loads(board, power_limit_w=40.0, reasons_percent={"power-cap": 100.0, "sw-thermal": 60.0})
    assert alarms(proven(board, lowered, loads=hot)) == []
