"""The name of another machine or container, and the command that asks its Python.

Names reach no shell and no option: each is held against the grammar of its kind before anything is started.
"""

from __future__ import annotations

import re

KINDS = ("docker", "podman", "ssh", "kubectl")
_NAMES = {
    "docker": re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,254}"),
    "podman": re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,254}"),
    "ssh": re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}@)?[A-Za-z0-9\[][A-Za-z0-9_.:\[\]-]{0,254}"),
    "kubectl": re.compile(r"[a-z0-9][a-z0-9-]{0,62}/[a-z0-9][a-z0-9.-]{0,252}(?:/[a-z0-9][a-z0-9-]{0,62})?"),
}
_FORMS = {"docker": "docker:NAME", "podman": "podman:NAME", "ssh": "ssh:HOST", "kubectl": "kubectl:NAMESPACE/POD"}
_PYTHON = ["-I", "-S", "-"]
_SSH = ["ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "--"]


class Unreachable(Exception):
    """One line. `unknown`: it may be there all the same (exit 3), else it is wrong usage (2). python: only that is
    missing there."""

    def __init__(self, text: str, unknown: bool = False, python: bool = False) -> None:
        super().__init__(text)
        self.unknown, self.python = unknown, python


class FarTarget:
    """A target by its kind and name."""

    def __init__(self, text: str) -> None:
        self.kind, colon, self.name = text.partition(":")
        if self.kind not in KINDS or not colon:
            raise Unreachable(f"--target {text[:80]!r}: expected one of {', '.join(_FORMS.values())}")
        if not _NAMES[self.kind].fullmatch(self.name):
            raise Unreachable(f"--target {text[:120]!r}: not a valid name for {_FORMS[self.kind]}")

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"

    def command(self, python: str) -> list[str]:
        """What is started on this side; the agent comes by its standard input."""
        if self.kind in ("docker", "podman"):
            return [self.kind, "exec", "-i", self.name, python, *_PYTHON]
        if self.kind == "ssh":
            return [*_SSH, self.name, f"exec {python} {' '.join(_PYTHON)}"]
        namespace, pod, *container = self.name.split("/")
        within = ["-c", container[0]] if container else []
        return ["kubectl", "exec", "-i", "-n", namespace, pod, *within, "--", python, *_PYTHON]
