"""ONNX Runtime uses the CPU: its CPU package overwrote the GPU package, or the GPU package cannot load its libraries.

What is wrong is one of these: `onnxruntime` and `onnxruntime-gpu` are both installed, and because both write into the
same folder, the one installed last wins; or onnxruntime-gpu needs CUDA libraries (for the CUDA major version it was
built for) that are not installed.

Symptoms: `Specified provider 'CUDAExecutionProvider' is not in available provider names`, `Failed to load library
libonnxruntime_providers_cuda.so with error: libcublasLt.so.12: cannot open shared object file`; otherwise there is no
message, and the program is just slow.

Why it happens: another package depends on plain onnxruntime; onnxruntime-gpu on PyPI moved to CUDA 12 with 1.19 and to
CUDA 13 with 1.27, while the installed PyTorch uses a different CUDA major version.

How to fix it: keep only one of the two packages; install the release for PyTorch's CUDA major version, because PyTorch
ships those libraries (in that case, `import torch` first, or call onnxruntime.preload_dlls()).

This is a warning, or a failure with `--require onnxruntime-gpu`. The CPU package alone is only a note.

Source: onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html; ELF DT_NEEDED of the provider.
"""

from __future__ import annotations

from compat_matrix.versions import numbers

from ..findings import Check, Findings, Fix, Matrix, Policy, Skip
from ..fixes.extensions import without_libraries
from ..fixes.frameworks import PRELOAD, cuda_wheels, keep_onnxruntime_gpu, replace_package
from ..snapshot import Distribution, Snapshot, known
from ._frameworks import gpu_wanted, installed, missing_libraries, other_toolkits, weight
from ._linked import libraries_of

CHECK = Check(
    __name__,
    title="ONNX Runtime falls back to the CPU",
    sound="No missing CUDA library was found for ONNX Runtime's GPU package",
    severity="error",
    layer="extension",
    tags=("framework", "libraries"),
    downstream_of=("no-nvidia-gpu",),
    source="onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html",
)

