"""The flags of `prove --links`, and what a launcher sets in the environment."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ..guard import Refusal
from ..proof.plan import Links
from ..snapshot import StepEnd
from .write import echo

MOST = 1024
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,252})")


def links_of(flags: Mapping[str, Any], env: Mapping[str, str], device: str) -> Links | None:
    """Who takes part; None without `--links`. Raises Refusal with one line for flags that contradict each other."""
    if not flags["links"]:
        for name in ("nproc", "nodes", "ddp", "teach"):
            if flags[name]:
                raise Refusal(f"--{name} requires --links")
        return None
    for name in ("quick", "full", "soak", "baseline"):
        if flags[name]:
            raise Refusal(f"--links cannot be used with --{name}")
    if device not in ("cuda", "cpu"):
        raise Refusal(f"--links uses every visible GPU: choose them with CUDA_VISIBLE_DEVICES, not --device {device}")
    chosen = Links(ddp=bool(flags["ddp"]), teach=bool(flags["teach"]))
    processes = _number(flags["nproc"]) if flags["nproc"] else None
    launched = launched_by(env)
    if launched:
        for name in ("nproc", "nodes"):
            if flags[name]:
                raise Refusal(
                    f"--{name}: already set by the launcher that started this process (WORLD_SIZE or SLURM_NTASKS)"
                )
        _need_address(launched["MASTER_ADDR"], env)
        return replace(chosen, launched=launched)
    if not flags["nodes"]:
        return replace(chosen, processes=processes)
    nodes, port = _nodes(flags["nodes"])
    if device == "cuda" and processes is None:
        processes = 0
    here = [number for number, node in enumerate(nodes) if is_here(node)]
    if len(here) != 1:
        which = ", ".join(nodes[number] for number in here) + " are all" if here else "none of them is"
        raise Refusal(f"--nodes {flags['nodes']}: {which} this machine (give each node its own address or name)")
    return replace(chosen, processes=processes or None, nodes=nodes, node=here[0], port=port)


def _need_address(name: str, env: Mapping[str, str]) -> None:
    """Reported at once: torch would try to resolve the name until its timeout. Raises Refusal."""
    try:
        socket.getaddrinfo(name, None)
    except (OSError, UnicodeError):
        whose = "MASTER_ADDR" if env.get("MASTER_ADDR") else "the first of Slurm's nodes"
        words = f"{name} ({whose}) cannot be resolved on this machine: rendezvous will fail (set MASTER_ADDR)"
        raise Refusal(words) from None


def _number(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text[:6]) <= MOST:
        raise Refusal(f"--nproc {text}: must be a number from 1 to {MOST}")
    return int(text)


def _nodes(text: str) -> tuple[tuple[str, ...], int]:
    """The names, and the port behind the first one."""
    first, colon, rest = text.partition(",")
    first, has_port, port = first.partition(":")
    nodes = tuple(word.strip() for word in (first + colon + rest).split(","))
    if len(nodes) < 2 or len(set(nodes)) < len(nodes) or not all(_NAME.fullmatch(node) for node in nodes):
        raise Refusal(f"--nodes {text}: give two or more different names or IPv4 addresses (HOST,HOST)")
    if has_port and not (port.isascii() and port.isdecimal() and 0 < int(port[:6]) < 65536):
        raise Refusal(f"--nodes {text}: {port} is not a valid port")
    return nodes, int(port) if has_port else Links().port


_WAITED = re.compile(r"timed? ?out|no answer|failed to connect|connection (?:refused|reset|closed)", re.I)
"""What a rank reports that found no other; a wrong interface or name is its own fault."""
_ALONE = ": another rank did not start or has left (start all at the same time, with the same --timeout)"


def is_here(node: str) -> bool:
    """Whether this name resolves to one of this machine's addresses: a socket can be bound to it."""
    if node in (socket.gethostname(), socket.gethostname().partition(".")[0]):
        return True
    try:
        address = socket.gethostbyname(node)
    except (OSError, UnicodeError):
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return True


