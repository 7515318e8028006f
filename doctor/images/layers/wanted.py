"""Which files in an image to read, from their paths alone: those that the file gatherer would ask for."""

from __future__ import annotations

import re

from ...formats.metadata import dist_info_name, normalize
from ...patient.extension_names import CODE_DISTRIBUTIONS, PACKAGES, TOP_LEVEL

TEXT, HEADER, LIBRARY, ARCH_LIST, GLIBC, CACHE, PACKAGES_FILE = (
    "text", "header", "library", "arch-list", "glibc", "cache", "packages",
)  # fmt: skip
"""What to do with the content: keep it, keep it up to the first empty line, read it as a library, also search it for
torch's own list, search it for glibc's version, keep it as bytes, search it for a few packages."""
LISTED = "listed"
"""Only that it exists."""
NOTHING = ""

_SITE = re.compile(r"^((?:.*/)?(?:(?:site|dist)-packages|archive-v0/[^/]+))/(.+)$", re.S)
_BELOW_PREFIX = re.compile(r"(^|/)lib(64)?/python3?[^/]*/(site|dist)-packages$")
_EXACT = {
    "etc/os-release": TEXT, "usr/lib/os-release": TEXT, "etc/ld.so.cache": CACHE, "lib/apk/db/installed": TEXT,
    "usr/lib/apk/db/installed": TEXT, "var/lib/dpkg/status": PACKAGES_FILE,
}  # fmt: skip
_TORCH = {"version.py": TEXT, "__init__.py": LISTED, "share/cmake/Torch/TorchConfig.cmake": TEXT}
_METADATA = {"METADATA": HEADER, "PKG-INFO": HEADER, "INSTALLER": TEXT, "direct_url.json": TEXT}
_TOOL = re.compile(r"(nvcc|uv|(.+-)?(gcc|clang|cc)(-\d+)?)$")
_SHARED_OBJECT = re.compile(r"\.so(\.[0-9.]+)?$")
_TORCH_LIBRARY = re.compile(r"lib(cu|nv|nccl|torch|c10|caffe2|mpi|ucc|ucp)[A-Za-z0-9_-]*\.so")
_WHEEL_LIBRARY = re.compile(r"nvidia/[^/]+/lib/lib[^/]+\.so[0-9.]*$")
_SYSTEM_LIBRARY = re.compile(
    r"lib(cuda|nvidia-[a-z-]+|cudart|cublas|cublasLt|cudnn|cudnn_[a-z_]+|nccl|nvrtc|nvrtc-builtins|nvJitLink|cusparse|"
    r"cusparseLt|cusolver|cufft|curand|cupti|nvToolsExt|cufile|nvshmem_host)\.so(\.[0-9.]+)?$"
)
_GLIBC = re.compile(r"libc(-2\.\d+)?\.so(\.6)?$")
_PYTHON = re.compile(r"python(3(\.\d+t?)?)?$")
_DRIVER = re.compile(r"lib(cuda|nvidia-(ml|ptxjitcompiler|nvvm|gpucomp|glcore|cfg|opencl))\.so\.\d{3}\.[0-9.]+$")


def site_of(path: str) -> tuple[str, str]:
    """(site-packages folder, path below it), empty strings if there is none."""
    if "-packages/" not in path and "archive-v0/" not in path:
        return "", ""
    match = _SITE.match(path)
    return (match.group(1), match.group(2)) if match else ("", "")


def prefix_of(site: str) -> str:
    """The environment that a site-packages folder belongs to, with its leading slash: `/opt/venv`."""
    return "/" + _BELOW_PREFIX.sub("", site)


def wanted(path: str, site: str, below: str) -> str:
    """What to do with the file at `path` (no leading slash); `site`, `below`: of `site_of`."""
    if site:
        return _in_site(below)
    if path in _EXACT:
        return _EXACT[path]
    folder, _, name = path.rpartition("/")
    if ".so" in name:
        return _library(folder, name)
    if name.startswith("python") and _PYTHON.match(name):
        if folder.endswith("/shims"):
            return TEXT
        return LISTED if folder == "bin" or folder.endswith("/bin") else NOTHING
    return _named(folder, name)


def driver_library(path: str) -> bool:
    """A versioned driver library, in a place where no image should have one (compat folders are different)."""
    return _DRIVER.search(path) is not None and "compat" not in path and "/stubs/" not in path


def _named(folder: str, name: str) -> str:
    if name == "pyvenv.cfg":
        return TEXT
    if (folder == "bin" or folder.endswith("/bin")) and _TOOL.match(name):
        return LISTED
    if name in ("version.json", "version.txt", "cuda.h"):
        return TEXT if folder.startswith(("usr/local/cuda", "opt/cuda")) else NOTHING
    if name in ("os.py", "EXTERNALLY-MANAGED"):
        return LISTED if folder.rpartition("/")[2].startswith("python3") else NOTHING
    if name == "Python.h":
        return LISTED if "include/python3" in folder else NOTHING
    if name == "__init__.py":
        return LISTED if folder.endswith("/ensurepip") else NOTHING
    if name == "history" or name.startswith("python-3"):
        return LISTED if folder.endswith("conda-meta") else NOTHING
    if name == "version":
        return TEXT if folder.endswith(".pyenv") else NOTHING
    if name == "crtbegin.o":
        return LISTED if folder.startswith("usr/lib/gcc/") else NOTHING
    return NOTHING


def _library(folder: str, name: str) -> str:
    if name.startswith("libc") and _GLIBC.match(name):
        return GLIBC
    if name.startswith("ld-"):
        return LISTED
    if not _SYSTEM_LIBRARY.match(name):
        return NOTHING
    return LIBRARY if name.startswith("libcuda.so") and "compat" in folder else LISTED


def _in_site(below: str) -> str:
    first, _, more = below.partition("/")
    if first == "torch":
        if more in _TORCH:
            return _TORCH[more]
        name = more.removeprefix("lib/")
        if name == "libtorch_python.so":
            return ARCH_LIST
        if more == name or "/" in name or ".so" not in name:
            return NOTHING
        return LIBRARY if _TORCH_LIBRARY.match(name) else LISTED
    if first.endswith((".dist-info", ".egg-info")):
        return _metadata(first, more)
    if not more and first.endswith(".pth"):
        return TEXT
    if _SHARED_OBJECT.search(below) is None:
        return NOTHING
    if first == "nvidia":
        return LIBRARY if _WHEEL_LIBRARY.match(below) else NOTHING
    if not more:
        return LIBRARY if first.startswith(tuple(start for start, _ in TOP_LEVEL)) else NOTHING
    for top, _ in PACKAGES:
        if below == top or (below.startswith(top + "/") and below.count("/") - top.count("/") <= 3):
            return LIBRARY
    return NOTHING


def _metadata(folder: str, name: str) -> str:
    what = HEADER if not name else _METADATA.get(name, NOTHING)
    split = dist_info_name(folder) if what else None
    project = normalize(split[0]) if split else ""
    return what if project in CODE_DISTRIBUTIONS or project.startswith("nvidia-") else NOTHING