_LAST = {12: "1.26.0"}
"""CUDA major version -> the last onnxruntime-gpu on PyPI that is built for it."""


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns about both packages at once, and about a GPU package without its libraries."""
    cpu, gpu = installed(s, "onnxruntime"), installed(s, "onnxruntime-gpu")
    if cpu is None and gpu is None:
        raise Skip("ONNX Runtime is not installed", without="onnxruntime")
    row = next(iter(m.framework("onnxruntime-gpu", gpu.version)), None) if gpu else None
    kits = other_toolkits(s, row.cuda) if row and not row.extra else []
    gpu_wanted(s, p, kits)
    say = CHECK.fail if "onnxruntime-gpu" in p.require else CHECK.warn
    if gpu is None:
        yield CHECK.remark(
            "onnxruntime is the CPU package",
            "It does not use the GPU; onnxruntime-gpu does.",
            facts={"onnxruntime": cpu.version if cpu else ""},
            subject="onnxruntime",
        )
        return
    facts = {"onnxruntime": cpu.version if cpu else None, "onnxruntime-gpu": gpu.version}
    if cpu:
        title = f"onnxruntime {cpu.version} and onnxruntime-gpu {gpu.version} overwrite each other"
        detail = (
            "Both write into the onnxruntime folder; if that folder has the CPU package's files, the GPU is not used."
        )
        fix = keep_onnxruntime_gpu(s, f"onnxruntime-gpu=={gpu.version}", gpu.version)
        yield say(title, detail, facts=facts, subject="onnxruntime", fixes=(fix,))
        return
    if row and kits:
        say = {"fail": CHECK.fail, "warn": CHECK.warn}.get(weight(s, p, "onnxruntime-gpu"), CHECK.remark)
        unmet = f"needs CUDA {row.cuda}, but the toolkit is CUDA {kits[0]}"
        title = f"onnxruntime-gpu {gpu.version} {unmet}, so it runs on the CPU"
        detail = f"It is built for CUDA {row.cuda} and cuDNN {row.cudnn}; the toolkit here is CUDA {', '.join(kits)}."
        yield say(title, detail, facts={**facts, "toolkits": kits}, subject="onnxruntime-gpu", fixes=_for(s, m, kits))
        return
    needed = _needed(s, m, gpu)
    lost = missing_libraries(s, needed) if needed else []
    if lost:
        major = _major(needed)
        title = f"onnxruntime-gpu {gpu.version} cannot find {lost[0]}, so it runs on the CPU"
        detail = f"It is built for CUDA {major}, but neither a wheel nor the loader's path provides {', '.join(lost)}."
        yield say(
            title, detail, facts={**facts, "missing": lost}, subject="onnxruntime-gpu", fixes=_fixes(s, major, needed)
        )


def _for(s: Snapshot, m: Matrix, toolkits: list[str]) -> tuple[Fix, ...]:
    """The newest onnxruntime-gpu that is built for the installed toolkit, and has a build for this Python."""
    python = ".".join(map(str, numbers(known(s.python.patient.version))[:2]))
    rows = [r for r in m.frameworks if r.package == "onnxruntime-gpu" and (not python or python in r.pythons)]
    found = [r for r in rows if not r.source.startswith("cupy") and not other_toolkits(s, r.cuda)]
    newest = max(found, key=lambda r: numbers(r.version), default=None)
    if newest is None:
        return ()
    title = f"Install onnxruntime-gpu {newest.version}, which is built for CUDA {toolkits[0].partition('.')[0]}"
    spec = f"onnxruntime-gpu=={newest.version}.*"
    put = [("onnxruntime-gpu", newest.version)]
    return (replace_package(s, [], spec, put, id="onnxruntime-for-toolkit", title=title),)


def _needed(s: Snapshot, m: Matrix, gpu: Distribution) -> tuple[str, ...]:
    """What its provider links; if that was not read, the main libraries of the CUDA that the matrix lists."""
    for library in libraries_of(s, "onnxruntime-gpu"):
        names = tuple(name for name in library.needed if name.startswith("libcu") and not name.startswith("libcuda.so"))
        if names:
            return names
    rows = [r for r in m.frameworks if r.package == "onnxruntime-gpu" and numbers(r.version) <= numbers(gpu.version)]
    row = max(rows, key=lambda r: numbers(r.version), default=None)
    major = row.cuda.partition(".")[0] if row else ""
    return (f"libcudart.so.{major}", f"libcublasLt.so.{major}", "libcudnn.so.9") if major.isdecimal() else ()


def _major(needed: tuple[str, ...]) -> int:
    found = [n.partition(".so.")[2] for n in needed if n.startswith(("libcudart.so", "libcublasLt.so"))]
    return int(numbers(found[0])[0]) if found and numbers(found[0]) else 12


def _fixes(s: Snapshot, major: int, needed: tuple[str, ...]) -> tuple[Fix, ...]:
    cudnn = next((n.partition(".so.")[2] for n in needed if n.startswith("libcudnn")), "9")
    spec = "onnxruntime-gpu[cuda,cudnn]" + ("<1.27" if major == 12 else "")
    wheels = cuda_wheels(s, major, int(numbers(cudnn)[0]), ("cudart", "cublas", "cufft", "curand"), spec, PRELOAD)
    torch = known(s.torch.cuda)
    other = int(numbers(torch)[0]) if torch else major
    if other == major or missing_libraries(s, (f"libcudart.so.{other}", f"libcublasLt.so.{other}", "libcudnn.so.9")):
        return (wheels,)
    spec = f"onnxruntime-gpu=={_LAST[other]}" if other in _LAST else "onnxruntime-gpu>=1.27" if other == 13 else ""
    if not spec:
        return (wheels,)
    version = _LAST.get(other, "1.27.0")
    from msgspec.structs import replace

    title = f"Install the onnxruntime-gpu release for CUDA {other}, because torch ships the libraries that it needs"
    put = [("onnxruntime-gpu", version)]
    fix = replace_package(s, [], spec, put, id="onnxruntime-for-torchs-cuda", title=title)
    step = fix.steps[-1]
    step = replace(step, changes={**step.changes, **without_libraries(s, ("onnxruntime-gpu",))})
    return (replace(fix, steps=(step,), note=PRELOAD),)
