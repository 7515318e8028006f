"""A Slurm cluster on the loopback: one slurmctld and two slurmd of this machine, with a munged of their own."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

NODES = ("n1", "n2")
_NODE = "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=4 Gres=gpu:1 State=UNKNOWN"
_CONF = """
ClusterName=gpudoctor
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
GresTypes=gpu
Prolog={folder}/prolog.sh
{more}{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


_BUSY = ("comp", "drng", "alloc", "mix", "resv")
"""sinfo's short names of nodes that a job holds, or has not left yet."""


def left(states: dict[str, str]) -> bool:
    """Whether every job has left its nodes: Slurm says `comp` for a while after srun ended."""
    return all(state.split()[0].strip("*~#") not in _BUSY for state in states.values())


class Cluster:
    """folder: with slurm.conf, prolog.sh and the logs."""

    def __init__(self, folder: Path, nodes: tuple[str, ...] = NODES) -> None:
        self.folder, self.nodes = folder, nodes
        self.slurmd: dict[str, subprocess.Popen[bytes]] = {}
        self.env = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}

    def run(self, *words: str, timeout: float = 60, **more: str) -> subprocess.CompletedProcess[str]:
        """One of Slurm's commands, to its end."""
        env = {**self.env, **more}
        return subprocess.run(
            words, env=env, cwd=self.folder, capture_output=True, text=True, timeout=timeout, check=False
        )

    def processes(self) -> list[str]:
        """The command lines of what runs with this cluster's configuration: another cluster may be on this machine."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has just ended, or is somebody else's
                if str(self.folder).encode() in (folder / "environ").read_bytes():
                    found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        return found

    def states(self) -> dict[str, str]:
        """Node to state and reason, as sinfo tells them: `idle`, `drain gpudoctor: ...`."""
        said = self.run("sinfo", "-h", "-N", "-o", "%N %t %E").stdout
        return {line.split()[0]: line.split(maxsplit=1)[1].strip() for line in said.splitlines()}

    def heal(self, seconds: float = 30) -> None:
        """All nodes idle again, no job left."""
        self.run("scancel", "--user=root")
        self.wait(left, seconds)
        for name, state in self.states().items():
            if not state.startswith("idle"):
                self.run("scontrol", "update", f"nodename={name}", "state=resume")
        self.wait(
            lambda states: all(state.split()[0] == "idle" for state in states.values()), seconds
        )  # idle*: not yet

    def wait(self, done: object, seconds: float = 30) -> dict[str, str]:
        """Until the states are as wanted. Raises TimeoutError with the last ones and the log."""
        assert callable(done)
        end = time.monotonic() + seconds
        while True:
            states = self.states()
            if len(states) == len(self.nodes) and done(states):
                return states
            if time.monotonic() > end:
                raise TimeoutError(f"{states}\n{(self.folder / 'slurmctld.log').read_text()[-3000:]}")
            time.sleep(0.2)


def _free(count: int) -> tuple[int, ...]:
    holders = [socket.socket() for _ in range(count)]
    for holder in holders:
        holder.bind(("127.0.0.1", 0))
    ports = tuple(holder.getsockname()[1] for holder in holders)
    for holder in holders:
        holder.close()
    return ports


@contextmanager
def slurm(folder: Path, prolog: str, nodes: tuple[str, ...] = NODES, more: str = "") -> Iterator[Cluster]:
    """The cluster, ready; each of its programs is ended again. more: lines for slurm.conf."""
    host = socket.gethostname().split(".")[0]
    ports = _free(1 + len(nodes))
    lines = [_NODE.format(name=name, host=host, port=port) for name, port in zip(nodes, ports[1:], strict=True)]
    conf = _CONF.format(host=host, ports=ports, folder=folder, nodes="\n".join(lines), more=more)
    (folder / "slurm.conf").write_text(conf)
    (folder / "gres.conf").write_text(f"NodeName={','.join(nodes)} Name=gpu File=/dev/null\n")
    (folder / "prolog.sh").write_text(prolog)
    (folder / "prolog.sh").chmod(0o755)
    (folder / "munge.key").write_bytes(secrets.token_bytes(1024))
    (folder / "munge.key").chmod(0o600)
    for above in (folder, *folder.parents):  # Slurm and munge refuse to trust less
        if (mode := above.stat().st_mode) & 0o055 != 0o055:
            above.chmod(mode | 0o055)
    cluster = Cluster(folder, nodes)
    files = [f"--{name}-file={folder}/munge.{name}" for name in ("key", "pid", "log", "seed")]
    commands = [
        ["munged", "--foreground", "--force", f"--socket={folder}/munge.socket", *files],
        ["slurmctld", "-D", "-f", str(folder / "slurm.conf")],
        *(["slurmd", "-D", "-N", name, "-f", str(folder / "slurm.conf")] for name in nodes),
    ]
    children: list[subprocess.Popen[bytes]] = []
    try:
        for words in commands:
            out = (folder / "out.log").open("ab")
            children.append(subprocess.Popen(words, env=cluster.env, stdout=out, stderr=out, cwd=folder))
            if words[0] == "slurmd":
                cluster.slurmd[words[3]] = children[-1]
            out.close()
            if words[0] == "munged":
                end = time.monotonic() + 10
                while not (folder / "munge.socket").exists() and time.monotonic() < end:
                    time.sleep(0.05)
        cluster.wait(lambda states: all(state.startswith("idle") for state in states.values()))
        yield cluster
    finally:
        for child in reversed(children):
            child.terminate()
        for child in reversed(children):
            try:
                child.wait(15)
            except subprocess.TimeoutExpired:
                child.kill()
        shutil.rmtree(folder / "state", ignore_errors=True)
