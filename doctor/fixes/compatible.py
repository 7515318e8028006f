"""How to get a torch that fits this machine: the easiest way first, so that there is always one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from compat_matrix.versions import numbers, tag_cuda, torch_version
from compat_matrix.which_torch import USUAL

from ..findings import Fix, Matrix, Step
from ..snapshot import EnvVar, Missing, Snapshot, known
from .driver import install_offered, offer, other_host
from .jetson import jetson_build
from .machine import capabilities, driver_platform, jetson, seen_gpus
from .python import compatible_python, new_python_fix
from .torch import install_torch, is_installed
from .where import RECHECK, driver_changes, recheck_run
from .which_torch import which_torch


def compatible_torch(s: Snapshot, m: Matrix) -> Fix | None:
    """Install a build; else with a different Python; else after a newer driver; else for some of the GPUs.

    If no GPU is known, a build for the usual ones. On Jetson (its driver is part of JetPack), NVIDIA's own. None only
    if there are no wheels at all (macOS, musl).
    """
    wanted = capabilities(s, m)
    if jetson(s, m):
        return jetson_build(s)
    if not wanted:
        usual = usual_gpus(s, m)
        title = "Install a CUDA build of torch (run gpudoctor on the GPU machine for the exact one)"
        return (
            install_torch(s, m, gpus=usual, title=title)
            or new_python_fix(s, m, usual)
            or _after_driver(s, m, usual)
            or _other_platform(s)
        )
    return (
        install_torch(s, m)
        or new_python_fix(s, m)
        or _after_driver(s, m, wanted)
        or _newer_torch(s, m, wanted)
        or _for_some(s, m, wanted)
        or other_gpu(s)
    )


def _newer_torch(s: Snapshot, m: Matrix, wanted: Sequence[str]) -> Fix | None:
    """For a GPU that is newer than the matrix: a torch that is newer too. None where all GPUs are listed."""
    unlisted = [f"sm_{cc.replace('.', '')}" for cc in wanted if m.compute_capability(cc) is None]
    if not unlisted:
        return None
    names = " and ".join(unlisted)
    newest = max((row.torch for row in m.releases), key=numbers)
    text = (
        f"Choose a torch release or nightly build whose release notes mention {names}. gpudoctor's matrix lists no "
        f"such build: it ends at torch {newest}, and a newer gpudoctor may list one."
    )
    step = Step(text=text, where="environment", changes=_other_torch(s))
    return Fix(id="newer-torch", title=f"Install a newer torch that supports {names}", steps=(step,))


def other_gpu(s: Snapshot) -> Fix:
    """A different machine: no published build, or no driver that a build needs, supports this machine's GPU."""
    return other_host(s, "with a GPU that a published torch build supports", {**driver_changes(), **_other_torch(s)})


def _other_platform(s: Snapshot) -> Fix:
    """Torch publishes no CUDA build for this one: macOS, musl, a Python that no wheel is made for."""
    changes = {**driver_changes(), **_other_torch(s), "host.system": RECHECK, "host.libc": RECHECK}
    return other_host(s, "with Linux (glibc) or Windows, for which PyTorch publishes CUDA builds", changes)


def usual_gpus(s: Snapshot, m: Matrix) -> tuple[str, ...]:
    """GPUs to choose a build for where none is known: those that the installed release has a build for."""
    parts = torch_version(known(s.torch.version) or "")
    base = parts.base if parts else ""
    for gpus in (USUAL, USUAL[:3], ("7.0",)) if base else ():
        choice = which_torch(s, m, gpus=gpus, any_python=True, any_driver=True)
        if choice and choice.build.torch == base:
            return gpus
    return USUAL


def _other_torch(s: Snapshot) -> dict[str, Any]:
    """On a different machine, torch is a different build, too: the one that fits there."""
    return {**{f"torch.{name}": RECHECK for name in s.torch.__struct_fields__}, **recheck_run(s)}


