"""CUDA_VISIBLE_DEVICES hides the GPUs: it is empty, or names a GPU that does not exist.

What is wrong: this variable controls which GPUs CUDA may see. CUDA stops reading the list at an empty value, -1, an
index that is too high or an unknown identifier: neither that entry nor any entry after it is visible.
NVIDIA_VISIBLE_DEVICES plays the same role when a container starts: `none`, `void` or an empty value gives the container
no GPU.

Symptoms: `No CUDA GPUs are available`, `is_available()` is False, `device_count()` is lower than expected, while
nvidia-smi lists all GPUs, because it does not read this variable.

Why it happens: a script was written for a machine with more GPUs; a notebook sets the variable, or it is left over from
a batch system; or an index was meant for nvidia-smi's order.

How to fix it: unset the variable, or name GPUs that exist, before the program starts. GPU-... and MIG-... identifiers
(a unique prefix is enough) are valid.

Source: CUDA C++ Programming Guide, environment variables.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy
from ..fixes.container import start_with, variable_line
from ..fixes.selection import show_gpus
from ..fixes.where import container_kind
from ..snapshot import Gpu, Missing, Snapshot, known, need
from ._seen import need_whole, nodes_of

CHECK = Check(
    __name__,
    title="CUDA_VISIBLE_DEVICES hides GPUs",
    sound="CUDA_VISIBLE_DEVICES has no invalid entry",
    severity="error",
    layer="libraries",
    tags=("selection", "gpu"),
    downstream_of=("no-nvidia-gpu", "driver-not-installed", "driver-not-loaded", "scheduler-gpu-allocation"),
)
NAME = "CUDA_VISIBLE_DEVICES"


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Compares the variable with the GPUs that NVML lists; CUDA's own list of devices settles doubts."""
    yield from _at_start(s)
    value = need("host.environment", s.host.env(NAME))
    if value is None:
        return
    entries = [entry.strip() for entry in value.split(",")]
    facts = {"value": value}
    if not value.strip() or entries[0] in ("-1", "NoDevFiles"):
        effect = f"{NAME} is '{value}', which hides every GPU"
        if p.expect.kind == "any":
            yield CHECK.remark(effect, facts=facts, subject=NAME)
        else:
            detail = (
                "CUDA sees none of this machine's GPUs; nvidia-smi does not read this variable, so it still lists them."
            )
            yield CHECK.fail(effect, detail, facts=facts, subject=NAME, fixes=show_gpus(s, NAME))
        return
    seen = known(s.driver.cuda_devices) if s.driver.cu_init == 0 else None
    if seen is not None and len(seen) >= len(entries) and len(set(entries)) == len(entries):
        return  # every entry became a device
    gpus = need("gpus", s.gpus)
    need_whole(s, "gpus")
    bad = next((i for i, entry in enumerate(entries) if _problem(entry, entries[:i], gpus)), None)
    if bad is None:
        return
    problem = _problem(entries[bad], entries[:bad], gpus)
    if problem == "unread":
        for index, gpu in enumerate(gpus):
            if "GPU-" in entries[bad]:
                need(f"gpus.{index}.uuid", gpu.uuid)
            elif _may_have_instances(gpu):
                need(f"gpus.{index}.mig_instances", gpu.mig_instances)
    good = [e for i, e in enumerate(entries) if e not in entries[:i] and _problem(e, [], gpus) in ("", "unread")]
    left = 0 if problem == "twice" else bad
    how = {"twice": "is listed twice", "index": f"is too high for {len(gpus)} GPU{'s' * (len(gpus) != 1)}"}
    title = f"{NAME}={value}: '{entries[bad]}' {how.get(problem, 'does not match any GPU on this machine')}"
    detail = f"CUDA stops at that entry, so it sees {left} device{'s' * (left != 1)}."
    fixes = show_gpus(s, NAME, good)
    make = CHECK.warn if left else CHECK.fail
    yield make(title, detail, facts={**facts, "gpus": len(gpus), "visible": left}, subject=NAME, fixes=fixes)


def named(value: str, gpus: tuple[Gpu, ...]) -> int:
    """How many of these GPUs a value of the variable leaves visible, as far as the list shows."""
    entries = [entry.strip() for entry in value.split(",")]
    wrong = (i for i, entry in enumerate(entries) if _problem(entry, entries[:i], gpus))
    first = next(wrong, len(entries))
    return 0 if first < len(entries) and entries[first] in entries[:first] else first


def _problem(entry: str, before: list[str], gpus: tuple[Gpu, ...]) -> str:
    """Empty if the entry is good; otherwise index, unknown or twice; unread if what it may name is not known."""
    if entry in before:
        return "twice"
    if entry.isascii() and entry.isdecimal():
        return "index" if int(entry[:9]) >= len(gpus) else ""
    if entry.startswith("GPU-"):
        names = [known(g.uuid) for g in gpus]
    elif entry.startswith("MIG-"):
        if entry.startswith("MIG-GPU-"):  # drivers before 470: MIG-GPU-<uuid>/<gpu instance>/<compute instance>
            names = [uuid and f"MIG-{uuid}" for uuid in map(known, (g.uuid for g in gpus))]
            entry = entry.partition("/")[0]
        else:
            lists = [known(g.mig_instances) for g in gpus]
            names = [known(i.uuid) for instances in lists for i in instances or ()]
            names += [None for g in gpus if _may_have_instances(g)]
    else:
        return "unknown"
    if sum(str(name).startswith(entry) for name in names) == 1:
        return ""
    return "unread" if None in names else "unknown"


def _may_have_instances(gpu: Gpu) -> bool:
    """Whether MIG may be on and its instances are not known."""
    off = known(gpu.mig_enabled) is False or gpu.mig_enabled == Missing("absent", "not supported")
    return isinstance(gpu.mig_instances, Missing) and not off


def _at_start(s: Snapshot) -> Findings:
    value = known(s.container.visible_devices)
    if not container_kind(s) or value is None or value.strip() not in ("", "none", "void"):
        return
    nodes = nodes_of(s, "gpu", "dxg", "tegra")
    if nodes is None or nodes or container_kind(s) == "kubernetes":
        return  # given by other means, or set by a device plugin: container-no-gpu-flag
    fix = start_with(
        s,
        "start-with-visible-devices",
        "Start the container again with GPUs",
        "When you start it, set the variable to all, or to the GPUs that the container may use.",
        variable_line(s, "NVIDIA_VISIBLE_DEVICES", "all"),
        container__visible_devices="all",
    )
    yield CHECK.fail(
        f"NVIDIA_VISIBLE_DEVICES is '{value}': the container was started without GPUs",
        "The container toolkit reads this variable when the container starts; changing it inside has no effect.",
        facts={"value": value},
        subject="NVIDIA_VISIBLE_DEVICES",
        layer="container",
        fixes=(fix,),
    )
