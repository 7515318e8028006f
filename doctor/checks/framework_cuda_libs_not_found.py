"""TensorFlow cannot find the CUDA libraries that it needs.

What is wrong: TensorFlow's GPU build opens libcudart, libcublas, libcudnn and similar libraries by name when it starts.
They come either as wheels (with the `and-cuda` extra) or from a toolkit on the loader's path. Some of them were not
found in either location.

Symptoms: `Cannot dlopen some GPU libraries. Please make sure the missing libraries mentioned above are installed
properly`, `Could not find cuda drivers on your machine, GPU will not be used`, an empty list of GPUs.

Why it happens: `pip install tensorflow` without the extra; a toolkit with a different CUDA major version; an
environment module or shell startup file that resets LD_LIBRARY_PATH. TensorFlow 2.16.1 does not search its own wheels
(2.16.2 and newer do).

How to fix it: install the same version of `tensorflow[and-cuda]`.

This finding is a warning; it is only a note if torch is installed, and a failure with `--require tensorflow`.

Source: tensorflow.org/install/pip and /install/source (tested builds); TensorFlow's Requires-Dist metadata.
"""

from __future__ import annotations

import re

from compat_matrix.frameworks import sonames
from compat_matrix.versions import numbers

from ..findings import Check, Findings, Fix, Matrix, Policy, Skip, Step
from ..fixes.frameworks import cuda_wheels, replace_package
from ..fixes.install import conda_line
from ..fixes.where import RECHECK
from ..snapshot import Distribution, Missing, Snapshot, Toolkit, known, need
from ._frameworks import gpu_wanted, installed, missing_libraries, other_toolkits, weight

CHECK = Check(
    __name__,
    title="A framework cannot find its CUDA libraries",
    sound="TensorFlow is not known to lack CUDA libraries",
    severity="error",
    layer="extension",
    tags=("framework", "libraries"),
    downstream_of=("no-nvidia-gpu", "framework-build-without-gpu"),
    source="tensorflow.org/install/pip",
)

_WITH_2_16_2 = {"cuda-runtime": "12.3.101", "cublas": "12.3.4.1", "cudnn": "8.9.7.29", "nccl": "2.19.3"}
"""What its extra and-cuda pins, as far as this check uses it."""


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns if libraries that this TensorFlow opens are neither wheels nor on the loader's path."""
    d = installed(s, "tensorflow", "tensorflow-gpu")
    if d is None:
        raise Skip("TensorFlow is not installed", without="tensorflow")
    row = next(iter(m.framework("tensorflow", d.version)), None)
    kits = other_toolkits(s, row.cuda) if row and not row.extra else []
    gpu_wanted(s, p, kits)
    machine = known(s.host.architecture) or ("x86_64" if kits else "")
    if known(s.host.system) == "windows" or machine != "x86_64" or d.installer == "conda":
        raise Skip("this TensorFlow is not a GPU build from PyPI")
    pins = _pinned(d)
    if pins:
        cuda, cudnn = pins
        runtime = f"libcudart.so.{cuda}" + (".0" if cuda == "11" else "")
        names: tuple[str, ...] = (runtime, f"libcublas.so.{cuda}", f"libcudnn.so.{cudnn}")
    elif row:
        cuda, cudnn, names = row.cuda, row.cudnn, sonames(row)
    else:
        return
    lost = list(names) if kits else missing_libraries(s, names)
    facts = {"tensorflow": d.version, "cuda": cuda, "cudnn": cudnn, "missing": lost}
    say = {"fail": CHECK.fail, "warn": CHECK.warn}.get(weight(s, p, "tensorflow"), CHECK.remark)
    blind = numbers(d.version)[:3] == (2, 16, 1)
    if blind and (lost or _only_wheels(s, names)):
        wheels = [(f"nvidia-{part}-cu12", version) for part, version in _WITH_2_16_2.items()]
        title = "TensorFlow 2.16.1 does not search its CUDA wheels"
        fix = replace_package(
            s,
            [],
            "tensorflow[and-cuda]==2.16.2",
            [("tensorflow", "2.16.2"), *wheels],
            id="upgrade-tensorflow",
            title="Install TensorFlow 2.16.2",
        )
        yield say(title, "TensorFlow 2.16.2 and newer find them.", facts=facts, subject="tensorflow", fixes=(fix,))
    elif lost:
        named = f"cannot find {', '.join(lost)}"
        title = f"TensorFlow {d.version} {f'needs CUDA {cuda}, not {kits[0]}' if kits else named}"
        here = f"but the installed toolkit is {', '.join(kits)}"
        here = here if kits else "but the missing libraries are neither in wheels nor on the loader's path"
        detail = f"It was built for CUDA {cuda} and cuDNN {cudnn}, {here}."
        yield say(
            title,
            detail,
            facts=facts,
            subject="tensorflow",
            fixes=_fixes(s, m, d, cuda, cudnn, extra=pins is not None or bool(row and row.extra)),
        )


