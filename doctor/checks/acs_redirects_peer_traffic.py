"""ACS sends traffic between two devices of one PCIe switch up to the host bridge and back.

What is wrong: the switch's ports have P2P Request Redirect on (PCI Access Control Services). What two GPUs, or a GPU
and a network card, send each other then no longer crosses the switch alone: it goes up to the root complex, through the
IOMMU where that is on, and down again.

Symptoms: peer-to-peer copies are slow, hang or give wrong data; NCCL's collectives between these GPUs are slow;
`lspci -vvv` shows `ACSCtl: SrcValid+ ... ReqRedir+` at the switch's ports.

Why it happens: firmware and kernel turn ACS on together with the IOMMU, so that a virtual machine can be given a device
of its own. Whoever gives no device to a virtual machine gains nothing by it.

How to fix it: on bare metal turn ACS off in the firmware, or at each boot by setpci. In a virtual machine it is the
hypervisor's matter, and ACS has to stay: there nothing is reported.

Where NVLink joins the GPUs, and where only a network card shares the switch, it is a remark. The registers are readable
by root alone; for another user this check does not know.

Source: NCCL user guide, troubleshooting, PCI Access Control Services; PCI Express Base Specification, 7.7.11.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, NotExamined, Policy, Skip
from ..fixes.links import acs_off
from ..snapshot import Missing, Snapshot, known, need
from ._seen import not_on_pci, nvidia_cards

CHECK = Check(
    __name__,
    title="ACS detours traffic between devices of one PCIe switch",
    sound="No PCIe switch detours traffic between its devices",
    severity="warning",
    layer="hardware",
    tags=("gpu", "multi-gpu", "speed"),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns where two GPUs without NVLink share a switch whose ports redirect."""
    paths = known(s.driver.pcie_paths) or ()
    shared = [
        (a, b) for at, a in enumerate(paths) for b in paths[at + 1 :] if not (a.nic and b.nic) and a.shared(b) > 1
    ]
    if not shared:
        if isinstance(s.driver.pcie_paths, Missing):
            raise NotExamined("the PCIe tree was not read")
        if not nvidia_cards(s):
            raise not_on_pci(s)
        raise Skip("no GPU is known to share a PCIe switch with another device")
    if need("host.virtualization", s.host.virtualization) != "none":
        raise Skip("in a virtual machine ACS is the hypervisor's matter")
    joined = {
        frozenset((address.get(pair.a), address.get(pair.b)))
        for address in [{gpu.key: known(gpu.pci_address) for gpu in known(s.gpus) or ()}]
        for pair in known(s.gpu_pairs) or ()
        if known(pair.p2p_nvlink) == 0
    }
    slow: list[str] = []
    beside: list[str] = []
    bridges: set[str] = set()
    for a, b in shared:
        common = a.shared(b)
        ports = {
            bridge
            for path in (a, b)
            for bridge in need("driver.pcie_paths.acs_redirects", path.acs_redirects)
            if bridge in path.bridges[common:]
        }
        if ports:
            bridges |= ports
            plain = not a.nic and not b.nic and frozenset((a.address, b.address)) not in joined
            (slow if plain else beside).append(f"{a.nic or a.address} and {b.nic or b.address}")
    if bridges:
        yield (CHECK.warn if slow else CHECK.remark)(
            f"ACS detours what {(slow or beside)[0]} send each other",
            "They share a PCIe switch, but its ports send such traffic up to the host bridge and back"
            + (f"; so it is for {len(slow) + len(beside) - 1} more pairs." if len(slow) + len(beside) > 1 else "."),
            facts={"bridges": sorted(bridges), "pairs": slow + beside},
            fixes=acs_off(s, sorted(bridges)),
        )
