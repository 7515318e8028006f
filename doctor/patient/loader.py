"""Gather the dynamic loader's view: the files it would take for CUDA's sonames; compat folders, toolkits, compilers."""

from __future__ import annotations

import errno
import os
import re
from typing import Any, Dict, List, Mapping, Optional

from .files import Files
from .path_words import clean

_SONAME = (
    r"lib(cuda|nvidia-ml|nvidia-ptxjitcompiler|cudart|cublas|cublasLt|cudnn|cudnn_[a-z_]+|nccl|nvrtc|nvrtc-builtins|"
    r"nvJitLink|cusparse|cusparseLt|cusolver|cufft|curand|cupti|nvToolsExt|cufile|nvshmem_host)\.so(\.[0-9.]+)?$"
)
_DRIVER = ("libcuda.so.1", "libcuda.so", "libnvidia-ml.so.1")
_DEFAULTS = (
    "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
    "/lib64", "/usr/lib64", "/lib", "/usr/lib",
)  # fmt: skip
_MUSL_DEFAULTS = ("/lib", "/usr/local/lib", "/usr/lib")
# Folders of the driver that a loader may not know: their libraries are seen only to say that they are there.
_ELSEWHERE = ("/usr/lib/wsl/lib", "/usr/local/nvidia/lib64", "/usr/local/nvidia/lib", "/run/opengl-driver/lib",
              "/usr/lib/nvidia", "/usr/lib64/nvidia", "/usr/lib/aarch64-linux-gnu/tegra")  # fmt: skip
_MAX_FOLDERS = 64
_EXEC = r"(?m)^\s*exec\s+[\"']?(/[^\s\"']+/nvcc)"
_DEFINE = r"(?m)^#define CUDA(?:RT)?_VERSION\s+\d+"


class Loader:
    """Where a soname would be found, in the loader's order; `find` gives its path or an empty text."""

    def __init__(self, files: Files, library_path: List[str], cache: Dict[str, str], defaults: List[str]) -> None:
        self.files = files
        self.library_path = library_path
        self.cache = cache
        self.defaults = defaults

    def find(self, soname: str) -> str:
        """Path by LD_LIBRARY_PATH, the loader's cache or the default folders."""
        for folder in self.library_path:
            if self.files.kind(folder + "/" + soname):
                return folder + "/" + soname
        if soname in self.cache:
            return self.cache[soname]
        return next((f + "/" + soname for f in self.defaults if self.files.kind(f + "/" + soname)), "")


def gather_loader(files: Files, env: Optional[Mapping[str, str]], tools: Any) -> Loader:
    """Emit loader, ldcache, library, compat, toolkit, nvcc, gcc and (where the environment is known) compiler lines."""
    names = (env or {}).get("LD_LIBRARY_PATH", "")
    given = [os.path.normpath(p) for p in re.split("[:;]", names) if p.startswith("/")]
    library_path = files.first(given, _MAX_FOLDERS, "ld-library-path")
    musl = bool(files.kind("/lib/ld-musl-x86_64.so.1") or files.kind("/lib/ld-musl-aarch64.so.1"))
    cache = _cache(files, tools)
    defaults = [f for f in (_MUSL_DEFAULTS if musl and not cache else _DEFAULTS) if files.kind(f) == "dir"]
    files.emit(
        {
            "at": "loader",
            "musl": musl,
            "cache": cache is not None,
            "defaults": defaults,
            "ld_library_path": None if env is None else [clean(folder) for folder in library_path],
        }
    )
    entries = cache or []
    seen: Dict[str, bool] = {}
    for folder in library_path:
        for name in files.names(folder, _wanted) or []:
            if _wanted(name):
                _library(files, name, folder + "/" + name, "LD_LIBRARY_PATH", seen)
    for soname, path in entries:
        _library(files, soname, path, "ld.so.cache", seen)
    for folder in defaults:
        names_here = _DRIVER if cache is not None else [n for n in files.names(folder, _wanted) or [] if _wanted(n)]
        for name in names_here:
            _library(files, name, folder + "/" + name, "default", seen)
    for folder in _ELSEWHERE:
        for name in _DRIVER:
            _library(files, name, folder + "/" + name, "elsewhere", seen)
    _toolkits(files, env or {}, tools)
    if env is not None:
        _compiler(files, env)
    first: Dict[str, str] = {}
    for soname, path in entries:
        first.setdefault(soname, path)
    return Loader(files, library_path, first, defaults)


def _wanted(name: str) -> bool:
    return name.startswith("lib") and re.match(_SONAME, name) is not None


def _cache(files: Files, tools: Any) -> Optional[List[List[str]]]:
    """[soname, path] of the CUDA libraries in ld.so.cache, in its order; None where it cannot be read."""
    path = "/etc/ld.so.cache"
    if not files.kind(path):
        files.missing(path, FileNotFoundError(errno.ENOENT, ""))
        return None
    found = tools.ldcache(files.on_disk(path), _machine(files)) if tools is not None else None
    if found is None:
        files.missing(path, ValueError("not a loader cache that can be read"))
        return None
    every = [[clean(name), clean(file_path)] for name in found if _wanted(name) for file_path in found[name]]
    entries = files.first(every, 2048, "loader-cache")
    files.emit({"at": "ldcache", "path": path, "entries": entries})
    return entries