def launched_by(env: Mapping[str, str]) -> dict[str, str]:
    """What torch's `env://` needs, if torchrun, mpirun or srun started this process as one of several.

    Empty otherwise, also in Slurm's batch script, which has SLURM_PROCID and SLURM_NTASKS but is not a step.
    mpirun comes before Slurm: inside a job its ranks inherit the variables of the daemon that Slurm started on each
    node. Raises Refusal if a variable is missing or wrong.
    """
    if "RANK" in env and _count(env, "WORLD_SIZE") > 1:
        if missing := [name for name in ("MASTER_ADDR", "MASTER_PORT") if not env.get(name)]:
            words = " and ".join(missing) + (" is" if len(missing) == 1 else " are") + " not"
            raise Refusal(f"RANK and WORLD_SIZE are set, but {words}: the ranks cannot find each other")
        found = {name: env[name] for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")}
        found.update({name: env[name] for name in ("LOCAL_RANK", "LOCAL_WORLD_SIZE") if name in env})
    elif mpi := next((names for names in _MPI if names[0] in env and _count(env, names[1]) > 1), None):
        found = _by_mpi(env, *mpi)
    elif "SLURM_PROCID" in env and ("SLURM_STEP_ID" in env or "SLURM_STEPID" in env):
        size = _count(env, "SLURM_STEP_NUM_TASKS") or _count(env, "SLURM_NTASKS")
        if size < 2:
            return {}
        nodes = max(1, _count(env, "SLURM_STEP_NUM_NODES") or _count(env, "SLURM_NNODES"))
        job = int(re.sub(r"\D", "", env.get("SLURM_JOB_ID", "0"))[-9:] or 0)
        found = {
            "RANK": env["SLURM_PROCID"],
            "WORLD_SIZE": str(size),
            "LOCAL_RANK": env.get("SLURM_LOCALID", "0"),
            "LOCAL_WORLD_SIZE": str(-(-size // nodes)),
            "MASTER_ADDR": env.get("MASTER_ADDR") or first_host(env),
            "MASTER_PORT": env.get("MASTER_PORT") or str(20000 + job % 20000),
        }
    else:
        return {}
    if not found["RANK"].isdecimal() or int(found["RANK"]) >= int(found["WORLD_SIZE"]):
        raise Refusal(f"the launcher set rank {found['RANK']} of {found['WORLD_SIZE']}, which is impossible")
    return found


_MPI = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
)
"""Rank, number of ranks, and both on this node: Open MPI; MPICH and Intel MPI (Hydra)."""


def _by_mpi(env: Mapping[str, str], rank: str, size: str, local_rank: str, local_size: str) -> dict[str, str]:
    """MPI sets no rendezvous address: use MASTER_ADDR, or this machine if all ranks are on it."""
    here = env.get(local_size) == env[size]
    address = env.get("MASTER_ADDR") or ("127.0.0.1" if here else "")
    if not address:
        raise Refusal(
            f"{rank} is set, but MASTER_ADDR is not: set it to the first rank's host (mpirun -x MASTER_ADDR=...)"
        )
    return {
        "RANK": env[rank],
        "WORLD_SIZE": env[size],
        "LOCAL_RANK": env.get(local_rank, "0"),
        "LOCAL_WORLD_SIZE": env.get(local_size, "1"),
        "MASTER_ADDR": address,
        "MASTER_PORT": env.get("MASTER_PORT") or str(Links().port),
    }


def _count(env: Mapping[str, str], name: str) -> int:
    word = env.get(name, "")
    return int(word) if word.isascii() and word.isdecimal() and len(word) < 8 else 0


def first_host(env: Mapping[str, str]) -> str:
    """The first of Slurm's list of nodes: `gpu[03-04,7]` is gpu03, `rack[1-2]n[1-4]` is rack1n1."""
    text = env.get("SLURM_STEP_NODELIST") or env.get("SLURM_JOB_NODELIST") or "localhost"
    plain = re.sub(r"\[(\d+)[^\]]*\]?", r"\1", text)
    return plain.partition(",")[0] or "localhost"


def announce(links: Links, flags: Mapping[str, Any]) -> None:
    """Print on stderr what to run on the other nodes: each node starts only its own part."""
    from ..proof.collectives import line_for

    words = {"--nproc": flags["nproc"] or "", "--device": flags["device"] if flags["device"] != "cuda" else ""}
    words.update({f"--{name}": " " for name in ("ddp", "teach") if flags[name]})
    for number, node in enumerate(links.nodes):
        if number != links.node:
            echo(f"gpudoctor: run on {line_for(node, links, words)}", err=True)


def quiet_end(ended: Sequence[StepEnd], links: Links) -> int:
    """End a process that has no results: say that its part is done, or what ended it. Returns the exit code."""
    where = "the first rank's process" if links.launched else links.nodes[0]
    whose = f"rank {links.launched['RANK']}, " if links.launched else ""
    for end in ended:
        waited = end.fault in ("hang", "slow") or _WAITED.search(end.detail)
        alone = _ALONE if end.step == "init_process_group" and waited else ""
        echo(f"gpudoctor: {whose}{end.step}: {end.detail}{alone}", err=True)
    if not ended and os.isatty(2):
        echo(f"gpudoctor: this part is done; {where} prints the report", err=True)
    return 1 if ended else 0
