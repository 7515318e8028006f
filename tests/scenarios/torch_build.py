"""A torch installation in a folder: the metadata and pins of a real build, libraries with GPU code for its architectures.

`builds.json` has real builds: architectures and pins are those of the published wheels (pins: the ones whose libraries
torch links, and some more). Libraries are small: a fatbin container is real in form, its code is zeros. Where `more` names
a `skeleton` (a wheel in `tests/fixtures/wheels`), containers and headers are those of the real libraries.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from threading import RLock
from typing import Any

from tests.fixtures import wheels
from tests.fixtures.fatbins.synthetic import container, entry

HERE = Path(__file__).parent
BUILDS: dict[str, dict[str, Any]] = json.loads((HERE / "builds.json").read_text("utf-8"))
MARKER = 'platform_system == "Linux"'
_LINK = ("gcc", "-shared", "-nostdlib", "-s", "-Wl,--disable-new-dtags", "-Wl,-z,noseparate-code")


def linked(cuda: str) -> dict[str, tuple[str, str]]:
    """Soname -> (folder of the wheel under nvidia/, the wheel's name without -cuNN), for a CUDA version."""
    major = cuda.split(".")[0]
    shared = "cu13" if major == "13" else ""
    cublas = {"11": "11", "12": "12", "13": "13"}[major]
    return {
        f"libcudart.so.{'11.0' if major == '11' else major}": (shared or "cuda_runtime", "nvidia-cuda-runtime"),
        f"libcublas.so.{cublas}": (shared or "cublas", "nvidia-cublas"),
        "libcudnn.so.9": ("cudnn", "nvidia-cudnn"),
        "libnccl.so.2": ("nccl", "nvidia-nccl"),
    }


class Workshop:
    """Makes each library once, whichever thread asks first."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.lock = RLock()

    def library(self, soname: str) -> Path:
        """A shared object with this name and nothing in it."""
        out = self.folder / soname
        with self.lock:
            if not out.exists():
                subprocess.run([*_LINK, f"-Wl,-soname,{soname}", "-o", out, "-x", "c", "/dev/null"], check=True)
        return out

    def torch_cuda(self, build: dict[str, Any]) -> Path:
        """libtorch_cuda.so: 40 containers with a kernel for every architecture, linked as the wheels are."""
        key = f"libtorch_cuda-{build['cuda']}-{'-'.join(build['archs'])}"
        fatbin, source, out = (self.folder / f"{key}.{end}" for end in ("fatbin", "s", "so"))
        with self.lock:
            if not out.exists():
                fatbin.write_bytes(container(map(entry, build["archs"])) * 40)
                source.write_text(f'.section .nv_fatbin,"a",@progbits\n.balign 8\n.incbin "{fatbin}"\n')
                needs = linked(build["cuda"])
                rpath = ":".join(["$ORIGIN", *(f"$ORIGIN/../../nvidia/{folder}/lib" for folder, _ in needs.values())])
                libraries = [self.library(soname) for soname in needs]
                flags = ["-Wl,--no-as-needed", "-Wl,-soname,libtorch_cuda.so", f"-Wl,-rpath,{rpath}"]
                subprocess.run([*_LINK, *flags, "-o", out, source, *libraries], check=True)
        return out

    def torch_python(self, build: dict[str, Any]) -> Path:
        """libtorch_python.so with the architecture list as text."""
        key = f"libtorch_python-{'-'.join(build['archs'])}"
        source, out = self.folder / f"{key}.c", self.folder / f"{key}.so"
        with self.lock:
            if not out.exists():
                source.write_text(f'const char *before = "x", *flags = "{" ".join(build["archs"])}";\n')
                subprocess.run([*_LINK, "-fPIC", "-o", out, source], check=True)
        return out


def distribution(site: Path, name: str, version: str, *headers: str) -> None:
    """The metadata folder of an installed wheel."""
    folder = site / f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["Metadata-Version: 2.4", f"Name: {name}", f"Version: {version}", *headers]
    (folder / "METADATA").write_text("\n".join(lines) + "\n\nWords.\n")
    (folder / "INSTALLER").write_text("pip\n")


def install(site: Path, name: str, workshop: Workshop, packages: dict[str, str | None], more: dict[str, Any]) -> None:
    """Install a build of `builds.json`. `packages`: other versions than the pinned (None: left out); `more`: build.json."""
    build, plain = BUILDS[name], BUILDS[name].get("version", name.removesuffix("-aarch64"))
    version = plain.partition("+")[0] if build.get("pypi") else plain  # PyPI refuses local version labels
    pins: dict[str, str] = build["pins"]
    requires = [f"Requires-Dist: {pin}=={number}; {MARKER}" for pin, number in pins.items()]
    distribution(site, "torch", version, f"Requires-Python: {build['requires_python']}", *requires)
    beside = {**pins, **build["beside"], "numpy": "2.2.6", "pip": "25.3", **packages}
    for package, number in beside.items():
        if number is not None:
            needs = (
                [f"Requires-Dist: torch=={plain.partition('+')[0]}"]
                if package == "torchvision" and package not in packages
                else []
            )
            distribution(site, package, number, *needs)
    torch = site / "torch"
    (torch / "lib").mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / "fake_torch.py", torch / "__init__.py")
    words = f"__version__ = {plain!r}\ndebug = False\ncuda: Optional[str] = {build['cuda']!r}\n"
    words = f"from typing import Optional\n\n{words}git_version = {build['git']!r}\nhip: Optional[str] = None\n"
    (torch / "version.py").write_text(words)
    cudnn = next((number for pin, number in pins.items() if "cudnn" in pin), None)
    told = {"archs": build["archs"], "nccl": build.get("nccl"), "cudnn": cudnn and cudnn_number(cudnn), **more}
    (torch / "build.json").write_text(json.dumps(told))
    shutil.copy(workshop.library("libtorch.so"), torch / "lib")
    if build["cuda"] is None:
        return
    held = {**build, "archs": more.get("library_archs", build["archs"])}
    shutil.copy(workshop.torch_cuda(held), torch / "lib" / "libtorch_cuda.so")
    if "skeleton" in more:
        _real_headers(site, more["skeleton"])
    shutil.copy(workshop.torch_python(build), torch / "lib" / "libtorch_python.so")
    for soname, (folder, wheel) in linked(build["cuda"]).items():
        if any(pin.startswith(wheel) and beside.get(pin) is not None for pin in pins):
            (site / "nvidia" / folder / "lib").mkdir(parents=True, exist_ok=True)
            shutil.copy(workshop.library(soname), site / "nvidia" / folder / "lib" / soname)


def _real_headers(site: Path, wheel: str) -> None:
    """libtorch_cuda.so gets the headers of the real one; libraries that only hold GPU code are added."""
    for library in wheels.load(wheel)["libraries"]:
        path = site / library["name"]
        if path.exists():
            wheels.graft(library, path)
        else:
            wheels.build(library, path)


@cache
def cudnn_number(version: str) -> int:
    """9.10.2.21 as torch.backends.cudnn.version() says it: 91002."""
    major, minor, patch = map(int, version.split(".")[:3])
    return major * 10000 + minor * 100 + patch
