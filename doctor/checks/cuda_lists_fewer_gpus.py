"""CUDA lists fewer GPUs than the driver, and no setting hides them.

What is wrong: NVML (and nvidia-smi) lists a GPU that CUDA leaves out of its list, so no program can compute on it.

Symptoms: `torch.cuda.device_count()` is lower than the number of GPUs in nvidia-smi; a job for all GPUs starts with
fewer, or fails with `invalid device ordinal`.

Why it happens: the driver could not set this GPU up for computing (because of a fault in the board, its link or its
memory, or because a reset is due), although it still answers queries about it. A GPU that CUDA_VISIBLE_DEVICES hides is
not a fault: the variable hides GPUs on purpose, and it is checked first. MIG is not a fault either: CUDA then shows a
process only one instance and no other GPU; this is a warning if it hides a GPU that is not in MIG mode. An MPS server
decides which GPUs its clients see. A forward-compatibility libcuda (cuda-compat) supports only some boards.

How to fix it: if cuda-compat is in use, try without it first. Otherwise look for Xid and NVRM lines in the kernel log,
and reset the GPU or restart the machine. If the GPU does not come back, use another machine and tell the provider.

Source: CUDA C++ Programming Guide, environment variables; docs.nvidia.com/datacenter/tesla/mig-user-guide, device
enumeration; docs.nvidia.com/deploy/mps, environment variables; docs.nvidia.com/deploy/cuda-compatibility.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, NotExamined, Policy, Skip
from ..fixes.libcuda import remove_compat
from ..fixes.mig import choose_whole, switch_off
from ..fixes.restart import restart
from ..snapshot import Gpu, Snapshot, known, need
from . import _gpu_numbers as numbers
from ._readings import name_of
from ._seen import ALL_CAUSES, absent, compat_in_use, is_wsl, need_gpus, need_whole, real_libcudas
from .cuda_compat_on_unsupported_gpu import refuses
from .cuda_visible_devices_wrong import named

CHECK = Check(
    __name__,
    title="CUDA lists fewer GPUs than the driver",
    sound="CUDA leaves out only GPUs that CUDA_VISIBLE_DEVICES hides",
    severity="critical",
    layer="driver",
    tags=("gpu", "cuda"),
    downstream_of=ALL_CAUSES,
)

_MPS = ("CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE")


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails if CUDA starts and leaves out GPUs that NVML lists and no mask hides."""
    if absent(s.driver.libcuda_path) and absent(s.driver.cu_init):
        raise Skip("libcuda was not found", without="gpu")
    if need("driver.cu_init", s.driver.cu_init) != 0:
        raise NotExamined("CUDA fails to initialize")
    devices = need("driver.cuda_devices", s.driver.cuda_devices)
    need_gpus(s)
    gpus = [gpu for gpu in numbers.session(s) or () if known(gpu.uuid) or known(gpu.pci_address)]
    if not devices:
        raise NotExamined("CUDA lists no GPU at all")
    need_whole(s, "gpus", "cuda-devices")
    if numbers.in_mig_mode(gpus):
        yield from _behind_mig(s, gpus)
        return
    left = numbers.unlisted(gpus, devices)
    wanted = len(gpus)
    if not left or len(devices) >= wanted:
        return
    value = need("host.environment", s.host.env(numbers.MASK))
    if value is not None:
        wanted = named(value, tuple(gpus))
        if len(devices) >= wanted:
            return  # the mask explains it; a mask that is wrong: cuda-visible-devices-wrong
    facts = {**numbers.facts(s), "left_out": [gpu.key for gpu in left], "mask": value}
    if _mps(s, gpus):
        yield CHECK.remark(f"CUDA lists {len(devices)} of {wanted} GPUs, as decided by the MPS server", facts=facts)
        return
    which = ", ".join(f"{name_of(gpu)} at {known(gpu.pci_address) or 'an unknown address'}" for gpu in left)
    why = (
        f"{numbers.MASK} is not set, so it hides nothing."
        if value is None
        else (f"{numbers.MASK}={value} names {wanted} GPU{'s' * (wanted != 1)}.")
    )
    left_out = f"CUDA leaves out {which}." if value is None else f"Not listed: {which}."
    make = CHECK.warn if is_wsl(s) else CHECK.fail  # which GPUs WSL can compute on is up to Windows
    title = f"CUDA lists {len(devices)} of {wanted} GPUs"
    detail = f"{numbers.words(s)} {left_out} {why}"
    fixes = restart(s)
    if path := compat_in_use(s):
        verb = "does" if all(refuses(s, m, path, gpu) for gpu in left) else "may"
        it = "it" if len(left) == 1 else "them"
        detail += f" CUDA is used through cuda-compat ({path}), which {verb} not support {it}."
        facts["compat_path"] = path
        fixes = (*remove_compat(s, path, next(iter(real_libcudas(s)), None)), *(fixes if verb == "may" else ()))
    yield make(title, detail, facts=facts, subject=left[0].key if len(left) == 1 else "", fixes=fixes)


def _behind_mig(s: Snapshot, gpus: list[Gpu]) -> Findings:
    """A whole GPU next to a partitioned one: CUDA lists one instance, and the whole GPU only if it is named."""
    devices = known(s.driver.cuda_devices) or ()
    whole = [gpu for gpu in numbers.unlisted(gpus, devices) if known(gpu.mig_enabled) is not True]
    if not whole or not any((known(d.uuid) or "").startswith("MIG-") for d in devices):
        raise Skip("a GPU is in MIG mode, so CUDA shows each process only one instance")
    value = need("host.environment", s.host.env(numbers.MASK))
    if value is not None and value.strip().startswith("MIG-"):
        return  # an instance was chosen
    cut = [gpu for gpu in gpus if known(gpu.mig_enabled) is True]
    names = ", ".join(name_of(gpu) for gpu in whole)
    yield CHECK.warn(
        f"MIG on {name_of(cut[0])} hides {names} from CUDA",
        f"{numbers.words(s)} With MIG on one GPU, CUDA shows a process only one instance, and a whole GPU only if "
        f"{numbers.MASK} names it by its UUID.",
        facts={**numbers.facts(s), "left_out": [gpu.key for gpu in whole], "mask": value},
        subject=whole[0].key if len(whole) == 1 else "",
        fixes=(choose_whole(s, whole), *(switch_off(s, gpu.key) for gpu in cut[:1])),
    )


def _mps(s: Snapshot, gpus: list[Gpu]) -> bool:
    """Whether CUDA may be a client of the MPS server."""
    if any(known(s.host.env(name)) is not None for name in _MPS):
        return True
    processes = [process for gpu in gpus for process in known(gpu.processes) or ()]
    return any(process.kind == "mps" or "nvidia-cuda-mps" in (known(process.name) or "") for process in processes)
