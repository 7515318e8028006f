"""A source distribution that needs the installed torch while it is built, as flash-attn's does."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

_BACKEND = """
import os, zipfile
import torch, ninja, packaging, psutil  # what flash-attn's own setup.py imports, and does not name

def build_wheel(folder, config_settings=None, metadata_directory=None):
    name, info = "{stem}-{version}-py3-none-any.whl", "{stem}-{version}.dist-info"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as wheel:
        wheel.writestr("{stem}/__init__.py", "built_for = " + repr(torch.__version__))
        wheel.writestr(info + "/METADATA", {metadata!r})
        wheel.writestr(info + "/WHEEL", "Wheel-Version: 1.0\\nGenerator: tests\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(info + "/RECORD", "{stem}/__init__.py,,\\n" + info + "/METADATA,,\\n" + info + "/WHEEL,,\\n" + info + "/RECORD,,\\n")
    return name
"""
_PROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'


def make_sdist(folder: Path, name: str, version: str) -> Path:
    """`NAME-VERSION.tar.gz` whose build ends in an ImportError where torch is not there."""
    stem = name.replace("-", "_")
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nRequires-Dist: torch\n"
    files = {
        "PKG-INFO": metadata,
        "pyproject.toml": _PROJECT,
        "backend.py": _BACKEND.format(stem=stem, version=version, metadata=metadata),
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{stem}-{version}.tar.gz"
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for inside, text in files.items():
            member = tarfile.TarInfo(f"{stem}-{version}/{inside}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return path