def _machine(files: Files) -> str:
    """As `uname -m` says it; in a root folder by the name of its loader."""
    if files.root and files.kind("/lib/ld-linux-aarch64.so.1"):
        return "aarch64"
    return "x86_64" if files.root else os.uname().machine


def _library(files: Files, name: str, path: str, by: str, seen: Dict[str, bool]) -> None:
    if path in seen:
        return
    size = files.size(path)
    if size < 0 and by != "ld.so.cache":
        return
    seen[path] = True
    real = path if size < 0 else files.resolved(path)
    files.emit({"at": "library", "name": clean(name), "path": clean(path), "real": clean(real), "size": size, "by": by})


def _toolkits(files: Files, env: Mapping[str, str], tools: Any) -> None:
    homes = [env.get(name, "") for name in ("CUDA_HOME", "CUDA_PATH")]
    local = [n for n in files.names("/usr/local", lambda n: n.startswith("cuda")) or [] if n.startswith("cuda")]
    folders = ["/usr/local/" + name for name in files.first(local, 32, "toolkits")]
    on_path = ""
    for folder in files.first(env.get("PATH", "").split(":"), 256, "path"):
        if folder.startswith("/") and files.kind(folder + "/nvcc") == "file":
            on_path = folder + "/nvcc"
            break
    if on_path:
        real = files.resolved(on_path)
        script = re.search(_EXEC, files.peek(real, 4096) or "") if files.size(real) < 4096 else None
        real = script.group(1) if script else real
        files.emit({"at": "nvcc", "path": clean(on_path), "real": clean(real)})
        folders.append(real[: -len("/bin/nvcc")] if real.endswith("/bin/nvcc") else "")
    done: Dict[str, bool] = {}
    for folder in [*(home.rstrip("/") for home in homes), *folders, "/opt/cuda", "/usr/lib/nvidia-cuda-toolkit"]:
        if not folder.startswith("/") or files.kind(folder) != "dir":
            continue
        real = files.resolved(folder)
        if real in done:
            continue
        done[real] = True
        _toolkit(files, folder, real, tools)
    _gcc(files)


def _toolkit(files: Files, folder: str, real: str, tools: Any) -> None:
    emit = files.emit
    parts = [name for name in ("bin/nvcc", "lib64", "include/cuda.h", "compat") if files.kind(folder + "/" + name)]
    emit({"at": "toolkit", "path": clean(folder), "real": clean(real), "parts": parts})
    if parts and parts != ["compat"] and not files.text(folder + "/version.json", 65536):
        header = folder + "/include/cuda.h"
        define = re.search(_DEFINE, files.peek(header, 65536) or "")
        if define:
            emit({"at": "match", "path": clean(header), "line": define.group(0)})
        files.text(folder + "/version.txt", 4096)
    for sub in ("compat", "compat/lib.real", "compat/lib", "compat_orin", "compat/orin"):
        path = folder + "/" + sub + "/libcuda.so.1"
        if files.kind(path) == "file":
            library = files.resolved(path)
            note = tools.note(files.on_disk(path)) if tools is not None else None
            emit({"at": "compat", "path": clean(path), "real": clean(library), "note": note})


def _compiler(files: Files, env: Mapping[str, str]) -> None:
    """The C compiler that Triton and Inductor would take: CC, else gcc, else clang on PATH."""
    folders = [f for f in env.get("PATH", "").split(":")[:256] if f.startswith("/")]
    names = [env["CC"].split()[0]] if env.get("CC", "").strip() else ["gcc", "clang", "cc"]
    found = [n for n in names if n.startswith("/") and files.kind(n) == "file"]
    found += [f + "/" + n for n in names if not n.startswith("/") for f in folders if files.kind(f + "/" + n) == "file"]
    files.emit({"at": "compiler", "path": clean(found[0]) if found else None})


def _gcc(files: Files) -> None:
    """Names under /usr/lib/gcc/<target>/, and the file that `gcc` on Debian-like systems points to."""
    for triple in (
        "x86_64-linux-gnu",
        "aarch64-linux-gnu",
        "x86_64-redhat-linux",
        "aarch64-redhat-linux",
        "x86_64-pc-linux-gnu",
        "x86_64-alpine-linux-musl",
    ):
        if files.kind("/usr/lib/gcc/" + triple) == "dir":
            files.names("/usr/lib/gcc/" + triple)
    link = files.readlink("/usr/bin/gcc")
    if link:
        files.emit({"at": "link", "path": "/usr/bin/gcc", "real": clean(link)})
    elif files.kind("/usr/bin/gcc"):
        files.exists("/usr/bin/gcc")
