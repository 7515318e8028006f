"""Things to look into: a local sshd with keys of its own, and a container of a real engine."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def sshd(folder: Path, more_config: str = "") -> Iterator[dict[str, str]]:
    """A server on loopback; the variables by which `ssh there` reaches it (the real client, with a config of its own).
    more_config: lines for sshd_config."""
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    shutil.copy(folder / "user.pub", folder / "authorized")
    (folder / "authorized").chmod(0o600)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    Path("/run/sshd").mkdir(exist_ok=True)  # where sshd locks itself in before a login
    (folder / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/authorized\n"
        f"PidFile {folder}/pid\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\n"
        + more_config
    )
    key = (folder / "host.pub").read_text().split()
    (folder / "known").write_text(f"[127.0.0.1]:{port} {key[0]} {key[1]}\n")
    for alias, more in (
        ("there", f"  IdentityFile {folder}/user\n  UserKnownHostsFile {folder}/known\n"),
        ("unknown-key", f"  IdentityFile {folder}/user\n  UserKnownHostsFile /dev/null\n"),
        ("no-login", f"  IdentityFile {folder}/host\n  UserKnownHostsFile {folder}/known\n"),
    ):
        with (folder / "config").open("a") as config:
            config.write(
                f"Host {alias}\n  HostName 127.0.0.1\n  Port {port}\n  User {getpass.getuser()}\n"
                f"  IdentitiesOnly yes\n  StrictHostKeyChecking yes\n{more}"
            )
    with (folder / "config").open("a") as config:
        config.write("Host closed\n  HostName 127.0.0.1\n  Port 1\n")
    command(folder / "bin" / "ssh", f'exec {shutil.which("ssh")} -F {folder}/config "$@"')
    with (folder / "log").open("wb") as log:
        child = subprocess.Popen(["/usr/sbin/sshd", "-D", "-e", "-f", folder / "sshd_config"], stdout=log, stderr=log)
        try:
            _listens(port, child)
            yield {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}"}
        finally:
            child.terminate()
            child.wait(20)


def command(path: Path, text: str) -> None:
    """A program of one line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def _listens(port: int, child: subprocess.Popen[bytes]) -> None:
    for _ in range(200):
        assert child.poll() is None, "sshd ended at its start"
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise AssertionError("sshd does not listen")
