"""Rows from files that publishers offer: a reader takes the text of one, and raises ValueError where it is another."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import date
from typing import Any

from .rows import Found


def _read_on(what: str, day: str) -> str:
    return f"{what} (read {day or date.today().isoformat()})"


def toolkit(text: str, rows: Iterable[dict[str, Any]] = (), day: str = "") -> list[Found]:
    """A redistributable manifest of NVIDIA, redistrib_X.Y.Z.json: the release, its day and the driver beside it."""
    data = json.loads(text)
    if not isinstance(data, dict) or "cuda_cudart" not in data:
        raise ValueError("not a CUDA redistrib_X.Y.Z.json (no cuda_cudart)")
    label = str(data.get("release_label", ""))
    if not re.fullmatch(r"\d+\.\d+\.\d+", label):
        raise ValueError("no release_label in this manifest")
    fields: dict[str, Any] = {"cuda": ".".join(label.split(".")[:2])}
    if day_ := str(data.get("release_date", "")):
        fields["release_date"] = day_
    if driver := data.get("nvidia_driver", {}).get("version"):
        fields["bundled_driver_linux"] = driver
    source = _read_on(f"developer.download.nvidia.com/compute/cuda/redist/redistrib_{label}.json", day)
    return [Found("toolkits", (_listed(label, rows),), fields, source)]


def _listed(label: str, rows: Iterable[dict[str, Any]]) -> str:
    """The version as the matrix lists it: the first CUDA 9 and 10 carry their build number there."""
    return next((row["version"] for row in rows if row["version"].startswith(f"{label}.")), label)


def torch_notes(text: str, rows: Iterable[dict[str, Any]] = (), day: str = "") -> list[Found]:
    """pytorch's RELEASE.md: the cuDNN of each CUDA build, for every listed patch of a minor."""
    found = []
    rows = list(rows)
    for minor, cells in re.findall(r"^\|\s*(\d+\.\d+)\s*\|(.*)\|\s*$", text, re.M):
        pairs = re.findall(r"CUDA (\d+)\.(\d+) \(CUDNN ([\d.]+)\)", cells)
        if not pairs:
            continue
        per_build = {f"cu{major}{small}": cudnn for major, small, cudnn in sorted(pairs)}
        for row in rows:
            if row["torch"].rsplit(".", 1)[0] == minor:
                read = day or date.today().isoformat()
                source = f"github.com/pytorch/pytorch/blob/{{main of {read}}}/RELEASE.md"
                found.append(
                    Found("torch_releases", (row["torch"],), {"cudnn_per_build": per_build}, source, "documented")
                )
    if not found:
        raise ValueError("no release compatibility matrix in it (| 2.9 | ... CUDA 12.8 (CUDNN 9.10.2.21) ... |)")
    return found


def pci(text: str, rows: Iterable[dict[str, Any]] = (), day: str = "") -> list[Found]:
    """pci.ids: PCI devices with the chip and the bracketed name of a listed GPU, where no row has them yet. rows: those
    of `gpus` and `boards`."""
    vendor = re.search(r"^10de\s+NVIDIA[^\n]*\n((?:\t[^\n]*\n|#[^\n]*\n)*)", text, re.M)
    if not vendor:
        raise ValueError("not a pci.ids (no vendor 10de)")
    devices: dict[str, list[tuple[str, str]]] = {}
    for device, chip, names in re.findall(r"^\t([0-9a-f]{4})\s+([^\[\n]*?) ?\[([^\]\n]+)\]", vendor[1], re.M):
        for name in names.split(" / "):
            devices.setdefault(_bare(name), []).append((chip, device.upper()))
    version = re.search(r"Version:\s*([\d.]+)", text)
    source = _read_on(f"pci.ids {version[1] if version else ''}".strip(), day)
    found, rows = [], list(rows)
    known = {device for row in rows for device in row.get("device_ids", ())}
    for row in (row for row in rows if "id" in row):
        names = {_bare(name) for name in (row["name"], *row.get("aliases", ()))}
        chip = re.compile(rf"{row.get('chip', '')}[A-Z]*")  # AD102GL, GA106M; of another chip it is another board
        here = {device for name in names for of, device in devices.get(name, ()) if chip.fullmatch(of)}
        if here:
            own, extra = row.get("device_ids", []), here - known
            ids = sorted({*own, *extra}) if extra else own
            found.append(Found("gpus", (row["id"],), {"device_ids": ids}, source, "derived"))
    return found


def _bare(name: str) -> str:
    return re.sub(r"^(NVIDIA )?", "", name.strip()).casefold()


def wheels(text: str, rows: Iterable[dict[str, Any]] = (), day: str = "") -> list[Found]:
    """benchmarks/wheels.jsonl: the architectures that torch's own list names, of wheels that were read."""
    found = []
    for line in text.splitlines():
        data = json.loads(line)
        if data.get("name") != "torch" or not data.get("archs") or data.get("absent"):
            continue
        platform = f"linux_{data['machine']}"
        row = next(
            (
                r
                for r in rows
                if (r["torch"], r["platform"], r.get("pypi_default")) == (data["version"], platform, True)
            ),
            None,
        )
        if row is None:
            continue
        words = [word for text_ in data["archs"] for word in text_.split()]
        sass = [_capability(word) for word in words if word.startswith("sm_")]
        ptx = [_capability(word) for word in words if word.startswith("compute_")]
        fields: dict[str, Any] = {"sass": sass, **({"ptx": ptx} if ptx else {})}
        source = _read_on(f"wheel of torch {data['version']} for {platform}", day)
        found.append(Found("torch_builds", (row["torch"], row["tag"], platform), fields, source))
    if not found:
        raise ValueError("no wheel of torch in it that the matrix has a row for")
    return found


def _capability(word: str) -> str:
    """'12.0a' of 'sm_120a'."""
    found = re.fullmatch(r"(?:sm|compute)_(\d+)(\d)([af]?)", word)
    if not found:
        raise ValueError(f"no architecture: {word!r}")
    return f"{found[1]}.{found[2]}{found[3]}"
