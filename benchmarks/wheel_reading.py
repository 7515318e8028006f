"""Download one wheel and read all that a comparison or a change of the walker may need of its libraries."""

from __future__ import annotations

import base64
import functools
import json
import lzma
import re
import shutil
import struct
import subprocess
import sys
import zipfile
from collections import Counter
from email.parser import HeaderParser
from pathlib import Path
from typing import Any, NamedTuple

from doctor.formats.elf import SHT_NOBITS, Elf, ElfError, parse_elf
from doctor.formats.elf_dynamic import read_dynamic
from doctor.formats.fatbin import SECTIONS, Container, walk
from doctor.formats.reader import FileReader

PYTHONS = ("3.12", "3.11", "3.10", "3.9")
GLIBCS = range(17, 42)
PIP = (sys.executable, "-m", "pip")
SMALL_BYTES = 4096
"""Payloads up to this size are kept whole."""
_LISTED = re.compile(r"^(?:ELF|PTX) file +\d+: .*\.(sm_\d+[af]?)\.(cubin|ptx)$", re.MULTILINE)
_PIN = re.compile(r"((?:nvidia|cuda)-[a-z0-9-]+)(?:\[.*\])?\s*\(?==\s*([0-9][0-9.a-z*]*)")
_ARCH_TEXT = re.compile(rb"(?:sm|compute)_[0-9]{2,3}[af]?(?: (?:sm|compute)_[0-9]{2,3}[af]?)*\0")
_PACKED_LZ4, _PACKED_ZSTD = 0x2000, 0x8000


class Wanted(NamedTuple):
    """One wheel; an empty version is the newest."""

    name: str
    version: str
    machine: str


class Tools:
    """cuobjdump, new and old, and the unpackers, installed below the scratch folder."""

    def __init__(self, scratch: Path) -> None:
        folder = scratch / "tools"
        if not (folder / "done").is_file():
            pip = [*PIP, "install", "-q", "--no-cache-dir", "--no-deps", "--only-binary", ":all:", "--target"]
            subprocess.run([*pip, str(folder), "lz4", "zstandard", "nvidia-cuda-cuobjdump"], check=True)
            subprocess.run([*pip, str(folder / "older"), "triton==3.1.0"], check=True)
            subprocess.run([*pip, str(folder / "oldest"), "triton==2.2.0"], check=True)
            (folder / "done").touch()
        sys.path.append(str(folder))
        found = [path for path in folder.rglob("cuobjdump") if path.is_file()]
        self.dumps = sorted(found, key=lambda path: ("older" in path.parts) + 2 * ("oldest" in path.parts))
        for path in self.dumps:
            path.chmod(0o755)

    def listed(self, path: Path) -> dict[str, Any]:
        """The entries as cuobjdump counts them, by the first one that reads the file."""
        complaints = []
        for program in self.dumps:
            command = [str(program), "-all", "--list-elf", "--list-ptx", str(path)]
            done = subprocess.run(command, capture_output=True, text=True, check=False, errors="replace")
            version = self._version(program)
            if done.returncode == 0:
                found: Counter[str] = Counter()
                for name, kind in _LISTED.findall(done.stdout):
                    found[(name if kind == "cubin" else name.replace("sm_", "compute_")).rstrip("f")] += 1
                return {"cuobjdump": version, "entries": dict(found), "refused": complaints}
            line = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[0]
            complaints.append(f"{version}: {line.replace(str(path), path.name)}")
        return {"cuobjdump": "", "entries": {}, "refused": complaints}

    @functools.cache  # noqa: B019
    def _version(self, program: Path) -> str:
        out = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
        return re.findall(r"V([\d.]+)", out)[-1]


def download(one: Wanted, folder: Path) -> Path:
    """The wheel for the newest of PYTHONS that it exists for. Raises LookupError."""
    shutil.rmtree(folder, ignore_errors=True)
    platforms = [f"manylinux_2_{n}_{one.machine}" for n in GLIBCS]
    platforms += [f"manylinux{n}_{one.machine}" for n in ("1", "2010", "2014")] + ["linux_" + one.machine]
    options = [word for name in platforms for word in ("--platform", name)]
    what = f"{one.name}=={one.version}" if one.version else one.name
    complaint = ""
    for python in PYTHONS:
        command = [*PIP, "download", "-q", "--no-cache-dir", "--no-deps", "--only-binary", ":all:"]
        command += ["--python-version", python, *options, "-d", str(folder), what]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return next(folder.glob("*.whl"))
        complaint = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else ""
        if "No matching distribution" not in done.stderr:
            done.check_returncode()
    raise LookupError(complaint)


