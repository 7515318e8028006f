"""What is offered for a told fault of torch's build, its companions, and frameworks beside it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from compat_matrix.versions import numbers, torch_version

from ...findings import Fix, Step
from ...fixes.companions import COMPILED, install_companion
from ...fixes.compatible import compatible_torch, usual_gpus
from ...fixes.driver import install_compatible, install_offered, offer
from ...fixes.frameworks import LLAMA_CPP, cuda_major_for, replace_package
from ...fixes.install import Install, executable, note, ways
from ...fixes.jetson import jetson_build
from ...fixes.libraries import reinstall_torch
from ...fixes.machine import capabilities, driver_platform, python_version, torch_cuda
from ...fixes.packages import installed, uninstall_command
from ...fixes.python import new_python_fix
from ...fixes.torch import choose, install_torch
from ...fixes.where import RECHECK, notebook, recheck_run
from ...snapshot import Distribution, Snapshot, known
from .framework import libraries
from .parts import Told, one_step

_OLD = ("5.0", "6.0", "6.1", "7.0", "7.5")
_NEW = ("9.0", "10.0", "12.0")
_TORCH = Install(packages=("torch",))


def _fitting(t: Told) -> Iterable[Fix | None]:
    return (compatible_torch(t.s, t.m),)


def _generation(t: Told, usual: Sequence[str], title: str) -> Iterable[Fix | None]:
    """The build for the GPU that is told; where none is, one for its generation."""
    if capabilities(t.s, t.m):
        return (compatible_torch(t.s, t.m),)
    return (install_torch(t.s, t.m, gpus=usual, title=title) or new_python_fix(t.s, t.m, usual),)


def _too_old_gpu(t: Told) -> Iterable[Fix | None]:
    return _generation(t, _OLD, "Install a torch build that still has code for older GPUs")


def _too_new_gpu(t: Told) -> Iterable[Fix | None]:
    return _generation(t, _NEW, "Install a torch build that has code for the newest GPUs")


def _ptx(t: Told) -> Iterable[Fix | None]:
    """A build with machine code for the GPU, or from an older CUDA; then the driver of the PTX's own CUDA."""
    build = install_torch(t.s, t.m) if known(t.s.torch.version) else None
    image = t.s.container.image_cuda
    cuda = torch_cuda(t.s, t.m) or (image if isinstance(image, str) else known(t.s.cuda.nvcc_version)) or ""
    if isa := re.search(r"Unsupported \.version (\d{1,2}\.\d)", t.text):
        cuda = next((row.cuda for row in t.m.toolkits if row.ptx_isa == isa[1]), cuda)
    floor = numbers(t.m.driver_for_cuda("1", cuda, driver_platform(t.s)).floor_full) if cuda else ()
    newer = install_offered(t.s, offer(t.s, t.m, floor[0])) if floor else install_compatible(t.s, t.m, newer=True)
    return (build, *newer) if build else (*newer, _compiled_anew(t))


def _compiled_anew(t: Told) -> Fix:
    """For a program that is compiled here: no PTX for the driver to compile, or PTX that it knows."""
    archs = [cc.replace(".", "") for cc in capabilities(t.s, t.m)] or ["NN"]
    flags = " ".join(f"-gencode arch=compute_{cc},code=sm_{cc}" for cc in archs)
    served = known(t.s.driver.cuda_version) or known(t.s.driver.nvml_cuda_version)
    older = f"with CUDA {served} or older" if served else "with a CUDA that the driver supports"
    text = f"Where you compile the program: for the GPU's own architecture (nvcc {flags}), or {older}."
    return one_step(
        "compile-machine-code",
        "Compile the program for the GPU's own architecture",
        text,
        where="environment",
        changes=recheck_run(t.s),
    )


def _jetson(t: Told) -> Iterable[Fix]:
    return (jetson_build(t.s),)


