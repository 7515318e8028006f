"""Two 'nodes': network namespaces, joined by a link of a known rate. Needs root and iproute2."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

BURST = 128 << 10
"""Bytes that pass at once after a pause, however slow the wire is."""
ADDRESSES = ("10.77.0.1", "10.77.0.2")


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@contextmanager
def joined(rate_mbit: int) -> Iterator[tuple[str, str]]:
    """Their names. The interface of the first is wire0, of the second wire1; each sends at this rate at most."""
    names = (f"gpudoctor-a{os.getpid()}", f"gpudoctor-b{os.getpid()}")
    try:
        for name in names:
            ip("netns", "add", name)
        ip("link", "add", "wire0", "netns", names[0], "type", "veth", "peer", "name", "wire1", "netns", names[1])
        for number, name in enumerate(names):
            wire = f"wire{number}"
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "addr", "add", f"{ADDRESSES[number]}/24", "dev", wire)
            ip("-n", name, "link", "set", wire, "up")
            shape = f"qdisc add dev {wire} root tbf rate {rate_mbit}mbit burst {BURST} latency 50ms"
            subprocess.run(["tc", "-n", name, *shape.split()], check=True, capture_output=True)
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def sent(name: str, number: int) -> int:
    """Bytes that the interface of this node has sent, by sysfs."""
    path = f"/sys/class/net/wire{number}/statistics/tx_bytes"
    return int(subprocess.run(["ip", "netns", "exec", name, "cat", path], check=True, capture_output=True).stdout)
