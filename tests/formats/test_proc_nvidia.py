"""What the NVIDIA kernel driver and sysfs write, in the forms seen across drivers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.formats import proc_nvidia as nv

GCC = "\nGCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04)\n"


@pytest.mark.parametrize(
    ("line", "version", "flavour"),
    [
        ("NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023", "535.129.03", "proprietary"),
        ("NVIDIA UNIX x86_64 Kernel Module  390.157  Wed Oct 12 09:19:07 UTC 2022", "390.157", "proprietary"),
        ("NVIDIA UNIX aarch64 Kernel Module  470.57.02  Tue Jul 13 16:14:05 UTC 2021", "470.57.02", "proprietary"),
        (
            "NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  (builder@host)  Thu Jan 23 22:43:10 UTC 2025",
            "570.86.15",
            "open",
        ),
        ("NVIDIA UNIX Open Kernel Module for aarch64  540.4.0  Release Build  (buildbrain@host)", "540.4.0", "open"),
        ("NVIDIA UNIX Open Kernel Module for x86_64  620.70.06  Release Build", "620.70.06", "open"),
        ("NVIDIA UNIX x86_64 Kernel Module", None, "proprietary"),
    ],
)
def test_driver_version(line: str, version: str | None, flavour: str) -> None:
    assert nv.parse_driver_version(f"NVRM version: {line}{GCC}") == nv.KernelDriver(version, flavour, line)


@pytest.mark.parametrize("text", ["", GCC, "NVIDIA-SMI has failed", "\0\0"])
def test_what_is_not_the_version_file(text: str) -> None:
    assert nv.parse_driver_version(text) is None


H100 = """\
Model: \t\t NVIDIA H100 80GB HBM3
IRQ:   \t\t 321
GPU UUID: \t GPU-11111111-2222-3333-4444-555555555555
Video BIOS: \t 96.00.74.00.01
Bus Type: \t PCIe
DMA Size: \t 52 bits
DMA Mask: \t 0xfffffffffffff
Bus Location: \t 0000:1b:00.0
Device Minor: \t 3
GPU Firmware: \t 535.129.03
GPU Excluded:\t No
"""
ASLEEP = """\
Model: \t\t NVIDIA GeForce RTX 4090
IRQ:   \t\t 129
GPU UUID: \t GPU-????????-????-????-????-????????????
Video BIOS: \t ??.??.??.??.??
Bus Location: \t 0000:01:00.0
Device Minor: \t 0
GPU Firmware: \t N/A
Blacklisted:\t Yes
"""


def test_gpu_information() -> None:
    assert nv.parse_gpu_information(H100) == nv.GpuInformation(
        "NVIDIA H100 80GB HBM3",
        "GPU-11111111-2222-3333-4444-555555555555",
        "0000:1b:00.0",
        3,
        "96.00.74.00.01",
        "535.129.03",
        False,
    )


def test_a_gpu_that_was_not_initialised_has_no_uuid_yet() -> None:
    found = nv.parse_gpu_information(ASLEEP)
    assert (found.uuid, found.vbios, found.firmware, found.excluded) == (None, None, None, True)
    assert found.model == "NVIDIA GeForce RTX 4090"


def test_modules() -> None:
    text = (
        "nvidia_uvm 4927488 0 - Live 0x0000000000000000 (POE)\n"
        "nvidia 56836096 77 nvidia_uvm,nvidia_modeset, Live 0x0000000000000000 (POE)\n"
        "nouveau 2306048 1 - Loading 0x0\n"
        "broken\n"
    )
    assert nv.parse_modules(text) == [
        nv.Module("nvidia_uvm", 4927488, 0, (), "Live"),
        nv.Module("nvidia", 56836096, 77, ("nvidia_uvm", "nvidia_modeset"), "Live"),
        nv.Module("nouveau", 2306048, 1, (), "Loading"),
    ]


def test_pci_device() -> None:
    device = nv.pci_device(
        "0000:1b:00.0",
        {
            "vendor": "0x10de\n",
            "device": "0x2330\n",
            "subsystem_vendor": "0x10de\n",
            "subsystem_device": "0x16c1\n",
            "class": "0x030200\n",
            "revision": "0xa1\n",
            "uevent": "DRIVER=nvidia\nPCI_CLASS=30200\nPCI_ID=10DE:2330\n",
            "numa_node": "0\n",
            "current_link_speed": "2.5 GT/s PCIe\n",
            "current_link_width": "8\n",
            "max_link_speed": "32.0 GT/s PCIe\n",
            "max_link_width": "16\n",
        },
    )
    assert device == nv.PciDevice(
        "0000:1b:00.0", 0x10DE, 0x2330, 0x10DE, 0x16C1, 0x030200, 0xA1, "nvidia", 0, 2.5, 8, 32.0, 16
    )
    assert device.is_display


def test_a_pci_device_with_unreadable_files_is_all_unknown() -> None:
    bare = nv.pci_device("0000:00:00.0", {})
    assert set(bare[1:]) == {None}
    assert not bare.is_display
    odd = nv.pci_device(
        "x", {"vendor": "????", "numa_node": "-1", "current_link_speed": "Unknown", "max_link_width": "255"}
    )
    assert set(odd[1:]) == {None}
    switch = nv.pci_device("x", {"vendor": "0x10de", "class": "0x068000"})
    assert not switch.is_display


@given(st.text(max_size=200))
def test_no_text_is_too_odd(text: str) -> None:
    nv.parse_driver_version("NVRM version: " + text)
    nv.parse_gpu_information("Model: " + text)
    nv.parse_modules(text)
    nv.pci_device("x", dict.fromkeys(("vendor", "class", "uevent", "max_link_speed", "max_link_width"), text))
