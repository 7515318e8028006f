"""Gather what is installed in the patient: metadata of CUDA-related distributions, torch's files, GPU code.

Lines: file (metadata headers, version.py), dir (torch/lib), preloads {names}, elf {path, needed, rpath, runpath, ...},
needs {path, found: {soname: [path, by, own]}} and code {path, package, ...}; `path` is what the loader would take for
that library, `own` what lies in its own search path or in the nvidia wheels; scanned {}: the other packages were
searched; those of torch_callers.py.
"""

from __future__ import annotations

import os
import re
from typing import Any, Dict, List, Optional, Tuple

from .extension_names import CODE_DISTRIBUTIONS, COMPANIONS, PACKAGES, TOP_LEVEL
from .files import Files
from .loader import Loader
from .path_words import clean
from .shared_objects import gather_shared_objects
from .torch_callers import Library, gather_torch_callers

_DIST = r"([A-Za-z0-9][A-Za-z0-9._]*?)-([^-]+?)(?:-py[0-9.]+)?\.(dist-info|egg-info)$"
_CUDA_SONAME = r"lib(cu|nv|nccl|torch|c10|caffe2|mpi|ucc|ucp)[A-Za-z0-9_-]*\.so"
_ENTRY = ("libtorch_global_deps.so", "libtorch_cuda.so", "libtorch_cuda_cu.so", "libtorch_cuda_cpp.so", "libtorch.so",
          "libtorch_cuda_linalg.so", "libc10_cuda.so", "libtorch_hip.so", "libtorch_nvshmem.so")  # fmt: skip
_KERNELS = ("libtorch_cuda.so", "libtorch_cuda_cu.so", "libtorch_cuda_cpp.so", "libtorch_cuda_linalg.so",
            "libtorch_nvshmem.so")  # fmt: skip
_CMAKE = "/share/cmake/Torch/TorchConfig.cmake"
_ABI = r"_GLIBCXX_USE_CXX11_ABI=[01]"
_MAX_CLOSURE = 48
_MAX_LIBRARIES = 96
_MAX_PER_PACKAGE = 24
_MIN_SIZE = 4096


def gather_packages(
    files: Files,
    site_packages: List[str],
    tools: Any,
    loader: Loader,
    scan: bool,
    objects: Optional[List[str]],
    deep: bool,
) -> None:
    """Emit the lines above; `scan` False leaves out the libraries of packages other than torch; `objects`: the further
    packages whose libraries must be whole (None: libraries are not examined); `deep`: compare all hashes."""
    torch = ""
    for folder in site_packages:
        names = files.names(folder) or []
        for name in names:
            match = re.match(_DIST, name)
            if match and re.sub(r"[-_.]+", "-", match.group(1)).lower() in CODE_DISTRIBUTIONS:
                _metadata(files, folder + "/" + name)
        if not torch and files.kind(folder + "/torch/__init__.py") == "file":
            torch = folder + "/torch"
    if torch:
        _torch(files, torch, site_packages, tools, loader)
    callers: List[Library] = []
    if objects is not None:
        callers += gather_shared_objects(files, site_packages, objects, tools, loader, deep)
    if scan and tools is not None:
        callers += _extensions(files, site_packages, tools)
        files.emit({"at": "scanned"})
    if torch and callers and tools is not None:
        gather_torch_callers(files, torch, callers, tools)


def _metadata(files: Files, path: str) -> None:
    if files.kind(path) == "file":  # an egg-info file of distutils
        files.head(path)
        return
    files.head(path + ("/METADATA" if path.endswith(".dist-info") else "/PKG-INFO"))
    files.text(path + "/INSTALLER", 256)
    files.text(path + "/direct_url.json", 4096)


