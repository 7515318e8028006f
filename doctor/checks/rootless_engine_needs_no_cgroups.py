"""A rootless container engine will fail to start containers with GPUs.

What is wrong: the engine runs without root, or remaps its containers' users, but the NVIDIA Container Toolkit still
tries to write the container's device rules, which only root can do.

Symptoms: `nvidia-container-cli: mount error: failed to add device rules: ... bpf_prog_query(BPF_CGROUP_DEVICE)
failed: operation not permitted`.

Why it happens: `no-cgroups` in /etc/nvidia-container-runtime/config.toml is false, which is the default after
installation.

How to fix it: set it to true, or have the engine use CDI for GPUs, which needs no device rules.

Source: NVIDIA Container Toolkit, installation guide: rootless mode.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy
from ..fixes.toolkit import no_cgroups
from ..snapshot import Snapshot, known
from ._engines import answering, has_cdi

CHECK = Check(
    __name__,
    title="A rootless engine is not allowed to pass GPUs to containers",
    sound="No setting was found that keeps GPUs from rootless engines",
    severity="warning",
    layer="container",
    tags=("container",),
    downstream_of=("engine-lacks-gpu-support",),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns if a rootless engine has the toolkit's hook, no CDI, and `no-cgroups` is not set."""
    for engine in answering(s):
        bound = known(engine.rootless) is True or known(engine.userns) is True
        if not bound or known(s.engines.hook) is not True or has_cdi(s, engine):
            continue
        if known(s.engines.no_cgroups) is False:
            how = "runs without root" if known(engine.rootless) else "remaps its containers' users"
            yield CHECK.warn(
                f"{engine.kind.capitalize()} {how}: containers with GPUs will not start",
                "The toolkit would have to write the container's device rules, which only root can do (no-cgroups is "
                "false in /etc/nvidia-container-runtime/config.toml).",
                facts={"engine": engine.kind, "rootless": known(engine.rootless), "no_cgroups": False},
                subject=engine.kind,
                fixes=(no_cgroups(s, engine.kind),),
            )
