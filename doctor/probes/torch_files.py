"""torch from its files: version, build, architectures by bytes, what it links and what would be found for it."""

from __future__ import annotations

import re
from typing import Any

from ..formats.lazy import lazy
from ..formats.pytorch import parse_version_file
from ..snapshot import ABSENT, CodeLibrary, Missing, Python, Torch, TorchCaller
from .extensions import code_libraries
from .raw import Raw, number, string, strings

# Not a wheel's or the loader's to supply: the driver's own, which other facts speak of.
_DRIVER = ("libcuda.so.1", "libnvidia-ml.so.1")
_CUDA_LIBRARY = lazy(r"lib(cu[a-zA-Z_]|nv[a-zA-Z]|nccl)[A-Za-z_-]*\.so")
# Loaded at the first use of a feature only: absent without harm to an import.
_LAZY = ("libtorch_nvshmem.so", "libtorch_cuda_linalg.so")
_FILE_VERSION = lazy(r"\.so\.(\d+\.\d+(?:\.\d+)?)$")
_WHEEL = lazy(r"nvidia-(cudnn|nccl)-cu\d+$")


def parse_torch(raw: Raw, python: Python) -> Torch:
    """All of Torch; every field has the same gap where there is no torch."""
    row = raw.row("torch")
    if isinstance(row, Missing):
        return _all_missing(_no_torch(raw))
    folder = string(row.get("path"))
    text = raw.text(folder + "/version.py")
    in_version_file = parse_version_file(text) if isinstance(text, str) else None
    distribution = python.distribution("torch")
    dist = None if isinstance(distribution, Missing) else distribution
    gap = text if isinstance(text, Missing) else Missing("error", "torch/version.py could not be parsed")
    if in_version_file is None:
        version: str | Missing = dist.version if dist else gap
    else:
        version = in_version_file.version or gap
    libraries = code_libraries(raw, torch=True)
    names = raw.names(folder + "/lib")
    main = [lib for lib in libraries if re.search(r"/libtorch_cuda(_cu|_cpp)?\.so$", lib.path)]
    build = in_version_file.build if in_version_file else None
    cuda = in_version_file.cuda if in_version_file else None
    return Torch(
        version=version,
        location=folder,
        build=build if build in ("cuda", "rocm", "xpu", "cpu") else gap,  # type: ignore[arg-type]
        cuda=cuda or (ABSENT if in_version_file else gap),
        hip=(in_version_file.hip if in_version_file else None) or (ABSENT if in_version_file else gap),
        debug=in_version_file.debug
        if in_version_file and in_version_file.debug is not None
        else ABSENT
        if in_version_file
        else gap,
        git_version=(in_version_file.git_version if in_version_file else None) or (ABSENT if in_version_file else gap),
        cxx11_abi=_cxx11_abi(raw, folder),
        installer=(dist.installer or ABSENT) if dist else ABSENT,
        requires_python=dist.requires_python if dist else ABSENT,
        requires=dist.requires if dist else ABSENT,
        sass=_archs(main, "sass", build, names),
        ptx=_archs(main, "ptx", build, names),
        arch_text=_arch_text(raw, build),
        libraries=libraries,
        preloads=_preloads(raw),
        callers=_callers(raw),
        **_linked(raw, folder, python),
    )


def _preloads(raw: Raw) -> tuple[str, ...] | Missing:
    row = raw.row("preloads")
    return row if isinstance(row, Missing) else strings(row.get("names"))


def _callers(raw: Raw) -> tuple[TorchCaller, ...] | Missing:
    if not raw.rows("calls_looked"):
        return Missing("absent", "no extension, or torch's libraries cannot be read") if raw.complete else raw.unasked
    return tuple(
        TorchCaller(
            path=string(row.get("path")),
            package=string(row.get("package")),
            symbols=number(row.get("symbols")) or 0,
            missing=strings(row.get("missing")),
            missing_count=number(row.get("lost")) or 0,
        )
        for row in raw.rows("calls")
    )


def _cxx11_abi(raw: Raw, folder: str) -> bool | Missing:
    """The C++ ABI that its own CMake file tells extensions to use (not stated since about 2.12)."""
    line = raw.match(folder + "/share/cmake/Torch/TorchConfig.cmake")
    if isinstance(line, Missing):
        return Missing("absent", "torch's CMake file does not show it") if raw.complete else line
    return line.endswith("=1")


def _no_torch(raw: Raw) -> Missing:
    if raw.unasked.reason == "timeout":
        return raw.unasked
    found = any(row.get("role") == "patient" and row.get("prefix") for row in raw.rows("python"))
    return Missing("absent", "torch is not installed") if found else raw.unasked


def _all_missing(gap: Missing) -> Torch:
    return Torch(**dict.fromkeys(Torch.__struct_fields__, gap))


