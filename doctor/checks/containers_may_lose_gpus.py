"""A systemd reload on this host would cut running containers off from their GPUs.

What is wrong: the engine lets systemd manage cgroups, the toolkit's hook adds GPUs to containers, and /dev/char lacks
the symlinks that systemd needs to find the GPU device nodes.

Symptoms: nothing, until someone runs `systemctl daemon-reload` (package updates do this); then
`Failed to initialize NVML: Unknown Error` in containers that worked.

Why it happens: the hook adds device rules that systemd does not know about, and a reload makes systemd write its own
rules again.

How to fix it: create the links (and a rule that creates them at every boot), or give containers GPUs through CDI, as
toolkit 1.18 and newer do by default.

This is a note: nothing is broken yet.

Source: github.com/NVIDIA/nvidia-docker issue 1730 and its notice.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy
from ..fixes.toolkit import char_links
from ..snapshot import Snapshot, known
from ._engines import answering, has_cdi

CHECK = Check(
    __name__,
    title="A systemd reload would cut containers off from their GPUs",
    sound="No engine here is known to cut containers off from GPUs at a systemd reload",
    severity="info",
    layer="container",
    tags=("container",),
)
BY_CDI = (1, 18)
"""From this toolkit on, containers get GPUs through CDI unless configured otherwise."""


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """A remark for each engine that meets all of these conditions."""
    for engine in answering(s):
        if known(engine.cgroup_driver) != "systemd" or known(s.engines.hook) is not True or has_cdi(s, engine):
            continue
        version = known(s.engines.toolkit_version) or ""
        parts = tuple(int(part) for part in version.split("-")[0].split(".")[:2] if part.isdigit())
        if known(s.engines.char_links) is not False or not parts or parts >= BY_CDI:
            continue
        yield CHECK.remark(
            f"A systemd reload would cut {engine.kind.capitalize()}'s running containers off from their GPUs",
            f"systemd manages their cgroups, toolkit {version} adds the GPUs with its hook, and /dev/char has no links "
            "to NVIDIA's device nodes.",
            facts={"engine": engine.kind, "toolkit": version, "cgroup_driver": "systemd"},
            subject=engine.kind,
            fixes=(char_links(s),),
        )
