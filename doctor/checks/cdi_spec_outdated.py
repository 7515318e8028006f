"""The CDI specification on this host lists the libraries of a different driver version.

What is wrong: a specification under /etc/cdi or /var/run/cdi mounts driver libraries by their full version, and the
loaded driver has a different version.

Symptoms: containers with `--device nvidia.com/gpu=all` do not start (`no such file or directory` for libcuda.so.VERSION
or another driver file), or find no driver. Once that happens, this finding is a failure; until then, it is a warning.

Why it happens: the driver was updated after `nvidia-ctk cdi generate`.

How to fix it: regenerate the specification. Toolkit 1.18 and newer include a service, nvidia-cdi-refresh, that does
this at every boot and update.

Source: NVIDIA Container Toolkit: support for the Container Device Interface.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.toolkit import cdi_again
from ..snapshot import Snapshot, known, need
from ._engines import engines_here

CHECK = Check(
    __name__,
    title="The CDI specification is for a different driver",
    sound="The CDI specification matches this driver",
    severity="warning",
    layer="container",
    tags=("container", "driver"),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns about each specification that does not list the loaded driver's version."""
    engines_here(s)
    specs = [spec for spec in known(s.engines.cdi) or () if spec.versions]
    if not specs:
        raise Skip("no CDI specification for GPUs")
    loaded = need("driver.kernel_version", s.driver.kernel_version)
    for spec in specs:
        if loaded not in spec.versions:
            yield CHECK.warn(
                f"{spec.path} is for driver {', '.join(spec.versions)}, but {loaded} is loaded",
                "Containers that get GPUs through CDI look for libraries that no longer exist.",
                facts={"path": spec.path, "versions": list(spec.versions), "driver": loaded},
                subject=spec.path,
                fixes=(cdi_again(s, spec.path),),
            )
