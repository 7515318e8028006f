"""Was the GPU really used? What a proof or a watched run shows, device by device, as text."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from ..snapshot import Load, Measured, Missing, Snapshot, StepEnd, TorchProof, Watch, known
from ..snapshot.device_names import in_short
from ..snapshot.measured_proof import PROVES_NOTHING
from .measured_driver import OUT_OF_MEMORY, driver_error, driver_failed
from .measured_results import wrong_results
from .watched_run import ended_early, loader_at_limit

Word: TypeAlias = Literal["gpu-path-used", "gpu-path-unused", "gpu-wrong-results", "unknown"]
SLOW = ("slow", "starved")
_WORST: tuple[Word, ...] = ("gpu-wrong-results", "gpu-path-unused", "unknown", "gpu-path-used")
BUSY_PERCENT = 1.0
"""Of a watched run: a GPU with less to do than this had nothing to do."""
WORK_SM_PERCENT = 0.005
"""Mean activity of the SMs (GPM) that only kernels explain. On an H100, a program that held a context for 10 s showed
0.000, one that ran 117 steps of a small layer 0.018 (`tests/fixtures/h100`)."""
COPY_MB_S, _IDLE_MB_S = 100.0, 3.0
"""Over PCIe in both directions together: more than an idle machine's by this, a program copies data; and an idle
machine's own (the same H100 received 1 MB/s and sent 2)."""


class Path(NamedTuple):
    """One device (or `watch`): the verdict and its proof as a sentence; key of its GPU where it is known."""

    word: Word
    reason: str
    device: str = ""
    key: str = ""


def cpu_was_measured(m: Measured) -> bool:
    """Whether the CPU was asked for, and not a GPU."""
    return known(m.device) == "cpu"


def cuda_proofs(m: Measured) -> list[TorchProof]:
    """torch's proofs on GPUs."""
    return [proof for proof in known(m.torch) or () if proof.device.startswith("cuda")]


def overall(found: list[Path]) -> Path:
    """The worst of them; unknown where nothing was proven."""
    if not found:
        return Path("unknown", "nothing shows whether a GPU was used")
    return min(found, key=lambda path: _WORST.index(path.word))


def paths(s: Snapshot) -> list[Path]:
    """Every GPU that was asked for, and the watched program."""
    m = s.measured
    found = [_watched(m, m.watch)] if m.watch else []
    if cpu_was_measured(m):
        if known(m.torch_devices) == ():
            found.append(Path("gpu-path-unused", "measured on the CPU, as requested; torch sees no GPU here"))
        return found
    proofs = cuda_proofs(m)
    found += [_proven(proof, m) for proof in proofs]
    done = {proof.device for proof in proofs}
    found += [
        Path("gpu-path-unused", _ended(end, m), end.device)
        for end in m.ended
        if end.agent == "torch_proof"
        and end.fault not in PROVES_NOTHING
        and end.device.startswith("cuda")
        and end.device not in done
    ]
    reached = {path.device for path in found} - {"watch"}
    if reached:
        found += _not_reached(m, reached)
    elif m.watch is None or not isinstance(m.torch_devices, Missing):
        found.append(_nothing_ran(m))
    found += _failed_alone(m, done | reached)
    counted, offered = len(known(s.driver.cuda_devices) or ()), len(known(m.torch_devices) or ())
    cap = s.cap("measured-devices")
    if m.device == "cuda" and cap:
        found.append(Path("unknown", f"the test ran on {cap.looked} of the {cap.listed} GPUs that torch lists"))
    elif m.device == "cuda" and 0 < offered < counted:
        found.append(Path("unknown", f"torch sees {offered} of the {counted} GPUs that libcuda reports"))
    return found + [
        Path(
            "gpu-wrong-results",
            f"{proof.wrong_elements or 'some'} results of a kernel run through libcuda alone are wrong",
            f"cuda:{proof.device}",
            proof.key,
        )
        for proof in known(m.driver) or ()
        if known(proof.right) is False
    ]


def _ended(end: StepEnd, m: Measured) -> str:
    offered = known(m.torch_devices)
    if offered and end.device not in offered:
        return f"{end.device} was requested, but torch sees {in_short(offered)}"
    detail = f" ({end.detail})" if end.detail else ""
    return f"torch's test on {end.device} did not finish: {end.fault} in {end.step}{detail}"


