"""`nvidia-smi --query-gpu` in CSV: with a header, after its command line, and by values alone."""

from __future__ import annotations

from typing import Any

from doctor.snapshot import Gpu, Missing, Snapshot
from doctor.text import read

from ..rows import for_each

COMMAND = "$ nvidia-smi --query-gpu={} --format=csv,noheader\n"


def gpus(s: Snapshot) -> tuple[Gpu, ...]:
    return () if isinstance(s.gpus, Missing) else s.gpus


@for_each(
    ("row", "fields"),
    [
        ("NVIDIA L40S, 550.54.15, 46068 MiB, 3 MiB", {"name": "NVIDIA L40S", "memory_total_mib": 46068}),
        (
            "0, NVIDIA A100-SXM4-80GB, 535.129.03, 81920 MiB, 8.0",
            {"index": 0, "memory_total_mib": 81920, "compute_capability": "8.0"},
        ),
        ("Tesla T4, 00000000:00:1E.0, 470.82.01", {"name": "Tesla T4", "pci_address": "0000:00:1e.0"}),
        (
            "NVIDIA GeForce RTX 4090, 576.40, 24564 MiB, 1203 MiB, 41, 63.10 W, Default",
            {"compute_mode": "default", "memory_total_mib": 24564},
        ),
        (
            "GPU-5f3a9c1e-77aa-4b1c-9d2e-0123456789ab, Quadro RTX 6000, [N/A]",
            {"name": "Quadro RTX 6000", "uuid": "GPU-5f3a9c1e-77aa-4b1c-9d2e-0123456789ab"},
        ),
    ],
)
def test_rows_by_their_values(row: str, fields: dict[str, Any]) -> None:
    (gpu,) = gpus(read(row + "\n"))
    assert {name: getattr(gpu, name) for name in fields} == fields


@for_each(
    ("row", "driver"),
    [
        ("NVIDIA L40S, 550.54.15, 46068 MiB", "550.54.15"),
        ("NVIDIA GeForce RTX 4090, 576.40, 24564 MiB, 300 MiB", "576.40"),
        ("NVIDIA GeForce RTX 4090, 450.00, 320.55", None),  # may be watts
    ],
)
def test_the_driver_by_its_value(row: str, driver: str | None) -> None:
    version = read(row + "\n").driver.version
    assert (None if isinstance(version, Missing) else version) == driver


def test_one_figure_of_memory_may_be_what_is_free() -> None:
    (gpu,) = gpus(read("NVIDIA L40S, 550.54.15, 46068 MiB\n"))
    assert isinstance(gpu.memory_total_mib, Missing)


def test_columns_of_the_command_line() -> None:
    s = read(
        COMMAND.format("index,name,memory.used,memory.total,driver_version")
        + "0, NVIDIA H100 PCIe, 3 MiB, 81559 MiB, 570.86.10\n1, NVIDIA H100 PCIe, 3 MiB, 81559 MiB, 570.86.10\n"
    )
    assert [(gpu.memory_used_mib, gpu.memory_total_mib) for gpu in gpus(s)] == [(3, 81559)] * 2
    assert s.driver.version == "570.86.10"


def test_one_column_of_the_command_line() -> None:
    s = read(
        COMMAND.format("driver_version")
        + "550.54.15\n550.54.15\n"
        + COMMAND.format("name")
        + "NVIDIA A10\nNVIDIA A10\n"
    )
    assert s.driver.version == "550.54.15"
    assert [gpu.name for gpu in gpus(s)] == ["NVIDIA A10"] * 2


@for_each(
    "text",
    [
        "name, age, driver_version\nAlice, 30, 7\nBob, 41, 8\n",
        COMMAND.format("name,driver_version") + "Hello, world\n",
        "index, name\n0, Alice\n1, Bob\n",
        "We have NVIDIA A100, and it has 80 GB, which is enough\n",
        "NVIDIA, AMD, Intel\n",
    ],
)
def test_other_tables_are_no_gpus(text: str) -> None:
    s = read(text)
    assert all(not isinstance(gpu.name, Missing) and "A100" in gpu.name for gpu in gpus(s))
    assert isinstance(s.driver.version, Missing)


def test_a_gpu_that_is_lost_keeps_its_row() -> None:
    s = read("index, name, driver_version\n0, NVIDIA L4, 550.54.15\n1, [GPU is lost], [GPU is lost]\n")
    assert [gpu.index for gpu in gpus(s)] == [0, 1]
