"""`docker run`, also over several lines with a backslash at the end of each but the last: does it pass the GPU on?"""

from __future__ import annotations

from collections.abc import Iterator

from ..formats.lazy import lazy
from .statement import Line, Statement, say

_RUN = lazy(r"(?<!nvidia-)\b(?:docker|podman) run\b")
_GPU = lazy(r"--gpus|nvidia|--device|--privileged|--runtime")
_FLAG = lazy(r"--gpus|--device|--privileged|--runtime|NVIDIA_|nvidia\.com")
_NO_SMI = lazy(r"nvidia-smi[`'\"\\: ].{0,80}not found|not found.{0,80}nvidia-smi")
_BESIDE = lazy(r" (?:-d|--detach)\b")
_PROMPT = lazy(r"[^$#>]{0,60}[$#] \S|>>> ")
_MOST = 40
"""Lines of one command."""


def read_launch(lines: list[Line]) -> Iterator[Statement]:
    """`raised.run-without-gpus` where every such command of the text is whole and names no GPU;
    `raised.smi-run-without-gpus` where one in a line names none, and the next line finds no nvidia-smi."""
    found: Line | None = None
    for index, line in enumerate(lines):
        if "run" not in line.text or not _RUN.search(line.text):
            continue
        if not line.text.rstrip().endswith("\\"):
            after = lines[index + 1].text if index + 1 < len(lines) else ""
            if _NO_SMI.search(after) and not _FLAG.search(line.text):
                yield say("raised.smi-run-without-gpus", True, line)
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