def _fixes(s: Snapshot, m: Matrix, d: Distribution, cuda: str, cudnn: str, *, extra: bool) -> tuple[Fix, ...]:
    """Its CUDA libraries as wheels; a release that predates them is replaced with one that has them."""
    if extra:
        parts = ("cudart", "cublas", "cufft", "curand", "cusolver", "cusparse")
        return (cuda_wheels(s, numbers(cuda)[0], numbers(cudnn)[0], parts, f"tensorflow[and-cuda]=={d.version}"),)
    newer = _with_extra(s, m)
    if not newer:
        return (_by_conda(s, cuda, cudnn),) if isinstance(s.cuda.libraries, Missing) else ()
    spec, title = f"tensorflow[and-cuda]=={newer}.*", f"Install TensorFlow {newer} with its CUDA libraries"
    return (replace_package(s, [], spec, [("tensorflow", newer)], id="upgrade-tensorflow", title=title),)


def _by_conda(s: Snapshot, cuda: str, cudnn: str) -> Fix:
    """The libraries of its CUDA, from conda, if no release with wheels has a build for this Python."""
    step = Step(
        text="Run the first line in this TensorFlow's environment, and the second each time before TensorFlow starts.",
        command=f"{conda_line(s, [f'cudatoolkit={cuda}', f'cudnn={cudnn}'])}\n"
        "export LD_LIBRARY_PATH=$CONDA_PREFIX/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}",
        where="environment",
        changes={"cuda.toolkits": (Toolkit(path="$CONDA_PREFIX", version=cuda),), "cuda.nvcc_version": RECHECK},
    )
    return Fix(id="cuda-of-tensorflow-by-conda", title=f"Install the CUDA {cuda} libraries from conda", steps=(step,))


def _pinned(d: Distribution) -> tuple[str, str] | None:
    """CUDA and cuDNN major from the pins of its extra, if its metadata was read and has them."""
    cuda = cudnn = ""
    for line in known(d.requires) or ():
        found = re.match(r"nvidia-(cublas|cudnn)-cu(\d+)\D*(\d+)?", line)
        if found:
            cuda = found[2]
            cudnn = found[3] or cudnn if found[1] == "cudnn" else cudnn
    return (cuda, cudnn) if cuda and cudnn else None


def _with_extra(s: Snapshot, m: Matrix) -> str:
    """The newest TensorFlow with CUDA as wheels and a build for this Python; '' if none is listed."""
    have = ".".join(map(str, numbers(known(s.python.patient.version))[:2]))
    rows = [r for r in m.frameworks if r.package == "tensorflow" and r.extra and have in r.pythons]
    return max((r.version for r in rows), key=numbers, default="")


def _only_wheels(s: Snapshot, names: tuple[str, ...]) -> bool:
    loaded = {item.soname for item in need("cuda.libraries", s.cuda.libraries)}
    return not loaded & set(names)