def _python(t: Told) -> Iterable[Fix | None]:
    """The release that is asked for, with a Python that it has wheels for; else one that this Python has."""
    asked = re.search(r"\btorch==(\d[\w.+]{0,40})", t.text)
    s = t.s.replace({"torch.version": asked[1]}) if asked and known(t.s.torch.version) is None else t.s
    wanted = tuple(capabilities(s, t.m)) or usual_gpus(s, t.m)
    have, version = python_version(s), torch_version(known(s.torch.version) or "")
    if notebook(t.s) and have is None:
        return (
            one_step(
                "install-torch",
                "Install a torch that has a wheel for the notebook's Python",
                "The notebook brings its Python: ask for no exact release, so that pip takes one that fits.",
                where="environment",
                changes=recheck_run(t.s),
                note=note(t.s, _TORCH),
                **ways(t.s, _TORCH),
            ),
        )
    here = choose(s, t.m, gpus=wanted) if "torch" in t.text.lower() and have else None
    other = new_python_fix(s, t.m, wanted)
    if here is None:
        return (other,)
    title = f"Install torch {here.torch}, which has a wheel for Python {have}"
    fix = install_torch(s, t.m, gpus=wanted, title=title)
    if version and version.base != here.torch:  # the release that is wanted has none for this Python
        return (fix, other) if notebook(s) else (other, fix)
    return (fix if fix is None else Fix(id=fix.id, title=fix.title, steps=fix.steps, note=_bits(s, fix.note)),)


def _bits(s: Snapshot, note: str) -> str:
    """Wheels are there, and pip found none: its Python is of 32 bits, or its index is another."""
    asked = f"  {executable(s)} -c 'import struct; print(struct.calcsize(\"P\") * 8)'"
    return "\n".join([note, "Where pip still finds none, its Python is not the 64-bit one (this prints 64):", asked])


def torch_again(t: Told, why: str) -> Fix:
    """torch with everything that it pins, once more; its own build where its version is told."""
    if torch_version(known(t.s.torch.version) or ""):
        return reinstall_torch(t.s, t.m, why)
    request = Install(packages=("torch",), all_again=True)
    title = f"Install torch again, {why}"
    return one_step(
        "reinstall-torch",
        title,
        "Install it again, with what it needs.",
        where="environment",
        changes=recheck_run(t.s),
        note=note(t.s, request),
        **ways(t.s, request),
    )


def _companion(t: Told) -> Iterable[Fix | None]:
    """The companions that the text names, in the versions of this torch; else all of them with torch."""
    version = known(t.s.torch.version) or ""
    lower = t.text.lower()
    names = [name for name in COMPILED if name in lower or installed(t.s, (name,))]
    named = [name for name in names if name in lower] or names
    if torch_version(version) and named:
        fixes = [install_companion(t.s, t.m, version, _of(t, name)) for name in named]
        return (_joined([fix for fix in fixes if fix]),)
    url, told = "", re.search(r"PyTorch has CUDA Version=(\d{2})\.(\d)", t.text)
    if told:  # the driver serves that CUDA
        url = f"https://download.pytorch.org/whl/cu{told[1]}{told[2]}"
    request = Install(packages=("torch", *(names or ["torchvision"])), all_again=True, index=url)
    return (
        one_step(
            "install-companion",
            "Install torch and its companions together",
            "Both from the same index, in one command: pip then chooses versions that go together.",
            where="environment",
            changes=recheck_run(t.s),
            note=note(t.s, request),
            **ways(t.s, request),
        ),
    )


def _of(t: Told, name: str) -> Distribution:
    have = installed(t.s, (name,))
    return have[0] if have else Distribution(name=name, version="", location="")


def _joined(fixes: Sequence[Fix]) -> Fix | None:
    if not fixes:
        return None
    title = " and ".join(dict.fromkeys(fix.title for fix in fixes))
    return Fix(id=fixes[0].id, title=title, steps=tuple(step for fix in fixes for step in fix.steps))


def _numpy(t: Told) -> Iterable[Fix]:
    text = "Install the last NumPy 1: every package that was built for it then works."
    newer = "Or newer releases of the packages that Python names: torch fits NumPy 2 from 2.3 on."
    return (
        one_step(
            "install-numpy-1",
            "Install NumPy 1.26",
            text,
            where="environment",
            changes=recheck_run(t.s),
            note=newer,
            **ways(t.s, Install(packages=("numpy<2",))),
        ),
    )


def _jax(t: Told) -> Iterable[Fix]:
    if known(t.s.host.system) == "windows":
        return (_in_wsl("JAX", "'jax[cuda12]'"),)
    major = cuda_major_for(t.s)
    if t.said.decides == "ld-library-path-shadows-cuda-libs":
        return ()
    have = installed(t.s, ("jax",))
    exact = f"=={have[0].version}" if have and numbers(have[0].version) >= (0, 4, 31) else ""
    put = [(name, have[0].version if exact else "0") for name in ("jax", "jaxlib", f"jax-cuda{major}-plugin")]
    return (
        replace_package(
            t.s,
            [],
            f"jax[cuda{major}]{exact}",
            put,
            id="install-jax-cuda",
            title=f"Install JAX with its CUDA {major} plugin",
        ),
    )


