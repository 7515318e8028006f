"""Python tracebacks: which package raised, which Python it was, and whether `import torch` itself failed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..formats.lazy import lazy
from .statement import Line, Statement, say

_BEGIN = "Traceback (most recent call last)"
_FRAME = lazy(r"\s{1,12}File \"([^\"]{1,400})\", line \d{1,7}(?:, in (.{1,80}))?$")
_ERROR = lazy(r"([A-Za-z_][\w.]{0,80}(?:Error|Exception|Failure)): (.{0,1500})")
_SITE = lazy(r"[/\\](?:site|dist)-packages[/\\](\w{1,60})(?:[/\\.]|$)")
_PYTHON = lazy(r"[/\\][Pp]ython(3)(?:\.(\d{1,2})|(\d{1,2}))[/\\]")
_OF_PYTHON = lazy(r"[/\\]python(\d\.\d{1,2})[/\\]", re.I)
_MODULE = lazy(r"/\S{0,200}/python(\d\.\d{1,2})/(?:site|dist)-packages/\S{1,200}\.so\b")
"""The compiled module that could not be imported, first in the error's words."""
_OWN_CODE = lazy(r"\b(?:\w{1,40}_(?:cuda|gpu|cu|ext|C)|_C|_ext|ext_module|lib)\.\w")
"""A line of Python that calls compiled code of its own package."""
_USER_SITE = lazy(r"[/\\]\.local[/\\]lib[/\\]python3?\b|[/\\]AppData[/\\]Roaming[/\\]Python[/\\]Python3", re.I)
_CONDA = lazy(r"[/\\](?:\w{0,12}conda\d?|envs|miniforge\d?|mambaforge|micromamba)[/\\]", re.I)
_OF_IMAGE = lazy(r"^/(?:usr/local|opt)/\S{0,200}/(?:site|dist)-packages/")
_MOST = 200
EXTENSIONS = (
    "apex", "auto_gptq", "awq", "bitsandbytes", "causal_conv1d", "deepspeed", "detectron2", "exllamav2", "flash_attn",
    "diff_gaussian_rasterization", "flash_attn_interface", "flashinfer", "gptqmodel", "gsplat", "mamba_ssm", "mmcv",
    "natten", "nvdiffrast", "pytorch3d", "sageattention", "spconv", "tinycudann", "torch_cluster", "torch_scatter",
    "torch_sparse", "torch_spline_conv", "transformer_engine", "vllm", "xformers",
)  # fmt: skip
"""Packages that bring compiled code for torch, by the name that is imported."""
_OF_TORCH = (
    "functorch", "nvidia", "torch", "torchao", "torchaudio", "torchcodec", "torchtext", "torchvision", "triton",
)  # fmt: skip
_FRAMEWORKS = (
    "ctranslate2", "cudf", "cuml", "cupy", "cupy_backends", "cv2", "dgl", "faiss", "jaxlib", "lightgbm", "llama_cpp",
    "mxnet", "openmm", "paddle", "pycuda", "pylibraft", "rmm", "tensorflow", "tensorrt", "xgboost",
)  # fmt: skip
"""Packages that load CUDA's libraries themselves, and not those of torch."""


class Trace(NamedTuple):
    """One traceback: its frames (file, function, line of source), and the line of its error."""

    frames: list[tuple[str, str, str]]
    error: Line
    kind: str
    message: str


