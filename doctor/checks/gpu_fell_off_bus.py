"""A GPU no longer responds: it has fallen off the bus.

What is wrong: the GPU is bound to the driver, but NVML, the driver or the kernel log reports that it is lost.

Symptoms: `nvidia-smi` prints `Unable to determine the device handle ... GPU is lost` or lists one fewer GPU; the
kernel log has `NVRM: Xid (PCI:0000:06:00): 79, GPU has fallen off the bus.`

Why it happens: power (supply, cables, load peaks), heat, a bad riser or slot, PCIe errors, a defective board.

How to fix it: power the machine off and on, or stop and start the instance (a reboot alone may not bring the GPU back),
then check power and seating. In a container or on a rented machine, use another host and tell the provider.

A GPU that NVML does not list is not necessarily lost: a batch system or a control group may give a session only some of
the machine's GPUs, and a missing device node has the same effect. Opening the GPU's device node tells the two apart.
EPERM (from a control group, or from the driver for a GPU that NVreg_ExcludedGpus leaves out) and EACCES (from the
node's mode) mean that the GPU was not given to this session. EIO means that the driver could not start the GPU, ENODEV
that it was removed, ENXIO that no driver is behind the node. If nothing tells the two apart, the result is UNKNOWN.

Source: NVML return code 15 NVML_ERROR_GPU_IS_LOST (nvml.h); Xid 79, docs.nvidia.com/deploy/xid-errors; nv_open_device
and nv_start_device in kernel-open/nvidia/nv.c of github.com/NVIDIA/open-gpu-kernel-modules; for EPERM
docs.kernel.org/admin-guide/cgroup-v2.html, device controller; for ENXIO chrdev_open in the kernel's fs/char_dev.c.
"""

from __future__ import annotations

from ..findings import Check, Finding, Findings, Matrix, Policy
from ..fixes.driver import other_host
from ..fixes.ending import leave_to_operator
from ..fixes.restart import power_cycle
from ..fixes.where import container_kind
from ..snapshot import Gpu, Missing, PciDevice, Snapshot, UnlistedGpu, known
from . import _gpu_numbers as numbers
from ._seen import BROKEN_DRIVER, DRIVERLESS, NODES, NOT_GIVEN, is_wsl, need_gpus, not_on_pci, nvidia_cards

CHECK = Check(
    __name__,
    title="A GPU no longer responds",
    sound="No GPU is reported as lost",
    severity="critical",
    layer="hardware",
    tags=("gpu",),
    downstream_of=(*DRIVERLESS, *BROKEN_DRIVER, *NODES, *NOT_GIVEN),
)

NVML_GPU_IS_LOST = 15
REFUSED = ("EPERM", "EACCES")
GONE = {
    "EIO": "opening its device node fails with EIO: the driver cannot start it",
    "ENODEV": "opening its device node fails with ENODEV: it was removed",
    "ENXIO": "opening its device node fails with ENXIO: no driver is behind the node",
}
_JOBS = {"SLURM_JOB_ID": "Slurm", "PBS_JOBID": "PBS", "LSB_JOBID": "LSF", "JOB_ID": "the batch system"}


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails if NVML, the driver or the kernel log says lost; UNKNOWN if only the number of GPUs is short."""
    gpus = known(s.gpus) or ()
    silent = _silent(s)
    lost = [gpu for gpu in gpus if _lost(gpu)]
    unnamed = [gpu for gpu in lost if known(gpu.pci_address) is None]
    gone = [card for card in silent if _gone(s, card.address)]
    spoken = gone or [card for card in silent if not _kept(s, card.address)]
    addresses = [card.address for card in spoken] if gone or len(spoken) == len(unnamed) else []
    for gpu in lost:
        address = known(gpu.pci_address) or (addresses.pop(0) if addresses else "")
        silent = [card for card in silent if card.address != address]
        yield _finding(s, known(gpu.name) or "GPU", address, gpu.key, "NVML reports that it is lost")
    if known(s.driver.nvml_init) == NVML_GPU_IS_LOST:
        one = gone if len(gone) == 1 else silent if len(silent) == 1 else []
        yield _finding(
            s, "GPU", one[0].address if one else "", "", "NVML does not start because a GPU is lost (error 15)"
        )
        return
    if len(unnamed) > len(spoken):
        return  # nothing shows which of them is lost
    if not silent:
        if not _whole(s) or isinstance(s.driver.pci_devices, Missing) or _held(s):
            need_gpus(s)
        if not gpus and not nvidia_cards(s):
            raise not_on_pci(s)
        return
    yield from _unlisted(s, silent)


def _unlisted(s: Snapshot, silent: list[PciDevice]) -> Findings:
    """What happened to the GPUs that are bound to the driver but missing from NVML's list."""
    kept, open_question = [], []
    for card in silent:
        why, reason = _gone(s, card.address), _kept(s, card.address)
        if why and reason:
            yield CHECK.warn(
                f"The GPU at {card.address}, which was not given to this session, no longer responds",
                f"{_sentence(why)} {_sentence(reason)} The GPUs in this session are not affected.",
                facts={"gpu": card.address, "said": why},
                subject=card.address,
                fixes=(leave_to_operator(f"GPU {card.address} is lost", (power_cycle(s),)),),
            )
        elif why:
            yield _finding(s, "GPU", card.address, card.address, why)
        elif reason:
            kept.append((card.address, reason))
        else:
            open_question.append(card.address)
    job = _job(s)
    if job:
        kept += [(address, f"{job} gives a job only the GPUs that the job requested") for address in open_question]
        open_question = []
    if kept:
        reasons = " ".join(f"{address}: {reason}." for address, reason in kept)
        facts = {**numbers.facts(s), "not_given": [address for address, _ in kept]}
        title = f"{len(kept)} of this machine's GPUs {'was' if len(kept) == 1 else 'were'} not given to this session"
        yield CHECK.remark(title, f"{numbers.words(s)} {reasons}", facts=facts)
    if open_question:
        yield _open(s, open_question)


