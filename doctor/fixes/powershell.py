"""Commands of a fix as they are typed in Windows, in PowerShell syntax."""

from __future__ import annotations

import re

from msgspec.structs import replace

from ..findings import Alternative, Fix, Step
from ..findings.patterns import lazy
from ..snapshot.typed import without_paste

_ASSIGN = lazy(r"([A-Za-z_]\w*)=((?:'[^']*'|\"(?:\$\([^)]*\)|[^\"])*\"|[^\s'\"])*)(?:\s+|$)")
_PART = lazy(r"'([^']*)'|\"((?:\$\([^)]*\)|[^\"])*)\"|([^'\"]+)")
_BRACED = lazy(r"\$\{env:(\w+)\}(?![\w:])")
_VARIABLE = lazy(r"\$(?:\{([A-Za-z_]\w*)(?::\?)?\}|([A-Za-z_]\w*))")
_THERE = ("shell", "environment", "host", "windows")
"""Where a step's command is typed in Windows; in a container or program it stays as it is."""
_HOME = lazy(r"~/([\w.-]+)/bin/(\w+)")
_OTHER_HOME = lazy(r"(?<![\w/])~/([\w./-]+)")


def in_powershell(fix: Fix) -> Fix:
    """The fix with its commands, and those of its note, for PowerShell."""
    steps = tuple(
        replace(step, command=powershell(step.command), alternatives=_all(step)) if step.where in _THERE else step
        for step in fix.steps
    )
    rows = [f"  {powershell(row[2:])}" if row.startswith("  ") else row for row in fix.note.splitlines()]
    return replace(fix, steps=steps, note="\n".join(rows))


def _all(step: Step) -> tuple[Alternative, ...]:
    return tuple(replace(other, command=powershell(other.command)) for other in step.alternatives)


def powershell(command: str) -> str:
    """Lines of a POSIX shell as lines of PowerShell: one command a line, variables by $env:, no sudo."""
    rows: list[str] = []
    for row in re.split(r" && |\n", command):
        rows += _row(row.strip())
    return "\n".join(row for row in rows if row)


def _row(row: str) -> list[str]:
    row = row.removeprefix("sudo ")
    if row.startswith("unset "):
        return [f"Remove-Item Env:{name}" for name in row.split()[1:]]
    if row.startswith("kill "):
        return [f"Stop-Process -Id {row[5:]}"]
    rest = row.removeprefix("export ")
    found: list[str] = []
    while match := _ASSIGN.match(rest):
        found.append(f'$env:{match[1]} = "{_inside(match[2])}"')
        rest = rest[match.end() :]
    if rest.startswith("python3 "):
        rest = f"python {rest[8:]}"
    rest = without_paste(rest)
    rest = _HOME.sub(lambda home: f'{"& " if not home.start() else ""}"$HOME\\{home[1]}\\Scripts\\{home[2]}.exe"', rest)
    rest = _OTHER_HOME.sub(lambda home: '"$HOME\\' + home[1].replace("/", "\\") + '"', rest)
    return [*found, rest.strip()]


def _inside(value: str) -> str:
    """A POSIX shell's word as it is written inside PowerShell's double quotes."""
    words = "".join(
        literal.replace("$", "`$") + _VARIABLE.sub(r"${env:\1\2}", double + bare)
        for literal, double, bare in _PART.findall(without_paste(value))
    )
    return _BRACED.sub(r"$env:\1", words)
