"""Lists of GPUs that monitors print: gpustat, `dcgmi discovery -l`."""

from __future__ import annotations

from collections.abc import Iterator

from ..formats.lazy import lazy
from .gpus import gpu_statements
from .statement import Line, Statement, say

_GPUSTAT = lazy(
    r"\[(\d{1,3})\] ([A-Z][\w -]{2,60}?) {1,30}\| {0,3}\d{1,3}['°]C,.{0,80}?\| {0,8}(\d{1,7}) / {1,8}(\d{1,7}) MB \|"
)
"""`[0] Tesla P100-PCIE-16GB | 27'C,   0 % |   103 / 16384 MB |`. Source: github.com/wookayin/gpustat, README."""
_HEAD = lazy(r"\S{1,64} {2,60}\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4} {2,4}(\d{3}\.\d{2,3}(?:\.\d{2})?)$")
_DISCOVERY = lazy(r"(?i)\bgpu id\b.{1,8}\bdevice information\b")
_DISCOVERED = lazy(r"\| (\d{1,3}) {1,8}\| Name: (\S[^|]{2,60}?) {1,70}\|")
"""`| 0      | Name: NVIDIA A100-SXM4-80GB   |`. Source: docs.nvidia.com/datacenter/dcgm, Getting Started."""


def read_gpustat(lines: list[Line]) -> Iterator[Statement]:
    """Name and memory of each GPU, and the driver in the first line."""
    driver: tuple[str, Line] | None = None
    for line in lines:
        if head := _HEAD.match(line.text):
            driver = head[1], line
        elif found := _GPUSTAT.match(line.text):
            if driver:
                yield say("driver.nvml_driver_version", *driver)
                driver = None
            yield from gpu_statements(found[2], line, int(found[1]))
            facts = {"memory_used_mib": int(found[3]), "memory_total_mib": int(found[4])}
            yield say("gpu", {"index": int(found[1]), "name": None, "count": 1, "vendor": "nvidia", **facts}, line)


def read_discovery(lines: list[Line]) -> Iterator[Statement]:
    """The numbered names below the table's head."""
    is_below = False
    for line in lines:
        is_below = is_below or _DISCOVERY.search(line.text) is not None
        if is_below and (found := _DISCOVERED.match(line.text)):
            yield from gpu_statements(found[2], line, int(found[1]))
