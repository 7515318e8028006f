"""The container engine on this host cannot give GPUs to containers.

What is wrong: the host has a driver and GPUs, and an engine that answers; but neither the NVIDIA Container Toolkit's
hook nor a runtime of NVIDIA's nor a CDI specification of the GPUs is there.

Symptoms: `could not select device driver "" with capabilities: [[gpu]]`, `unknown or invalid runtime name: nvidia`,
`unresolvable CDI devices nvidia.com/gpu=all` from `docker run --gpus all` or `podman run --device nvidia.com/gpu=all`.

Why it happens: the toolkit was never installed, or the engine was installed anew after it.

How to fix it: install nvidia-container-toolkit and make it known to the engine. Docker needs its hook, which `--gpus`
finds on the disk; Podman needs a CDI specification.

It is a warning: what runs on the host itself is not touched.

Source: NVIDIA Container Toolkit, installation guide.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy
from ..fixes.toolkit import install_toolkit
from ..snapshot import Snapshot, known
from ._engines import answering, has_cdi, has_runtime

CHECK = Check(
    __name__,
    title="The container engine cannot give GPUs to containers",
    sound="The container engine can give GPUs to containers",
    severity="warning",
    layer="container",
    tags=("container",),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns for each engine without a hook, a runtime or CDI."""
    for engine in answering(s):
        if (
            has_cdi(s, engine)
            or has_runtime(engine)
            or (engine.kind == "docker" and known(s.engines.hook) is not False)
        ):
            continue
        name = engine.kind.capitalize()
        lacks = f"{name} {known(engine.version)} has no runtime of NVIDIA's and no CDI device of a GPU"
        if known(s.engines.hook) is not True:
            lacks += ", and the NVIDIA Container Toolkit's hook is not installed"
        yield CHECK.warn(
            f"{name} on this host cannot give GPUs to containers",
            f"{lacks}. What runs on the host itself is not touched.",
            facts={"engine": engine.kind, "runtimes": list(known(engine.runtimes) or ())},
            subject=engine.kind,
            fixes=install_toolkit(s, engine.kind, rootless=known(engine.rootless) is True),
        )
