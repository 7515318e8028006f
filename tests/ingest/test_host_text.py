"""Texts about the host: boards and systems under any name, kernel lists and logs, WSL and Windows."""

from __future__ import annotations

import pytest

from doctor.ingest import read
from doctor.snapshot import known

NO_DRIVER = "RuntimeError: Found no NVIDIA driver on your system."


@pytest.mark.parametrize("line", ["my card: RX570", "video: Intel HD graphics 4000", "graphics: AMD Radeon RX 7900 XTX",
                                  "gpu_used: Intel Arc B580", "Video card: AMD FirePro W7100"])  # fmt: skip
def test_boards_of_other_makers(line: str) -> None:
    s = read(f"{line}\n{NO_DRIVER}\n")
    assert not known(s.gpus) and [device.vendor for device in known(s.driver.pci_devices) or ()] != ["10de"]
    assert known(read(f"{line}\ndriver: 535.104.05\n").driver.pci_devices) is None


@pytest.mark.parametrize("line", ["card: GTX 1080 Ti", "accelerator: Tesla V100 SXM2 32GB", "graphics: RTX 3060 Laptop GPU",
                                  "my card: NVIDIA A40", "gpu_list: NVIDIA L4"])  # fmt: skip
def test_boards_of_nvidia(line: str) -> None:
    assert [known(gpu.name) for gpu in known(read(line + "\n").gpus) or ()] == [line.partition(": ")[2]]


@pytest.mark.parametrize(
    ("line", "name", "kernel"),
    [("os_name: openSUSE Leap 15.2", "openSUSE Leap 15.2", None), ("kernel_release: 5.3.18-lp152.106-default", None,
     "5.3.18-lp152.106-default"), ("uname -r: 6.12.105-production+truenas", None, "6.12.105-production+truenas"),
     ("running kernel: 4.20.6-200.fc29.x86_64", None, "4.20.6-200.fc29.x86_64"),
     ("host os: Ubuntu 22.04.5 LTS", "Ubuntu 22.04.5 LTS", None)],
)  # fmt: skip
def test_systems_and_kernels(line: str, name: str | None, kernel: str | None) -> None:
    host = read(line + "\n").host
    assert (known(host.os_name), known(host.kernel)) == (name, kernel)
