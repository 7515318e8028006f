"""Sentences and broken lines: what they say is read, what they only ask for or suppose is not."""

from __future__ import annotations

from doctor.snapshot import EnvVar, known
from doctor.text import read

from ..rows import for_each

SAID = {
    "The installed NVIDIA driver is 535.104.05 and the GPU is an RTX 3090.": {"driver.nvml_driver_version": "535.104.05"},
    "nvidia-smi says 470.82.01, A100.": {"driver.nvml_driver_version": "470.82.01"},
    "nvidia-smi: Driver Version: 535.104 CUDA Version: 12.2": {
        "driver.nvml_driver_version": "535.104", "driver.nvml_cuda_version": "12.2"},
    "nvidia-smi says driver 535.104.05, CUDA 12.2": {
        "driver.nvml_driver_version": "535.104.05", "driver.nvml_cuda_version": "12.2"},
    "pytorch was built with CUDA 12.1. My kernel is 6.8.0-45-generic.": {
        "torch.cuda": "12.1", "host.kernel": "6.8.0-45-generic"},
    "Secure boot is enabled. I use tensorflow.": {"host.secure_boot": True},
    "RuntimeError: CUDA error: no kernel image is available for execution on the device, RTX 5090, torch 2.6.0+cu124": {
        "torch.version": "2.6.0+cu124"},
    "RuntimeError: CUDA out of memory, 2x RTX 3090, torch 2.4.1, driver 550.54": {
        "torch.version": "2.4.1", "driver.nvml_driver_version": "550.54"},
    "It runs in a docker container.": {"container.kind": "docker"},
    "The machine is on 5.15.167.4-microsoft-standard-WSL2, so the kernel version is 5.15.167.4-microsoft-": {"host.wsl": 2},
}  # fmt: skip
NOT_SAID = (
    "If the driver is 535.54 it fails, the driver should be 550.54",
    "It works when the driver is 535.54",
    "Make sure the driver is 535.54",
    "The previous driver was 535.54",
    "nvidia-smi shows 320.55W, torch 2.6.0+cu124, H100, training is slow",
    "nvidia-smi: 300.00 W",
    "nvidia-smi reports 380.12W on the H100",
    "nvidia-smi reports 390.157 on the other machine; here torch 2.6.0+cu124 works",
    "On my laptop nvidia-smi says 390.157, on the cluster torch 2.6.0+cu124 runs",
)


@for_each("sentence", SAID)
def test_what_a_sentence_says(sentence: str) -> None:
    s = read(sentence)
    assert {path: s.fact(path) for path in SAID[sentence]} == SAID[sentence]


@for_each("sentence", NOT_SAID)
def test_what_a_sentence_asks_for_or_supposes(sentence: str) -> None:
    assert known(read(sentence).driver.nvml_driver_version) is None


@for_each(
    "sentence",
    [
        "ValueError: torch 2.1.0 is needed, found torch 2.0.0",
        "ImportError: this needs RTX 5090, torch 2.6.0",
        "ImportError: this requires numpy, torch 2.0.0, RTX 5090",
        "RuntimeError: this checkpoint was saved with torch 1.13.1 on H100",
        "RuntimeError: no kernel image, I have an RTX 5090 and tried torch 2.4.0 and torch 2.8.0",
        "RuntimeError: no kernel image is available, torch 2.4.0, torch 2.8.0, RTX 5090",
    ],
)
def test_an_error_s_own_versions_are_not_those_of_here(sentence: str) -> None:
    s = read(sentence)
    assert known(s.torch.version) is None and not known(s.gpus)


@for_each(
    "sentence",
    [
        "ImportError: torch 1.13.1 is of another release, use torch 2.0.0. RTX 5090",
        "RuntimeError: shape mismatch (tutorial uses torch 1.8.0), H100",
        "AssertionError: weights come from torch 1.9.0, H100",
        "RuntimeError: no kernel image, RTX 5090, works with torch 2.7.0, not with torch 2.6.0",
    ],
)
def test_the_gpu_behind_an_error_is_that_of_here_and_the_version_in_it_is_not(sentence: str) -> None:
    assert known(read(sentence).torch.version) is None


def test_a_variable_that_somebody_sets() -> None:
    s = read("I set CUDA_VISIBLE_DEVICES=3 before the start, and try CUDA_LAUNCH_BLOCKING=1 next time.")
    assert s.host.environment == (EnvVar("CUDA_VISIBLE_DEVICES", "3"),)


def test_a_message_that_a_terminal_broke_at_its_width() -> None:
    message = (
        "ImportError: /opt/venv/lib/python3.11/site-packages/flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so: undefined "
        "symbol: _ZN3c104cuda14ExchangeDeviceEa"
    )
    hard = "\n".join(message[at : at + 80] for at in range(0, len(message), 80))
    ids = [{symptom.id for symptom in read(text).symptoms} for text in (message, hard)]
    assert ids[0] and ids[0] == ids[1]


def test_lines_of_one_width_are_not_one() -> None:
    rows = "\n".join(
        f"step {number:03} of the training loop took {number:03} milliseconds on gpu 0 ok" for number in range(9)
    )
    assert not read(rows).symptoms
