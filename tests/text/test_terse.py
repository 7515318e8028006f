"""Notes of a few words: each fragment that says one thing is read, what was, is wanted or is elsewhere is not."""

from __future__ import annotations

from doctor.snapshot import Missing, Snapshot, known
from doctor.text import read

from ..rows import for_each


def boards(s: Snapshot) -> list[str | None]:
    return [known(gpu.name) for gpu in known(s.gpus) or ()]


SAID = {
    "rented a 4090, torch 2.1 cu118, is_available() is False": {
        "torch.version": "2.1+cu118", "torch.cuda": "11.8", "torch_run.cuda_available": False},
    "torch 2.4.0 (CUDA 12.1) on Windows 11": {
        "torch.version": "2.4.0+cu121", "host.system": "windows", "host.os_name": "Windows 11"},
    "RTX 3060, pytorch 2.6 (cpu), Ubuntu 22.04": {"torch.build": "cpu", "host.os_version": "22.04"},
    "driver 525, CUDA 12.4 torch, cuda is not available": {
        "driver.nvml_driver_version": "525", "torch.cuda": "12.4", "torch_run.cuda_available": False},
    "I have nvcc 11.5, flash-attn 2.5.8 with torch 2.6": {"cuda.nvcc_version": "11.5", "torch.version": "2.6"},
    "CUDA_VISIBLE_DEVICES=4 on a machine with 2 cards": {"host.environment": "4"},
}  # fmt: skip


@for_each("note", SAID)
def test_what_a_note_says(note: str) -> None:
    s = read(note)
    for path, wanted in SAID[note].items():
        value = s.fact(path)
        assert (value[0].value if path == "host.environment" else value) == wanted, path


@for_each(
    ("note", "names"),
    [
        ("rented a 4090 on vast, torch 2.1", ["RTX 4090"]),
        ("2x3090, DDP training hangs", ["RTX 3090"] * 2),
        ("wsl2, 3080 ti, nvidia-smi works", ["RTX 3080 Ti"]),
        ("5080 laptop, pytorch 2.6", ["RTX 5080 Laptop GPU"]),
        ("h100 sxm x8, driver 550", ["H100 SXM"] * 8),
        ("an a10g on aws, torch 2.6", ["A10G"]),
        ("A6000 ada, torch 2.6", ["RTX 6000 Ada Generation"]),
    ],
)
def test_boards_by_the_words_that_people_use(note: str, names: list[str]) -> None:
    assert boards(read(note)) == names


@for_each(
    "note",
    [
        "training stops at step 3090, torch 2.1",
        "the server listens on port 4090, driver 550.54",
        "torch 2.1, 3080 images in the set",
        "it worked on a 3090, torch 2.1",
        "torch 2.1 wants more, I will buy a 4090",
        "a video of 1080p, torch 2.1",
    ],
)
def test_numbers_that_are_no_boards(note: str) -> None:
    assert boards(read(note)) == []


def test_packages_in_a_row_and_one_that_was_only_tried() -> None:
    s = read("torch 2.4.0 torchvision 0.18.0, numpy 2.0.1, tried xformers 0.0.27")
    assert {(d.name, d.version) for d in known(s.python.distributions) or ()} == {
        ("torchvision", "0.18.0"),
        ("numpy", "2.0.1"),
    }
    assert s.torch.version == "2.4.0"


def test_a_board_of_another_maker() -> None:
    s = read("rx 7900 xtx, torch 2.5")
    assert known(s.gpus) is None and [d.vendor for d in known(s.driver.pci_devices) or ()] == ["0000"]
    assert boards(read("rx 580, RTX 3060, torch 2.5")) == ["RTX 3060"]


def test_windows_beside_wsl_or_a_container_is_not_the_system() -> None:
    for note in ("Windows 11, WSL2, torch 2.5", "docker on Windows 11, torch 2.5"):
        assert read(note).host.system != "windows"


def test_which_devices_is_not_how_many() -> None:
    assert isinstance(read("CUDA_VISIBLE_DEVICES=0\ntorch 2.5").torch_run.device_count, Missing)
    assert read("visible GPUs: 2").torch_run.device_count == 2


def test_the_place_and_the_verb_end_a_fragment() -> None:
    s = read("my new 5070 ti gives 'CUDA error', docker, torch 2.4")
    assert boards(s) == ["RTX 5070 Ti"] and s.container.kind == "docker"


@for_each(
    "note",
    [
        "upgraded from driver 470 to 550, RTX 3090",
        "downgraded torch 2.6 to 2.4.1, GPU A100",
        "torch 2.5 instead of torch 2.4",
    ],
)
def test_what_was_there_before_is_not_there_now(note: str) -> None:
    s = read(note)
    assert known(s.driver.nvml_driver_version) != "470" and known(s.torch.version) not in ("2.6", "2.4")


@for_each(
    "mark, name",
    [("", "LD_LIBRARY_PATH"), ("⚠️   ", "CUDA_HOME"), ("- ", "CUDA_VISIBLE_DEVICES"), ("[x] ", "NCCL_DEBUG")],
)
def test_a_variable_that_is_not_set_has_no_value(mark: str, name: str) -> None:
    """`LD_LIBRARY_PATH is unset.` is no path named 'is'."""
    for words in (
        "is unset.",
        "is not set",
        "was not set",
        "is empty",
        "     not detected",
        ": not found",
        "is undefined",
    ):
        assert isinstance(read(f"torch 2.4.1+cu121\n{mark}{name} {words}").host.environment, Missing), words
