"""The CDI specification on this host names the libraries of another driver.

What is wrong: a specification under /etc/cdi or /var/run/cdi mounts driver libraries by their full version; the driver
that is loaded has another one.

Symptoms: containers with `--device nvidia.com/gpu=all` do not start (`no such file or directory` for
libcuda.so.VERSION), or find no driver.

Why it happens: the driver was updated after `nvidia-ctk cdi generate`.

How to fix it: make the specification again. Toolkit 1.18 and newer bring a service, nvidia-cdi-refresh, that does it at
each start and update.

Source: NVIDIA Container Toolkit: support for the Container Device Interface.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy, Skip
from ..fixes.toolkit import cdi_again
from ..snapshot import Snapshot, known, need
from ._engines import engines_here

CHECK = Check(
    __name__,
    title="The CDI specification is of another driver",
    sound="The CDI specification is of this driver",
    severity="warning",
    layer="container",
    tags=("container", "driver"),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns for each specification none of whose versions is the loaded driver's."""
    engines_here(s)
    specs = [spec for spec in known(s.engines.cdi) or () if spec.versions]
    if not specs:
        raise Skip("no CDI specification of GPUs")
    loaded = need("driver.kernel_version", s.driver.kernel_version)
    for spec in specs:
        if loaded not in spec.versions:
            yield CHECK.warn(
                f"{spec.path} is of driver {', '.join(spec.versions)}, and {loaded} is loaded",
                "Containers that take GPUs by CDI look for libraries that are no longer there.",
                facts={"path": spec.path, "versions": list(spec.versions), "driver": loaded},
                subject=spec.path,
                fixes=(cdi_again(s, spec.path),),
            )