def _torch(files: Files, folder: str, site_packages: List[str], tools: Any, loader: Loader) -> None:
    files.emit({"at": "torch", "path": clean(folder)})
    files.text(folder + "/version.py", 16384)
    flag = re.search(_ABI, files.peek(folder + _CMAKE, 65536) or "")
    if flag:
        files.emit({"at": "match", "path": clean(folder + _CMAKE), "line": flag.group(0)})
    lib = folder + "/lib"
    names = files.names(lib, lambda name: ".so" in name)
    if names is None or tools is None:
        return
    wheels = _nvidia_folders(files, site_packages)
    todo = [lib + "/" + name for name in _ENTRY if name in names]
    if lib + "/libtorch_cuda.so" not in todo and not any("torch_cuda" in path for path in todo):
        return  # a build without CUDA: nothing of it asks for CUDA libraries or holds GPU code
    files.emit({"at": "preloads", "names": _preloads(files.peek(folder + "/__init__.py", 262144) or "")})
    seen: Dict[str, bool] = {}
    while todo and len(seen) < _MAX_CLOSURE:
        path = todo.pop(0)
        if path in seen:
            continue
        seen[path] = True
        todo += [p for p in _needs(files, path, wheels, tools, loader) if p not in seen]
    if any(path not in seen for path in todo):
        files.cap("torch-needs", len(seen), None)
    for name in _KERNELS:
        if name in names:
            _code(files, lib + "/" + name, "torch", tools, always=True)
    text = tools.archs(files.on_disk(lib + "/libtorch_python.so")) if "libtorch_python.so" in names else None
    if text is not None:
        files.emit({"at": "archs", "path": clean(lib + "/libtorch_python.so"), "archs": text})


def _preloads(text: str) -> List[str]:
    """Libraries (libnvJitLink) that torch's own start loads from its wheels, whatever LD_LIBRARY_PATH holds: those that
    `_load_global_deps` names before its `except OSError`, or the whole table where a call names none (from 2.10.0:
    `_preload_cuda_deps()`, from 2.14.0: `_preload_cuda_deps(required=False)`)."""
    body = text.partition("def _load_global_deps(")[2].partition("\ndef ")[0].partition("except OSError")[0]
    calls = re.findall(r"_preload_cuda_deps?\(([^)]*)\)", body)
    if any("lib" not in call for call in calls):
        calls = [text.partition("def _preload_cuda_deps(")[2].partition("\ndef ")[0]]
    return sorted(set(re.findall(r"lib\w[\w-]*(?=\.so)", " ".join(calls))))


def _nvidia_folders(files: Files, site_packages: List[str]) -> List[str]:
    """nvidia/*/lib of the wheels: torch loads from them itself where its own search path fails."""
    found = []
    for site in site_packages:
        if files.kind(site + "/nvidia") != "dir":
            continue
        for name in files.first(files.names(site + "/nvidia") or [], 64, "folder-names", site + "/nvidia"):
            if files.kind(site + "/nvidia/" + name + "/lib") == "dir":
                found.append(site + "/nvidia/" + name + "/lib")
    return found


def _needs(files: Files, path: str, wheels: List[str], tools: Any, loader: Loader) -> List[str]:
    """Emit what a library needs and where each would come from; returns the paths found."""
    line = tools.elf(files.on_disk(path))
    if line is None:
        return []
    files.emit(dict(line, at="elf", path=clean(path)))
    origin = os.path.dirname(path)
    rpath, runpath = (_expanded(line.get(key), origin) for key in ("rpath", "runpath"))
    found = {}
    needed = [name for name in line.get("needed", []) if re.match(_CUDA_SONAME, name)]
    for soname in files.first(needed, 64, "torch-needs", path):
        shared_object, by = _find(files, soname, [] if runpath else rpath, runpath, loader)
        own = shared_object if by == "rpath" else _first(files, soname, [*rpath, *runpath, origin, *wheels])
        if not shared_object and own:
            shared_object, by = own, "wheel"  # torch loads these itself where its own search path fails
        if soname.startswith(("libcudnn.so", "libnccl.so")):
            files.real(own or shared_object)  # the real file's name tells its version
        found[soname] = [clean(shared_object), by, clean(own)]
    files.emit({"at": "needs", "path": clean(path), "found": found})
    return [own for _, _, own in found.values() if own]


