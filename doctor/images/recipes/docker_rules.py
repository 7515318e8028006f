"""What is wrong in the stage that is built: base image, variables, health check, system packages."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .judged import Judged
from .lint import Fault
from .packages import apt_packages, line_in, torch_of
from .stages import Step
from .tags import tag_faults
from .variables import hides_gpus, variable_faults

_DRIVER = re.compile(
    r"(?:nvidia-driver|nvidia-utils|nvidia-kernel|nvidia-dkms|libnvidia-(?:compute|gl|decode|encode|cfg1|ml)|libcuda1|"
    r"cuda-drivers|nvidia-open|nvidia-headless|xserver-xorg-video-nvidia)(?:[-_.\d]\S*)?|cuda(?:-\d{1,2}-\d)?"
    r"|nvidia-(?:cuda-toolkit-)?\d{3}"
)


def docker_faults(j: Judged) -> Iterator[Fault]:
    """All problems, in the order of the rules."""
    yield from tag_faults(j)
    yield from _variables(j)
    yield from _system_packages(j)
    yield from _health(j)
    yield from _in_build(j)


_DEMANDS = ("NVIDIA_REQUIRE_", "NVIDIA_DISABLE_REQUIRE")
"""Variables that the container toolkit evaluates in every image, but that are useful only in GPU images."""


def _variables(j: Judged) -> Iterator[Fault]:
    env, line = j.stage.env, _uses_gpu(j)
    for step in j.stage.whole:
        for name, value in step.sets.items():
            if line or j.base.gpu or name.startswith(_DEMANDS):
                yield from _variable(j, step, name, value)
    if line and j.base.bare and "NVIDIA_VISIBLE_DEVICES" not in env:
        yield Fault(
            rule="nvidia-variables-not-set", line=line,
            detail=f"{j.stage.image} does not set NVIDIA_VISIBLE_DEVICES, which is required if only --runtime=nvidia "
                   "is used.",
        )  # fmt: skip


def _uses_gpu(j: Judged) -> int:
    """The line that asks for a CUDA build of torch by its index or version, or for the toolkit; 0 for none.

    A plain `pip install torch` brings CUDA on Linux too, but does not show that the container is to have a GPU.
    """
    for step in j.stage.whole:
        if step.word != "RUN":
            continue
        if any(one.build == "cuda" for one in torch_of(step)):
            return line_in(step, j.rows, "torch")
        if any(name.startswith(("cuda-toolkit", "cuda-runtime", "cuda-libraries")) for name in apt_packages(step)):
            return line_in(step, j.rows, "cuda-")
    return 0


def _variable(j: Judged, step: Step, name: str, value: str) -> Iterator[Fault]:
    line = line_in(step, j.rows, name)
    plain = value.strip("\"' ")
    if name == "NVIDIA_VISIBLE_DEVICES" and not plain:
        yield Fault(rule="gpu-hidden-by-variable", line=line, detail=f"{name}={plain} gives the container no GPU.")
    elif name == "CUDA_VISIBLE_DEVICES" and "$" not in plain and plain.lower() != "all" and not hides_gpus(name, plain):
        detail = f"{name}={plain}: the container can use only these of the GPUs it is given."
        yield Fault(rule="gpu-fixed-by-variable", line=line, detail=detail)
    elif name == "TORCH_CUDA_ARCH_LIST" and "$" not in plain:
        yield from _arch_list(j, line, plain)
    if (
        name == "NVIDIA_DISABLE_REQUIRE"
        and j.base.bare
        and not any(found.startswith("NVIDIA_REQUIRE_") for found in j.stage.env)
    ):
        return  # there is no requirement to switch off
    yield from variable_faults(name, value, line, j.base.nvcc)


def _arch_list(j: Judged, line: int, value: str) -> Iterator[Fault]:
    words = re.split(r"[;\s]+", value.strip("; "))
    if value.strip().lower() in ("all", "common") or not value.strip():
        return
    names = {"kepler", "maxwell", "pascal", "volta", "turing", "ampere", "ada", "hopper", "blackwell"}
    wrong = [
        word
        for word in words
        if not re.fullmatch(r"\d{1,2}\.\d[af]?(?:\+PTX)?", word) and word.lower().split("+")[0] not in names
    ]
    if wrong:
        detail = (
            f"{wrong[0]!r} is not a compute capability such as 8.6"
            + (" (do not use commas)" if "," in value else "")
            + "."
        )
        yield Fault(rule="arch-list-wrong", line=line, detail=detail)
        return
    rows = [row for row in j.m.toolkits if j.base.cuda and ".".join(row.cuda.split(".")[:2]) == j.base.cuda]
    targets = {target.rstrip("af") for row in rows for target in row.sm_targets}
    unknown = [w for w in words if targets and re.match(r"\d", w) and w.partition("+")[0].rstrip("af") not in targets]
    if unknown:
        detail = f"nvcc from CUDA {j.base.cuda} cannot compile for {', '.join(unknown)}."
        yield Fault(rule="arch-list-wrong", line=line, detail=detail)


def _system_packages(j: Judged) -> Iterator[Fault]:
    for step in j.stage.whole:
        if step.word != "RUN":
            continue
        found = [name for name in apt_packages(step) if _DRIVER.fullmatch(name)]
        if found:
            yield Fault(
                rule="driver-installed-in-image", line=line_in(step, j.rows, *found), detail=f"{', '.join(found[:4])}."
            )
        if re.search(r"\.run\b(?=.{0,200}(?:--driver|--silent --driver))", step.value):
            yield Fault(
                rule="driver-installed-in-image", line=line_in(step, j.rows, "--driver"),
                detail="The --driver option makes the runfile install the driver.",
            )  # fmt: skip


def _health(j: Judged) -> Iterator[Fault]:
    checks = [step for step in j.stage.whole if step.word == "HEALTHCHECK"]
    if checks and by_nvidia_smi(checks[-1].value):
        yield Fault(rule="healthcheck-by-nvidia-smi", line=line_in(checks[-1], j.rows, "nvidia-smi"), detail="")


def by_nvidia_smi(command: str) -> bool:
    """Whether a check runs nvidia-smi and nothing that computes."""
    return "nvidia-smi" in command and not re.search(r"python|torch|gpudoctor|curl|wget|http", command)


def _in_build(j: Judged) -> Iterator[Fault]:
    for step in j.stage.whole:
        if step.word != "RUN":
            continue
        if re.search(r"(?:^|[;&|(\n][ \t]*)nvidia-smi\b(?![^;&\n]{0,80}(?:\|\||; ?true))", step.value):
            line = line_in(step, j.rows, "nvidia-smi")
            yield Fault(rule="gpu-used-in-build", line=line, detail="nvidia-smi fails if there is no driver.")
        elif re.search(
            r"assert\s+(?:torch|tf|jax)\.[\w.]{0,40}(?:is_available|device_count|list_physical)", step.value
        ):
            line = line_in(step, j.rows, "assert")
            yield Fault(rule="gpu-used-in-build", line=line, detail="The assertion fails if there is no GPU.")