def _not_reached(m: Measured, reached: set[str]) -> list[Path]:
    """The GPUs that torch sees but that were not tested because the time ran out first."""
    left = [device for device in known(m.torch_devices) or () if device not in reached]
    if not left or known(m.device) != "cuda":
        return []
    ends = [end for end in m.ended if end.agent == "torch_proof" and end.fault in PROVES_NOTHING]
    skipped = ends[0] if ends else None
    why = f": {skipped.detail}" if skipped and skipped.detail else ""
    return [Path("unknown", f"torch was not tested on {', '.join(left)}{why}")]


def _failed_alone(m: Measured, reported: set[str]) -> list[Path]:
    """GPUs on which the kernel by libcuda failed while it ran on others, and of which torch says nothing."""
    proofs = known(m.driver) or ()
    bad = [proof for proof in proofs if driver_failed(proof)]
    if len(bad) == len(proofs):  # then nothing runs at all, which is reported once
        return []
    keys = {proof.key for proof in cuda_proofs(m) if proof.key}
    return [
        Path(
            "gpu-path-unused",
            f"{_named(f'cuda:{proof.device}', proof.name)}: a kernel run through libcuda alone failed, "
            f"{driver_error(proof)}",
            f"cuda:{proof.device}",
            proof.key,
        )
        for proof in bad
        if f"cuda:{proof.device}" not in reported and proof.key not in keys
    ]


def _nothing_ran(m: Measured) -> Path:
    devices = m.torch_devices
    ends = [end for end in m.ended if end.agent == "torch_proof" and end.fault not in PROVES_NOTHING]
    slow = next((end for end in m.ended if end.agent == "torch_proof" and end.fault in SLOW), None)
    if not isinstance(devices, Missing):
        if not devices:
            return Path("gpu-path-unused", "torch sees no GPU: torch.cuda.is_available() is False")
        wanted = known(m.device) or "cuda"
        absent = [name for name in wanted.split(",") if name not in ("cuda", *devices)]
        if absent:
            words = f"{', '.join(absent)} was requested, but torch sees {', '.join(devices)}"
            return Path("gpu-path-unused", words, absent[0])
    elif slow is not None and not ends:
        return Path("unknown", f"torch's test ran out of time: {slow.detail}")
    elif devices.reason in ("error", "absent"):
        return Path("gpu-path-unused", f"torch could not be queried for GPUs ({devices.detail or devices.reason})")
    if ends:
        return Path("gpu-path-unused", f"torch's test did not finish: {ends[0].fault} in {ends[0].step}")
    return Path("unknown", "torch's test gave no result")


def _named(device: str, name: str) -> str:
    return f"{device} ({name})" if name else device


def _proven(proof: TorchProof, m: Measured) -> Path:
    about = (proof.device, proof.key)
    name = _named(proof.device, proof.name)
    if isinstance(proof.right, Missing):
        what = f"torch could not compute on {name}"
        step = f" in {proof.failed_step}" if proof.failed_step else ""
        why = f": {proof.fault}{step}" if proof.fault else step
        if proof.error:
            why += f" ({proof.error})" if why else f": {proof.error}"
        memory = known(proof.error_code) == OUT_OF_MEMORY or "out of memory" in proof.error.lower()
        if proof.fault in PROVES_NOTHING or memory or not why:
            return Path("unknown", what + why + (". No memory was free for the test" if memory else ""), *about)
        return Path("gpu-path-unused", what + why, *about)
    if not proof.right:
        return Path("gpu-wrong-results", f"torch's results on {name} are wrong: {_errors(proof)}", *about)
    if wrong := wrong_results(m, proof.device):
        return Path("gpu-wrong-results", f"{name}: {'; '.join(wrong)}", *about)
    if proof.tensor_device and not proof.tensor_device.startswith("cuda"):
        where = f"the results that should be on {name} are on {proof.tensor_device}"
        unseen = known(proof.process_seen) is False
        return Path("gpu-path-unused", where + (", and NVML did not see the process" if unseen else ""), *about)
    return Path("gpu-path-used", _shown(proof, name), *about)


def _errors(proof: TorchProof) -> str:
    limit = known(proof.tolerance)
    words = [
        f"{what} off by {error:.2g} times the largest value"
        for what, error in (("matmul", known(proof.matmul_error)), ("convolution", known(proof.conv_error)))
        if error is not None and (limit is None or not error <= limit)
    ]
    return " and ".join(words or ["they differ from the float64 results on the CPU"]) + (
        f" (allowed: {limit:.2g})" if limit is not None else ""
    )


