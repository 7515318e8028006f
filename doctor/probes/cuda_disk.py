"""CUDA on disk: toolkits, nvcc, gcc, and the libraries that the loader would take."""

from __future__ import annotations

import re

from ..formats.lazy import lazy
from ..snapshot import Cuda, LoaderLibrary, Missing, Toolkit
from .raw import Raw, number, string, strings

_DEFINE = lazy(r"#define CUDA(?:RT)?_VERSION\s+(\d{4,6})")
_SONAME = lazy(r"(lib[A-Za-z_-]+)\.so")
_FILE_VERSION = lazy(r"\.so\.(\d+(?:\.\d+)*)$")
_DRIVER_LIBRARIES = ("libcuda", "libnvidia-ml", "libnvidia-ptxjitcompiler")


def parse_cuda(raw: Raw) -> Cuda:
    """All of Cuda."""
    env = raw.env()
    loader = raw.row("loader")
    home: str | Missing | None = env if isinstance(env, Missing) else env.get("CUDA_HOME") or env.get("CUDA_PATH")
    nvcc = next(iter(raw.rows("nvcc")), None)
    kits = [_toolkit(raw, row) for row in raw.rows("toolkit") if _is_toolkit(row)]
    folders: tuple[str, ...] | Missing = env if isinstance(env, Missing) else raw.unasked
    if isinstance(loader, dict) and isinstance(env, dict):
        folders = strings(loader.get("ld_library_path"))
    seen = not isinstance(loader, Missing)
    return Cuda(
        toolkits=tuple(kits) if seen else raw.unasked,
        cuda_home=home,
        nvcc_on_path=string(nvcc.get("path")) if nvcc else (None if seen and isinstance(env, dict) else raw.unasked),
        nvcc_version=_build_nvcc(raw, home, string(nvcc.get("real")) if nvcc else None),
        gcc_version=_gcc(raw),
        c_compiler=_compiler(raw),
        libraries=_libraries(raw) if seen else raw.unasked,
        ld_library_path=folders,
        stub_directories=_stubs(raw) if seen else raw.unasked,
    )


def _is_toolkit(row: dict[str, object]) -> bool:
    """A folder with only compat/ in it is the driver's forward-compatibility package, no toolkit."""
    return any(part in strings(row.get("parts")) for part in ("bin/nvcc", "lib64", "include/cuda.h"))


def _toolkit(raw: Raw, row: dict[str, object]) -> Toolkit:
    path, real = string(row.get("path")), string(row.get("real"))
    version, nvcc = _versions(raw, path, real)
    if "bin/nvcc" not in strings(row.get("parts")):
        nvcc = Missing("absent", "the toolkit has no bin/nvcc")
    return Toolkit(path=path, version=version, nvcc=nvcc)


def _versions(raw: Raw, path: str, real: str) -> tuple[str | Missing, str | Missing]:
    """(toolkit, nvcc) by version.json, else cuda.h, version.txt or the folder's name."""
    text = raw.text(path + "/version.json")
    if isinstance(text, str):
        kit, nvcc = _member(text, "cuda"), _member(text, "cuda_nvcc")
        if kit:
            return kit, nvcc or kit
    from ..formats.versions import cuda_from_int

    line = raw.match(path + "/include/cuda.h")
    define = _DEFINE.search(line) if isinstance(line, str) else None
    by_header = cuda_from_int(int(define.group(1))) if define else None
    words = raw.text(path + "/version.txt")
    match = re.search(r"CUDA Version (\d+(?:\.\d+)+)", words) if isinstance(words, str) else None
    if match:
        return match.group(1), by_header or match.group(1)
    named = re.search(r"cuda-(\d+\.\d+)", real)
    version = by_header or (named.group(1) if named else None)
    gap = Missing("absent", "no file there gives its version")
    return version or gap, version or gap


def _member(text: str, name: str) -> str | None:
    """The version of one component of version.json; the file is small and flat, broken ones give None."""
    match = re.search(rf'"{name}"\s*:\s*\{{[^{{}}]*"version"\s*:\s*"(\d+(?:\.\d+)+)"', text)
    return match.group(1) if match else None


def _build_nvcc(raw: Raw, home: str | Missing | None, real: str | None) -> str | Missing:
    """Version of the nvcc that a build would use: CUDA_HOME's first, then that on PATH."""
    rows = raw.rows("toolkit")
    if isinstance(home, str):
        row = next((r for r in rows if string(r.get("path")) == home.rstrip("/")), None)
        if row and "bin/nvcc" in strings(row.get("parts")):
            return _versions(raw, string(row.get("path")), string(row.get("real")))[1]
        if row is None or not real:
            return Missing("absent", "CUDA_HOME has no bin/nvcc")
    if real:
        prefix = real.removesuffix("/bin/nvcc")
        row = next((r for r in rows if prefix in (r.get("path"), r.get("real"))), None)
        if row:
            return _versions(raw, string(row.get("path")), string(row.get("real")))[1]
        return Missing("error", f"no file next to {real} gives its version")
    return Missing("absent", "no nvcc") if not isinstance(raw.row("loader"), Missing) else raw.unasked


def _compiler(raw: Raw) -> str | Missing | None:
    """The compiler for C at run time; None if the gatherer looked and found none."""
    row = raw.row("compiler")
    return row if isinstance(row, Missing) else string(row.get("path")) or None


def _gcc(raw: Raw) -> str | Missing:
    """Major version of gcc: by the name that /usr/bin/gcc points to, else the newest folder of /usr/lib/gcc."""
    link = raw.real("/usr/bin/gcc")
    match = re.search(r"gcc-(\d+)$", link)
    if match:
        return match.group(1)
    if link == "/usr/bin/gcc" and raw.exists("/usr/bin/gcc") is not True:
        return Missing("absent", "no /usr/bin/gcc") if raw.complete else raw.unasked
    found = [
        name
        for row in raw.rows("dir")
        if string(row.get("path")).startswith("/usr/lib/gcc/")
        for name in strings(row.get("names"))
        if re.fullmatch(r"\d+(\.\d+)*", name)
    ]
    if not found:
        return Missing("absent", "no folder in /usr/lib/gcc shows the version")
    return max(found, key=lambda name: [int(part) for part in name.split(".")])


def _libraries(raw: Raw) -> tuple[LoaderLibrary, ...]:
    """The first file for each soname; names without a number (for linking) and the driver's are omitted."""
    found: dict[str, LoaderLibrary] = {}
    for row in raw.rows("library"):
        soname, real = string(row.get("name")), string(row.get("real"))
        match = _SONAME.match(soname)
        if not match or soname.endswith(".so") or match.group(1) in _DRIVER_LIBRARIES or soname in found:
            continue
        if row.get("by") == "elsewhere" or (number(row.get("size")) or 0) < 1 or soname.count(".") > 3:
            continue
        version = _FILE_VERSION.search(real)
        found[soname] = LoaderLibrary(
            name=match.group(1),
            soname=soname,
            path=string(row.get("path")),
            found_by=string(row.get("by")),
            version=version.group(1) if version else Missing("absent", "no version in the file's name"),
            real_path=real,
        )
    return tuple(found.values())


def _stubs(raw: Raw) -> tuple[str, ...]:
    """Folders that the loader searches (or its cache names) and that hold a toolkit's stubs."""
    found: dict[str, None] = {}
    for row in raw.rows("library"):
        folder = string(row.get("path")).rpartition("/")[0]
        if row.get("by") != "elsewhere" and (folder.endswith("/stubs") or "/stubs/" in string(row.get("real"))):
            found[folder] = None
    return tuple(found)
