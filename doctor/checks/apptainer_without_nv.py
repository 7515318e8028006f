"""Apptainer or Singularity was started without --nv, so the driver's libraries are not in the container.

What is wrong: Apptainer exposes the host's /dev, but adds the driver's libraries only with `--nv`.

Symptoms: /dev/nvidia0 exists, but you see `nvidia-smi: command not found` or `Found no NVIDIA driver on your system`.

Why it happens: `apptainer exec` or `run` was used without `--nv`, or a wrapper or workflow tool left it out.

How to fix it: use `apptainer exec --nv IMAGE COMMAND`, or set APPTAINER_NV=1 in the environment.

Source: apptainer.org/docs/user, GPU support.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.container import start_with_gpu
from ..fixes.where import container_kind
from ..snapshot import Missing, NeedsFact, Snapshot, known, need
from ._given import given, not_there
from ._seen import DRIVERLESS

CHECK = Check(
    __name__,
    title="Apptainer was started without --nv",
    sound="The driver's libraries are in the Apptainer container",
    severity="critical",
    layer="container",
    tags=("container",),
    downstream_of=(*DRIVERLESS, "scheduler-gpu-allocation"),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails in Apptainer if libcuda is not found and the host has a driver."""
    if container_kind(s) != "apptainer":
        need("container.kind", s.container.kind)
        raise Skip("not in Apptainer or Singularity")
    if known(s.driver.cu_init) == 0:
        return
    found = given(s)
    if found.libcuda:
        need("driver.libcuda_path", s.driver.libcuda_path)
        return
    if found.host is False:
        raise Skip("the host has no NVIDIA kernel driver", without="gpu")
    if found.host is None and not found.nodes:
        raise NeedsFact("driver.kernel_version", Missing("absent", "cannot tell whether the host has a driver"))
    yield CHECK.fail(
        "Apptainer was started without --nv",
        f"The host has an NVIDIA driver, but this container lacks: {not_there(found)}.",
        facts={"missing": not_there(found), "kernel_version": known(s.driver.kernel_version)},
        fixes=start_with_gpu(s),
    )
