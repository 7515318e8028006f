"""What to change in a Dockerfile, or which host to choose, for one line of a spec that an image does not meet."""

from __future__ import annotations

from collections.abc import Sequence

from ..findings import Matrix
from ..findings.spec import SpecLine, gpus_text
from ..fixes.install import Install, pip_line
from ..fixes.spec import OF_TORCH, meet_spec
from ..fixes.which_torch import COMPANIONS
from ..snapshot import Snapshot, known

_WORDS = {
    "os": "Start from a base image with {allowed}.",
    "python": "Start from a base image with Python {allowed}, or install it.",
    "driver": "Choose a host with NVIDIA driver {allowed}.",
    "gpu": "Choose a host with {allowed}.",
    "package": "Install {name} {allowed}.",
}


def image_fix(s: Snapshot, m: Matrix, spec: Sequence[SpecLine], line: SpecLine) -> tuple[str, str]:
    """(what to do, the line of a Dockerfile that does it); the line is '' if none is known, or if a host decides.

    torch, and what it brings, is one that the whole spec allows.
    """
    if line.key == "cuda" and known(s.torch.version) is None and isinstance(s.torch.cuda, str):
        return f"Start from a base image with CUDA {line.allowed}.", ""
    group = [one for one in spec if one.key in OF_TORCH] if line.key in OF_TORCH else [line]
    if line.key in (*OF_TORCH, "package"):
        fix, lacks = meet_spec(s, m, group, group, None)
        last = fix.steps[-1] if fix else None
        if last and last.command and "\n" not in last.command:
            known_build = line.key in OF_TORCH or line.package in COMPANIONS
            return last.text if known_build else _words(line), f"RUN {last.command}"
        if line.key in OF_TORCH:
            ranges = ", ".join(f"{one.name} {one.allowed}" for one in group)
            return (f"No published torch build with {ranges} is known: change the spec." if lacks else ""), ""
    request = Install(packages=(f"{line.package}{line.allowed.replace(' ', '')}",))
    return _words(line), f"RUN {pip_line(request, 'python3 -m pip')}" if line.package else ""


def _words(line: SpecLine) -> str:
    allowed = gpus_text(line.allowed) if line.key == "gpu" else line.allowed
    return _WORDS[line.key].format(name=line.name, allowed=allowed)
