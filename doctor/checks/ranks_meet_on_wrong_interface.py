"""Ranks on several nodes would meet over an interface that leads to no other node.

What is wrong: unless GLOO_SOCKET_IFNAME or NCCL_SOCKET_IFNAME names another, gloo binds to the address that the host's
own name resolves to, and NCCL to the first interface that looks usable. Here that is the loopback, or a bridge of
Docker or libvirt.

Symptoms: a training over several nodes hangs at its start, `Connection refused`, `Connect timeout`, or gloo's
`connectFullMesh failed` with 127.0.0.1 in it.

Why it happens: /etc/hosts names this host as 127.0.1.1 (Debian's default) or 127.0.0.1; docker0 or virbr0 exist on
every node with the same address.

How to fix it: name the interface that leads to the other nodes in GLOO_SOCKET_IFNAME and NCCL_SOCKET_IFNAME.

It fails where a variable of yours names it and the ranks did not reach each other, and where they did not and
MASTER_ADDR is the loopback, so that each node waits for itself. Judged over several nodes alone; where the data came
over it all the same (several of them on one machine), it is sound. `prove --links` itself chose the interface of the
address in `--nodes` for gloo.

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
    title="Ranks would meet over the wrong network interface",
    sound="Ranks meet over an interface that leads to the other nodes",
    severity="warning",
    layer="libraries",
    tags=("measured", "multi-gpu", "network"),
    needs_gpu=False,
)
_LOOPBACK = re.compile(r"localhost(?:\.localdomain)?|127(?:\.\d{1,3}){3}|::1")
_LEADS_NOWHERE = re.compile(r"lo\d*|docker\d+|br-[0-9a-f]{12}|virbr\d+|lxcbr\d+|cni\d+|podman\d+|veth[0-9a-f]{7}")


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns where what a library takes by itself is a loopback or a bridge."""
    groups = [group for group in known(measured(s).link_groups) or () if group.nodes > 1 and not group.variant]
    if not groups:
        raise NotExamined("no links between nodes were measured: gpudoctor prove --links --nodes")
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
            continue  # all came over it: several nodes of a launcher on one machine
        right = group.reaching if not _LEADS_NOWHERE.fullmatch(group.reaching) else ""
        name = "NCCL" if group.backend == "nccl" else group.backend
        words = [f"{variable} names it."] if chosen else []
        words += [f"The first node is reached over {right}."] if right else []
        make = CHECK.fail if chosen and ends else CHECK.warn
        yield make(
            f"{name} takes {', '.join(wrong)}{'' if chosen else ' by itself'}, which leads to no other node",
            " ".join(words),
            facts={"interfaces": wrong, "right": right},
            subject=group.backend,
            fixes=(
                here(
                    "name-interface",
                    "Name the interface that leads to the other nodes",
                    "On every node, with its own name for it (ip route get ADDRESS shows it).",
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
        f"MASTER_ADDR is {address}, which leads each node to itself",
        "It is another machine on every node: the ranks of one wait there for the others.",
        facts={"address": address},
        subject="MASTER_ADDR",
        fixes=(
            here(
                "name-first-node",
                "Give the first node's name or address",
                "On every node, and in the script that starts the training.",
                f"export MASTER_ADDR={first}",
            ),
        ),
    )
