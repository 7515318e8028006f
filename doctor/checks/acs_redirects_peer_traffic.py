"""ACS or the IOMMU sends traffic between two devices up to the host bridge and back.

What is wrong: the switch's ports have P2P Request Redirect turned on (PCI Access Control Services). Traffic between two
GPUs, or between a GPU and a network card, then no longer stays within the switch: it goes up to the root complex,
through the IOMMU if that is on, and back down.

Symptoms: peer-to-peer copies are slow, hang or deliver wrong data; NCCL's collectives between these GPUs are slow;
`lspci -vvv` shows `ACSCtl: SrcValid+ ... ReqRedir+` for the switch's ports.

Why it happens: the firmware and the kernel turn ACS on together with the IOMMU, so that a virtual machine can be given
its own device. If you do not pass devices through to virtual machines, you do not need ACS.

How to fix it: on bare metal, turn ACS and the IOMMU off in the firmware, or turn off only ACS with setpci at each boot;
or run with NCCL_P2P_DISABLE=1. In a virtual machine, the hypervisor controls ACS, which has to stay on, so nothing is
reported there.

This finding is only a note if NVLink connects the GPUs, or if the switch is shared only with a network card. Only root
can read the ACS registers; for other users, the result of this check is unknown. In pasted text, the finding is a
failure if copies between GPUs hang or arrive corrupted.

Source: NCCL user guide, troubleshooting, PCI Access Control Services; PCI Express Base Specification, 7.7.11.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, NotExamined, Policy, Skip
from ..fixes.links import acs_off
from ..snapshot import Missing, Snapshot, known, need
from ._seen import not_on_pci, nvidia_cards

CHECK = Check(
    __name__,
    title="ACS or the IOMMU reroutes traffic between PCIe devices",
    sound="No PCIe switch reroutes traffic between its devices",
    severity="warning",
    layer="hardware",
    tags=("gpu", "multi-gpu", "speed"),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns if two GPUs without NVLink share a switch whose ports redirect."""
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
        raise Skip("in a virtual machine, the hypervisor controls ACS")
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
            f"ACS reroutes traffic between {(slow or beside)[0]}",
            "They share a PCIe switch, but its ports send such traffic up to the host bridge and back."
            + (f" Other pairs affected: {len(slow) + len(beside) - 1}." if len(slow) + len(beside) > 1 else ""),
            facts={"bridges": sorted(bridges), "pairs": slow + beside},
            fixes=acs_off(s, sorted(bridges)),
        )