def _after_driver(s: Snapshot, m: Matrix, wanted: Sequence[str]) -> Fix | None:
    """A newer driver first, then the build that fits it."""
    python = ""
    choice = which_torch(s, m, gpus=wanted, any_driver=True)
    if choice is None:
        choice = which_torch(s, m, gpus=wanted, any_driver=True, any_python=True)
        if choice is None:
            return None
        python = compatible_python(s, m, wanted, any_driver=True)
    build = choice.build
    platform = driver_platform(s)
    grade = m.driver_for_cuda(known(s.driver.version) or "0", tag_cuda(build.tag) or "", platform)
    rows = [row for cc in wanted if (row := m.compute_capability(cc))]
    floor = max([*(numbers(grade.floor_minor)[:1] or (0,)), *(row.first_driver or 0 for row in rows)])
    open_module = any(row.open_module == "required" for row in rows)
    found = offer(s, m, floor, gpus=wanted)
    if found is None:
        return None
    driver = install_offered(s, found, "open" if open_module else "")[0]
    if not python and is_installed(s, m, build):
        return driver
    after = s
    for step in driver.steps:
        after = after.replace(step.changes)
    torch = install_torch(after, m, gpus=wanted, python=python)
    if torch is None:
        return None
    return Fix(
        id="newer-driver-and-torch",
        title=f"{driver.title}, then install torch {build.torch} ({build.tag})",
        steps=(*driver.steps, *torch.steps),
        note=torch.note,
        source=torch.source,
    )


def _for_some(s: Snapshot, m: Matrix, wanted: Sequence[str]) -> Fix | None:
    """No build supports all GPUs: show programs the largest set of GPUs that one build supports."""
    gpus = [gpu for gpu in seen_gpus(s, m) or () if not gpu.hidden]
    choices = []
    for left_out in wanted:
        rest = [cc for cc in wanted if cc != left_out]
        served = [gpu for gpu in gpus if gpu.capability in rest]  # none where only the PCI bus shows the GPUs
        if served and drivable(s, m, left_out) and which_torch(s, m, gpus=rest, any_python=True):
            choices.append((served, rest))
    if not choices:
        return None
    kept, rest = max(choices, key=lambda choice: len(choice[0]))
    step = show_only(s, [gpu.key for gpu in kept])
    after = s.replace(step.changes)
    torch = install_torch(after, m, gpus=rest) or new_python_fix(after, m, rest)
    if torch is None:
        return None
    names = ", ".join(dict.fromkeys(gpu.name for gpu in kept))
    title = f"Use {names} only: no torch build supports all GPUs here"
    return Fix(id="use-some-gpus", title=title, steps=(step, *torch.steps), note=torch.note, source=torch.source)


def drivable(s: Snapshot, m: Matrix, capability: str) -> bool:
    """Whether the driver is not known to be wrong for a GPU (then hiding it from programs hides a fault)."""
    driver = known(s.driver.version)
    if driver is None:
        return True
    grade = m.driver_for_gpu(driver, capability, known(s.driver.kernel_flavour), driver_platform(s))
    return grade.grade in ("ok", "unknown")


def show_only(s: Snapshot, keys: Sequence[str]) -> Step:
    """Make only these GPUs visible to programs."""
    numbered = {
        key for key in keys if re.fullmatch(r"gpu-\d{1,3}", key)
    }  # a text numbers GPUs, it seldom has their UUIDs
    value = ",".join(key[4:] if key in numbered else key for key in keys)
    others = tuple(v for v in known(s.host.environment) or () if v.name != "CUDA_VISIBLE_DEVICES")
    devices = known(s.driver.cuda_devices)
    changes: dict[str, Any] = {
        **recheck_run(s),
        "host.environment": (*others, EnvVar("CUDA_VISIBLE_DEVICES", value)),
        "driver.cuda_devices": tuple(d for d in devices if known(d.uuid) in keys) or RECHECK if devices else RECHECK,
    }
    if numbered:
        changes["gpus"] = tuple(g for g in known(s.gpus) or () if g.key in keys)
    if isinstance(s.driver.cu_init, Missing) or s.driver.cu_init != 0:
        changes["driver.cu_init"] = RECHECK
    command = f"export CUDA_VISIBLE_DEVICES={value}"
    return Step(text="Make only these GPUs visible to programs.", command=command, where="shell", changes=changes)
