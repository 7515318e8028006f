"""CUDA returns error 802 (system not yet initialized): the NVSwitch fabric is not set up.

What is wrong: on boards where NVSwitches connect the GPUs (HGX, DGX with A100, H100, H200, B200 ...), CUDA waits until
the fabric manager has set up the switches. The fabric manager is not running, has failed, is a different version than
the driver, or has not finished.

Symptoms: `Error 802: system not yet initialized`, `is_available()` is False, while nvidia-smi lists all GPUs.

Why it happens: nvidia-fabricmanager is not installed or not enabled; the driver was upgraded but the fabric manager was
not (the versions must be equal); the machine has just booted; a virtual machine has only part of the board and its
provider has not activated the partition.

How to fix it: install the version of nvidia-fabricmanager that matches the driver exactly, and start it. In a container
or a rented virtual machine this has to be fixed on the host: use another host and tell the provider.

Source: Fabric Manager user guide, docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy
from ..fixes.driver import start_fabric_manager
from ..snapshot import Snapshot, known
from ._seen import need_cuda_code, nodes_of

CHECK = Check(
    __name__,
    title="The NVSwitch fabric is not ready",
    sound="CUDA is not waiting for an NVSwitch fabric",
    severity="critical",
    layer="driver",
    tags=("driver", "nvswitch"),
    downstream_of=("driver-not-answering", "driver-library-version-mismatch"),
)

CUDA_SYSTEM_NOT_READY = 802


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Decided by CUDA's code 802."""
    if need_cuda_code(s) != CUDA_SYSTEM_NOT_READY:
        return
    switches = [d for d in known(s.driver.pci_devices) or () if d.vendor == "10de" and d.class_code.startswith("0680")]
    seen = bool(switches or nodes_of(s, "nvswitch"))
    virtual = known(s.host.virtualization) not in (None, "none")
    version = known(s.driver.version)
    detail = "CUDA returns error 802 (system not yet initialized): the GPUs are waiting for the NVSwitch fabric."
    if seen:
        detail += " This machine has NVSwitches; the fabric manager's version must match the driver exactly"
        detail += f", {version}." if version else "."
    else:
        detail += " No NVSwitch is visible from here: in a virtual machine or container, the NVSwitches belong to the "
        detail += "host or the provider."
    states = sorted({state for g in known(s.gpus) or () if (state := known(g.fabric_state)) is not None})
    yield CHECK.fail(
        "The NVSwitch fabric is not ready (CUDA error 802)",
        detail,
        facts={"cuda_code": CUDA_SYSTEM_NOT_READY, "nvswitches": len(switches), "fabric_states": states},
        fixes=start_fabric_manager(s, version or "", here=seen or not virtual),
    )
