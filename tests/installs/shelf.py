"""The indexes of the tests: PyPI's stand-in and one for each CUDA tag of PyTorch's, with real names, versions and pins."""

from __future__ import annotations

import ensurepip
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.judging import matrix
from tests.scenarios.torch_build import Workshop, cudnn_number, linked

from .sdists import make_sdist
from .wheels import Index

HERE = Path(__file__).parent
PUBLISHED: dict[str, Any] = json.loads((HERE / "published.json").read_text("utf-8"))
PYTORCH = "https://download.pytorch.org/whl/"
PLATFORM = "linux_x86_64"
_HERE = f"cp{sys.version_info[0]}{sys.version_info[1]}"
TAG = f"{_HERE}-{_HERE}-manylinux_2_17_x86_64"
_TORCH = "\n\n".join(
    path.read_text("utf-8") for path in (HERE.parent / "scenarios" / "fake_torch.py", HERE / "torch_tail.py")
)
_TOOLS = Path(ensurepip.__file__).parent / "_bundled"
_PLAIN = {
    "filelock": ("3.20.0",), "typing-extensions": ("4.15.0",), "networkx": ("3.4.2",), "jinja2": ("3.1.6",),
    "fsspec": ("2025.9.0",), "sympy": ("1.12", "1.13.1", "1.14.0"), "numpy": ("1.26.4", "2.2.6"), "wheel": ("0.45.1",),
    "ninja": ("1.13.0",), "psutil": ("7.1.0",), "packaging": ("25.0",), "cuda-bindings": ("12.9.4", "13.0.3"),
}  # fmt: skip
_NEEDS = ("filelock", "typing-extensions>=4.8.0", "networkx", "jinja2", "fsspec")


