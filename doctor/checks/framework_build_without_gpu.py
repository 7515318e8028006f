"""A framework other than torch is installed as a build without CUDA.

What is wrong: TensorFlow, DGL, llama.cpp, PaddlePaddle or FAISS is installed as a CPU build. No driver or setting can
make it use the GPU.

Symptoms: `tf.config.list_physical_devices('GPU')` is [], `Your installed DGL package does not support GPU`,
`n_gpu_layers` has no effect; everything is slow.

Why it happens: tensorflow-cpu was chosen; from 2.11 on, TensorFlow has no GPU build for native Windows, and there is
none for aarch64 on PyPI; `pip install dgl`, `llama-cpp-python` and `faiss-cpu` install CPU builds.

How to fix it: install the GPU build (see the command); on Windows, use WSL 2.

This finding is a warning. It is only a note if torch is installed (the package may be a helper), if the package is
faiss-cpu, or if a CPU package is required by its exact name. It is a failure if tensorflow, dgl or llama-cpp-python is
required.

Source: tensorflow.org/install/pip; the projects' installation pages.
"""

from __future__ import annotations

from msgspec.structs import replace

from compat_matrix.versions import numbers

from ..findings import Check, Findings, Fix, Matrix, Policy, Skip, Step
from ..fixes.frameworks import LLAMA_CPP, replace_package
from ..fixes.install import ways
from ..fixes.packages import with_distributions
from ..fixes.where import RECHECK
from ..snapshot import CodeLibrary, Distribution, Snapshot, known, need
from ._frameworks import gpu_wanted, weight
from ._linked import libraries_of

CHECK = Check(
    __name__,
    title="A framework was built without GPU support",
    sound="No other framework is known to be a CPU build",
    severity="error",
    layer="extension",
    tags=("framework",),
    downstream_of=("no-nvidia-gpu",),
    source="tensorflow.org/install/pip",
)

_NAMES = ("tensorflow-cpu", "tensorflow-cpu-aws", "tensorflow", "intel-tensorflow", "dgl", "llama-cpp-python",
          "paddlepaddle", "faiss-cpu")  # fmt: skip
_BY_NAME = ("tensorflow-cpu", "tensorflow-cpu-aws", "intel-tensorflow", "paddlepaddle", "faiss-cpu")


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns about each framework that is known to be a CPU build."""
    have = {d.name: d for d in reversed(need("python.distributions", s.python.distributions)) if d.name in _NAMES}
    if not have:
        raise Skip("none of the frameworks that this check covers is installed")
    gpu_wanted(s, p)
    for name, d in sorted(have.items()):
        why = _why(s, d)
        if not why:
            continue
        how = "remark" if name == "faiss-cpu" or (name in p.require and name in _BY_NAME) else weight(s, p, name)
        say = {"fail": CHECK.fail, "warn": CHECK.warn}.get(how, CHECK.remark)
        title = f"{name} {d.version} was built without CUDA"
        yield say(title, why, facts={name: d.version}, subject=name, fixes=(_fix(s, d),))


def _why(s: Snapshot, d: Distribution) -> str:
    """How we know that this is a CPU build; '' if it is not known to be one."""
    if d.installer == "conda":
        return ""  # conda's builds show it in their build string, which is not read
    if d.name in _BY_NAME:
        return "Packages with this name are CPU builds."
    if d.name == "tensorflow":
        if known(s.host.system) == "windows" and numbers(d.version)[:2] >= (2, 11):
            return "From 2.11 on, TensorFlow has no GPU build for native Windows."
        if known(s.host.architecture) in ("aarch64", "arm64") and "nv" not in d.version:
            return "TensorFlow's wheels for aarch64 on PyPI have no CUDA support."
        return ""
    if d.name == "dgl":
        return "" if "+cu" in d.version or _gpu_code(s, d.name) is not False else "DGL on PyPI has no CUDA support."
    if d.name == "llama-cpp-python":
        return "" if _gpu_code(s, d.name) is not False else "None of its libraries contains CUDA code."
    return ""


def _gpu_code(s: Snapshot, name: str) -> bool | None:
    """Whether one of its libraries contains GPU code; None if they were not examined."""
    found: tuple[CodeLibrary, ...] | None = known(s.python.extensions)
    return None if found is None else any(library.sections for library in libraries_of(s, name))


def _fix(s: Snapshot, d: Distribution) -> Fix:
    if d.name.startswith("tensorflow") or d.name == "intel-tensorflow":
        if known(s.host.system) == "windows":
            text = (
                "Install WSL 2 and, inside it, tensorflow[and-cuda]. TensorFlow 2.10 was the last release with GPU "
                "support for native Windows."
            )
            step = Step(text=text, command="wsl --install", where="windows", changes={"python.distributions": RECHECK})
            return Fix(id="use-wsl", title="Run TensorFlow in WSL 2", steps=(step,))
        if known(s.host.architecture) in ("aarch64", "arm64"):
            step = Step(
                text="Start NVIDIA's TensorFlow image (nvcr.io/nvidia/tensorflow).",
                where="container-start",
                changes={"python.distributions": RECHECK},
            )
            return Fix(id="use-nvidia-image", title="Use NVIDIA's TensorFlow build for aarch64", steps=(step,))
        return replace_package(
            s,
            [d.name],
            "tensorflow[and-cuda]",
            [("tensorflow", "0")],
            id="install-tensorflow-gpu",
            title="Install TensorFlow with its CUDA libraries",
        )
    if d.name == "llama-cpp-python":
        step = Step(
            text="Compile it with CUDA (needs nvcc and a C++ compiler).",
            where="environment",
            changes={"python.extensions": RECHECK},
            **ways(s, LLAMA_CPP),
        )
        return Fix(id="build-with-cuda", title="Build llama-cpp-python with CUDA", steps=(step,))
    new = {"faiss-cpu": "faiss-gpu-cu12", "paddlepaddle": "paddlepaddle-gpu"}.get(d.name, "")
    if new:
        return replace_package(s, [d.name], new, [(new, "0")], id="install-gpu-build", title=f"Install {new}")
    cuda = replace(d, version=f"{d.version.partition('+')[0]}+cu{numbers(known(s.driver.cuda_version) or '12')[0]}")
    step = Step(
        text="Install the CUDA build that the project's page lists (its version ends in +cu...).",
        where="environment",
        changes={"python.distributions": with_distributions(s, (cuda,))},
    )
    return Fix(id="install-gpu-build", title=f"Install the CUDA build of {d.name}", steps=(step,))
