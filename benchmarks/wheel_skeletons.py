"""From all that was kept of a wheel to the skeleton that is committed (`tests/fixtures/wheels`)."""

from __future__ import annotations

import base64
import json
import lzma
import re
import struct
from pathlib import Path
from typing import Any
from zipfile import ZipFile, ZipInfo

FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}]
START_BYTES = 192
"""How much of a small cubin is kept: what the walker looks at."""


def skeleton(kept: dict[str, Any]) -> dict[str, Any]:
    """What a test needs to build libraries that are walked as the real ones."""
    line = kept["line"]
    texts = line["archs"] or []
    assert len(texts) < 2, texts
    return {
        "name": line["name"],
        "version": line["version"],
        "machine": line["machine"],
        "wheel": line["wheel"],
        "torch": _torch(line["version"], kept.get("version.py", "")),
        "archs": "".join(texts),
        "cuobjdump": {
            name: {"version": told["cuobjdump"], "entries": told["entries"], "refused": told["refused"]}
            for name, told in line["libraries"].items()
        },
        "libraries": [
            {"name": library["name"], "fatbins": [_section(row) for row in library["fatbins"]]}
            for library in kept["libraries"]
            if library.get("fatbins")
        ],
    }


def _torch(version: str, words: str) -> str:
    """2.6.0+cu124, whether the wheel's own file names the build or only its CUDA."""
    cuda = re.search(r"^cuda(?:: Optional\[str\])? = '(\d+)\.(\d+)'", words, re.MULTILINE)
    return f"{version}+cu{cuda.group(1)}{cuda.group(2)}" if cuda else ""


def _section(row: dict[str, Any]) -> dict[str, Any]:
    shapes: dict[tuple[int, ...], int] = {}
    starts: dict[str, int] = {}
    found: dict[str, Any] = {"name": row["name"], "offset": row["offset"], "size": row["size"]}
    found |= {key: [] for key in ("gaps", "counts", "lengths", "shape", "payload", "unpacked", "start")}
    end, code = 0, []
    for container in row["containers"]:
        magic, _, header, length = struct.unpack_from("<IHHQ", bytes.fromhex(container["head"]))
        assert magic == 0xBA55ED50 and header == 16 and not container["problem"], container["problem"]
        found["gaps"].append(container["at"] - end)
        found["counts"].append(len(container["entries"]))
        found["lengths"].append(length)
        end = container["at"] + header + length
        for entry in container["entries"]:
            raw = bytes.fromhex(entry["head"])
            kind, head, size = struct.unpack_from("<H2xIQ", raw)
            arch, flags, unpacked = struct.unpack_from("<I8xQ8xQ", raw, 28)
            found["shape"].append(shapes.setdefault((kind, head, arch, flags), len(shapes)))
            found["payload"].append(size)
            found["unpacked"].append(unpacked)
            text = ""
            if kind == 2 and "payload" in entry and not flags & 0x8000:
                text = base64.b64encode(base64.b64decode(entry["payload"])[:START_BYTES]).decode()
            code.append("?" if "problem" in entry else "01"[bool(entry.get("kernels") or entry.get("functions"))])
            found["start"].append(starts.setdefault(text, len(starts)) if text else -1)
    return found | {"code": "".join(code), "shapes": list(shapes), "starts": list(starts)}


def write(source: Path, folder: Path) -> int:
    """Write the skeleton of one kept wheel that holds GPU code; returns its size in bytes, 0 for a wheel without."""
    kept = json.loads(lzma.decompress(source.read_bytes()))
    made = skeleton(kept)
    if not made["libraries"]:
        return 0
    data = lzma.compress(json.dumps(made, separators=(",", ":")).encode(), filters=FILTERS)
    keep(source.name, data, folder)
    return len(data)


def keep(name: str, data: bytes, folder: Path) -> None:
    """Put a skeleton into its project's archive: sorted and without times, so that git stores only what is new."""
    path = folder / f"{name.partition('-')[0]}.zip"
    kept = {name: data}
    if path.exists():
        with ZipFile(path) as archive:
            kept = {one: archive.read(one) for one in archive.namelist()} | kept
    with ZipFile(path, "w") as archive:
        for one, content in sorted(kept.items()):
            archive.writestr(ZipInfo(one), content)
