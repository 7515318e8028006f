"""A scenario's root folder: the machine's files, device nodes, driver libraries and a virtual environment with torch."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import struct
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fakes import Machine

from .torch_build import Workshop, distribution, install

PREFIX = "/opt/venv"
PYTHON = "3.11.9"
SITE = f"{PREFIX}/lib/python3.11/site-packages"
_NOTE = """.section .note.cuda.fwd_compatibility,"a",@note
.balign 4
.long 2f-1f, 4f-3f, 0
1: .asciz "NVIDIA Corporation"
2: .balign 4
3: .ascii "{text}"
4: .balign 4
.section .note.GNU-stack,"",@progbits
"""
_LIMITS = """Limit                     Soft Limit           Hard Limit           Units
Max open files            1048576              1048576              files
Max locked memory         unlimited            unlimited            bytes
"""


@dataclass
class Scenario:
    """A machine, what is changed on it, and what the report has to say. README.md tells the fields."""

    name: str
    machine: Machine
    expected: dict[str, Any]
    torch: str | None = None
    build: dict[str, Any] = field(default_factory=dict)
    packages: dict[str, str | None] = field(default_factory=dict)
    files: dict[str, str | None] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    libraries: dict[str, str] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    lacks: list[str] = field(default_factory=list)
    damage: dict[str, str] = field(default_factory=dict)
    without_record: bool = False
    without_nodes: list[str] = field(default_factory=list)
    node: dict[str, Any] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    euid: int = 1000
    opens: dict[str, str] = field(default_factory=dict)
    sysfs: bool = True
    check: list[str] = field(default_factory=list)

    @property
    def architecture(self) -> str:
        return "aarch64" if "/lib/ld-linux-aarch64.so.1" in self.all_files else "x86_64"

    @property
    def wsl(self) -> bool:
        return "microsoft" in (self.all_files.get("/proc/version") or "")

    @property
    def all_files(self) -> dict[str, str | None]:
        return {**self.machine.files["files"], **self.files}

    @property
    def variables(self) -> dict[str, str]:
        """The environment of the user on that machine."""
        usual = {"HOME": "/home/user", "PATH": f"{PREFIX}/bin:/usr/local/bin:/usr/bin:/bin", "VIRTUAL_ENV": PREFIX}
        return {**usual, **self.env}

    @property
    def driver_folder(self) -> str:
        return "/usr/lib/wsl/lib" if self.wsl else f"/usr/lib/{self.architecture}-linux-gnu"

    def nodes(self) -> list[dict[str, Any]]:
        """Device nodes, as the file gatherer would have them under this user."""
        rows = []
        for node in self.machine.files["nodes"]:
            if not any(node["path"].startswith(start) for start in self.without_nodes):
                row = {**node, **self.node}
                shift = 6 if self.euid == row["uid"] else 0
                rights = 6 if self.euid == 0 else row["mode"] >> shift
                rows.append(
                    {"at": "node", **row, "character": True, "readable": bool(rights & 4), "writable": bool(rights & 2)}
                )
        return rows


def lay_out(scenario: Scenario, root: Path, fakes: Path, workshop: Workshop) -> None:
    """Write everything under `root`."""
    files = {path: text for path, text in scenario.all_files.items() if text is not None}
    kernel = files.get("/proc/sys/kernel/osrelease", "6.8.0-60-generic\n").strip()
    files.setdefault("/proc/version", f"Linux version {kernel} (buildd@lcy02-amd64-001) (gcc 13.3.0) #1 SMP\n")
    files.setdefault("/proc/cpuinfo", "processor\t: 0\nmodel name\t: AMD EPYC 9654\nflags\t\t: fpu vme\n\n")
    files.setdefault("/proc/self/limits", _LIMITS)
    if scenario.sysfs:
        files.update(_sysfs(files))
    for path, text in files.items():
        _write(root, path, text)
    (root / "dev").mkdir(exist_ok=True)
    for node in scenario.nodes():
        _write(root, node["path"], "")
    scenario.machine.install(fakes, root / scenario.driver_folder.lstrip("/"))
    (root / scenario.driver_folder.lstrip("/") / "scenario.txt").rename(root / "scenario.txt")
    for symbol in scenario.lacks:
        name = "libnvidia-ml.so.1" if symbol.startswith("nvml") else "libcuda.so.1"
        library = (root / scenario.driver_folder.lstrip("/") / name).resolve()
        without(library, symbol, library)
    for path, kind in scenario.libraries.items():
        _library(root, path, kind, fakes, workshop)
    for path, target in {**scenario.machine.files["links"], **scenario.links}.items():
        place = root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(target)
    _ldcache(scenario, root)
    _python(scenario, root, workshop)
    _damage(scenario, root)


def without(library: Path, symbol: str, out: Path) -> None:
    """A library that does not offer this function: its name in the table of strings is another one."""
    data = library.read_bytes()
    name = b"\0" + symbol.encode() + b"\0"
    assert name in data, symbol
    out.unlink(missing_ok=True)
    out.write_bytes(data.replace(name, b"\0X" + name[2:]))


def _write(root: Path, path: str, text: str) -> None:
    place = root / path.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


def _sysfs(files: dict[str, str]) -> dict[str, str]:
    """What the kernel says beside what the machine's files say: each device's modalias, a folder for each module."""
    more = {}
    base = "/sys/bus/pci/devices/"
    devices = sorted({path[len(base) :].split("/")[0] for path in files if path.startswith(base)})
    for address in devices:
        word = {
            name: files.get(f"{base}{address}/{name}", "0x0").strip()[2:].upper()
            for name in ("vendor", "device", "subsystem_vendor", "subsystem_device", "class")
        }
        kind = word["class"].rjust(6, "0")
        more[f"{base}{address}/modalias"] = (
            f"pci:v{word['vendor']:0>8}d{word['device']:0>8}sv{word['subsystem_vendor']:0>8}"
            f"sd{word['subsystem_device']:0>8}bc{kind[:2]}sc{kind[2:4]}i{kind[4:]}\n"
        )
    bridge = "pci:v00008086d00000000sv00000000sd00000000bc06sc00i00\n"
    more[f"{base}0000:00:00.0/modalias"] = bridge
    more["/sys/module/ext4/version"] = "\n"
    for line in files.get("/proc/modules", "").splitlines():
        more.setdefault(f"/sys/module/{line.split()[0]}/refcnt", "1\n")
    return more


def _library(root: Path, path: str, kind: str, fakes: Path, workshop: Workshop) -> None:
    """`fake`: a libcuda of ours; `compat TEXT`: one with the forward-compatibility note; else an empty library."""
    place = root / path.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    word, _, note = kind.partition(" ")
    if word == "fake":
        shutil.copy(fakes / "libcuda.so", place)
    elif word == "compat":
        source = workshop.folder / f"{place.name}.s"
        source.write_text(_NOTE.format(text=note.replace('"', '\\"')))
        cuda = Path(__file__).parents[1] / "fakes" / "libcuda.c"
        flags = ["-O1", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"]
        subprocess.run(["gcc", *flags, "-o", place, cuda, source], check=True)
    else:
        shutil.copy(workshop.library(word), place)
    if place.name.startswith("libcuda.so.") and place.name != "libcuda.so.1":
        (place.parent / "libcuda.so.1").symlink_to(place.name)


def _ldcache(scenario: Scenario, root: Path) -> None:
    """The loader's cache with the driver's libraries (in the format from before glibc 2.32: the shortest)."""
    flag = 0x0A03 if scenario.architecture == "aarch64" else 0x0303
    folder = root / scenario.driver_folder.lstrip("/")
    names = [name for name in ("libcuda.so.1", "libnvidia-ml.so.1") if (folder / name).exists()]
    text, rows = b"", b""
    for name in names:
        key, value = f"{name}\0".encode(), f"{scenario.driver_folder}/{name}\0".encode()
        rows += struct.pack("<III", flag, len(text), len(text) + len(key))
        text += key + value
    (root / "etc").mkdir(exist_ok=True)
    (root / "etc" / "ld.so.cache").write_bytes(b"ld.so-1.7.0\0" + struct.pack("<I", len(names)) + rows + text)


def _damage(scenario: Scenario, root: Path) -> None:
    """RECORD of each distribution as it was installed, then what happened to its files since."""
    site = root / SITE.lstrip("/")
    for library in site.rglob("*.so*") if scenario.architecture == "aarch64" else ():
        _for_processor(library, 183)
    if scenario.damage and not scenario.without_record:
        records(site)
    for path, kind in scenario.damage.items():
        spoil(site / path, kind)


def _for_processor(library: Path, machine: int) -> None:
    with library.open("r+b") as stream:
        stream.seek(18)
        stream.write(struct.pack("<H", machine))


def records(site: Path) -> None:
    """Write RECORD into each metadata folder; a library belongs to the wheel that its folder is named for."""
    for folder in site.glob("*.dist-info"):
        name = folder.name.partition("-")[0].replace("_", "-")
        top = "torch" if name == "torch" else name.replace("-", "_")
        if name.startswith("nvidia-"):
            part = re.sub(r"^nvidia-|-cu\d+$", "", name).replace("-", "_")
            top = f"nvidia/{part}" if (site / "nvidia" / part).is_dir() else "nvidia/nothing"
        rows = []
        for file in sorted((site / top).rglob("*")):
            if file.is_file():
                digest = base64.urlsafe_b64encode(hashlib.sha256(file.read_bytes()).digest()).rstrip(b"=").decode()
                rows.append(f"{file.relative_to(site)},sha256={digest},{file.stat().st_size}\n")
        (folder / "RECORD").write_text("".join([*rows, f"{folder.name}/RECORD,,\n"]))


def spoil(file: Path, kind: str) -> None:
    """missing, empty, zeros, cut PERCENT, pointer, link TARGET, words, stripped, longer, aarch64."""
    word, _, value = kind.partition(" ")
    data = file.read_bytes()
    if word in ("missing", "link"):
        file.unlink()
        if value:
            file.symlink_to(value)
    elif word == "stripped":  # its section table, which nothing needs to load it
        start = struct.unpack_from("<Q", data, 40)[0]
        head = data[:40] + bytes(8) + data[48:60] + bytes(4)
        file.write_bytes((head + data[64:start]) if start else data)
    elif word == "aarch64":
        _for_processor(file, 183)
    else:
        pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 1300000000\n"
        file.write_bytes(
            {
                "empty": b"", "zeros": bytes(len(data)), "pointer": pointer, "words": b"<html>404 Not Found</html>\n",
                "longer": data + bytes(4096), "cut": data[: len(data) * int(value or 50) // 100],
            }[word]
        )  # fmt: skip


def _python(scenario: Scenario, root: Path, workshop: Workshop) -> None:
    site = root / SITE.lstrip("/")
    site.mkdir(parents=True, exist_ok=True)
    _write(root, f"{PREFIX}/bin/python3.11", "\x7fELF")
    (root / PREFIX.lstrip("/") / "bin" / "python3").symlink_to("python3.11")
    _write(root, f"{PREFIX}/pyvenv.cfg", f"home = /usr/bin\ninclude-system-site-packages = false\nversion = {PYTHON}\n")
    if scenario.torch is not None:
        install(site, scenario.torch, workshop, scenario.packages, scenario.build)
        return
    for name, number in {"pip": "25.3", **scenario.packages}.items():
        if number is not None:
            distribution(site, name, number)
