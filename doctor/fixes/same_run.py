"""What this run was asked to examine is what the commands in its fixes examine."""

from __future__ import annotations

from msgspec.structs import replace

from ..findings import Finding
from ..findings.patterns import lazy
from ..snapshot import Snapshot
from ..snapshot.typed import named_python

_OWN_COMMAND = lazy(r"\bgpudoctor (?:check|fix|prove|watch)\b(?![^&;|\n]*--python\b)")
"""One that examines an environment."""


def as_requested(s: Snapshot, finding: Finding) -> Finding:
    """The finding whose steps examine the environment that `--python` named, as this run did."""
    flag = named_python(s)
    if not flag:
        return finding
    fixes = [
        replace(fix, steps=tuple(replace(step, command=_with_flag(step.command, flag)) for step in fix.steps))
        for fix in finding.fixes
    ]
    return replace(finding, fixes=tuple(fixes))


def _with_flag(command: str, flag: str) -> str:
    return _OWN_COMMAND.sub(lambda found: found[0] + flag, command)
