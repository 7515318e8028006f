"""What a variable in an image, service or pod does to its GPUs: one rule for all three."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...formats.require import RequireGpu, RequireHost, evaluate_libnvidia_container
from .lint import Fault

_NOBODY = RequireHost("0.1", "1.0", (RequireGpu("0.1", "none"),))
"""A host that meets no condition, so that every alternative is examined."""
_COMPAT = re.compile(r"/usr/local/cuda(?:-[\d.]+)?/compat\b")


def hides_gpus(name: str, value: str) -> bool:
    """Whether no GPU is left for CUDA, because of the toolkit's variable or the driver's."""
    plain = value.strip().lower()
    if name == "NVIDIA_VISIBLE_DEVICES":
        return plain in ("none", "void")
    return name == "CUDA_VISIBLE_DEVICES" and plain in ("", "-1", "none", "nodevfiles")


def variable_faults(name: str, value: str, line: int, compiler: bool | None = None) -> Iterator[Fault]:
    """Problems with one variable at its line. compiler: whether the image has CUDA's, or None if unknown."""
    plain = value.strip("\"' ")
    lower = plain.lower()
    if hides_gpus(name, plain):
        what = "gives the container no GPU" if name == "NVIDIA_VISIBLE_DEVICES" else "hides every GPU from CUDA"
        yield Fault(rule="gpu-hidden-by-variable", line=line, detail=f"{name}={plain} {what}.")
    elif name == "NVIDIA_DISABLE_REQUIRE" and lower in ("1", "t", "true"):
        yield Fault(
            rule="requirement-not-checked",
            line=line,
            detail="A driver that is too old then shows up only as a CUDA error.",
        )
    elif "$" not in plain and name == "NVIDIA_DRIVER_CAPABILITIES":
        if not {"compute", "all"} & set(lower.replace(" ", "").split(",")):
            detail = f"{name}={plain}: without compute, the container has no libcuda."
            yield Fault(rule="driver-capabilities-incomplete", line=line, detail=detail)
    elif "$" not in plain and name.startswith("NVIDIA_REQUIRE_"):
        if error := evaluate_libnvidia_container([(name, plain)], _NOBODY).error:
            yield Fault(rule="requirement-not-readable", line=line, detail=f"{name}: {error}.")
    elif name == "LD_LIBRARY_PATH":
        yield from _library_path(line, plain, compiler)


def _library_path(line: int, value: str, compiler: bool | None) -> Iterator[Fault]:
    for folder in value.split(":"):
        if "/stubs" in folder and compiler is not False:
            yield Fault(
                rule="stub-on-library-path", line=line, detail=f"{folder} contains a libcuda stub that does nothing."
            )
        elif _COMPAT.search(folder):
            yield Fault(rule="compat-on-library-path", line=line, detail=f"{folder} is then used on every GPU.")