def _expanded(paths: Optional[List[str]], origin: str) -> List[str]:
    return [os.path.normpath(re.sub(r"\$(ORIGIN|\{ORIGIN\})", lambda _: origin, path)) for path in (paths or [])[:64]]


def _find(files: Files, soname: str, rpath: List[str], runpath: List[str], loader: Loader) -> Tuple[str, str]:
    """(path, by) in the order of ld.so: RPATH (if there is no RUNPATH), LD_LIBRARY_PATH, RUNPATH, cache, defaults."""
    for folders, by in ((rpath, "rpath"), (loader.library_path, "LD_LIBRARY_PATH"), (runpath, "rpath")):
        shared_object = _first(files, soname, folders)
        if shared_object:
            return shared_object, by
    if soname in loader.cache:
        return loader.cache[soname], "ld.so.cache"
    shared_object = _first(files, soname, loader.defaults)
    return shared_object, "default" if shared_object else ""


def _first(files: Files, soname: str, folders: List[str]) -> str:
    return next((folder + "/" + soname for folder in folders if files.kind(folder + "/" + soname)), "")


def _code(files: Files, path: str, package: str, tools: Any, always: bool = False) -> bool:
    line = tools.code(files.on_disk(path))
    if line is None or not (always or line.get("sections") or line.get("problem")):
        return False
    files.emit(dict(line, at="code", path=clean(path), package=package, size=files.size(path)))
    return True


def _extensions(files: Files, site_packages: List[str], tools: Any) -> List[Library]:
    """Emit what the extensions' libraries hold; returns those that hold GPU code."""
    found: List[Library] = []
    left = _MAX_LIBRARIES
    for site in site_packages:
        names = files.names(site) or []
        for name in names:
            if name.endswith(".so"):
                package = next((p for prefix, p in TOP_LEVEL if name.startswith(prefix)), "")
                if package and _extension(files, site + "/" + name, package, tools):
                    found.append((site + "/" + name, package))
        present = set(names)
        for top, package in PACKAGES:
            if top.split("/")[0] not in present:
                continue
            if left <= 0:
                files.cap("libraries", _MAX_LIBRARIES, None)
                continue
            for path in _libraries(files, site + "/" + top, 2):
                left -= 1
                if _extension(files, path, package, tools):
                    found.append((path, package))
    return found


def _extension(files: Files, path: str, package: str, tools: Any) -> bool:
    if files.size(path) < _MIN_SIZE or not _code(files, path, package, tools, always=package in COMPANIONS):
        return False
    line = tools.elf(files.on_disk(path))
    if line is not None:
        files.emit(dict(line, at="elf", path=clean(path)))
    return True


def _libraries(files: Files, folder: str, depth: int) -> List[str]:
    """Shared libraries in a folder (or the file itself), at most 24, `depth` folders down."""
    if files.kind(folder) == "file":
        return [folder]
    found: List[str] = []
    todo = [(folder, depth)]
    while todo and len(found) < _MAX_PER_PACKAGE:
        shared_object, left = todo.pop(0)
        try:
            every = files.listed_kinds(shared_object)
        except OSError:
            continue
        for name, is_dir in files.first(every, 2048, "folder-names", shared_object):
            if is_dir and left and name != "__pycache__":
                todo.append((shared_object + "/" + name, left - 1))
            elif not is_dir and re.search(r"\.so(\.\d+)*$", name):
                found.append(shared_object + "/" + name)
    if todo and len(found) == _MAX_PER_PACKAGE:
        files.cap("package-libraries", _MAX_PER_PACKAGE, None, folder)
    return files.first(found, _MAX_PER_PACKAGE, "package-libraries", folder)
