"""Layers of images in memory: what opens them counts and cuts, and an unpacker that is not the product's."""

from __future__ import annotations

import io
import shutil
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from doctor.images.layer import Layer
from doctor.images.layers import LayerFacts, layers_snapshot, scan
from doctor.images.source import ImageError
from doctor.probes.collect import Options, collect
from doctor.snapshot import NOT_ASKED, Snapshot, Target

from .layouts import Blob, sha256, tar_of

FATBINS = Path(__file__).parent.parent / "fixtures" / "fatbins"
ELF = Path(__file__).parent.parent / "fuzz" / "seeds" / "elf"
PATH = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
SITE = "usr/local/lib/python3.11/site-packages"


class Opened:
    """Opens blobs as a registry would. `cuts`: after so many bytes the connection breaks, once for each of them."""

    def __init__(self, *blobs: Blob, piece: int = 4096, cuts: Sequence[int] = (), silent: bool = False) -> None:
        self.layers = [Layer(sha256(blob.data), len(blob.data), blob.media_type) for blob in blobs]
        self._data = {layer.digest: blob.data for layer, blob in zip(self.layers, blobs, strict=True)}
        self._piece, self._cuts, self._silent = piece, list(cuts), silent
        self.asked: list[tuple[str, int]] = []
        self.given: dict[str, int] = {}

    def __call__(self, layer: Layer, offset: int = 0) -> Iterator[bytes]:
        self.asked.append((layer.digest, offset))
        data = self._data[layer.digest]
        while offset < len(data):
            stop = min(offset + self._piece, len(data))
            if self._cuts and offset <= self._cuts[0] < stop:
                self._cuts.pop(0)
                if self._silent:
                    return
                raise ImageError("the connection broke", unknown=True)
            self.given[layer.digest] = stop
            yield data[offset:stop]
            offset = stop


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    """A symbolic link, or a hard link."""
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


def folder(name: str) -> tarfile.TarInfo:
    """An entry of a folder."""
    member = tarfile.TarInfo(name)
    member.type, member.mode = tarfile.DIRTYPE, 0o755
    return member


def whole_facts(*blobs: Blob) -> LayerFacts:
    """What all of these layers hold, base first."""
    opened = Opened(*blobs)
    return scan(opened.layers, opened, whole=True)


def of_layers(*blobs: Blob, env: Mapping[str, str] | None = None) -> Snapshot:
    """The Snapshot of these layers, read wholly."""
    return replace(layers_snapshot(whole_facts(*blobs), "", env), target=Target())


def of_folder(root: Path, env: Mapping[str, str] | None = None) -> Snapshot:
    """The Snapshot of the root folder that the layers were unpacked to."""
    return replace(collect(Options(root=str(root), env=env)), target=Target())


def unpack(tars: Sequence[bytes], root: Path) -> Path:
    """Unpack layers, base first, as an engine does; only for layers that mean no harm."""
    root.mkdir(parents=True, exist_ok=True)
    for data in tars:
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            members = tar.getmembers()
            for member in members:
                path = root / member.name
                if path.name == ".wh..wh..opq":
                    for there in list(path.parent.iterdir()) if path.parent.is_dir() else []:
                        _remove(there)
                elif path.name.startswith(".wh."):
                    _remove(path.with_name(path.name[4:]))
            for member in members:
                path = root / member.name
                if path.name.startswith(".wh."):
                    continue
                if path.is_symlink() or path.is_file() or (path.is_dir() and not member.isdir()):
                    _remove(path)
                tar.extract(member, root)
    return root


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def fatbin(name: str) -> bytes:
    """A small library that nvcc made."""
    return (FATBINS / f"{name}.so").read_bytes()


def base() -> dict[str, bytes | tarfile.TarInfo]:
    """A small distribution with a Python."""
    return {
        "bin": link("bin", "usr/bin"),
        "lib": link("lib", "usr/lib"),
        "lib64": link("lib64", "usr/lib64"),
        "etc/os-release": b'ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
        "usr/bin/gcc-12": b"gcc",
        "usr/bin/gcc": link("usr/bin/gcc", "gcc-12"),
        "usr/lib/gcc/x86_64-linux-gnu/12/crtbegin.o": b"",
        "usr/lib/x86_64-linux-gnu/libc.so.6": b"GNU C Library (Debian GLIBC 2.36-9) stable release version 2.36.\n",
        "usr/lib64/ld-linux-x86-64.so.2": b"loader",
        "usr/local/bin/python3.11": b"python",
        "usr/local/bin/python3": link("usr/local/bin/python3", "python3.11"),
        "usr/local/include/python3.11/Python.h": b"",
        "usr/local/lib/python3.11/ensurepip/__init__.py": b"",
        "usr/local/lib/python3.11/os.py": b"",
        f"{SITE}/pip-24.0.dist-info/METADATA": b"Name: pip\nVersion: 24.0\n\nwords",
        f"{SITE}/pip/__init__.py": b"",
    }


def torch(cuda: str = "12.4", version: str = "2.6.0") -> dict[str, bytes | tarfile.TarInfo]:
    """A torch with CUDA libraries beside it, in the order in which an engine writes them."""
    number = cuda.replace(".", "")
    return {
        f"{SITE}/flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so": fatbin("multi_arch"),
        f"{SITE}/flash_attn-2.8.3.dist-info/METADATA": b"Name: flash-attn\nVersion: 2.8.3\nRequires-Dist: torch\n\nwords",
        f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9": fatbin("nvcc_relocatable"),
        f"{SITE}/nvidia_cudnn_cu12-9.1.0.70.dist-info/METADATA": b"Name: nvidia-cudnn-cu12\nVersion: 9.1.0.70\n\n",
        f"{SITE}/torch/__init__.py": b"",
        f"{SITE}/torch/lib/libc10_cuda.so": fatbin("nvcc_relocatable"),
        f"{SITE}/torch/lib/libtorch_cuda.so": fatbin("multi_arch"),
        f"{SITE}/torch/version.py": (
            f"__version__ = '{version}+cu{number}'\ndebug = False\ncuda = '{cuda}'\ngit_version = 'abc'\nhip = None\n"
        ).encode(),
        f"{SITE}/torch-{version}+cu{number}.dist-info/INSTALLER": b"pip\n",
        f"{SITE}/torch-{version}+cu{number}.dist-info/METADATA": (
            f"Name: torch\nVersion: {version}+cu{number}\nRequires-Dist: nvidia-cudnn-cu12==9.1.0.70\n\nwords"
        ).encode(),
    }


def tars(*layers: Mapping[str, bytes | tarfile.TarInfo]) -> list[bytes]:
    """The archives of these layers."""
    return [tar_of(one) for one in layers]


def differences(one: Snapshot, other: Snapshot) -> dict[str, tuple[object, object]]:
    """Facts by their path that are not the same in both.

    Whether libraries are whole is asked of folders alone: of a layer only some bytes are read.
    """
    one, other = (s.replace({"python.changed_libraries": NOT_ASKED}) for s in (one, other))
    flat = [dict(_flat("", msgspec.to_builtins(snapshot))) for snapshot in (one, other)]
    keys = sorted(flat[0].keys() | flat[1].keys())
    return {key: (flat[0].get(key), flat[1].get(key)) for key in keys if flat[0].get(key) != flat[1].get(key)}


def _flat(path: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(f"{path}.{key}", inner)
    else:
        yield path, value
