"""Fixes for a reported fault of a framework other than torch: JAX, ONNX Runtime, TensorFlow and others."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec.structs import replace

from compat_matrix.versions import numbers

from ...findings import Fix, Step
from ...fixes.frameworks import (
    LLAMA_CPP,
    PRELOAD,
    cuda_major_for,
    install_jax,
    keep_onnxruntime_gpu,
    replace_package,
)
from ...fixes.install import Install, ways
from ...fixes.packages import installed, uninstall_command
from ...fixes.where import RECHECK
from ...snapshot import known
from .framework import libraries
from .parts import Builder, Evidence
from .written import written


def _jax(t: Evidence) -> Iterable[Fix]:
    if known(t.s.host.system) == "windows":
        return (written(t.s, "use-wsl", name="JAX", spec="'jax[cuda12]'", more=""),)
    if t.symptom.decides == "ld-library-path-shadows-cuda-libs":
        return ()
    have = installed(t.s, ("jax",))
    return (install_jax(t.s, have[0].version if have else "", cuda_major_for(t.s)),)


def _onnx(t: Evidence) -> Iterable[Fix]:
    """Both packages write one folder; the provider's libraries come as extras of the GPU package."""
    if t.symptom.id == "ort-provider-library":
        old = re.search(r"\.so\.(\d+)|64_(\d+)\.dll", t.text)
        below = "<1.27" if old and "12" in old.groups() else ""
        fix = replace_package(
            t.s,
            [],
            f"onnxruntime-gpu[cuda,cudnn]{below}",
            [("onnxruntime-gpu", "0")],
            upgrade=True,
            id="install-cuda-wheels",
            title="Install the CUDA and cuDNN versions that ONNX Runtime needs",
            text="This installs the libraries for its CUDA version as wheels.",
        )
        return (replace(fix, note=PRELOAD),)
    have = installed(t.s, ("onnxruntime-gpu",))
    major = numbers(known(t.s.torch.cuda) or known(t.s.driver.nvml_cuda_version) or known(t.s.driver.cuda_version))[:1]
    spec = f"onnxruntime-gpu=={have[0].version}" if have else "onnxruntime-gpu" + ("<1.27" if major == (12,) else "")
    fix = keep_onnxruntime_gpu(t.s, spec, "0")
    return (replace(fix, note=f"Its CUDA and cuDNN come with the extras [cuda,cudnn]. {PRELOAD}"),)


def _tensorflow(t: Evidence) -> Iterable[Fix]:
    """TensorFlow with its libraries where it is the program; else the library that the message names, if any."""
    if not t.symptom.id.startswith("tf-") and "tensorflow" not in t.text.lower():
        return libraries(t)
    if known(t.s.host.system) == "windows":
        more = "; 2.10 was the last version with a GPU build for Windows"
        return (written(t.s, "use-wsl", name="TensorFlow", spec="tensorflow[and-cuda]", more=more),)
    if known(t.s.host.architecture) == "aarch64":
        return (written(t.s, "use-nvidia-image"),)
    have = installed(t.s, ("tensorflow",))
    exact = f"=={have[0].version}" if have and numbers(have[0].version) >= (2, 14) else ""
    if exact == "==2.16.1":  # does not look into its wheels
        exact = "==2.16.2"
    spec, title = f"tensorflow[and-cuda]{exact}", "Install TensorFlow with its CUDA libraries"
    return (replace_package(t.s, [], spec, [("tensorflow", "0")], id="install-tensorflow-gpu", title=title),)


def _other_framework(t: Evidence) -> Iterable[Fix]:
    lower = t.text.lower()
    if t.symptom.id == "tf-windows" or "tensorflow" in lower or "is_built_with_cuda" in lower:
        return _tensorflow(t)
    if t.symptom.id == "ollama-cpu-runners":
        return (written(t.s, "install-ollama-whole"),)
    found = next((row for row in _BUILDS if row[0] in lower), None)
    if found is None:
        return ()
    _, name, old, request, text = found
    lines = ways(t.s, request)
    if name == "CTranslate2" and known(t.s.host.architecture) == "aarch64":
        text = "PyPI's wheels for aarch64 are CPU builds, so build it here; this needs nvcc, cuDNN and cmake."
        lines = ways(t.s, *_CTRANSLATE2, before=_BUILD)
    put = Step(text=text, where="environment", changes={"python.distributions": RECHECK}, **lines)
    words, line = "Remove the build without CUDA.", uninstall_command(t.s, old.split()) if old else ""
    steps = (Step(text=words, command=line, where="environment"), put) if old else (put,)
    return (Fix(id="install-gpu-build", title=f"Install {name} with CUDA", steps=steps),)


_BUILD = """git clone --recursive https://github.com/OpenNMT/CTranslate2
cmake -S CTranslate2 -B CTranslate2/build -DWITH_CUDA=ON -DWITH_CUDNN=ON -DWITH_MKL=OFF -DOPENMP_RUNTIME=COMP
cmake --build CTranslate2/build --parallel
sudo cmake --install CTranslate2/build && sudo ldconfig
"""
"""opennmt.net/CTranslate2/installation.html, build options."""
_CTRANSLATE2 = (
    Install(packages=(), requirements="CTranslate2/python/install_requirements.txt"),
    Install(packages=("./CTranslate2/python",), isolated=False),
)
_COMPILE = "Compile it with CUDA (this needs nvcc and a C++ compiler)."
_RENAMED = "The GPU build has a different name."
_LIGHTGBM = Install(
    packages=("lightgbm",), all_again=True, from_source=("lightgbm",), settings=("cmake.define.USE_CUDA=ON",)
)
_BUILDS = (
    ("dgl", "DGL", "dgl", Install(packages=("dgl",), find_links="https://data.dgl.ai/wheels/torch-2.4/cu124/repo.html"),
     "In the URL, use the folder for your torch version and its CUDA version."),
    ("ctranslate2", "CTranslate2", "", Install(packages=("ctranslate2",), upgrade=True, all_again=True),
     "Its wheels for x86_64 include CUDA; on aarch64 it has to be built from source."),
    ("llama", "llama-cpp-python", "", LLAMA_CPP, _COMPILE),
    ("gpu offload", "llama-cpp-python", "", LLAMA_CPP, _COMPILE),
    ("blas = 0", "llama-cpp-python", "", LLAMA_CPP, _COMPILE),
    ("blas=0", "llama-cpp-python", "", LLAMA_CPP, _COMPILE),
    ("standardgpuresources", "faiss", "faiss-cpu", Install(packages=("faiss-gpu-cu12",)), _RENAMED),
    ("gpu tree learner", "LightGBM", "", _LIGHTGBM, _COMPILE),
    ("xgboost", "XGBoost", "xgboost-cpu", Install(packages=("xgboost",), again=("xgboost",), deps=False),
     "PyPI's wheel includes CUDA."),
    ("paddle", "PaddlePaddle", "paddlepaddle", Install(packages=("paddlepaddle-gpu",)), _RENAMED),
)  # fmt: skip
"""A word of the message, name, what is removed, what is installed, words."""


FIXES: dict[str, Builder] = {
    "jax-cpu-fallback": _jax, "onnxruntime-cpu-fallback": _onnx, "framework-cuda-libs-not-found": _tensorflow,
    "framework-build-without-gpu": _other_framework,
}  # fmt: skip
