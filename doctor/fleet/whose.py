"""Whose a run is and until when it may go on: annotations of the objects that it creates in Kubernetes, words in the
comment of its jobs in Slurm."""

from __future__ import annotations

import getpass
import os
import re
import socket
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timezone
from hashlib import blake2b

OWNER, PROCESS, UNTIL = "gpudoctor/owner", "gpudoctor/process", "gpudoctor/until"
"""A hash of user and host; the process there, as `PID-START` by the kernel's ticks; the last moment, ISO 8601 UTC."""
_FORM = "%Y-%m-%dT%H:%M:%SZ"


def own_annotations(until: float) -> dict[str, str]:
    """Those of a run of this process. until: seconds since 1970 UTC after which it cannot be going any more."""
    last = datetime.fromtimestamp(until, timezone.utc).strftime(_FORM)
    return {OWNER: owner(), PROCESS: f"{os.getpid()}-{_start(os.getpid())}", UNTIL: last}


def as_words(annotations: Mapping[str, str]) -> str:
    """In one text, which `of_words` reads."""
    return " ".join(f"{name}={value}" for name, value in annotations.items())


def of_words(text: str) -> dict[str, str]:
    """The annotations in a comment; others may have written into it too."""
    pairs = (word.partition("=") for word in text.split())
    return {name: value for name, _, value in pairs if name in (OWNER, PROCESS, UNTIL)}


def owner() -> str:
    """This user on this machine, without their names."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    return blake2b(f"{user}@{socket.gethostname()}".encode(), digest_size=8).hexdigest()


def why_going_on(annotations: Mapping[str, str], now: float) -> str:
    """Why a run may still be going on, as a sentence's end; empty if it is over. now: seconds since 1970 UTC."""
    if annotations.get(OWNER) == owner():
        found = re.fullmatch(r"([0-9]{1,10})-([0-9]{1,20})", annotations.get(PROCESS, ""))
        is_alive = found is not None and _start(int(found[1])) == found[2]
        return f"your run with process ID {found[1]} is still running" if found and is_alive else ""
    try:
        last = datetime.strptime(annotations.get(UNTIL, ""), _FORM).replace(tzinfo=timezone.utc)
    except ValueError:
        return "it does not say whose run it is"
    return (
        f"a run from elsewhere may still be running until {last:%Y-%m-%d %H:%M} UTC" if last.timestamp() > now else ""
    )


def _start(pid: int) -> str:
    """When a process began; empty if there is none. Where the kernel does not say: the same for all."""
    if not os.path.isdir("/proc/self"):  # noqa: PTH112
        with suppress(OSError, OverflowError):
            os.kill(pid, 0)
            return "0"
        return ""
    with suppress(OSError, IndexError), open(f"/proc/{pid}/stat", "rb") as stream:
        fields = stream.read(4096).rpartition(b")")[2].split()
        return "" if fields[0] == b"Z" else fields[19].decode("ascii")
    return ""
