"""Rows about cuDNN, NCCL and error codes."""

import msgspec

from .rows_driver import Row


class Cudnn(Row, frozen=True, kw_only=True, gc=False):
    """One cuDNN release, or the range version..until. min_cc: CUDA major -> oldest compute capability."""

    version: str
    until: str = ""
    date: str = ""
    cuda_majors: tuple[int, ...] = ()
    min_cc: dict[str, str] = msgspec.field(default_factory=dict)
    max_cc_documented: str = ""
    documented_cc: str = ""
    sass_seen: str = ""
    static_linking: str = ""
    min_driver: str = ""
    wheel_cu11: str = ""
    wheel_cu12: str = ""
    wheel_cu13: str = ""


class Nccl(Row, frozen=True, kw_only=True, gc=False):
    """One NCCL release. wheel_sass: CUDA major -> capabilities measured in the wheel of that line."""

    version: str
    date: str = ""
    makefile_sm: tuple[str, ...] = ()
    makefile_ptx: tuple[str, ...] = ()
    wheel_cu11: str = ""
    wheel_cu12: str = ""
    wheel_cu13: str = ""
    wheel_sass: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    binary_facts: str = ""


class CudaError(Row, frozen=True, kw_only=True, gc=False):
    """One CUDA error code with both names; causes and first fix have their own confidence."""

    code: int
    driver_name: str = ""
    runtime_name: str = ""
    message: str = ""
    moment: str = ""
    causes: str = ""
    first_fix: str = ""
    causes_confidence: str = ""


class NvmlError(Row, frozen=True, kw_only=True, gc=False):
    """One NVML return code; code None marks a text of nvidia-smi or the kernel log that has no code."""

    code: int | None = None
    name: str = ""
    message: str = ""
    log_text: str = ""
    causes: str = ""
    first_fix: str = ""
    causes_confidence: str = ""


class Framework(Row, frozen=True, kw_only=True, gc=False):
    """One release of a framework other than torch, as its project builds it. version: a release, or a minor ('2.13')
    for every patch of it; releases: those on the package index that a minor stands for, oldest first; cuda, cudnn: what
    it was built with (cudnn '': it needs none); pythons: of its wheels; gpu_platforms: where the wheel uses a GPU;
    extra: the extra that brings CUDA as wheels; min_sm: the lowest compute capability that the project names; sass:
    measured in the Linux x86_64 wheel."""

    package: str
    version: str
    releases: tuple[str, ...] = ()
    cuda: str
    cudnn: str = ""
    pythons: tuple[str, ...] = ()
    gpu_platforms: tuple[str, ...] = ()
    extra: str = ""
    min_sm: str = ""
    sass: tuple[str, ...] = ()
