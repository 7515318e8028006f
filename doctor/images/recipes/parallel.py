"""GPUs that a program's arguments ask for, compared with those that its container gets."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .lint import Fault

_PARALLEL = re.compile(
    r"--(tensor-parallel-size|pipeline-parallel-size|tp-size|tp|pp-size|nproc[-_]per[-_]node)[= ](\d+)\b"
)
"""Options of vLLM, SGLang and torchrun that each take a number of GPUs."""
_OVER_NODES = re.compile(r"(?i)--(?:nnodes|node-rank|dist-init-addr|headless|data-parallel)|\bray\b|\bLWS_")
"""If one of these is present, the GPUs of other pods count too."""


def too_few(name: str, started: str, count: int | None, line: int) -> Iterator[Fault]:
    """started: its command line; count: GPUs that the container gets, None where that is unknown."""
    wanted = 1
    for number in dict(_PARALLEL.findall(started)).values():  # the last one of an option counts
        wanted *= int(number)
    if count and count < wanted and not _OVER_NODES.search(started):
        detail = f"{name}: its arguments ask for {wanted} GPUs, but it gets {count}."
        yield Fault(rule="more-gpus-than-given", line=line, detail=detail)
