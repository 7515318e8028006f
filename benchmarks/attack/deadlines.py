"""Registries that trickle, archives that unpack without end, credential helpers that write without end."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.images.servers import answering, drip

from .engine import Attack
from .ground import Ground

_SECONDS = 2.0
_STARTS = (
    b"",
    b"HTTP/1.1 ",
    b"HTTP/1.1 200 OK\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n",
    b"HTTP/1.1 302 Found\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"HTTP/1.1 401 X\r\nWWW-Authenticate: Bearer realm=",
    b"HTTP/1.1 200 OK\r\n\r\n{",
    b"HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\n",
)
_AGAIN = (
    b"",
    b" ",
    b"x",
    b"\r\n",
    b"X: y\r\n",
    b"1\r\n \r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"\0",
    b"0" * 1000,
    b",",
)
_PACKED: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


def attacks(ground: Ground) -> list[Attack]:
    """Each start with what follows it drawn by the seed; archives by each compression."""
    draw = ground.random("deadlines")
    found = []
    for start in _STARTS:
        for again in draw.sample(_AGAIN, 4):
            server = answering(drip(start, again, draw.choice((0.001, 0.05, 0.9))))
            address = server.__enter__()  # it ends with this process
            words = ["image", f"{address}/a/b:1", "--timeout", str(_SECONDS), "--driver", "580"]
            name = f"a registry that sends {start!r} and {again[:30]!r} again and again"
            found.append(Attack(name, words, codes=frozenset({2, 3}), report=None, deadline_s=45.0))
    for kind, pack in _PACKED.items():
        for size in (1 << 30, 6 << 30):
            setup = partial(_bomb, kind=kind, pack=pack, size=size)
            words = ["image", f"./bomb.tar.{kind}", "--driver", "580"]
            shell = "ulimit -t 40; ulimit -v 1200000; exec {it}"
            found.append(
                Attack(f"{size >> 30} GiB in {kind}", words, setup, shell=shell, codes=frozenset({2}), deadline_s=150.0)
            )
    for script in (
        "exec yes '{'",
        "yes x >&2 & exec sleep 600",
        "exec cat /dev/zero",
        "printf '[%0100000d' 1",
        "kill -9 $$",
    ):
        words = ["image", "127.0.0.1:9/a", "--timeout", str(_SECONDS), "--driver", "580"]
        found.append(
            Attack(f"a helper: {script}", words, partial(_helper, script=script), codes=frozenset({3}), report=None)
        )
    return found


def _bomb(attack: Attack, kind: str, pack: Callable[[bytes], bytes], size: int) -> None:
    head = tarfile.TarInfo("layer.tar")
    head.size = size
    zeros = pack(bytes(1 << 26))
    with (attack.folder / f"bomb.tar.{kind}").open("wb") as file:
        file.write(pack(head.tobuf()))
        for _ in range(size >> 26):
            file.write(zeros)


def _helper(attack: Attack, script: str) -> None:
    helper: Path = attack.folder / "docker-credential-x"
    helper.write_text(f"#!/bin/sh\n{script}\n")
    helper.chmod(0o700)
    (attack.folder / "config.json").write_text('{"credsStore": "x"}')
    attack.env = {"DOCKER_CONFIG": str(attack.folder), "PATH": f"{attack.folder}:/usr/bin:/bin"}
