"""How fast ranks pass data to each other: the agent's processes, by torchrun or as one of the user's own launcher."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .plan import LEAST_S, Links, Plan

AGENT = "collective_speed"
SECONDS = 60.0
"""For all collectives, sizes and pairs of one run."""
START_S = 15.0
"""What they need in addition: torchrun, the imports, the meeting."""
_TORCHRUN = "torch.distributed.run"
_CPU_PROCESSES = 2


VARIANTS = {"no-p2p": {"NCCL_P2P_DISABLE": "1"}, "no-nvls": {"NCCL_NVLS_ENABLE": "0"}}
"""What NCCL does without: direct access between GPUs (NVLink too), and sums inside the switch."""


def variants(plan: Plan, links: Links, env: Mapping[str, str], lines: Sequence[Mapping[str, Any]]) -> list[str]:
    """Those that would differ from what was measured, by its lines: GPUs of one node, and what NCCL used there."""
    group: Mapping[str, Any] = next(
        (line["group"] for line in reversed(lines) if isinstance(line.get("group"), dict)), {}
    )
    if plan.device == "cpu" or links.nodes or links.launched or group.get("backend") != "nccl":
        return []
    used = {"no-p2p": "SHM" not in group.get("transports", ()), "no-nvls": group.get("in_network") is True}
    return [name for name, values in VARIANTS.items() if used[name] and not values.keys() & env.keys()]


def too_few(plan: Plan, links: Links, proven: int, why_none: Callable[[], tuple[str, str]]) -> tuple[str, str] | None:
    """Why the ranks cannot be started; None if they can. NCCL takes no GPU twice."""
    if links.launched or not links.reports:
        return None
    if plan.device == "cpu":
        return None if proven or links.processes else why_none()
    if not proven:
        return why_none()
    if links.processes and links.processes > proven:
        return "absent", f"{links.processes} processes were requested, but only {proven} GPUs computed correctly here"
    if not links.nodes and (links.processes or proven) == 1:
        return (
            "absent",
            "only one GPU here; links are measured between two or more (try --nodes HOST,HOST or --device cpu)",
        )
    return None


def launch(plan: Plan, links: Links, proven: int, left_s: float, meet: str) -> tuple[list[str], list[str]]:
    """The command that starts this node's ranks, or the one that this process is, and the agent's arguments.

    proven: GPUs that computed right results; left_s: seconds until all has to be over; meet: a new folder, in which the
    ranks of one node meet.
    """
    seconds = max(LEAST_S, min(SECONDS, left_s - START_S))
    arguments = ["--device", "cpu" if plan.device == "cpu" else "cuda", "--seconds", f"{seconds:.0f}"]
    arguments += [f"--{name}" for name in ("ddp", "teach") if getattr(links, name)]
    if links.launched:
        return plan.commands[AGENT], arguments
    processes = links.processes or (_CPU_PROCESSES if plan.device == "cpu" else proven)
    if not links.nodes:
        arguments += ["--store", f"{meet}/ranks"]
    return torchrun(plan.commands[AGENT], links, processes, meet), [*arguments, "--lifeline"]


def alone(links: Links, env: Mapping[str, str]) -> dict[str, str]:
    """The variables of ranks that are all on this node and started by us: nothing of theirs listens on a network.

    torch's TCPStore listens on every interface, so they meet in files; what gloo and NCCL open is on the loopback,
    unless the user chose an interface. Source: torch/distributed/elastic/rendezvous/dynamic_rendezvous.py.
    """
    if links.nodes or links.launched:
        return {}
    found = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
    if sys.platform == "linux":
        found.update({name: "lo" for name in ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME") if not env.get(name)})
    return found


def torchrun(worker: Sequence[str], links: Links, processes: int, meet: str) -> list[str]:
    """The command that starts this node's ranks; each is `worker` with the arguments that are put behind it.

    The first node is told by its address, and the order of the nodes by their list: so the first rank, which has the
    results, is where the user knows it to be. Options have underscores: every release takes those, 1.13 no dashes, and
    --local_addr only those since 2.0.
    """
    from ..targets.process import script_argv

    words = ["--nproc_per_node", str(processes), "--max_restarts", "0"]
    words += ["--log_dir", meet]  # else it makes a folder among the temporary ones, and leaves it there
    if links.nodes:
        words += ["--nnodes", str(len(links.nodes)), "--node_rank", str(links.node), "--rdzv_backend", "static"]
        words += ["--rdzv_endpoint", f"{links.nodes[0]}:{links.port}"]
        words += ["--local_addr", links.nodes[links.node]] if links.local_addr else []
    else:
        words += ["--nnodes", "1", "--rdzv_backend", "c10d", "--rdzv_endpoint", f"{meet}/torchrun"]
        words += ["--rdzv_conf", "store_type=file"]
    return script_argv(worker[0], _TORCHRUN, *words, "--no_python", *worker, how="module")


def line_for(node: str, links: Links, words: Mapping[str, str]) -> str:
    """What to run on another node; `words`: the flags that must be alike."""
    flags = "".join(f" {name} {value}".rstrip() for name, value in words.items() if value)
    return f"{node}: gpudoctor prove --links --nodes {','.join(links.nodes)}{flags}"
