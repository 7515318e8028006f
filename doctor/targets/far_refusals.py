"""What docker, podman, ssh and kubectl say where a target cannot be asked, in one line each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from .far_target import FarTarget, Unreachable

_THINGS = {"docker": "container", "podman": "container", "ssh": "host", "kubectl": "pod"}
_ENGINE = "no permission for the engine's socket (join the docker group, or use sudo)"
_KEY = "its host key is not known on this machine: connect once with ssh and accept the key"
_LOGIN = "{tool} has no key that the host accepts (passwords are not supported)"
_NO_PYTHON3 = "python3 is required there but not installed"
_UNREACHED = "{tool} cannot reach it"
_REFUSALS = (
    (r"[Nn]o such container|no container with name or ID|\(NotFound\)", "no such {thing}", False),
    (r"is not running|container state improper|is paused", "the {thing} is not running", False),
    (r"permission denied while trying to connect|dial unix .{0,200}permission denied", _ENGINE, False),
    (r"[Cc]annot connect to (?:the Docker daemon|Podman)", "the engine is not responding", True),
    (r"Host key verification failed", _KEY, True),
    (r"Permission denied \(", _LOGIN, True),
    (r"Could not resolve hostname", "there is no host with this name", False),
    (
        r"Connection (?:refused|closed|timed out)|No route to host|Network is unreachable",
        _UNREACHED,
        True,
    ),
)
"""What is seen, what is reported, and whether the target may still be there."""
_NO_PYTHON = re.compile(
    r"executable file (?:`\S+` )?not found|no such file or directory|python3?: (?:command )?not found", re.I
)

_RESET = re.compile(r"connection reset by peer|broken pipe", re.I)
"""The engine closed the connection while the input was unread, before its own message came."""


def refusal(target: FarTarget, old: str, code: int | None, err: str, late: bool) -> Unreachable:
    """Why there was no answer. old: the version of a Python that is too old; late: the time was over."""
    why = reason(target.kind, old, code, err, late)
    return Unreachable(f"{target}: {why.words}", why.unknown, why.python)


class Reason(NamedTuple):
    """Why there was no answer: `words` without the target's name; the others as `Unreachable` has them. `lost`: another
    attempt may help."""

    words: str
    unknown: bool = True
    python: bool = False
    lost: bool = False


def reason(kind: str, old: str, code: int | None, err: str, late: bool, tool: str = "") -> Reason:
    """The same for any target of a kind. `tool`: what the program is called, if not by its command."""
    if old:
        return Reason(too_old(old))
    for pattern, words, unknown in _REFUSALS:
        if re.search(pattern, err):
            return Reason(words.format(thing=_THINGS[kind], tool=tool or kind), unknown, lost=words == _UNREACHED)
    if code in (126, 127) or _NO_PYTHON.search(err):
        return Reason(_NO_PYTHON3, python=True)
    if kind in ("docker", "podman") and _RESET.search(err):
        return Reason("nothing there is reading the input; is python3 missing?", python=True)
    last = next((row.strip()[:300] for row in reversed(err.splitlines()) if row.strip()), "")
    if late:
        return Reason("no response in time" + (f" ({last})" if last else ""))
    who = tool or kind
    ended = f"{who} exited with code {code}" if code else f"{who} sent no answer that gpudoctor can read"
    return Reason(last or ended, lost=True)


def too_old(version: str) -> str:
    """Of a Python that cannot run the agent."""
    return f"its python3 is {version}, but 3.8 or newer is required"


def no_python(words: Sequence[bytes]) -> str:
    """Why a node has no Python for the agent. words: the version of the one that is there, if there is one."""
    version = words[0].decode("ascii", "replace") if words else ""
    return too_old(version) if re.fullmatch(r"\d{1,3}\.\d{1,3}", version) else _NO_PYTHON3
