"""Nodes by ssh: one real sshd on loopback under many names, and what each of them does instead of being a machine."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from ..far.servers import command, sshd
from .canned import canned_python

_HOST = """Host {name}
  HostName 127.0.0.1
  Port {port}
  User root
  IdentitiesOnly yes
  IdentityFile {folder}/user
  UserKnownHostsFile {folder}/known
  StrictHostKeyChecking yes
  SetEnv NODE={name}
"""
_LOGIN = """#!/bin/sh
# Runs in place of each command: what node $NODE does.
export GPUDOCTOR_NODES={folder}
test -x {folder}/node-$NODE.sh && exec {folder}/node-$NODE.sh
exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"
"""


class Nodes:
    """names: of all nodes; env: by which ssh reaches them."""

    def __init__(self, folder: Path, env: dict[str, str], names: list[str]) -> None:
        self.folder, self.env, self.names = folder, env, names
        self.own = 'exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"'
        """Of a script: do what this node was asked to."""

    def instead(self, node: str, script: str) -> None:
        """What a node does when it is asked anything."""
        command(self.folder / f"node-{node}.sh", script)

    def canned(self, answer: bytes) -> None:
        """All nodes give this answer."""
        python = canned_python(self.folder / "canned", answer)
        self.own = f'export PATH="{python.parent}:$PATH"; {self.own}'
        for name in self.names:
            self.instead(name, self.own)


@contextlib.contextmanager
def ssh_nodes(folder: Path, count: int) -> Iterator[Nodes]:
    """n001, n002, ..., login1 and login2: each runs what it is asked to, unless `instead` says otherwise."""
    names = [f"n{number:03d}" for number in range(1, count + 1)] + ["login1", "login2"]
    login = folder.parent / f"{folder.name}-login"
    login.write_text(_LOGIN.format(folder=folder))
    login.chmod(0o755)
    config = f"AcceptEnv NODE\nMaxStartups 500\nForceCommand {login}\n"
    with sshd(folder, config) as env:
        port = next(line.split()[1] for line in (folder / "sshd_config").read_text().splitlines() if "Port" in line)
        with (folder / "config").open("a") as file:
            file.writelines(_HOST.format(name=name, port=port, folder=folder) for name in names)
        yield Nodes(folder, env, names)


def left_over(folder: Path) -> list[str]:
    """Command lines of processes that belong to the nodes of this folder, but for the sshd itself."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
                environ = (entry / "environ").read_bytes()
                own = str(folder) in line or f"GPUDOCTOR_NODES={folder}".encode() in environ
                if own and "sshd" not in line.split(" ")[0] and "sshd_config" not in line:
                    found.append(line)
    return found
