"""A Ray cluster on this machine: a head and nodes with their own raylet, and what each has as its python3."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..fleet.canned import H100, canned_python, recorded

ROOT = Path(__file__).parents[2]


class Node(NamedTuple):
    """identity: Ray's."""

    name: str
    identity: str
    address: str


class Cluster:
    """folder: short, since Ray's sockets are in it; env: by which `auto` finds this cluster; nodes: the head first."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        poison = folder / "poison"
        (poison / "doctor").mkdir(parents=True)
        (poison / "doctor" / "__init__.py").write_text("raise ImportError('a node has no gpudoctor')\n")
        self.env = {**os.environ, "RAY_TMPDIR": str(folder / "ray")}
        self.env.pop("RAY_ADDRESS", None)
        # as older versions of Ray: CUDA_VISIBLE_DEVICES of a task without GPUs is empty
        env = {**self.env, "PYTHONPATH": str(poison), "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "1"}
        log = (folder / "host.log").open("wb")
        words = [sys.executable, str(Path(__file__).with_name("host.py"))]
        pipe = subprocess.PIPE
        self.child = subprocess.Popen(words, env=env, cwd=folder, stdin=pipe, stdout=pipe, stderr=log, text=True)
        log.close()
        self.nodes: list[Node] = []
        self.address = ""
        """HOST:PORT of the head."""

    def ask(self, **what: object) -> str:
        """Let the process of the cluster do this."""
        assert self.child.stdin is not None and self.child.stdout is not None
        self.child.stdin.write(json.dumps(what) + "\n")
        self.child.stdin.flush()
        for line in self.child.stdout:  # Ray writes there too
            if line.startswith("@ "):
                return line[2:].strip()
        raise RuntimeError((self.folder / "host.log").read_text()[-3000:])

    def add(self, name: str, gpus: int = 1, **env: str) -> Node:
        """A node that gives a recorded answer, unless `own` says otherwise."""
        path = f"{self.folder}/own-{len(self.nodes)}:{self.folder}/canned:{os.environ['PATH']}"
        identity, address, self.address = self.ask(add=name, path=path, gpus=gpus, env=env).split()
        self.nodes.append(Node(name, identity, address))
        return self.nodes[-1]

    def own(self, index: int, script: str) -> None:
        """The python3 that a node has instead; it may use $pid, a file that then has its pid."""
        folder = self.folder / f"own-{index}"
        folder.mkdir()
        (folder / "python3").write_text(f"#!/bin/sh\npid={folder}/pid\n{script}\n")
        (folder / "python3").chmod(0o755)

    def heal(self) -> None:
        """Recorded answers again."""
        for folder in self.folder.glob("own-*"):
            shutil.rmtree(folder)

    def left(self) -> list[str]:
        """Command lines of programs that a probe or a driver started, or left."""
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdecimal():
                    line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                    environ = (entry / "environ").read_bytes()
                    ours = f"RAY_TMPDIR={self.folder}".encode() in environ
                    if ours and ("76543" in line or "@gpudoctor1" in line or " -I -S " in line or "ray_driver" in line):
                        found.append(line[:200])
        return found


@contextlib.contextmanager
def ray_cluster(*names: str) -> Iterator[Cluster]:
    """A head and more nodes, each with one GPU that Ray counts."""
    folder = Path(tempfile.mkdtemp(prefix="ray", dir="/tmp"))
    canned_python(folder / "canned", recorded(H100, time.time()))
    cluster = Cluster(folder)
    try:
        for name in names:
            cluster.add(name)
        yield cluster
    finally:
        assert cluster.child.stdin is not None
        cluster.child.stdin.close()
        try:
            cluster.child.wait(60)
        finally:
            cluster.child.kill()
            shutil.rmtree(folder, ignore_errors=True)
