"""Each fix that is offered, the first and the others, by the tool's own rules: over a grid of GPU, driver and torch."""

from __future__ import annotations

from collections import Counter

import pytest

from doctor.snapshot import ABSENT, Missing, Snapshot

from ..healthy import healthy
from ..judging import POLICY, matrix, report
from ..torches import not_asked, with_torch
from .sensible import wrong_with

BUILDS = (
    ("1.13.1", "cu117"), ("2.0.1", "cu118"), ("2.4.1", "cu121"), ("2.5.1", "cu124"), ("2.6.0", "cu118"), ("2.6.0", "cu124"),
    ("2.7.1", "cu128"), ("2.8.0", "cu126"), ("2.8.0", "cu128"), ("2.9.1", "cu130"), ("2.11.0", "cu130"), ("2.14.0", "cu126"),
)  # fmt: skip
DRIVERS = ("470.256.02", "525.147.05", "535.309.01", "550.163.01", "570.211.01", "580.178.04", "595.91.07", "615.71.10")
BOARDS = {
    "k80": ("Tesla K80", "102d", "3.7", 2), "m40": ("Tesla M40", "17fd", "5.2", 2), "p100": ("Tesla P100-PCIE-16GB", "15f8", "6.0", 2),
    "b200": ("NVIDIA B200", "2901", "10.0", 14), "a10": ("NVIDIA A10", "2236", "8.6", 14),
}  # fmt: skip
KNOWN = ("gtx1080", "v100", "t4", "a100", "h100", "rtx4090", "rtx5090")


def board(name: str, driver: str, cuda: str, container: bool) -> Snapshot:
    if name in KNOWN:
        return healthy(name, driver=driver, cuda=cuda, container=container)
    s = healthy("a100", driver=driver, cuda=cuda, container=container)
    title, pci, cc, brand = BOARDS[name]
    assert isinstance(s.gpus, tuple) and isinstance(s.driver.cuda_devices, tuple)
    gpu = s.gpus[0].with_(name=title, pci_device_id=pci, compute_capability=cc, brand_id=brand)
    return s.replace({"gpus": (gpu,), "driver.pci_devices": Missing("denied")})


def grid() -> list[tuple[str, Snapshot]]:
    """Every board with every driver and build, as a host and (every second) as a container; CUDA was not asked."""
    m, found = matrix(), []
    blind = {"driver.cu_init": Missing("not-asked"), "driver.cuda_devices": Missing("not-asked")}
    for name in (*KNOWN, *BOARDS):
        for driver in DRIVERS:
            row = m.driver_branch(driver).row
            assert row
            for number, (version, tag) in enumerate(BUILDS):
                s = board(name, driver, row.cuda, bool(number % 2)).replace({"host.user_is_root": number % 3 == 0})
                s = not_asked(with_torch(s, version, tag)).replace({**blind, "driver.kernel_flavour": ABSENT})
                found.append((f"{name}, driver {driver}, torch {version}+{tag}", s))
    return found


@pytest.mark.slow
def test_no_fix_of_the_grid_is_pointless() -> None:
    """Every alternative of every finding: no install of what is there, no driver or libcuda that cannot serve."""
    wrong, offered = [], Counter[str]()
    for name, s in grid():
        for finding in report(s).findings:
            offered.update(fix.id for fix in finding.fixes)
            wrong += [f"{name}: {why}" for why in wrong_with(s, finding, POLICY)]
    assert not wrong, f"{len(wrong)} of them:\n" + "\n".join(wrong[:20])
    assert {"install-torch", "install-driver", "use-forward-compatibility", "choose-another-host"} <= set(offered), (
        offered
    )