class Shelf:
    """All indexes in one folder. `releases`: the torch releases that they have."""

    def __init__(self, root: Path, releases: tuple[str, ...]) -> None:
        self.root = root
        self.workshop = Workshop(root / "workshop")
        self.default = Index(root / "default")
        self.tags: dict[str, Index] = {}
        self._made: set[tuple[str, str]] = set()
        for name, versions in _PLAIN.items():
            for version in versions:
                self.everywhere(name, version)
        self.default.offer("flash-attn", make_sdist(root / "sdists", "flash-attn", "2.8.3"))
        for version, torch in (("0.0.33.post2", "2.9.1"), ("0.0.35", "2.11.0")):
            self.default.add("xformers", version, [f"torch=={torch}", "numpy"])
        for bundled in _TOOLS.glob("*.whl"):
            self.default.offer(bundled.name.split("-")[0], bundled)
        if not any(_TOOLS.glob("setuptools*")):
            self.everywhere("setuptools", "80.9.0")
        for release in releases:
            self._release(release)
        for index in (self.default, *self.tags.values()):
            for name, links in self.default.names.items():  # PyTorch's indexes have what torch needs, too
                if index is not self.default and not name.startswith(("torch", "pip", "flash", "xformers")):
                    index.names.setdefault(name, links)
            index.write()

    def translate(self, line: str) -> str:
        """The line with PyTorch's indexes in place of the real ones; the default index is set by variables."""
        known = re.sub(re.escape(PYTORCH) + r"(\w+)", lambda found: self.index(found[1]).url, line)
        assert "https://" not in known, f"an address that the tests have nothing for: {line}"
        return known

    def index(self, tag: str) -> Index:
        return self.tags.setdefault(tag, Index(self.root / tag))

    def everywhere(self, name: str, version: str, requires: tuple[str, ...] = (), **more: Any) -> None:
        """A wheel of the default index, once."""
        if (name, version) not in self._made:
            self._made.add((name, version))
            self.default.add(name, version, requires, **more)

    def _release(self, version: str) -> None:
        rows = {row.tag: row for row in matrix().torch_builds(version) if row.platform == PLATFORM}
        fits = {e.package: e.version for e in matrix().companions(version) if e.relation == "=="}
        default = next(tag for tag, row in rows.items() if row.pypi_default)
        for tag, row in rows.items():
            archs = [f"sm_{cc.replace('.', '')}" for cc in row.sass] + [
                f"compute_{cc.replace('.', '')}" for cc in row.ptx
            ]
            self._torch(version, tag, archs, default, fits)
        self._torch(version, "cpu", [], default, fits)

    def _torch(self, version: str, tag: str, archs: list[str], default: str, fits: dict[str, str]) -> None:
        pins = list(pins_of(version, tag, default))
        for pin in pins:
            self._library(pin, tag)
        digits = tag.removeprefix("cu")
        cuda = None if tag == "cpu" else f"{digits[:-1]}.{digits[-1]}"
        sympy = "sympy==1.13.1" if version < "2.6.1" and len(version) == 5 else "sympy>=1.13.3"
        needs = [*_NEEDS, sympy, *(f'{pin}; platform_system == "Linux"' for pin in pins)]
        indexes = [(self.index(tag), f"+{tag}"), *([(self.default, "")] if tag == default else [])]
        files = self.torch_files(f"{version}+{tag}", cuda, archs, pins)
        requires_python = getattr(matrix().torch_release(version).release, "requires_python", "") or ">=3.9"
        for index, local in indexes:
            metadata = [f"Requires-Python: {requires_python}"]
            index.add("torch", version + local, needs, files, TAG, metadata=metadata)
            for name in ("torchvision", "torchaudio"):
                if name in fits:
                    index.add(name, fits[name] + local, [f"torch=={version}"], tag=TAG)

    def torch_files(self, version: str, cuda: str | None, archs: list[str], pins: list[str]) -> dict[str, bytes]:
        """What lies under site-packages: torch's own files, as the loader and torch's import look at them."""
        wheels = dict(pin.partition("[")[0].split("==") if "==" in pin else (pin, "") for pin in pins if "[" not in pin)
        cudnn = next((number for name, number in wheels.items() if name.startswith("nvidia-cudnn")), None)
        nccl = next((number for name, number in wheels.items() if name.startswith("nvidia-nccl")), None)
        told = {"archs": archs, "cudnn": cudnn and cudnn_number(cudnn), "nccl": nccl and cudnn_number(nccl)}
        words = (
            f"__version__ = {version!r}\ndebug = False\ncuda: Optional[str] = {cuda!r}\ngit_version = {'0' * 40!r}\n"
        )
        files = {
            "torch/__init__.py": _TORCH.encode(),
            "torch/version.py": f"from typing import Optional\n\n{words}hip: Optional[str] = None\n".encode(),
            "torch/build.json": json.dumps(told).encode(),
            "torch/lib/libtorch.so": self.workshop.library("libtorch.so").read_bytes(),
        }
        if cuda:
            build = {"cuda": cuda, "archs": archs}
            files["torch/lib/libtorch_cuda.so"] = self.workshop.torch_cuda(build).read_bytes()
            files["torch/lib/libtorch_python.so"] = self.workshop.torch_python(build).read_bytes()
        return files

    def libraries(self, cuda: str) -> dict[str, bytes]:
        """The CUDA libraries that torch links, where it looks for them."""
        return {
            f"nvidia/{folder}/lib/{soname}": self.workshop.library(soname).read_bytes()
            for soname, (folder, _) in linked(cuda).items()
        }

    def _library(self, pin: str, tag: str) -> None:
        """The wheel (or the extras of cuda-toolkit) that a pin names."""
        name, version = re.sub(r"\[.*?\]", "", pin).replace("~=", "==").partition("==")[::2]
        if not version:
            return
        if name == "cuda-toolkit":
            version = next(v for v in PUBLISHED["cuda-toolkit"] if v in (version, f"{version}.0"))  # 13.0.3 is 13.0.3.0
            lines = PUBLISHED["cuda-toolkit"][version]
            extras = sorted({re.findall(r'"(\w+)"', line)[0] for line in lines})
            self.everywhere(name, version, tuple(lines), extras=extras)
            for line in lines:
                number = re.split(r"==|>=", line.partition(";")[0])[1].split(",")[0].removesuffix(".*")
                self._library(f"{re.split('==|>=', line)[0]}=={number}", tag)
            return
        digits = tag.removeprefix("cu")
        files: dict[str, bytes] = {}
        if name.startswith("nvidia-") and digits.isdigit():
            plain = re.sub(r"-cu\d+$", "", name)
            files[f"{plain.replace('-', '/', 1).replace('-', '_')}/__init__.py"] = b""
            for soname, (folder, wheel) in linked(f"{digits[:-1]}.{digits[-1]}").items():
                if wheel == plain:
                    files[f"nvidia/{folder}/lib/{soname}"] = self.workshop.library(soname).read_bytes()
        self.everywhere(name, version, files=files or None)


def pins_of(version: str, tag: str, default: str) -> Iterator[str]:
    """What torch pins: as published for the default build; for other tags the toolkit's versions, torch's own cuDNN."""
    published = PUBLISHED["torch"][version]
    if tag == "cpu":
        return
    if tag == default:
        yield from published
        return
    table = dict(PUBLISHED["tags"][tag])
    suffix = table.pop("suffix")
    for name, number in table.items():
        yield f"nvidia-{name}{'' if suffix == '-cu13' else suffix}=={number}"  # a toolkit's own have no suffix since 13
    for line in published:
        found = re.fullmatch(r"nvidia-(cudnn|nccl)-cu\d+==(.*)", line)
        if found:
            yield f"nvidia-{found[1]}{suffix}=={found[2]}"
        elif line.startswith("triton"):
            yield line
