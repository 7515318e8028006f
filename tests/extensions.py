"""Machines with compiled extensions: libraries as the gatherer reads them, for the tests of the checks about them."""

from __future__ import annotations

from typing import Any

from doctor.snapshot import CodeEntry, CodeLibrary, CodeSection, Distribution, Snapshot, known

from .torches import SITE

TORCH = ("libc10.so", "libtorch.so", "libtorch_cpu.so", "libtorch_python.so")
TORCH_CUDA = (*TORCH, "libc10_cuda.so", "libtorch_cuda.so")


def library(
    package: str,
    file: str,
    sass: tuple[str, ...] = (),
    ptx: tuple[str, ...] = (),
    needed: tuple[str, ...] = (*TORCH_CUDA, "libcudart.so.12"),
    **share: int,
) -> CodeLibrary:
    """A library whose ten kernel containers all hold these targets; `share`: others that only some hold (sm90=3)."""
    entries = [CodeEntry(arch=a, kind="sass", entries=10, containers=10) for a in sass]
    entries += [CodeEntry(arch=a, kind="ptx", entries=10, containers=10) for a in ptx]
    entries += [
        CodeEntry(arch=f"{name[2:-1]}.{name[-1]}", kind="sass", entries=n, containers=n) for name, n in share.items()
    ]
    sections = (CodeSection(section=".nv_fatbin", containers=10, archs=tuple(entries)),) if entries else ()
    return CodeLibrary(
        path=f"{SITE}/{file}", package=package, size=1 << 20, sections=sections, sass=sass, ptx=ptx, needed=needed
    )


def with_extension(s: Snapshot, name: str, version: str, *libraries: CodeLibrary, **facts: Any) -> Snapshot:
    """A package with these libraries, beside what is installed."""
    put = Distribution(name=name, version=version, location=SITE, installer="pip", **facts)
    kept = tuple(d for d in known(s.python.distributions) or () if d.name != name)
    others = tuple(lib for lib in known(s.python.extensions) or () if lib.package != name)
    return s.replace({"python.distributions": (*kept, put), "python.extensions": (*others, *libraries)})


def flash_attn(*sass: str, version: str = "2.8.3", **facts: Any) -> tuple[str, str, CodeLibrary]:
    """flash-attn 2 with this code."""
    return (
        "flash-attn",
        version,
        library("flash-attn", "flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so", sass or ("8.0", "9.0")),
    )


def bitsandbytes(*cudas: str, sass: tuple[str, ...] = ("7.5", "8.0", "8.6", "8.9", "9.0")) -> tuple[CodeLibrary, ...]:
    """One library per CUDA version ("128")."""
    return tuple(
        library(
            "bitsandbytes",
            f"bitsandbytes/libbitsandbytes_cuda{cuda}.so",
            sass,
            needed=(f"libcudart.so.{cuda[:2]}", f"libcublas.so.{cuda[:2]}"),
        )
        for cuda in cudas
    )