def _in_wsl(name: str, spec: str, more: str = "") -> Fix:
    text = f"Install WSL 2 and, inside it, {spec}{more}."
    title = f"Run {name} in WSL 2: it has no GPU build for Windows"
    changes = {"python.distributions": RECHECK}
    return one_step("use-wsl", title, text, "wsl --install", "windows", changes=changes)


def _onnx(t: Told) -> Iterable[Fix]:
    """Both packages write one folder; the provider's libraries come as extras of the GPU package."""
    preload = "Then import torch first, or call onnxruntime.preload_dlls(), so that they are found."
    if t.said.id == "ort-provider-library":
        old = re.search(r"\.so\.(\d+)|64_(\d+)\.dll", t.text)
        below = "<1.27" if old and "12" in old.groups() else ""
        fix = replace_package(
            t.s,
            [],
            f"onnxruntime-gpu[cuda,cudnn]{below}",
            [("onnxruntime-gpu", "0")],
            upgrade=True,
            id="install-cuda-wheels",
            title="Install the CUDA and cuDNN that ONNX Runtime needs",
            text="It brings the libraries of its CUDA as wheels.",
        )
        return (Fix(id=fix.id, title=fix.title, steps=fix.steps, note=preload),)
    have = installed(t.s, ("onnxruntime-gpu",))
    major = numbers(known(t.s.torch.cuda) or known(t.s.driver.nvml_cuda_version) or known(t.s.driver.cuda_version))[:1]
    spec = f"onnxruntime-gpu=={have[0].version}" if have else "onnxruntime-gpu" + ("<1.27" if major == (12,) else "")
    fix = replace_package(
        t.s,
        ["onnxruntime", "onnxruntime-gpu"],
        spec,
        [("onnxruntime-gpu", "0")],
        id="keep-onnxruntime-gpu",
        title="Install onnxruntime-gpu alone",
    )
    return (
        Fix(
            id=fix.id,
            title=fix.title,
            steps=fix.steps,
            note=f"Its CUDA and cuDNN come with the extras [cuda,cudnn]. {preload}",
        ),
    )


_OTHERS = ("framework-library-missing", "program-loads-library", "not-torch-loader", "cuda-library-missing-any")
"""Messages of any program that loads CUDA's libraries itself."""


def _tensorflow(t: Told) -> Iterable[Fix]:
    if t.said.id in _OTHERS and "tensorflow" not in t.text.lower():
        return libraries(t)
    if known(t.s.host.system) == "windows":
        return (_in_wsl("TensorFlow", "tensorflow[and-cuda]", "; 2.10 was the last one for Windows itself"),)
    if known(t.s.host.architecture) == "aarch64":
        return (
            one_step(
                "use-nvidia-image",
                "Use NVIDIA's TensorFlow for aarch64",
                "Start NVIDIA's TensorFlow image (nvcr.io/nvidia/tensorflow).",
                where="container-start",
                changes={"python.distributions": RECHECK},
            ),
        )
    have = installed(t.s, ("tensorflow",))
    exact = f"=={have[0].version}" if have and numbers(have[0].version) >= (2, 14) else ""
    if exact == "==2.16.1":  # does not look into its wheels
        exact = "==2.16.2"
    title = "Install TensorFlow with its CUDA libraries"
    return (
        replace_package(
            t.s, [], f"tensorflow[and-cuda]{exact}", [("tensorflow", "0")], id="install-tensorflow-gpu", title=title
        ),
    )


