"""Ranks on several nodes would connect over an interface that does not reach the other nodes.

What is wrong: unless GLOO_SOCKET_IFNAME or NCCL_SOCKET_IFNAME names a different one, gloo binds to the address that the
host's own name resolves to, and NCCL uses the first interface that looks usable. On this machine that is the loopback
interface, or a Docker or libvirt bridge.

Symptoms: a training run on several nodes hangs at startup; `Connection refused`, `No route to host`, `Connect
timeout`, or gloo's `connectFullMesh failed` with 127.0.0.1 in it; in NCCL's log `NET/Socket : Using [0]docker0`.

Why it happens: /etc/hosts maps this host's name to 127.0.1.1 (Debian's default) or 127.0.0.1; docker0 or virbr0 exists
on every node with the same address.

How to fix it: set GLOO_SOCKET_IFNAME and NCCL_SOCKET_IFNAME to the interface that reaches the other nodes.

This is a failure if one of these variables names the wrong interface and the ranks did not reach each other. It is also
a failure if they did not reach each other and MASTER_ADDR is the loopback address, which makes each node wait for
itself. Checked only when running on more than one node, or from NCCL's own log in pasted text. If the data arrived over
that interface anyway (several nodes on one machine), the check passes. For gloo, `prove --links` itself uses the
interface that reaches the address in `--nodes`.

Source: NCCL's log and the host's own addresses in `gpudoctor prove --links --nodes`; NCCL user guide,
NCCL_SOCKET_IFNAME.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ..findings import Check, Finding, Findings, Matrix, NotExamined, Policy
from ..snapshot import Snapshot, known
from ..snapshot.measured_proof import PROVES_NOTHING
from ._measured import measured

CHECK = Check(
    __name__,
    title="Ranks would connect over the wrong network interface",
    sound="No rank was seen on an interface that does not reach the other nodes",
    severity="warning",
    layer="libraries",
    tags=("measured", "multi-gpu", "network"),
    needs_gpu=False,
)
_LOOPBACK = re.compile(r"localhost(?:\.localdomain)?|127(?:\.\d{1,3}){3}|::1")
_LEADS_NOWHERE = re.compile(r"lo\d*|docker\d+|br-[0-9a-f]{12}|virbr\d+|lxcbr\d+|cni\d+|podman\d+|veth[0-9a-f]{7}")


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns if the interface that a library chooses by itself is a loopback or a bridge."""
    groups = [group for group in known(measured(s).link_groups) or () if group.nodes > 1 and not group.variant]
    if not groups:
        raise NotExamined("no links between nodes were measured; run gpudoctor prove --links --nodes")
    from ..fixes.speed import here

    ends = [end for end in s.measured.ended if end.agent == "collective_speed" and end.fault not in PROVES_NOTHING]
    right_over = {rate.backend for rate in known(measured(s).collective_rates) or () if rate.right and rate.nodes > 1}
    address = known(s.host.env("MASTER_ADDR")) or ""
    if _LOOPBACK.fullmatch(address) and not right_over:
        make = CHECK.fail if any(end.step == "init_process_group" for end in ends) else CHECK.warn
        yield _each_to_itself(s, make, address)
        return
    for group in groups:
        variable = "NCCL_SOCKET_IFNAME" if group.backend == "nccl" else "GLOO_SOCKET_IFNAME"
        chosen = known(s.host.env(variable))
        if chosen and group.backend == "nccl":
            continue
        taken = group.interfaces if group.backend == "nccl" else (chosen or group.library_interface,)
        wrong = [name for name in taken if _LEADS_NOWHERE.fullmatch(name)]
        if not wrong:
            continue
        if group.backend in right_over and (group.backend == "nccl" or group.interface in wrong):
            continue  # all data arrived over it: several nodes of a launcher on one machine
        right = group.reaching if not _LEADS_NOWHERE.fullmatch(group.reaching) else ""
        name = "NCCL" if group.backend == "nccl" else group.backend
        words = [f"{variable} selects it."] if chosen else []
        words += [f"The first node can be reached over {right}."] if right else []
        make = CHECK.fail if chosen and ends else CHECK.warn
        yield make(
            f"{'' if chosen else 'By default, '}{name} uses {', '.join(wrong)}, which does not reach any other node",
            " ".join(words),
            facts={"interfaces": wrong, "right": right},
            subject=group.backend,
            fixes=(
                here(
                    "name-interface",
                    "Set the interface that reaches the other nodes",
                    "Do this on every node, with that node's name for the interface (ip route get ADDRESS shows it).",
                    f"export {variable}={right or 'eth0'}",
                ),
            ),
        )


def _each_to_itself(s: Snapshot, make: Callable[..., Finding], address: str) -> Finding:
    from ..fixes.speed import here

    first = "FIRST_NODE"
    if known(s.host.env("SLURM_JOB_ID")):
        first = '"$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)"'
    return make(
        f"MASTER_ADDR is {address}, which points each node to itself",
        "This address is a different machine on every node, so the ranks on each node wait forever for the others.",
        facts={"address": address},
        subject="MASTER_ADDR",
        fixes=(
            here(
                "name-first-node",
                "Set MASTER_ADDR to the first node's name or address",
                "Do this on every node, and in the script that starts the training run.",
                f"export MASTER_ADDR={first}",
            ),
        ),
    )
