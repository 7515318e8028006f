"""A driver is the whole machine's: a fix that would lose another GPU says so, and the driver on the disk counts."""

from __future__ import annotations

from doctor.snapshot import ABSENT, LibraryFile, Missing, PciDevice, Snapshot

from ..healthy import MODELS, gpu, healthy
from ..judging import assert_fix_works, run
from ..rows import for_each

OPEN, DROPPED, LOADED = "open-kernel-module-required", "driver-dropped-gpu", "driver-not-loaded"


def card(model: str, slot: int) -> PciDevice:
    return PciDevice(address=f"0000:{0x10 + slot:02x}:00.0", vendor="10de", device=str(MODELS[model]["pci"]),
                     class_code="030000", driver="nvidia")  # fmt: skip


def cards(first: str, *others: str, flavour: str = "open") -> Snapshot:
    """NVML and CUDA show the first GPU; the others are on the bus, and this module does not drive them."""
    bus = tuple(card(model, slot) for slot, model in enumerate((first, *others)))
    return healthy(first, torch=False).replace(
        {"driver.kernel_flavour": flavour, "driver.pci_devices": bus, "gpus": (gpu(first),)}
    )


@for_each(
    ("first", "other", "flavour", "lost"),
    [
        ("rtx5090", "gtx1080", "open", "NVIDIA GeForce RTX 5090"),
        ("gtx1080", "rtx5090", "proprietary", "NVIDIA GeForce GTX 1080"),
        ("rtx3060", "gtx1080", "open", ""),
        ("t4", "gtx1080", "open", ""),
    ],
)
def test_what_a_module_loses_is_said(first: str, other: str, flavour: str, lost: str) -> None:
    s = cards(first, other, flavour=flavour)
    finding = run(OPEN, s)[2][0]
    titles = [fix.title for fix in finding.fixes]
    assert ("two machines" in titles[0]) == bool(lost), titles
    assert [title for title in titles if "lose" in title] == [title for title in titles if lost and lost in title]
    assert_fix_works(s, finding)


def on_disk(version: str, *models: str) -> Snapshot:
    """Libraries of this driver, and no module."""
    bus = tuple(card(model, slot) for slot, model in enumerate(models))
    library = LibraryFile(soname="libcuda.so.1", path="/usr/lib/libcuda.so.1", version=version, found_by="default")
    gap = Missing("error", "nvmlInit: 9 Driver Not Loaded")
    return healthy(models[0], torch=False).replace(
        {
            "driver.pci_devices": tuple(PciDevice(address=d.address, vendor=d.vendor, device=d.device,
                                                  class_code=d.class_code, driver=None) for d in bus),
            "driver.modules": (), "driver.kernel_version": ABSENT, "driver.kernel_flavour": ABSENT, "driver.nvml_init": 9,
            "driver.nvml_driver_version": gap, "driver.nvml_cuda_version": gap, "gpus": gap, "driver.device_nodes": (),
            "driver.cu_init": 100, "driver.cuda_devices": Missing("error"), "driver.libcuda_version": version,
            "driver.nvml_library_version": version, "driver.libcuda_candidates": (library,), "driver.proc_gpus": ABSENT,
        }
    )  # fmt: skip


@for_each(
    ("version", "models", "dropped", "root"),
    [
        ("590.48.01", ("gtx1080",), "fail", DROPPED),
        ("595.58.03", ("v100",), "fail", DROPPED),
        ("580.82.07", ("gtx1080",), "pass", LOADED),
        ("595.58.03", ("v100", "t4"), "fail", LOADED),
        ("590.48.01", ("t4",), "pass", LOADED),
    ],
)
def test_the_driver_on_the_disk_counts(version: str, models: tuple[str, ...], dropped: str, root: str) -> None:
    s = on_disk(version, *models)
    status, _, findings = run(DROPPED, s)
    assert status == dropped
    for finding in findings:
        assert_fix_works(s, finding)
    below = run(LOADED, s)[2][0].downstream_of
    assert (DROPPED in below) == (root == DROPPED)
