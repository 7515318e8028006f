"""Words that mislead: advice that the text's own numbers deny, a line quoted under each guess, a floor that is too low."""

from __future__ import annotations

from doctor.report.terminal import render_terminal
from doctor.text import read

from ..judging import report
from ..report.samples import LAYERS
from ..rows import for_each
from .test_terse import boards

FREE = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {} GiB. GPU 0 has a total capacity of 23.69 GiB of "
    "which 14.56 GiB is free. Process 1234 has 9.00 GiB memory in use."
)
TABLE = """\
| NVIDIA-SMI 535.154.05             Driver Version: 535.154.05   CUDA Version: 12.2     |
|   0  NVIDIA GeForce RTX 3090        Off | 00000000:01:00.0 Off |                  N/A |
| 30%   45C    P2             110W / 350W |  24100MiB / 24576MiB |     99%      Default |
|    0   N/A  N/A      4242      C   python                                    24090MiB |
"""
NCCL = "torch 2.3.0+cu121\nRuntimeError: NCCL error in: ../ProcessGroupNCCL.cpp:1691, unhandled system error"


@for_each(("gib", "words"), [("2.00", "something is limiting this process"), ("16.00", "a smaller batch")])
def test_a_smaller_batch_is_for_a_gpu_that_is_full(gib: str, words: str) -> None:
    found = [message.means + message.fix for message in report(read(FREE.format(gib))).text.of_program]
    assert len(found) == 1 and words in found[0]


def test_processes_that_the_text_lists_are_not_called_invisible() -> None:
    remarks = [f for f in report(read(TABLE)).remarks if f.id == "gpu-memory-in-use"]
    assert remarks and "No process" not in remarks[0].detail


@for_each(
    "line",
    [
        "bash: line 27:   318 Killed                  python train.py",
        "RuntimeError: DataLoader worker (pid 1234) is killed by signal: Killed.",
        "(EE) NVIDIA(GPU-0): Failed to initialize the NVIDIA GPU at PCI:1:0:0.  Please",
    ],
)
def test_a_complaint_is_never_called_a_text_without_a_problem(line: str) -> None:
    assert report(read(line)).text.open == "undecided"


def test_guesses_do_not_repeat_the_line_that_stands_above_and_leave_out_the_unlikely() -> None:
    whole = report(read(NCCL))
    words = " ".join(render_terminal(whole, LAYERS).split("Solved threads")[0].split())
    assert words.count("unhandled system error") == 1
    unlikely = [one.id for one in whole.text.possible if one.probability < 0.1]
    guesses, less_likely = words.split("- Less likely causes of line 2:")
    assert unlikely and not any(name in guesses for name in unlikely)
    assert "memlock-limit" in less_likely


@for_each(
    ("note", "count"),
    [
        ("We have 8x 16GB V100 and torch 2.3.0+cu121.", 8),
        ("A box with 2 GTX 1070 and CUDA 12", 2),
        ("RTX 4090 2 days", 1),
    ],
)
def test_how_many_boards_a_sentence_has(note: str, count: int) -> None:
    assert len(boards(read(note))) == count


def test_a_version_ends_before_the_full_stop() -> None:
    assert read("It is torch 2.3.0+cu121.").torch.version == "2.3.0+cu121"


def test_the_driver_that_a_build_takes_is_one_that_drives_the_gpu() -> None:
    text = "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation.\ntorch 2.7.0+cu126\ntorchvision 0.22.0+cu126\ntorchaudio 2.7.0+cu126"
    first = report(read(text)).findings[0]
    assert first.id == "torch-lacks-new-gpu-sm"
    assert "NVIDIA driver 570 or newer" in first.fixes[0].note


def test_nvidia_smi_of_an_image_is_not_there_where_the_engine_was_not_asked_for_a_gpu() -> None:
    text = """\
$ nvidia-docker run --rm nvidia/cuda:11.0-base nvidia-smi
| NVIDIA-SMI 450.51.06    Driver Version: 450.51.06    CUDA Version: 11.0     |
$ docker run --rm nvidia/cuda:11.0-base nvidia-smi
docker: Error response from daemon: starting container process caused "exec: \\"nvidia-smi\\": executable file not found in $PATH": unknown.
"""
    assert [f.id for f in report(read(text)).findings if f.status == "fail"] == ["container-no-gpu-flag"]