def _archs(main: list[CodeLibrary], kind: str, build: str | None, names: object) -> tuple[str, ...] | Missing:
    """What every kernel library of torch (one, or the two of 1.x builds) holds in nearly all its containers."""
    readable = [lib for lib in main if not lib.problem and any(s.containers for s in lib.sections)]
    broken = next((lib for lib in main if lib.problem), None)
    if broken:
        return Missing("error", f"{broken.path.rpartition('/')[2]}: {broken.problem}")
    if not readable:
        if build in ("cpu", "rocm", "xpu"):
            return Missing("absent", f"a {build} build contains no CUDA code")
        if isinstance(names, Missing):
            return names
        return Missing("absent", "no library with CUDA kernels in torch/lib")
    first: tuple[str, ...] = getattr(readable[0], kind)
    return tuple(arch for arch in first if all(arch in getattr(lib, kind) for lib in readable[1:]))


def _arch_text(raw: Raw, build: str | None) -> tuple[str, ...] | Missing:
    row = raw.row("archs")
    if isinstance(row, Missing):
        return (
            Missing("absent", f"a {build} build has no list of architectures")
            if build in ("cpu", "xpu") and raw.complete
            else row
        )
    return strings(row.get("archs"))


def _linked(raw: Raw, folder: str, python: Python) -> dict[str, Any]:
    """DT_NEEDED of torch's own libraries, what is missing, cuDNN and NCCL."""
    elfs = [row for row in raw.rows("elf") if string(row.get("path")).startswith(folder + "/lib/")]
    needed: dict[str, None] = {}
    for row in elfs:
        needed.update(dict.fromkeys(n for n in strings(row.get("needed")) if _CUDA_LIBRARY.match(n)))
    lost: dict[str, None] = {}
    found: dict[str, str] = {}
    for row in raw.rows("needs"):
        path, table = string(row.get("path")), row.get("found")
        if not isinstance(table, dict) or path.rpartition("/")[2] in _LAZY:
            continue
        for soname, real_path in table.items():
            where = strings(real_path)
            if len(where) == 3 and where[0]:
                found.setdefault(soname, where[2] or where[0])
            elif soname not in _DRIVER and _CUDA_LIBRARY.match(soname):
                lost[soname] = None
    if not elfs:
        gap = Missing("absent", "no CUDA library in torch/lib") if raw.complete else raw.unasked
        return {
            "linked_libraries": gap,
            "missing_libraries": gap,
            "cudnn_bundled": gap,
            "cudnn_path": gap,
            "cudnn_shadow": gap,
            "nccl_bundled": gap,
            "nccl_path": gap,
        }
    cudnn, nccl = _first(found, "libcudnn.so"), _first(found, "libnccl.so")
    return {
        "linked_libraries": tuple(needed),
        "missing_libraries": tuple(name for name in lost if name not in found),
        "cudnn_bundled": _bundled(raw, python, cudnn, "cudnn", needed),
        "cudnn_path": cudnn or Missing("absent", "none of torch's libraries lists cuDNN as a dependency"),
        "cudnn_shadow": _shadow(raw, cudnn),
        "nccl_bundled": _bundled(raw, python, nccl, "nccl", needed),
        "nccl_path": nccl or Missing("absent", "none of torch's libraries lists NCCL as a dependency"),
    }


def _first(found: dict[str, str], start: str) -> str:
    return next((path for soname, path in found.items() if soname.startswith(start)), "")


def _bundled(raw: Raw, python: Python, path: str, name: str, needed: dict[str, None]) -> str | Missing:
    """Version by the wheel that the found file lies in, else by the real file's name."""
    if not path:
        linked = any(soname.startswith(f"lib{name}.so") for soname in needed)
        return Missing(
            "absent",
            "linked but not found"
            if linked
            else f"none of torch's libraries lists {name} as a dependency (linked statically or not used)",
        )
    distributions = python.distributions
    for dist in distributions if isinstance(distributions, tuple) else ():
        if _WHEEL.match(dist.name) and f"-{name}-" in dist.name and path.startswith(dist.location + "/nvidia/"):
            return ".".join(dist.version.split(".post")[0].split(".")[:3])
    match = _FILE_VERSION.search(raw.real(path))
    return match.group(1) if match else Missing("absent", "no wheel or file name gives its version")


def _shadow(raw: Raw, own: str) -> str | Missing:
    """A cuDNN of the same major on LD_LIBRARY_PATH in addition to the one that torch brings or finds by its own path.

    It is loaded in place of torch's, or (where an RPATH comes first) its parts are, which cuDNN loads by name.
    """
    if isinstance(raw.env(), Missing):
        return raw.unasked
    folder, _, soname = own.rpartition("/")
    for row in raw.rows("library") if own else []:
        path = string(row.get("path"))
        if row.get("by") != "LD_LIBRARY_PATH" or path.rpartition("/")[2] != soname:
            continue
        if path.rpartition("/")[0] != folder and string(row.get("real")) != raw.real(own):
            return path
    return ABSENT
