"""What docker, podman, ssh and kubectl say where a target cannot be asked, in one line each."""

from __future__ import annotations

import re

from .far_target import FarTarget, Unreachable

_THINGS = {"docker": "container", "podman": "container", "ssh": "host", "kubectl": "pod"}
_ENGINE = "no permission for the engine's socket (be in the group docker, or use sudo)"
_KEY = "its host key is unknown here: connect once with ssh and accept the key"
_LOGIN = "ssh has no key that it accepts (passwords are not supported)"
_REFUSALS = (
    (r"[Nn]o such container|no container with name or ID|\(NotFound\)", "no such {thing}", False),
    (r"is not running|container state improper|is paused", "the {thing} is not running", False),
    (r"permission denied while trying to connect|dial unix .{0,200}permission denied", _ENGINE, False),
    (r"[Cc]annot connect to (?:the Docker daemon|Podman)", "the engine does not answer", True),
    (r"Host key verification failed", _KEY, True),
    (r"Permission denied \(", _LOGIN, True),
    (r"Could not resolve hostname", "no host has this name", False),
    (
        r"Connection (?:refused|closed|timed out)|No route to host|Network is unreachable",
        "{tool} cannot reach it",
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
    if old:
        return Unreachable(f"{target}: its python3 is {old}, but 3.8 or newer is required", unknown=True)
    for pattern, words, unknown in _REFUSALS:
        if re.search(pattern, err):
            return Unreachable(f"{target}: {words.format(thing=_THINGS[target.kind], tool=target.kind)}", unknown)
    if code in (126, 127) or _NO_PYTHON.search(err):
        return Unreachable(f"{target}: python3 is required there but not installed", unknown=True, python=True)
    if target.kind in ("docker", "podman") and _RESET.search(err):
        return Unreachable(f"{target}: nothing there reads the input; is python3 missing?", unknown=True, python=True)
    last = next((row.strip()[:300] for row in reversed(err.splitlines()) if row.strip()), "")
    if late:
        return Unreachable(f"{target}: no answer in time" + (f" ({last})" if last else ""), unknown=True)
    ended = (
        f"{target.kind} exited with code {code}" if code else f"{target.kind} sent no answer that gpudoctor can read"
    )
    return Unreachable(f"{target}: {last or ended}", unknown=True)