def _shown(proof: TorchProof, name: str) -> str:
    words = [f"torch computed on {name}, and the results are correct"]
    if (peak := known(proof.peak_mib)) is not None:
        words.append(f"{peak:.0f} MiB allocated there")
    seen = known(proof.process_seen)
    if seen is not None:
        memory = known(proof.process_mib)
        inside = f" using {memory:.0f} MiB" if seen and memory is not None else ""
        words.append(f"NVML {'saw' if seen else 'did not see'} the process{inside}")
    if (percent := known(proof.utilization_percent)) is not None:
        words.append(f"up to {percent:.0f} % busy")
    return ", ".join(words)


def _watched(m: Measured, w: Watch) -> Path:
    used, busy = known(w.uses_gpu), known(w.gpu_busy_percent)
    key = w.gpu_keys[0] if w.gpu_keys else ""
    if used is None:
        detail = w.uses_gpu.detail if isinstance(w.uses_gpu, Missing) else ""
        why = f": {detail}" if detail else ""
        return Path("unknown", f"gpudoctor could not see whether {w.program} used a GPU{why}", "watch", key)
    early = ended_early(w)
    if not used:
        span = f"{w.seconds:.0f} s" if w.seconds >= 1 else "less than a second"
        ran = f"{w.program} {'was watched for' if w.attached else 'ran'} {span} and used no GPU"
        if early:
            return Path("unknown", f"{ran}; it {early}, so this proves nothing", "watch", key)
        return Path("gpu-path-unused", ran, "watch", key)
    if busy is None:
        return Path("gpu-path-used", f"{w.program} had a GPU open; how busy it was is unknown", "watch", key)
    memory = known(w.gpu_memory_max_mib)
    held = f" and used {memory:.0f} MiB of its memory" if memory is not None else ""
    if busy < BUSY_PERCENT and early:
        return Path("unknown", f"{w.program} opened a GPU{held}; it {early}, and no GPU work was seen", "watch", key)
    if busy < BUSY_PERCENT:
        return _idle_by_utilization(m, w, f"{w.program} opened a GPU{held}", key)
    if shared(w):
        words = f"{w.program} opened a GPU{held}; all programs on it together kept it busy {busy:.0f} % of the time"
        return Path("gpu-path-used", words, "watch", key)
    return Path("gpu-path-used", f"{w.program} kept a GPU busy {busy:.0f} % of the time{held}", "watch", key)


def _idle_by_utilization(m: Measured, w: Watch, opened: str, key: str) -> Path:
    """A GPU that utilization shows as idle: short kernels and copies do not appear in it, so look for their traces."""
    loads = [load for load in known(m.loads) or () if load.phase == "watch" and load.key in w.gpu_keys]
    activity = [percent for load in loads if (percent := known(load.sm_activity_percent)) is not None]
    copied = max(map(_copied_mb_s, loads), default=0.0)
    ran = max(activity, default=0.0)
    busy = max((known(load.utilization_percent) or 0.0 for load in loads), default=0.0)
    traces = [
        f"{copied:.0f} MB/s were copied to and from the GPU" if copied >= COPY_MB_S else "",
        f"kernels used {ran:.2g} % of the SMs' time" if ran >= WORK_SM_PERCENT else "",
        f"the GPU was busy {busy:.2g} % of the time" if busy >= BUSY_PERCENT else "",
    ]
    if seen := " and ".join(filter(None, traces)):
        # SMs, links and the GPU's own utilization are counted for all programs on it.
        if known(w.others_on_gpu):
            return Path("unknown", f"{opened}; {seen}, because of this program or others on that GPU", "watch", key)
        if not (copied >= COPY_MB_S or ran >= WORK_SM_PERCENT) and w.gpu_busy_by == "process":
            return Path("unknown", f"{opened}; {seen}, but NVML counted no work by this program", "watch", key)
        return Path("gpu-path-used", f"{opened}; {seen}", "watch", key)
    if not activity and loader_at_limit(w):
        # The workers explain an idle GPU, and without the SMs' activity nothing shows that no kernel ran.
        return Path("unknown", f"{opened}; it may have run a few short kernels that leave no trace", "watch", key)
    return Path("gpu-path-unused", f"{opened}, but gave it no work", "watch", key)


def _copied_mb_s(load: Load) -> float:
    """What its links carried more than those of an idle machine. Copies between GPUs over NVLink leave PCIe idle."""
    pcie = sum(known(rate) or 0.0 for rate in (load.pcie_rx_mb_s, load.pcie_tx_mb_s)) - _IDLE_MB_S
    return max(pcie, known(load.nvlink_mb_s) or 0.0)


def shared(w: Watch) -> bool:
    """Whether NVML could not tell this program's work on the GPU from that of others there."""
    return w.gpu_busy_by == "device" and bool(known(w.others_on_gpu))
