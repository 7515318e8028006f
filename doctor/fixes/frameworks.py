"""GPU builds of frameworks other than torch, and the CUDA wheels that they need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compat_matrix.versions import numbers

from ..findings import Fix, Step
from ..snapshot import Distribution, Snapshot, known
from .install import Install, environment_line, step, ways
from .packages import site_packages, uninstall_command, with_distributions
from .where import RECHECK, recheck_run

LLAMA_CPP = Install(
    packages=("llama-cpp-python",),
    again=("llama-cpp-python",),
    deps=False,
    cache=False,
    from_source=("llama-cpp-python",),
    variables=(("CMAKE_ARGS", "-DGGML_CUDA=on"),),
)
"""Compiled with CUDA; its project's README."""
PRELOAD = "Then import torch first, or call onnxruntime.preload_dlls(), so that the libraries are found."
"""How ONNX Runtime finds the CUDA libraries of wheels."""


def cuda_major_for(s: Snapshot) -> int:
    """13 if the driver supports it, else 12."""
    return 13 if numbers(known(s.driver.version))[:1] >= (580,) else 12


def replace_package(
    s: Snapshot,
    old: Sequence[str],
    spec: str,
    put: Sequence[tuple[str, str]],
    *,
    id: str,
    title: str,
    text: str = "",
    upgrade: bool = False,
) -> Fix:
    """Uninstall `old` (both of two that share a folder), then install `spec`; `put`: what is there afterwards."""
    steps = []
    if old:
        steps.append(
            Step(
                text="Remove what is installed.",
                command=uninstall_command(s, old),
                where="environment",
                destructive=True,
            )
        )
    site = site_packages(s)
    new = [Distribution(name=name, version=version, location=site) for name, version in put]
    changes = {"python.distributions": with_distributions(s, new, old)}
    put_it = step(s, Install(packages=(spec,), upgrade=upgrade), text or f"Install {spec}.", changes=changes)
    return Fix(id=id, title=title, steps=(*steps, put_it))


def cuda_wheels(s: Snapshot, major: int, cudnn: int, parts: Sequence[str], spec: str, note: str = "") -> Fix:
    """The CUDA libraries of a major as wheels: cublas, cufft ...; CUDA 13's wheels have no suffix but cuDNN's.

    Where a cuDNN of another major, or for another CUDA, is installed for something else: `spec` in an environment of
    its own, as all cuDNN wheels write the same folder.
    """
    for d in known(s.python.distributions) or ():
        matches = d.name == f"nvidia-cudnn-cu{major}" and numbers(d.version)[:1] == (cudnn,)
        if d.name.startswith("nvidia-cudnn-cu") and not matches:
            return _apart(s, spec)
    names = {"cudart": "cuda-runtime", "nvrtc": "cuda-nvrtc"}
    wheels = [f"nvidia-{names.get(part, part)}" + ("" if major >= 13 else f"-cu{major}") for part in parts]
    dnn, dnn_bound = f"nvidia-cudnn-cu{major}", f"nvidia-cudnn-cu{major}=={cudnn}.*"
    specs = [f"cuda-toolkit[{','.join(parts)}]=={major}.*"] if major >= 13 else wheels
    site = site_packages(s)
    put = [Distribution(name=name, version=f"{major}.0", location=site) for name in wheels]
    put.append(Distribution(name=dnn, version=f"{cudnn}.0", location=site))
    text = f"Install the CUDA {major} and cuDNN {cudnn} libraries as wheels; no system-wide toolkit is needed."
    wheels_step = step(
        s, Install(packages=(*specs, dnn_bound)), text, changes={"python.distributions": with_distributions(s, put)}
    )
    return Fix(id="install-cuda-wheels", title=f"Install the CUDA {major} libraries", steps=(wheels_step,), note=note)


def cuda_arrays(s: Snapshot, cuda: str, text: str) -> Fix:
    """CuPy or Numba with CUDA's libraries as wheels, of the major that is here."""
    major = numbers(cuda)[0] if numbers(cuda)[:1] in ((12,), (13,)) else cuda_major_for(s)
    if "cupy" not in text.lower():
        title = "Install Numba's CUDA support with the CUDA libraries"
        return replace_package(s, [], f"numba-cuda[cu{major}]", [("numba-cuda", "0")], id="install-numba", title=title)
    wheel = f"cupy-cuda{major}x"
    old = [d.name for d in known(s.python.distributions) or () if d.name.startswith("cupy") and d.name != wheel]
    return replace_package(
        s,
        old,
        f"{wheel}[ctk]",
        [(wheel, "14")],
        id="install-cupy",
        title=f"Install CuPy for CUDA {major} with its libraries",
        text="Keep only one CuPy package: uninstall others (cupy-cuda11x) first.",
    )


def _apart(s: Snapshot, spec: str) -> Fix:
    folder = "~/venv-framework"
    unknown: dict[str, Any] = {f"torch.{name}": RECHECK for name in s.torch.__struct_fields__}
    changes = {**unknown, **recheck_run(s), "python.distributions": RECHECK, "python.extensions": RECHECK,
               "python.patient.prefix": folder, "python.patient.executable": f"{folder}/bin/python"}  # fmt: skip
    text = "Another package needs the installed cuDNN, and one environment cannot hold two versions."
    there = s.replace({"python.patient.executable": f"{folder}/bin/python", "python.distributions": RECHECK})
    made = Step(
        text=text,
        where="shell",
        changes=changes,
        **ways(there, Install(packages=(spec,)), before=f"{environment_line(s, folder)} && "),
    )
    return Fix(id="own-environment", title=f"Install {spec} in a separate environment", steps=(made,))


def install_jax(s: Snapshot, version: str, major: int, old: Sequence[str] = ()) -> Fix:
    """JAX with its CUDA plugin: in this version where it has such an extra, else the newest, without `old` then."""
    exact = numbers(version) >= (0, 4, 31)
    spec = f"jax[cuda{major}]" + (f"=={version}" if exact else "")
    names = ("jax", "jaxlib", f"jax-cuda{major}-plugin", f"jax-cuda{major}-pjrt")
    put = [(name, version if exact else "0") for name in names]
    title = f"Install JAX with its CUDA {major} plugin"
    return replace_package(s, old if exact else (), spec, put, id="install-jax-cuda", title=title)


def keep_onnxruntime_gpu(s: Snapshot, spec: str, version: str) -> Fix:
    """The GPU package alone: both write into one folder."""
    old, put = ["onnxruntime", "onnxruntime-gpu"], [("onnxruntime-gpu", version)]
    return replace_package(s, old, spec, put, id="keep-onnxruntime-gpu", title="Keep only onnxruntime-gpu")
