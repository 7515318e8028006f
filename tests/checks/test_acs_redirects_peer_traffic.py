"""ACS on the ports of a PCIe switch that two GPUs, or a GPU and a network card, share."""

from __future__ import annotations

from msgspec.structs import replace

from doctor.snapshot import GpuPair, Missing, PciePath, Snapshot, known

from ..healthy import healthy
from ..judging import assert_fix_works, ids, run

ACS = "acs-redirects-peer-traffic"
ROOT = ("pci0000:00", "0000:00:01.0")
PORTS = ("0000:03:00.0", "0000:03:01.0")
DENIED = Missing("denied", "only root can read the bridges' registers")


def switched(redirects: bool | Missing, nvlink: int = 1, nic: bool = False, upstream: bool = True) -> Snapshot:
    """Two devices below one PCIe switch (or on two ports of the host bridge), whose ports redirect or not."""
    s = healthy("rtx4090", "rtx4090", container=False)
    gpus = known(s.gpus) or ()

    def path(at: int, address: str, name: str = "") -> PciePath:
        bridges = (*ROOT, "0000:02:00.0", PORTS[at]) if upstream else (ROOT[0], PORTS[at])
        acs = redirects if isinstance(redirects, Missing) else (PORTS[at],) * redirects
        return PciePath(address=address, bridges=bridges, nic=name, acs_redirects=acs, numa_node=0, cpus="0-7")

    first = path(0, f"{known(gpus[0].pci_address)}")
    second = path(1, "0000:05:00.0", "mlx5_0") if nic else path(1, f"{known(gpus[1].pci_address)}")
    pairs = (GpuPair(a=gpus[0].key, b=gpus[1].key, p2p_read=0, p2p_nvlink=nvlink, topology=10),)
    s = s.replace({"driver.pcie_paths": (first, second), "host.virtualization": "none"})
    return replace(s, gpu_pairs=pairs)


def test_two_gpus_of_a_switch_whose_ports_redirect() -> None:
    sick = switched(True)
    assert ids(sick) == [ACS]
    status, _, (finding,) = run(ACS, sick)
    assert status == "warn" and finding.facts["bridges"] == list(PORTS)
    commands = [step.command for step in finding.fixes[0].steps]
    assert commands == [f"for bridge in {' '.join(PORTS)}; do setpci -s $bridge ECAP_ACS+0x6.w=0000; done"]
    assert_fix_works(sick, finding)


def test_what_is_joined_by_nvlink_or_shares_it_with_a_network_card_is_a_remark() -> None:
    for s in (switched(True, nvlink=0), switched(True, nic=True)):
        _, _, (finding,) = run(ACS, s)
        assert finding.status == "pass" and ids(s) == []


def test_sound_machines() -> None:
    assert run(ACS, switched(False))[0] == "pass" and ids(switched(False)) == []
    apart = switched(True, upstream=False)
    assert run(ACS, apart)[:2] == ("skipped", "no GPU is known to share a PCIe switch with another device")
    assert run(ACS, switched(True).replace({"host.virtualization": "kvm"}))[0] == "skipped"
    assert run(ACS, healthy())[0] == "skipped"


def test_who_may_not_read_the_registers_does_not_know() -> None:
    assert run(ACS, switched(DENIED))[0] == "unknown"
