"""Changed facts as a person reads them: states have names, and a PCI device that is gone is not its driver."""

from __future__ import annotations

from msgspec.structs import replace

from doctor.report.compare_words import fact_text
from doctor.snapshot import Snapshot, known

from ..healthy import healthy
from .machines import answer


def fabric(*states: int) -> Snapshot:
    s = healthy("h100", "h100")
    gpus = known(s.gpus) or ()
    return s.replace({"gpus": tuple(replace(gpu, fabric_state=state) for gpu, state in zip(gpus, states, strict=True))})


def shown(old: Snapshot, new: Snapshot) -> list[str]:
    return [fact_text(fact) for fact in answer(old, new).facts]


def test_the_state_of_the_fabric_is_named() -> None:
    assert "NVLink fabric of GPUs 0, 1: not started -> ready" in shown(fabric(1, 1), fabric(3, 3))
    assert "NVLink fabric of GPUs 0, 1: in progress -> not supported" in shown(fabric(2, 2), fabric(0, 0))
    assert "NVLink fabric of GPUs 0, 1: not started -> in progress" in shown(fabric(1, 1), fabric(2, 2))


def test_a_device_that_is_gone_is_named_with_its_driver() -> None:
    s = healthy("h100", "h100")
    devices = known(s.driver.pci_devices) or ()
    fewer = s.replace({"driver.pci_devices": devices[:1]})
    address = devices[1].address
    assert f"PCI device {address}: driver nvidia -> not there" in shown(s, fewer)
    assert f"PCI device {address}: not there -> driver nvidia" in shown(fewer, s)
