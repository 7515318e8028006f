"""`docker run` over several lines, each but the last with a backslash at its end: whether it passes the GPU on."""

from __future__ import annotations

from collections.abc import Iterator

from ..formats.lazy import lazy
from .statement import Line, Statement, say

_RUN = lazy(r"(?<!nvidia-)\b(?:docker|podman) run\b")
_GPU = lazy(r"--gpus|nvidia|--device|--privileged|--runtime")
_BESIDE = lazy(r" (?:-d|--detach)\b")
_PROMPT = lazy(r"[^$#>]{0,60}[$#] \S|>>> ")
_MOST = 40
"""Lines of one command."""


def read_launch(lines: list[Line]) -> Iterator[Statement]:
    """`raised.run-without-gpus` where every such command of the text is whole and names no GPU."""
    found: Line | None = None
    for index, line in enumerate(lines):
        if "run" not in line.text or not line.text.rstrip().endswith("\\") or not _RUN.search(line.text):
            continue
        whole = ""
        for part in lines[index : index + _MOST]:
            whole += part.text.rstrip()
            if not whole.endswith("\\"):
                break
            whole = whole[:-1]
        else:
            return
        later = lines[index + 1 :]
        if _GPU.search(whole) or _BESIDE.search(whole) or any(_PROMPT.match(other.text) for other in later):
            return  # it passes the GPU on, or what fails may be something else than this container
        found = found or line
    if found:
        yield say("raised.run-without-gpus", True, found)