def read_wheel(one: Wanted, wheel: Path, scratch: Path, keep: Path, tools: Tools) -> tuple[dict[str, Any], Path]:
    """The line of one wheel, and the file in ``keep`` with all headers."""
    version = wheel.name.split("-")[1]
    libraries, other = [], {}
    line: dict[str, Any] = {
        "name": one.name, "asked": one.version, "machine": one.machine, "version": version, "wheel": wheel.name,
        "bytes": wheel.stat().st_size, "requires": {}, "archs": None, "libraries": {},
    }  # fmt: skip
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            name = member.filename
            if name.endswith(".dist-info/METADATA"):
                metadata = HeaderParser().parsestr(archive.read(name).decode(errors="replace"))
                pins = (_PIN.match(text) for text in metadata.get_all("Requires-Dist", []))
                line["requires"] = {pin.group(1): pin.group(2) for pin in pins if pin}
                other["requires"] = metadata.get_all("Requires-Dist", [])
            elif name == "torch/version.py":
                other["version.py"] = archive.read(name).decode()
            if ".so" not in name.rpartition("/")[2]:
                continue
            path = scratch / "library" / name.rpartition("/")[2]
            path.parent.mkdir(exist_ok=True)
            with archive.open(member) as source, path.open("wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
            try:
                library = _library(path)
            except (ElfError, OSError) as error:
                library = {"problem": str(error)}
            library["name"] = name
            libraries.append(library)
            if name == "torch/lib/libtorch_python.so":
                line["archs"] = _arch_texts(path)
            if library.get("fatbins"):
                line["libraries"][name] = tools.listed(path)
            path.unlink()
    kept = keep / f"{one.name}-{version}-{one.machine}.json.xz"
    text = json.dumps({"line": line, **other, "libraries": libraries}, separators=(",", ":"))
    kept.write_bytes(lzma.compress(text.encode(), preset=2))
    return line, kept


def _arch_texts(path: Path) -> list[str]:
    data = path.read_bytes()
    return sorted({found.group()[:-1].decode() for found in _ARCH_TEXT.finditer(data)})


def _library(path: Path) -> dict[str, Any]:
    with FileReader(str(path)) as reader:
        elf = parse_elf(reader.pread)
        found: dict[str, Any] = {
            "size": reader.size, "machine": elf.machine, "type": elf.type,
            "sections": [[s.name, s.type, s.address, s.offset, s.size] for s in elf.sections],
        }  # fmt: skip
        dynamic = read_dynamic(elf)
        if dynamic:
            found.update(needed=dynamic.needed, soname=dynamic.soname, rpath=dynamic.rpath, runpath=dynamic.runpath)
        found["fatbins"] = _fatbins(reader, elf)
        return found


def _fatbins(reader: FileReader, elf: Elf) -> list[dict[str, Any]]:
    found = []
    for section in elf.sections:
        if section.name in SECTIONS and section.type != SHT_NOBITS and section.size:
            containers: list[Any] = []
            row = {"name": section.name, "offset": section.offset, "size": section.size, "containers": containers}
            try:
                for raw in walk(reader.pread, section.offset, section.size):
                    containers.append(_container(reader, raw, section.offset))
            except Exception as error:
                row["problem"] = str(error)
            found.append(row)
    return found


def _container(reader: FileReader, raw: Container, start: int) -> dict[str, Any]:
    """All headers as bytes, and of each entry what decides whether it holds a kernel."""
    head = reader.pread(raw.offset, 16)
    position = raw.offset + struct.unpack_from("<H", head, 6)[0]
    entries = []
    for _, header_bytes, size, *_ in raw.headers:
        header = reader.pread(position, min(header_bytes, 512))
        entries.append(_entry(header, reader.pread(position + header_bytes, size)))
        position += header_bytes + size
    return {"at": raw.offset - start, "head": head.hex(), "problem": raw.problem, "entries": entries}


def _entry(header: bytes, payload: bytes) -> dict[str, Any]:
    row: dict[str, Any] = {"head": header.hex()}
    kind, flags = struct.unpack_from("<H", header)[0], struct.unpack_from("<Q", header, 40)[0]
    unpacked = struct.unpack_from("<Q", header, 56)[0]
    if len(payload) <= SMALL_BYTES:
        row["payload"] = base64.b64encode(payload).decode()
    try:
        data = _unpack(payload, struct.unpack_from("<I", header, 16)[0], unpacked, flags)
        row.update(_cubin(data) if kind == 2 else _ptx(data) if kind == 1 else {})
    except Exception as error:  # damage of one entry is a fact about it
        row["problem"] = f"{type(error).__name__}: {error}"
    return row


def _unpack(payload: bytes, size: int, unpacked: int, flags: int) -> bytes:
    if flags & _PACKED_LZ4:
        import lz4.block

        return bytes(lz4.block.decompress(payload[: size or len(payload)], uncompressed_size=unpacked))
    if flags & _PACKED_ZSTD:
        import zstandard

        return bytes(zstandard.ZstdDecompressor().decompress(payload[: size or len(payload)], max_output_size=unpacked))
    return payload


def _cubin(data: bytes) -> dict[str, Any]:
    """Bytes of machine code, and how many text and constant sections of which size."""
    if data[:4] != b"\x7fELF":
        return {"magic": data[:8].hex()}
    shoff = struct.unpack_from("<Q", data, 40)[0]
    shentsize, shnum, shstrndx = struct.unpack_from("<HHH", data, 58)
    rows = [struct.unpack_from("<IIQQQQIIQQ", data, shoff + n * shentsize) for n in range(shnum)]
    names = rows[shstrndx][4] if shstrndx < shnum else 0
    text = kernels = constants = 0
    for name, kind, _, _, _, size, *_ in rows:
        label = data[names + name : names + name + 20]
        if label.startswith(b".text") and kind == 1:
            text, kernels = text + size, kernels + 1
        elif label.startswith((b".nv.constant", b".nv.global")):
            constants += size
    return {"bytes": len(data), "text": text, "kernels": kernels, "constants": constants, "sections": shnum}


def _ptx(data: bytes) -> dict[str, Any]:
    return {"bytes": len(data), "kernels": data.count(b".entry"), "functions": data.count(b".func")}
