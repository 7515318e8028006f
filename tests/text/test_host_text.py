"""Texts about the host: boards and systems under any name, kernel lists and logs, WSL and Windows."""

from __future__ import annotations

from doctor.snapshot import known
from doctor.text import read

from ..judging import report
from ..rows import for_each

NO_DRIVER = "RuntimeError: Found no NVIDIA driver on your system."


@for_each(
    "line",
    [
        "my card: RX570",
        "video: Intel HD graphics 4000",
        "graphics: AMD Radeon RX 7900 XTX",
        "gpu_used: Intel Arc B580",
        "Video card: AMD FirePro W7100",
    ],
)
def test_boards_of_other_makers(line: str) -> None:
    s = read(f"{line}\n{NO_DRIVER}\n")
    assert not known(s.gpus) and [device.vendor for device in known(s.driver.pci_devices) or ()] != ["10de"]
    assert known(read(f"{line}\ndriver: 535.104.05\n").driver.pci_devices) is None


@for_each(
    "line",
    [
        "card: GTX 1080 Ti",
        "accelerator: Tesla V100 SXM2 32GB",
        "graphics: RTX 3060 Laptop GPU",
        "my card: NVIDIA A40",
        "gpu_list: NVIDIA L4",
    ],
)
def test_boards_of_nvidia(line: str) -> None:
    assert [known(gpu.name) for gpu in known(read(line + "\n").gpus) or ()] == [line.partition(": ")[2]]


@for_each(
    ("line", "name", "kernel"),
    [
        ("os_name: openSUSE Leap 15.2", "openSUSE Leap 15.2", None),
        ("kernel_release: 5.3.18-lp152.106-default", None, "5.3.18-lp152.106-default"),
        ("uname -r: 6.12.105-production+truenas", None, "6.12.105-production+truenas"),
        ("running kernel: 4.20.6-200.fc29.x86_64", None, "4.20.6-200.fc29.x86_64"),
        ("host os: Ubuntu 22.04.5 LTS", "Ubuntu 22.04.5 LTS", None),
    ],
)
def test_systems_and_kernels(line: str, name: str | None, kernel: str | None) -> None:
    host = read(line + "\n").host
    assert (known(host.os_name), known(host.kernel)) == (name, kernel)


TABLE = """
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.90.07              Driver Version: 550.90.07      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
|   0  NVIDIA A100-SXM4-80GB          On  |   00000000:07:00.0 Off |                    0 |
| N/A   30C    P0             62W /  400W |       4MiB /  81920MiB |      0%      Default |
|   1  NVIDIA A100-SXM4-80GB          On  |   00000000:0A:00.0 Off |                    2 |
| N/A   30C    P0             62W /  400W |       4MiB /  81920MiB |      0%      Default |
"""
QUERY = """
==============NVSMI LOG==============
GPU 00000000:65:00.0
    Product Name                          : NVIDIA A100-PCIE-40GB
    ECC Errors
        Volatile
            SRAM Correctable              : 0
            SRAM Uncorrectable            : 0
            DRAM Correctable              : 7
            DRAM Uncorrectable            : {}
        Aggregate
            DRAM Uncorrectable            : 9
"""


def test_errors_that_ecc_could_not_correct_are_counted_per_gpu() -> None:
    found = [f for f in report(read(TABLE)).findings if f.status == "fail"]
    assert [(f.id, f.facts["uncorrected"]) for f in found] == [("gpu-hardware-ecc-fault", 2)]
    assert [f.id for f in report(read(QUERY.format(1))).findings if f.status == "fail"] == ["gpu-hardware-ecc-fault"]
    assert not [f for f in report(read(QUERY.format(0))).findings if f.status == "fail"]


@for_each("name", ["GTX 1660 Ti Mobile", "GeForce RTX 3070 Max-Q / Mobile", "RTX 4060 Laptop GPU"])
def test_the_open_module_drives_what_is_new_enough(name: str) -> None:
    text = f"gpu: {name}\ndriver: 550.40.07 open\nnvidia-smi: No devices were found\n"
    assert "open-kernel-module-required" not in report(read(text)).possible


def test_boards_before_turing_get_their_last_branch() -> None:
    text = (
        "OS: Ubuntu 24.04\ngpu: Tesla P4\ndriver: {}\nNVRM: installed in this system is not supported by open nvidia.ko"
    )
    for driver, branch in (("580.178.04", 580), ("595.58.03", 580), ("570.86.10", 570)):
        first = next(f for f in report(read(text.format(driver))).findings if f.status == "fail").fixes[0]
        assert f"nvidia-driver-{branch}" in first.steps[0].command and "open" not in first.steps[0].command
