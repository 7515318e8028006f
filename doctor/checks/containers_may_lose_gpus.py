"""A reload of systemd on this host would take the GPUs away from running containers.

What is wrong: the engine lets systemd manage control groups, GPUs are put into containers by the toolkit's hook, and
/dev/char has no links by which systemd could find their nodes again.

Symptoms: nothing, until someone runs `systemctl daemon-reload` (package updates do); then `Failed to initialize
NVML: Unknown Error` in containers that worked.

Why it happens: the hook adds device rules that systemd does not know of, and systemd writes its own anew.

How to fix it: make the links (and a rule that makes them at each start), or give GPUs by CDI, as toolkit 1.18 and newer
do by themselves.

It is a remark: nothing is broken yet.

Source: github.com/NVIDIA/nvidia-docker issue 1730 and its notice.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy
from ..fixes.toolkit import char_links
from ..snapshot import Snapshot, known
from ._engines import answering, has_cdi

CHECK = Check(
    __name__,
    title="A reload of systemd would take GPUs from containers",
    sound="A reload of systemd takes no GPUs from containers",
    severity="info",
    layer="container",
    tags=("container",),
)
BY_CDI = (1, 18)
"""Toolkit from which containers get GPUs by CDI unless they were configured otherwise."""


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """A remark for each engine that all of it is true of."""
    for engine in answering(s):
        if known(engine.cgroup_driver) != "systemd" or known(s.engines.hook) is not True or has_cdi(s, engine):
            continue
        version = known(s.engines.toolkit_version) or ""
        parts = tuple(int(part) for part in version.split("-")[0].split(".")[:2] if part.isdigit())
        if known(s.engines.char_links) is not False or not parts or parts >= BY_CDI:
            continue
        yield CHECK.remark(
            f"A reload of systemd would take the GPUs away from {engine.kind.capitalize()}'s running containers",
            f"systemd manages their control groups, toolkit {version} adds the GPUs by its hook, and /dev/char has no "
            "links to NVIDIA's nodes.",
            facts={"engine": engine.kind, "toolkit": version, "cgroup_driver": "systemd"},
            subject=engine.kind,
            fixes=(char_links(s),),
        )
