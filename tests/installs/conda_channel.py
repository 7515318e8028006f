"""conda-forge's stand-in: a channel in a folder, with the builds that the matrix knows, for the Python of these tests."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import sys
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rattler.index import index_fs

from tests.judging import matrix

from .shelf import Shelf

PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
FULL = ".".join(map(str, sys.version_info[:3]))
SITE = f"lib/python{PYTHON}/site-packages"
SUBDIR = "linux-64"


class Channel:
    """Packages with the real names, build strings and constraints. `releases`: of torch."""

    def __init__(self, root: Path, shelf: Shelf, releases: Sequence[str]) -> None:
        self.root = root
        (root / SUBDIR).mkdir(parents=True)
        (root / "noarch").mkdir()
        self.add("python", FULL, "h9e4cc4f_0_cpython", [])
        self.add("numpy", "2.2.6", f"py{PYTHON.replace('.', '')}h64a7726_0", [f"python {PYTHON}.*"], dist=True)
        for cuda in ("11.8", "12.0", "12.6", "12.8", "12.9", "13.0"):
            self.add("cuda-version", cuda, "h000000_3", [], constrains=[f"__cuda >={cuda.partition('.')[0]}"])
        for release in releases:
            for row in matrix().conda_rows:
                if row.torch == release and row.platform == "linux_x86_64" and PYTHON in row.pythons:
                    self._torch(shelf, release, row.cuda, list(row.sass), list(row.ptx), row.build_number)
            self._torch(shelf, release, "", [], [], 0)
        asyncio.run(index_fs(root))

    @property
    def url(self) -> str:
        return self.root.as_uri()

    def _torch(self, shelf: Shelf, version: str, cuda: str, sass: list[str], ptx: list[str], number: int) -> None:
        kind = f"cuda{cuda.replace('.', '')}" if cuda else "cpu"
        py = f"py{PYTHON.replace('.', '')}"
        number += 300 if cuda else 100
        build = f"{kind}_mkl_{py}_h{hashlib.sha256(f'{version}{kind}'.encode()).hexdigest()[:7]}_{number}"
        needs = [f"python {PYTHON}.*", "numpy"]
        if cuda:
            needs += ["__cuda", f"cuda-version >={cuda},<{int(cuda.partition('.')[0]) + 1}"]
        archs = [f"sm_{cc.replace('.', '')}" for cc in sass] + [f"compute_{cc.replace('.', '')}" for cc in ptx]
        files = shelf.torch_files(version, cuda or None, archs, [])
        if cuda:
            files.update(shelf.libraries(cuda))
        self.add("pytorch", version, build, needs, files=files, dist="torch", build_number=number)
        for fit in matrix().companions(version):
            if fit.package in ("torchvision", "torchaudio") and fit.relation == "==":
                goes = [f"python {PYTHON}.*", f"pytorch {version} {kind}*"]
                self.add(fit.package, fit.version, f"{kind}_{py}_h1234567_1", goes, dist=True)

    def add(
        self,
        name: str,
        version: str,
        build: str,
        depends: Sequence[str],
        *,
        constrains: Sequence[str] = (),
        files: Mapping[str, bytes] | None = None,
        dist: bool | str = False,
        build_number: int = 0,
    ) -> None:
        """One package: `.tar.bz2` with its metadata; `dist`: it has a Python distribution (of another name)."""
        content = {f"{SITE}/{path}": data for path, data in (files or {}).items()}
        if dist:
            title = name if dist is True else dist
            info = f"{SITE}/{title.replace('-', '_')}-{version}.dist-info"
            content[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {title}\nVersion: {version}\n".encode()
            content[f"{info}/INSTALLER"] = b"conda\n"
            if not files:
                content[f"{SITE}/{title}/__init__.py"] = b""
        index = {
            "name": name, "version": version, "build": build, "build_number": build_number, "depends": list(depends),
            "constrains": list(constrains), "subdir": SUBDIR, "arch": "x86_64", "platform": "linux", "timestamp": 1,
        }  # fmt: skip
        paths = [
            {
                "_path": path,
                "path_type": "hardlink",
                "sha256": hashlib.sha256(data).hexdigest(),
                "size_in_bytes": len(data),
            }
            for path, data in content.items()
        ]
        told: dict[str, Any] = {"info/index.json": index, "info/paths.json": {"paths": paths, "paths_version": 1}}
        with tarfile.open(
            self.root / SUBDIR / f"{name}-{version}-{build}.tar.bz2", "w:bz2", compresslevel=1
        ) as archive:
            for path, data in {**{k: json.dumps(v).encode() for k, v in told.items()}, **content}.items():
                member = tarfile.TarInfo(path)
                member.size, member.mode = len(data), 0o644
                archive.addfile(member, io.BytesIO(data))
