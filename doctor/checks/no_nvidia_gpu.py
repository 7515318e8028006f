"""There is no NVIDIA GPU on this machine's PCI bus.

What is wrong: the list of PCI devices can be read, is not empty, and contains no device from vendor 10de (NVIDIA). No
driver and no PyTorch build can change that: CUDA cannot run here.

Symptoms: `torch.cuda.is_available()` is False, `Found no NVIDIA driver`, `cuInit` returns 100 (CUDA_ERROR_NO_DEVICE),
`nvidia-smi` is not found or finds no devices.

Why it happens: a pod or virtual machine on a plan without a GPU, a laptop with only Intel, AMD or Apple graphics, a
virtual machine that the GPU was not passed through to, or a card that is switched off or not seated.

How to fix it: choose a machine or plan with an NVIDIA GPU, or pass the GPU through to the virtual machine. To run on
the CPU on purpose, use `--expect any`.

On a Mac, this is a failure if a GPU is expected. If text pasted from a Mac does not complain about CUDA, this is only a
note, because the text may be about anything.

A missing or empty PCI list (gVisor, WSL, some ARM boards) proves nothing, so this check reports no failure in that
case.

Source: sysfs PCI interface (docs.kernel.org/PCI/sysfs-pci.html); vendor 10de in the PCI ID repository.
"""

from __future__ import annotations

from msgspec.structs import replace

from ..findings import Check, Findings, Fix, Matrix, Policy, Skip
from ..fixes.where import get_a_gpu
from ..snapshot import Missing, Snapshot, known, need
from ._seen import nodes_of

CHECK = Check(
    __name__,
    title="No NVIDIA GPU on this machine",
    sound="There is an NVIDIA GPU",
    severity="critical",
    layer="hardware",
    tags=("gpu",),
)

_VENDORS = {"1002": "AMD", "8086": "Intel", "1a03": "ASPEED", "15ad": "VMware", "1234": "QEMU", "1af4": "virtio"}


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails where the PCI list is readable, not empty, and holds no NVIDIA device."""
    if s.host.system == "darwin":
        title = "There is no CUDA for macOS"
        detail = "NVIDIA's last CUDA for macOS was 10.2; torch uses Apple's GPU through MPS (device='mps')."
        if p.gpu_wanted:
            yield CHECK.fail(title, detail, facts={"system": "darwin"}, fixes=(_use_mps(s),))
        else:
            yield CHECK.remark(title, detail, facts={"system": "darwin"})
        return
    if s.host.wsl in (1, 2):
        raise Skip("WSL shows the GPU as /dev/dxg, not on the PCI bus")
    if not isinstance(s.gpus, Missing) and s.gpus:
        return  # another source has seen one: integrated GPUs and vGPUs may be missing from this PCI list
    if not isinstance(s.driver.cuda_devices, Missing) and s.driver.cuda_devices:
        return
    rocm = known(s.torch.hip) is not None or known(s.torch.build) == "rocm"
    if known(s.torch_run.cuda_available) is True and rocm:
        raise Skip("torch runs on a GPU from another vendor here")
    if nodes_of(s, "tegra"):
        raise Skip("on a Jetson, the GPU is not on the PCI bus")
    devices = need("driver.pci_devices", s.driver.pci_devices)
    if any(device.vendor == "10de" for device in devices):
        return
    others = sorted({_VENDORS.get(d.vendor, d.vendor) for d in devices})
    detail = "The PCI bus was read and has no device from vendor 10de (NVIDIA)."
    if others:
        detail += f" Display devices found: {', '.join(others)}."
    if "AMD" in others:
        detail += " An AMD GPU needs a torch built for ROCm, which gpudoctor does not check."
    facts = {"display_vendors": sorted({d.vendor for d in devices})}
    if p.expect.kind == "any":
        if s.driver.faults:  # a driver that hangs does not mean a machine without one
            need("gpus", s.gpus)
        yield CHECK.remark("No NVIDIA GPU here; programs will run on the CPU", detail, facts=facts)
        return
    yield CHECK.fail("This machine has no NVIDIA GPU", detail, facts=facts, fixes=(get_a_gpu(s),))


def _use_mps(s: Snapshot) -> Fix:
    other = get_a_gpu(s)
    text = "On a Mac, use Apple's GPU: replace 'cuda' with 'mps' in the program. For CUDA, run it on a machine with "
    step = replace(other.steps[0], text=text + "an NVIDIA GPU.", where="code", possible_here=True)
    return replace(other, title="Use Apple's GPU, or a different machine for CUDA", steps=(step,), note="")