def _open(s: Snapshot, addresses: list[str]) -> Finding:
    answers = {address: by_driver.opening for address in addresses if (by_driver := _of_driver(s, address))}
    hung = [
        address for address, answer in answers.items() if isinstance(answer, Missing) and answer.reason == "timeout"
    ]
    which, many = ", ".join(addresses), len(addresses) != 1
    detail = (
        f"{numbers.words(s)} The driver is bound to {which}, but NVML does not list {'them' if many else 'it'}. A "
        f"control group or a batch system may hide {'them' if many else 'it'} from this session, or "
        f"{'they no longer respond' if many else 'it no longer responds'}. Run 'dmesg | grep -i xid' as root: Xid 79 "
        "means that a GPU is lost."
    )
    if hung:
        detail += f" The attempt to open {', '.join(hung)} did not return."
    title = f"{len(addresses)} GPUs are" if many else f"The GPU at {which} is"
    title += " either lost or not given to this session; which of the two is unknown"
    return CHECK.unknown(title, detail, facts={**numbers.facts(s), "unlisted": addresses})


def _whole(s: Snapshot) -> bool:
    """Whether this is the whole machine: a container sees only what it was given, and WSL has no such list."""
    return not container_kind(s) and not is_wsl(s)


def _silent(s: Snapshot) -> list[PciDevice]:
    """Cards that are bound to the driver but unknown to NVML, without virtual functions."""
    if not _whole(s) or (isinstance(s.gpus, Missing) and known(s.driver.nvml_init) != NVML_GPU_IS_LOST):
        return []
    bound = _held(s)
    listed = {known(gpu.pci_address) for gpu in known(s.gpus) or ()}
    held, by_driver = known(s.driver.proc_gpus), known(s.driver.unlisted_gpus)
    if by_driver is not None:  # /proc/driver/nvidia/gpus names them: what is not in it is a virtual function
        names = {gpu.pci_address for gpu in by_driver}
        return [card for card in bound if card.address in names and card.address not in listed]
    silent = [card for card in bound if card.address not in listed]
    return silent if held is None or held > len(listed - {None}) else []


def _held(s: Snapshot) -> list[PciDevice]:
    return [card for card in nvidia_cards(s) or () if card.driver == "nvidia"]


def _of_driver(s: Snapshot, address: str) -> UnlistedGpu | None:
    return next((gpu for gpu in known(s.driver.unlisted_gpus) or () if gpu.pci_address == address), None)


def _lost(gpu: Gpu) -> bool:
    facts = (gpu.name, gpu.uuid, gpu.memory_total_mib, gpu.temperature_c, gpu.power_draw_w, gpu.compute_capability)
    return any(isinstance(f, Missing) and f.reason == "error" and "lost" in f.detail.lower() for f in facts)


def _gone(s: Snapshot, address: str) -> str:
    """What says that the GPU is lost; empty if nothing does."""
    by_driver = _of_driver(s, address)
    if by_driver is None:
        return ""
    if by_driver.fell_off_in_log is True:
        return "the kernel log reports that it has fallen off the bus"
    return GONE.get(by_driver.opening, "") if isinstance(by_driver.opening, str) else ""


def _kept(s: Snapshot, address: str) -> str:
    """Why this session does not have the GPU; empty if unknown."""
    by_driver = _of_driver(s, address)
    if by_driver is None:
        return ""
    if by_driver.excluded is True:
        return "the module option NVreg_ExcludedGpus excludes it"
    node = known(by_driver.node)
    if isinstance(by_driver.opening, str) and by_driver.opening in REFUSED:
        by = "a control group or the driver" if by_driver.opening == "EPERM" else "the node's file mode"
        return f"{by} denies access to {node} ({by_driver.opening})"
    if node and isinstance(by_driver.opening, Missing) and by_driver.opening.reason == "absent":
        return f"{node} does not exist"
    return ""


def _job(s: Snapshot) -> str:
    variables = {v.name for v in known(s.host.environment) or ()}
    if "JOB_ID" in variables and not variables & {"SGE_ROOT", "SGE_TASK_ID", "PE_HOSTFILE"}:
        variables -= {"JOB_ID"}  # set by a CI system, or anything else
    return next((name for variable, name in _JOBS.items() if variable in variables), "")


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _finding(s: Snapshot, name: str, address: str, key: str, why: str) -> Finding:
    cycle = power_cycle(s)
    away = other_host(s, "with healthy GPUs (and tell the provider about this one)")
    which = f"The {name} at {address}" if address else f"A GPU ({key})" if key else "A GPU"
    return CHECK.fail(
        f"{which} no longer responds",
        f"The kernel driver is bound to this GPU, but {why}.",
        facts={"gpu": address or key, "said": why},
        subject=key or address,
        fixes=(away, cycle) if container_kind(s) else (cycle,),
    )
