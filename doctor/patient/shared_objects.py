"""Gather what became of the shared libraries that torch, its CUDA wheels and Triton were installed with.

Line: objects {package, version, site, listed (by RECORD), looked, machines: {machine: first path}, odd: [...]}, one for
each distribution. A row of `odd` is a file that is not as it was installed or cannot be loaded: {path, recorded (bytes
by RECORD, null where nothing tells), size (-1: not there), link (what a link leads to), problem (of its ELF header),
end (bytes that its headers name), pointer (a git-lfs pointer), empty_bytes (zeros only at its start), elsewhere (where
the loader finds one of that name), needs (sonames that are nowhere)}.
"""

from __future__ import annotations

import os
import re
from typing import Any, Dict, List, Optional, Tuple

from .files import Files
from .loader import Loader
from .path_words import clean
from .torch_callers import Library

_DIST = r"([A-Za-z0-9][A-Za-z0-9._]*?)-([^-]+?)\.dist-info$"
_PACKAGES = r"torch$|triton$|pytorch-triton|nvidia-"
_LIBRARY = re.compile(r"\.so(\.\d+)*$")
_LOADED = ("libtorch_python.so", "libtorch_cpu.so", "libtorch.so", "libc10.so", "libtorch_cuda.so", "libc10_cuda.so")
_JUDGED_ELSEWHERE = re.compile(r"ld-|ld64|lib(cu[a-zA-Z_]|nv[a-zA-Z]|nccl)")
"""The loader itself; CUDA's libraries, which the `needs` lines of packages.py tell of."""
_POINTER = b"version https://git-lfs"
_SCRIPT = (b"GROUP", b"INPUT", b"OUTPUT_FORMAT", b"/* GNU ld")
"""A linker's script, which no program loads."""
_MACH_O = (b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
_MAX_RECORD = 8 << 20
_MAX_LIBRARIES = 1024
_MAX_ODD = 64

Listed = List[Tuple[str, Optional[int]]]


def gather_shared_objects(
    files: Files, site_packages: List[str], required: List[str], tools: Any, loader: Loader, deep: bool = False
) -> List[Library]:
    """Emit the lines above; `required`: more distributions (normalized names) whose libraries count; `deep`: also those
    of deep_files.py. Returns the libraries of the required ones."""
    done: Dict[str, bool] = {}
    of_required: List[Library] = []
    folders: List[Tuple[str, str, str, str]] = []
    for site in site_packages:
        for name in files.names(site) or []:
            match = re.match(_DIST, name)
            if not match:
                continue
            package = re.sub(r"[-_.]+", "-", match.group(1)).lower()
            if package in done or not (re.match(_PACKAGES, package) or package in required):
                continue
            done[package] = True
            folders.append((site, site + "/" + name, package, match.group(2)))
            listed = recorded(files, site + "/" + name)
            known = listed is not None
            if not known:
                listed = _by_folder(files, site, package)
            if listed:
                _distribution(files, site, package, match.group(2), listed, known, tools, loader)
                if package in required and package != "torch":
                    of_required += [(site + "/" + path, package) for path, _ in listed]
    if "torch" not in done:
        for site in site_packages:  # a build from source, or Debian's
            listed = _by_folder(files, site, "torch") if files.kind(site + "/torch/__init__.py") == "file" else []
            if listed:
                _distribution(files, site, "torch", "", listed, False, tools, loader)
                break
    if deep:
        from .deep_files import hash_files

        hash_files(files, folders)
    return of_required


def recorded(files: Files, folder: str) -> Optional[Listed]:
    """(path below site-packages, bytes) of the libraries in RECORD; None where it tells nothing.

    conda writes a RECORD and then changes the libraries' search paths: its sizes are of another file.
    """
    if (files.peek(folder + "/INSTALLER", 64) or "").strip() == "conda":
        return None
    found: Listed = []
    data = files.peek_bytes(folder + "/RECORD", _MAX_RECORD)
    at = data.find(b".so")
    while at >= 0:  # torch's has 11,000 rows, a dozen of them of libraries
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        row = data[data.rfind(b"\n", 0, at) + 1 : end].decode("utf-8", "replace")
        at = data.find(b".so", end)
        path, _, rest = row.partition(",sha256=")
        size = rest.rpartition(",")[2].strip()
        path = path.strip('"')
        if rest and _LIBRARY.search(path) and not path.startswith(("/", "..")):
            found.append((path, int(size) if size.isdigit() else None))
    return found or None


def _by_folder(files: Files, site: str, package: str) -> Listed:
    """What a distribution without a RECORD has where it always is: torch/lib, nvidia/*/lib."""
    folders: List[str] = []
    if package == "torch":
        folders = ["torch", "torch/lib"]
    elif package.startswith("nvidia-"):
        part = re.sub(r"^nvidia-|-cu\d+$", "", package).replace("-", "_")
        folders = ["nvidia/" + part + "/lib"]
    found: Listed = []
    for folder in folders:
        try:
            names = sorted(files.listed(site + "/" + folder))
        except OSError:
            continue
        found += [(folder + "/" + name, None) for name in names if _LIBRARY.search(name)]
    return found


def _distribution(
    files: Files, site: str, package: str, version: str, listed: Listed, known: bool, tools: Any, loader: Loader
) -> None:
    machines: Dict[str, str] = {}
    odd: List[Dict[str, Any]] = []
    for path, size in files.first(listed, _MAX_LIBRARIES, "shared-libraries", site + "/" + package):
        row = _look(files, site + "/" + path, size, tools, machines)
        if row is None and not known and package == "torch" and os.path.basename(path) in _LOADED:
            row = _needs(files, site + "/" + path, tools, loader)
        if row is not None:
            if row.get("size") == -1:
                row["elsewhere"] = clean(loader.find(os.path.basename(path)))
            odd.append(dict(row, path=clean(path), recorded=size))
    files.emit(
        {
            "at": "objects", "package": clean(package), "version": clean(version), "site": clean(site),
            "listed": known, "looked": len(listed), "machines": machines,
            "odd": files.first(odd, _MAX_ODD, "damaged-libraries", site + "/" + package),
        }
    )  # fmt: skip


def _look(
    files: Files, path: str, recorded_bytes: Optional[int], tools: Any, machines: Dict[str, str]
) -> Optional[Dict[str, Any]]:
    """The row of a file that is not as it should be; None of one that is."""
    mode, size = files.status(path)
    if not mode:
        return {"size": -1, "link": clean(files.readlink(path))}
    row: Dict[str, Any] = {"size": size}
    headers = tools.headers(files.on_disk(path)) if tools is not None and size else None
    if headers and headers.get("problem"):
        start = files.peek_bytes(path, 64)
        if start[:4] in _MACH_O or start.startswith(_SCRIPT):
            return None
        row["problem"] = headers["problem"]
        row["pointer"] = start.startswith(_POINTER)
        row["empty_bytes"] = bool(start) and not start.strip(b"\0")
        return row
    if headers:
        machines.setdefault(headers["machine"], clean(path))
        if headers["end"] > size:
            row["end"] = headers["end"]
            return row
    return row if not size or size != (size if recorded_bytes is None else recorded_bytes) else None


def _needs(files: Files, path: str, tools: Any, loader: Loader) -> Optional[Dict[str, Any]]:
    """What a library of torch needs and nothing supplies; asked only where the loader's cache tells what is there."""
    line = tools.elf(files.on_disk(path)) if tools is not None and loader.cache else None
    if not line or line.get("problem"):
        return None
    folder = os.path.dirname(path)
    own = [re.sub(r"\$(ORIGIN|\{ORIGIN\})", lambda _: folder, p) for p in [*line["rpath"], *line["runpath"]]]
    lost = [
        soname
        for soname in line["needed"]
        if not _JUDGED_ELSEWHERE.match(soname)
        and not any(files.kind(os.path.normpath(one) + "/" + soname) for one in [*own, folder])
        and not loader.find(soname)
    ]
    return {"size": files.size(path), "needs": [clean(soname) for soname in lost]} if lost else None