def read_tracebacks(lines: list[Line]) -> Iterator[Statement]:
    """Facts of each traceback; `raised.*` are no facts but conditions of the catalogue's messages."""
    for trace in _traces(lines):
        files = [file for file, _, _ in trace.frames]
        pythons = dict.fromkeys(f"3.{found[2] or found[3]}" for file in files if (found := _PYTHON.search(file)))
        if len(pythons) == 1:
            yield say("python.patient.version", next(iter(pythons)), trace.error, weak=True)
        file, function, source = trace.frames[-1]
        package = _SITE.search(file)
        if package and package[1] in EXTENSIONS:
            importing = function == "<module>" or source.startswith(("import ", "from "))
            if importing and trace.kind == "ImportError":
                yield say("raised.import-in-extension", package[1], trace.error)
            elif _OWN_CODE.search(source):
                yield say("raised.call-in-extension", package[1], trace.error)
        yield from _outside_torch(trace)
        yield from _user_site(trace, len(pythons) > 1)
        of_module = _MODULE.match(trace.message) if trace.kind == "ImportError" else None
        of_frames = {found[1] for file in files if (found := _OF_PYTHON.search(file))}
        if of_module and of_frames and of_module[1] not in of_frames:
            yield say("raised.module-of-other-python", of_module[1], trace.error)
        if trace.kind in ("ImportError", "OSError", "ModuleNotFoundError") and _imports_torch(trace):
            yield say("torch_run.imported", False, trace.error, weak=True)
            yield say("torch_run.import_fault", "raised", trace.error, weak=True)
            yield say("torch_run.import_error", f"{trace.kind}: {trace.message}"[:600], trace.error, weak=True)


def _outside_torch(trace: Trace) -> Iterator[Statement]:
    """Whether another package than torch, or one that is built for torch, could not load what it needs."""
    if trace.kind not in ("ImportError", "OSError", "RuntimeError", "FileNotFoundError"):
        return
    packages = [found[1] for file, _, _ in trace.frames if (found := _SITE.search(file))]
    if packages and packages[-1] not in (*_OF_TORCH, *EXTENSIONS):
        yield say("raised.import-outside-torch", packages[-1], trace.error)
        if packages[-1] in _FRAMEWORKS:
            yield say("raised.import-of-framework", packages[-1], trace.error)


def _user_site(trace: Trace, two_pythons: bool) -> Iterator[Statement]:
    """Where an import fails in a package of the user's own site folder, and whose packages stand around it."""
    if not any(_USER_SITE.search(file) and function in ("<module>", "") for file, function, _ in trace.frames):
        return
    yield say("raised.user-site", True, trace.error)
    rest = [file for file, _, _ in trace.frames if not _USER_SITE.search(file)]
    if two_pythons:
        yield say("raised.user-site-of-other-python", True, trace.error)
    if any(_CONDA.search(file) for file in rest):
        yield say("raised.user-site-in-conda", True, trace.error)
    if any(_OF_IMAGE.search(file) for file in rest):
        yield say("raised.user-site-beside-others", True, trace.error)


def _imports_torch(trace: Trace) -> bool:
    """Whether torch's own first file was still being read."""
    return any(
        function in ("<module>", "_load_global_deps", "_preload_cuda_deps")
        and re.search(r"[/\\](?:site|dist)-packages[/\\]torch[/\\]__init__\.py$", file)
        for file, function, _ in trace.frames
    )


def _traces(lines: list[Line]) -> Iterator[Trace]:
    """Whole tracebacks; what stands before each of their lines (rank, pod, time) is taken off."""
    frames: list[tuple[str, str, str]] = []
    prefix: int | None = None
    found = 0
    for line in lines:
        text = line.text
        if (at := text.find(_BEGIN)) >= 0:
            prefix, frames = at, []
            continue
        if prefix is None and text.lstrip().startswith('File "'):  # its first line was not pasted
            prefix, frames = max(0, len(text) - len(text.lstrip()) - 2), []
        if prefix is None or found >= _MOST:
            continue
        text = text[prefix:]
        if frame := _FRAME.match(text):
            frames.append((frame[1], frame[2] or "", ""))
            frames = frames[-_MOST:]
        elif text[:1].isspace():
            if frames and not frames[-1][2] and not set(text.strip()) <= set("^~"):
                frames[-1] = (*frames[-1][:2], text.strip())
        else:
            error = _ERROR.match(text)
            if error and frames:
                found += 1
                yield Trace(frames, line, error[1].rpartition(".")[2], error[2].strip())
            prefix = None
