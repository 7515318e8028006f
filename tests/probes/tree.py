"""A root folder made of real files, and what gpudoctor reads in it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from doctor.probes.collect import Options, collect, gather_all
from doctor.snapshot import Snapshot
from doctor.targets.recording import Recording

PROC_VERSION = "Linux version 5.15.0-113-generic (buildd@lcy02) (gcc 11.4.0) #123-Ubuntu SMP\n"
OPEN_DRIVER = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.10  Release Build  (dvs-builder@U16)\n"
    "GCC version:  gcc version 11.4.0\n"
)
PROPRIETARY_DRIVER = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.261.03  Mon Jun  2 10:37:00 UTC 2025\n"
MODALIAS = "pci:v0000{vendor}d0000{device}sv000010DEsd000016C1bc{base}sc{sub}i00\n"


class Tree:
    """Files under a temporary folder; paths as seen from inside."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def file(self, path: str, text: str | bytes = "") -> Tree:
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode() if isinstance(text, str) else text)
        return self

    def folder(self, path: str) -> Tree:
        (self.root / path.lstrip("/")).mkdir(parents=True, exist_ok=True)
        return self

    def link(self, path: str, target: str) -> Tree:
        place = self.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(target)
        return self

    def kernel(self, version: str = PROC_VERSION) -> Tree:
        """A /proc, /sys and /dev as of a running system without a GPU."""
        self.file("/proc/version", version).folder("/sys/module").folder("/dev").folder("/sys/bus/pci/devices")
        return self.file("/proc/cpuinfo", "processor\t: 0\nmodel name\t: AMD EPYC 9654\nflags\t\t: fpu vme\n\n")

    def pci(self, address: str, vendor: str, device: str, base: str = "03", sub: str = "02", driver: str = "") -> Tree:
        folder = f"/sys/bus/pci/devices/{address}"
        self.file(f"{folder}/modalias", MODALIAS.format(vendor=vendor, device=device, base=base, sub=sub))
        return self.link(f"{folder}/driver", f"../../../bus/pci/drivers/{driver}") if driver else self

    def python(self, prefix: str, version: str = "3.11", cfg: str | None = None) -> Tree:
        """An environment: interpreter, standard library folder, site-packages; with pyvenv.cfg it is a venv."""
        self.file(f"{prefix}/bin/python{version}", "\x7fELF").link(f"{prefix}/bin/python3", f"python{version}")
        self.folder(f"{prefix}/lib/python{version}/site-packages")
        return self.file(f"{prefix}/pyvenv.cfg", cfg) if cfg is not None else self

    def distribution(self, site: str, name: str, version: str, *headers: str) -> Tree:
        folder = f"{site}/{name}-{version}.dist-info"
        lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *headers]
        return self.file(f"{folder}/METADATA", "\n".join(lines) + "\n\nWords.\n").file(f"{folder}/INSTALLER", "pip\n")

    def torch(self, site: str, version: str = "2.6.0+cu124", cuda: str | None = "12.4", *headers: str) -> Tree:
        words = f"__version__ = {version!r}\ndebug = False\ncuda: Optional[str] = {cuda!r}\ngit_version = 'abc'\nhip = None\n"
        self.file(f"{site}/torch/__init__.py").file(f"{site}/torch/version.py", words)
        return self.folder(f"{site}/torch/lib").distribution(site, "torch", version, *headers)

    def gather(self, env: Mapping[str, str] | None = None, **options: Any) -> Recording:
        return gather_all(Options(root=str(self.root), env=env, **options))

    def look(self, env: Mapping[str, str] | None = None, **options: Any) -> Snapshot:
        return collect(Options(root=str(self.root), env=env, **options))


def fatbin(name: str) -> bytes:
    """A committed library with GPU code (tests/fixtures/fatbins/recipes.py says what is in it)."""
    path = os.path.join(os.path.dirname(__file__), "..", "fixtures", "fatbins", f"{name}.so")
    with open(path, "rb") as file:
        return file.read()
