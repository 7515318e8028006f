"""Questions about frameworks other than torch: which CUDA, cuDNN and Pythons a release is built for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .versions import numbers

if TYPE_CHECKING:
    from .rows_library import Framework
    from .store import Store

_SAME = {
    "tensorflow-gpu": "tensorflow",
    "jaxlib": "jax",
    "paddlepaddle-gpu": "paddlepaddle",
    "onnxruntime": "onnxruntime-gpu",
}


def framework(m: Store, package: str, version: str) -> tuple[Framework, ...]:
    """The builds of a release ('tensorflow', '2.13.1'), else those of its minor; none when not listed.

    package: the distribution's name; 'jax' and 'cupy' stand for all of theirs ('jax-cuda12-plugin', 'cupy-cuda12x').
    """
    name = package.casefold().replace("_", "-")
    name = _SAME.get(name, name)
    wanted = numbers(version)
    rows = [
        (len(have), row)
        for row in m.frameworks
        if (row.package == name or row.package.startswith((f"{name}-cuda", f"{name}_cuda")))
        and (have := numbers(row.version)) == wanted[: len(have)]
    ]
    exact = max((length for length, _ in rows), default=0)
    return tuple(row for length, row in rows if length == exact)


def sonames(row: Framework) -> tuple[str, ...]:
    """The shared libraries that it opens by name: libcudart, libcublas, libcudnn.

    Before CUDA 11, libcudart's name includes the minor version; until 10.0, libcublas's name does too.
    """
    cuda = numbers(row.cuda)
    text, major = ".".join(map(str, cuda[:2])), cuda[0]
    runtime = f"libcudart.so.{text if cuda < (11,) else '11.0' if major == 11 else major}"
    blas = f"libcublas.so.{text if cuda < (10, 1) else major}"
    return (runtime, blas, *((f"libcudnn.so.{numbers(row.cudnn)[0]}",) if row.cudnn else ()))
