"""The driver does not meet the container image's requirements.

What is wrong: the image sets NVIDIA_REQUIRE_CUDA (or a similar variable), a condition on the host's CUDA version,
driver, brand or architecture. This host does not meet it.

Symptoms: the container does not start: `nvidia-container-cli: requirement error: unsatisfied condition:
cuda>=12.8`. If it did start, the engine did not check the condition (CDI does not), and whatever needs the newer driver
fails later.

Why it happens: the image's CUDA is newer than the host's driver. The condition also allows some older driver branches,
but these do not count on GeForce boards, because they are listed for data-center brands only.

How to fix it: use a host with a newer driver, or an image with an older CUDA version. NVIDIA_DISABLE_REQUIRE=1 at
container start turns the condition off; this helps only if the programs inside need no more than the driver offers.

Two tools check such conditions, each by its own rules. The finding follows the legacy hook; its facts list both
results.

Source: NVIDIA/libnvidia-container, src/cli/dsl.c; NVIDIA/nvidia-container-toolkit, internal/requirements.
"""

from __future__ import annotations

import re

from ..findings import Check, Findings, Fix, Matrix, Policy, Skip
from ..fixes.driver import other_host
from ..fixes.images import disable_require, newer_driver_for
from ..fixes.machine import driver_platform
from ..fixes.where import RECHECK, driver_changes
from ..snapshot import Missing, NeedsFact, Snapshot, known, need
from ..snapshot.require import brand, required
from ._seen import BROKEN_DRIVER, DRIVERLESS, NOT_GIVEN

CHECK = Check(
    __name__,
    title="The driver does not meet the image's requirement",
    sound="The driver meets the image's requirement",
    severity="error",
    layer="container",
    tags=("container", "driver"),
    downstream_of=("driver-too-old-for-cuda-build", *DRIVERLESS, *NOT_GIVEN, *BROKEN_DRIVER),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails if the condition is not met and CUDA was not seen to start; a remark if torch works anyway."""
    cuda = known(s.driver.nvml_cuda_version)
    if cuda is None and (version := known(s.driver.version)):
        row = m.driver_branch(version).row
        cuda = row.cuda if row else None
    answer = required(s, cuda)
    if isinstance(answer, Missing):
        raise NeedsFact("container.requirements", answer)
    if answer is None:
        raise Skip("the image has no driver requirement, or NVIDIA_DISABLE_REQUIRE is set")
    hook = answer.hook
    if hook.satisfied is None:
        need("driver.nvml_cuda_version", s.driver.nvml_cuda_version)
        raise NeedsFact("gpus", Missing("absent", f"it is unknown whether {hook.term} is met"))
    if hook.satisfied:
        return
    works = s.torch_run.cuda_available is True
    make = CHECK.remark if works else CHECK.warn if s.driver.cu_init == 0 else CHECK.fail
    requested = hook.term or dict(answer.requested).get(hook.variable, "")
    wanted = re.search(r"cuda>=(\d{1,3}\.\d{1,3})", requested)
    detail = _of_this_host(s, requested, cuda)
    if hook.error:
        detail = f"The condition cannot be read: {hook.error}."
    elif works:
        detail += " torch works anyway, but another host may refuse to start this image."
    newer: tuple[Fix, ...]
    if requested and not re.search(r"\b(?:cuda|driver)\b", requested):  # no driver changes the GPU
        newer = (other_host(s, f"whose GPUs meet {requested}", {**driver_changes(), "gpus": RECHECK}),)
    else:
        newer = newer_driver_for(s, m, wanted[1] if wanted else "", whole=True)
    without = disable_require(s)
    yield make(
        f"This host does not meet the image's requirement {requested or hook.variable} ({hook.variable})",
        detail.strip(),
        facts={
            "variable": hook.variable,
            "term": hook.term,
            "driver_cuda": cuda,
            "driver": known(s.driver.version),
            "libnvidia_container": hook.satisfied,
            "container_toolkit": answer.toolkit.satisfied,
        },
        direct=False,
        fixes=(without, *newer) if _runs(s, m) else (*newer, without),
    )


def _of_this_host(s: Snapshot, requested: str, cuda: str | None) -> str:
    """What this host has of each property that the condition names: `The driver's CUDA version is 12.2.`"""
    gpus = known(s.gpus) or ()
    have = {
        "cuda": f"The driver's CUDA version is {cuda}." if cuda else "",
        "driver": f"The driver is {version}." if (version := known(s.driver.version)) else "",
        "arch": _each("compute capability", {known(gpu.compute_capability) for gpu in gpus}),
        "brand": _each("brand", {brand(known(gpu.brand_id)) for gpu in gpus}),
    }
    named = [text for name, text in have.items() if re.search(rf"\b{name}\b", requested)]
    return " ".join(filter(None, named or [have["cuda"]]))


def _each(what: str, values: set[str | None]) -> str:
    found = sorted(value for value in values if value)
    return f"The GPUs' {what} is {' and '.join(found)}." if found else ""


def _runs(s: Snapshot, m: Matrix) -> bool:
    """Whether the driver runs what is inside, whatever the label asks for."""
    cuda, driver = known(s.torch.cuda) or known(s.container.image_cuda), known(s.driver.version)
    if not cuda or not driver:
        return False
    return m.driver_for_cuda(driver, cuda, driver_platform(s)).grade in ("native", "minor-version")
