"""Findings, fixes and steps: stable ids and facts along with the texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

Status: TypeAlias = Literal["pass", "warn", "fail", "unknown", "skipped"]
Severity: TypeAlias = Literal["critical", "error", "warning", "info"]
Layer: TypeAlias = Literal["hardware", "driver", "container", "libraries", "python", "extension", "speed"]
LAYERS: tuple[Layer, ...] = ("hardware", "driver", "container", "libraries", "python", "extension", "speed")

Where: TypeAlias = Literal[
    "shell", "environment", "dockerfile", "container-start", "host", "windows", "provider", "code", "operator"
]
"""Where a step is carried out: this shell, the patient's Python environment, the image's Dockerfile, the command or
manifest that starts the container or job, the host machine, Windows under WSL, the provider's console, the program, or
by whoever runs the machine, where nothing is to be done here."""

Ends: TypeAlias = Literal[
    "",
    "this process",
    "everything in this session",
    "everything in this container",
    "everything in this pod or instance",
    "all programs on this GPU",
    "all programs on the GPUs of this host",
    "all containers on this host",
    "everything in that virtual machine",
    "everything that runs in WSL",
    "all jobs on this host",
]
"""Whose work a step ends, also other people's."""


class Alternative(Struct, frozen=True, kw_only=True):
    """The same step by another tool."""

    tool: str
    """pip, uv."""
    command: str


class Step(Struct, frozen=True, kw_only=True):
    """One step of a fix."""

    text: str
    command: str = ""
    """Exact command or lines to add; empty if there is nothing to type."""
    alternatives: tuple[Alternative, ...] = ()
    """The same by the tools that are not in use here."""
    where: Where
    possible_here: bool = True
    """Whether this user can do it from where gpudoctor runs."""
    needs_root: bool = False
    destructive: bool = False
    """Removes or overwrites something that cannot be had back by the same command, or ends work (`ends`)."""
    purpose: Literal["change", "look"] = "change"
    """`look`: its command changes nothing; it shows what the next step needs."""
    ends: Ends = ""
    """Whose work it ends (`doctor/fixes/ending.py` says which steps do); empty if none."""
    changes: dict[str, Any] = field(default_factory=dict)
    """Facts that it changes, for `Snapshot.replace`; `Missing('recheck')` where only a new look can tell."""


class Fix(Struct, frozen=True, kw_only=True):
    """An ordered list of steps that removes one finding."""

    id: str
    title: str
    steps: tuple[Step, ...]
    note: str = ""
    """Paragraphs, one a line; a line that begins with two blanks is a command to copy."""
    source: str = ""

    @property
    def possible_here(self) -> bool:
        """Whether this user can carry out every step."""
        return all(step.possible_here for step in self.steps)


class Quote(Struct, frozen=True, kw_only=True):
    """A line of a pasted text."""

    line: int
    """Its number in the input, from 1."""
    text: str
    """The line itself, cut."""


class Finding(Struct, frozen=True, kw_only=True):
    """Something that a check found (warn, fail, or a required unknown), or an info remark (status pass)."""

    id: str
    status: Status
    severity: Severity
    title: str
    detail: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    """The deciding facts: stable names, values as in the Snapshot."""
    subject: str = ""
    """Key of the GPU, name of the package or path that it is about."""
    layer: Layer = "hardware"
    direct: bool = True
    """Seen, not inferred from a table."""
    downstream_of: tuple[str, ...] = ()
    """Ids of findings of this report that explain this one (declared by the check, filled by the judge)."""
    cause: str = ""
    """Id of the root cause in this report whose consequence this finding is; empty for a root cause."""
    lines: tuple[Quote, ...] = ()
    """Of a pasted text: those that it is based on, in the text's order."""
    fixes: tuple[Fix, ...] = ()
    """Best first; the first one is possible where the user is, if any is. Empty for a consequence of what has fixes."""


class Check(Struct, frozen=True):
    """What is constant about a check. `module` is `__name__`: its last part is the id, dashes for underscores."""

    module: str
    title: str
    severity: Severity
    layer: Layer
    sound: str = ""
    """What is true if the check passes, as text: `The driver is loaded`."""
    tags: tuple[str, ...] = ()
    downstream_of: tuple[str, ...] = ()
    """Ids of checks whose finding explains this one: it is then folded under that cause."""
    needs_gpu: bool = True
    """Judges the GPU, driver or devices of this machine: skipped under `--expect none`."""
    source: str = ""

    @property
    def id(self) -> str:
        return self.module.rpartition(".")[2].replace("_", "-")

    def fail(self, title: str, detail: str = "", **more: Any) -> Finding:
        """A failing finding; `more`: facts, subject, direct, fixes, severity."""
        return self._finding("fail", title, detail, more)

    def warn(self, title: str, detail: str = "", **more: Any) -> Finding:
        """A warning."""
        return self._finding("warn", title, detail, {"severity": "warning", **more})

    def unknown(self, title: str, detail: str = "", **more: Any) -> Finding:
        """A required fact that is not known."""
        return self._finding("unknown", title, detail, {"severity": "warning", **more})

    def remark(self, title: str, detail: str = "", **more: Any) -> Finding:
        """An info remark: never changes the verdict."""
        return self._finding("pass", title, detail, {"severity": "info", **more})

    def _finding(self, status: Status, title: str, detail: str, more: dict[str, Any]) -> Finding:
        more = {"severity": self.severity, "layer": self.layer, "downstream_of": self.downstream_of, **more}
        return Finding(id=self.id, status=status, title=title, detail=detail, **more)


Findings: TypeAlias = Iterator[Finding]
"""What a check yields."""
