"""The container engine on this host cannot give GPUs to containers.

What is wrong: the host has a driver, GPUs and a container engine that responds, but the engine has neither the NVIDIA
Container Toolkit's hook nor an NVIDIA runtime nor a CDI specification for the GPUs.

Symptoms: `could not select device driver "" with capabilities: [[gpu]]`, `unknown or invalid runtime name: nvidia`,
`unresolvable CDI devices nvidia.com/gpu=all`, `stat nvidia.com/gpu=0: no such file or directory` from `docker run
--gpus all` or `podman run --device nvidia.com/gpu=all`; `no runtime for "nvidia" is configured` in Kubernetes.

Why it happens: the toolkit was never installed, or the engine was reinstalled or not restarted after the toolkit was
installed; Docker comes from snap or runs rootless, with a different configuration; the engine is too old for --gpus or
CDI.

How to fix it: install nvidia-container-toolkit and register it with the engine. Docker needs the toolkit's hook, which
it looks for when its daemon starts (so restart it); Podman needs a CDI specification.

On a host, this finding is a warning, because programs that run on the host itself are not affected. In pasted text, it
is a failure if an engine's error shows that a container did not start.

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
    sound="The container engine has a hook, runtime or CDI specification for GPUs",
    severity="warning",
    layer="container",
    tags=("container",),
    downstream_of=("no-nvidia-gpu", "driver-not-installed"),
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
        lacks = f"{name} {known(engine.version)} has no NVIDIA runtime and no CDI device for a GPU"
        if known(s.engines.hook) is not True:
            lacks += ", and the NVIDIA Container Toolkit's hook is not installed"
        yield CHECK.warn(
            f"{name} on this host cannot give GPUs to containers",
            f"{lacks}. Programs that run on the host itself are not affected.",
            facts={"engine": engine.kind, "runtimes": list(known(engine.runtimes) or ())},
            subject=engine.kind,
            fixes=install_toolkit(s, engine.kind, rootless=known(engine.rootless) is True),
        )