def _other_framework(t: Told) -> Iterable[Fix]:
    lower = t.text.lower()
    if t.said.id == "tf-windows" or "tensorflow" in lower or "is_built_with_cuda" in lower:
        return _tensorflow(t)
    if t.said.id == "ollama-cpu-runners":
        return (
            one_step(
                "install-ollama-whole",
                "Install Ollama whole again",
                t.said.fix,
                t.said.command,
                t.said.where,
                changes={"torch_run.cuda_available": RECHECK},
            ),
        )
    found = next((row for row in _BUILDS if row[0] in lower), None)
    if found is None:
        return ()
    _, name, old, request, text = found
    steps = []
    if old:
        steps.append(
            Step(
                text="Remove the build without CUDA.", command=uninstall_command(t.s, old.split()), where="environment"
            )
        )
    lines = ways(t.s, request)
    if name == "CTranslate2" and known(t.s.host.architecture) == "aarch64":
        text = "PyPI's wheels for aarch64 are CPU builds: build it here; takes nvcc, cuDNN and cmake."
        lines = ways(t.s, *_CTRANSLATE2, before=_BUILD)
    steps.append(Step(text=text, where="environment", changes={"python.distributions": RECHECK}, **lines))
    return (Fix(id="install-gpu-build", title=f"Install {name} with CUDA", steps=tuple(steps)),)


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
_COMPILE = "Compile it with CUDA (takes nvcc and a C++ compiler)."
_RENAMED = "The GPU build has another name."
_LIGHTGBM = Install(
    packages=("lightgbm",), all_again=True, from_source=("lightgbm",), settings=("cmake.define.USE_CUDA=ON",)
)
_BUILDS = (
    ("dgl", "DGL", "dgl", Install(packages=("dgl",), find_links="https://data.dgl.ai/wheels/torch-2.4/cu124/repo.html"),
     "Take the folder of your torch and its CUDA."),
    ("ctranslate2", "CTranslate2", "", Install(packages=("ctranslate2",), upgrade=True, all_again=True),
     "Its wheels for x86_64 hold CUDA; on aarch64 it has to be built from source."),
    ("llama", "llama-cpp-python", "", LLAMA_CPP, _COMPILE),
    ("gpu offload", "llama-cpp-python", "", LLAMA_CPP, _COMPILE),
    ("blas = 0", "llama-cpp-python", "", LLAMA_CPP, _COMPILE),
    ("blas=0", "llama-cpp-python", "", LLAMA_CPP, _COMPILE),
    ("standardgpuresources", "faiss", "faiss-cpu", Install(packages=("faiss-gpu-cu12",)), _RENAMED),
    ("gpu tree learner", "LightGBM", "", _LIGHTGBM, _COMPILE),
    ("xgboost", "XGBoost", "xgboost-cpu", Install(packages=("xgboost",), again=("xgboost",), deps=False),
     "PyPI's wheel holds CUDA."),
    ("paddle", "PaddlePaddle", "paddlepaddle", Install(packages=("paddlepaddle-gpu",)), _RENAMED),
)  # fmt: skip
"""A word of the message, name, what is removed, what is installed, words."""


_DROPPED_BY_13 = (7, 5)
"""CUDA 13 compiles for compute capability 7.5 and newer."""


def _nvrtc(t: Told) -> Iterable[Fix | None]:
    """A torch of a newer CUDA: its NVRTC knows the GPU; the newest GPUs that a build for this Python serves."""
    told = tuple(capabilities(t.s, t.m))
    if told and all(numbers(cap) < _DROPPED_BY_13 for cap in told):  # NVRTC is newer than the GPU
        if known(t.s.torch.version) is None and "torch" not in t.text.lower():
            newest = "12" if all(numbers(cap) >= (5, 0) for cap in told) else "11"
            text = f"A newer CUDA dropped this GPU: take the build of the program for CUDA {newest} and its toolkit."
            return (
                one_step(
                    "install-older-program",
                    "Install a build of the program for an older CUDA",
                    text,
                    where="environment",
                    changes=recheck_run(t.s),
                ),
            )
        title = "Install a torch build of a CUDA that still knows the GPU"
        return (install_torch(t.s, t.m, gpus=told, newest=True, title=title),)
    title = "Install a torch build of a newer CUDA, whose NVRTC knows the GPU"
    if "RuntimeError" not in t.said.text and "torch" not in t.text.lower() and known(t.s.torch.version) is None:
        text = "Take the build or release of the program that is made for a newer CUDA, or put a newer NVRTC before it."
        return (
            one_step(
                "install-newer-program",
                "Install a build of the program for a newer CUDA",
                text,
                where="environment",
                changes=recheck_run(t.s),
            ),
        )
    for gpus in (told,) if told else (_NEW, ("8.9", "9.0"), ("8.6",)):
        if newer := install_torch(t.s, t.m, gpus=gpus, newest=True, title=title):
            return (newer,)
    return (new_python_fix(t.s, t.m, told or _NEW) or compatible_torch(t.s, t.m),)


FIXES = {
    "cpu-only-torch": _fitting, "torch-lacks-new-gpu-sm": _too_new_gpu, "torch-dropped-old-gpu-sm": _too_old_gpu,
    "ptx-newer-than-driver": _ptx, "jetson-generic-wheel": _jetson, "python-version-without-wheel": _python,
    "torch-companion-mismatch": _companion, "numpy-abi-mismatch": _numpy, "jax-cpu-fallback": _jax,
    "onnxruntime-cpu-fallback": _onnx, "framework-cuda-libs-not-found": _tensorflow,
    "framework-build-without-gpu": _other_framework, "nvrtc-lacks-gpu-arch": _nvrtc,
}  # fmt: skip
