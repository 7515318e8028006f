"""CUDA versions that people mention with a framework that ships no CUDA: the toolkit's, unless stated otherwise."""

from __future__ import annotations

from collections.abc import Iterator

from ..formats.lazy import lazy
from .statement import Line, Statement, say

_FRAMEWORK = lazy(r"(?i)\b(?:tensorflow|onnxruntime)")
_LINE = lazy(
    r"(?i)^\W{0,6}(?:cuda ?/ ?cudnn(?: version)?|cuda(?:[ -]toolkit)?(?: version)?)\W{1,4}(?:cuda ?)?v?"
    r"(\d{1,2}\.\d)(?:\.\d{1,4})?(?=$|[\s/,;)&])"
)
"""A line of its own: `CUDA/cuDNN version: 10.1/7.6`, `CUDA 11.2`, `- CUDA toolkit: 11.8`."""
_SMI = lazy(r"(?i)nvidia-smi|driver version")


def read_prose_cuda(lines: list[Line]) -> Iterator[Statement]:
    """Statements `toolkit` (path, part, version), in a text about such a framework.

    Not where nvidia-smi stands in it: its CUDA version is the driver's, and people copy it.
    """
    if not any(_FRAMEWORK.search(line.text) for line in lines) or any(_SMI.search(line.text) for line in lines):
        return
    for line in lines:
        if found := _LINE.match(line.text):
            yield say("toolkit", (f"/usr/local/cuda-{found[1]}", "toolkit", found[1]), line)
