"""PCIe links: which device each one in `lspci -vv` belongs to, and the width that nvidia-smi reports for a GPU."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..formats.lazy import lazy
from .statement import Line, Statement, say

_DEVICE = lazy(r"\s{0,4}(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.\d (\S.{3,200})")
_GPU = lazy(r"(?:VGA compatible|3D|Display) controller\b.{0,20}: .{0,60}NVIDIA", re.I)
_HELD = lazy(r"\s{1,16}Kernel driver in use: (?:vfio-pci|pci-stub|nvidiafb|xen-pciback|pciback)\b", re.I)
_OF_NVIDIA = lazy(r"NVIDIA|\[10de:|\b03\d\d: 10de:", re.I)
_DISPLAY = lazy(r"(?:VGA compatible|3D|Display) controller\b|03\d\d: ", re.I)
_NARROWED = lazy(r"Width x\d{1,2} \(downgraded\)", re.I)
_LANES = lazy(r"(\d{1,2})x?$")
_NARROW = 4
"""A quarter of the lanes or fewer: boards that share a slot's lanes have half of them by design."""
_NAMES = ("pcie.link.width.current", "pcie.link.width.max")


def read_links(lines: list[Line]) -> Iterator[Statement]:
    """`raised.link-of-gpu` (fewer lanes), `raised.speed-of-gpu`, `raised.link-of-other`: under a device's line."""
    gpu: bool | None = None
    for line in lines:
        text = line.text
        if "downgraded" in text:
            if gpu is not None and "LnkSta" in text:
                of_gpu = "raised.link-of-gpu" if _NARROWED.search(text) else "raised.speed-of-gpu"
                yield say(of_gpu if gpu else "raised.link-of-other", True, line)
        elif ":" in text[:14] and (device := _DEVICE.match(text)):
            gpu = bool(_GPU.search(device[1]))


def read_holders(lines: list[Line]) -> Iterator[Statement]:
    """`raised.gpu-held`, `raised.other-held`: whose line stands above a driver that keeps devices for others.

    Other functions of NVIDIA's board (sound, USB) raise neither: its GPU may have another driver.
    """
    device = ""
    for line in lines:
        text = line.text
        if not text.strip():
            device = ""
        elif ":" in text[:14] and (found := _DEVICE.match(text)):
            device = found[1]
        elif device and _HELD.match(text):
            if not _OF_NVIDIA.search(device):
                yield say("raised.other-held", True, line)
            elif _DISPLAY.match(device):
                yield say("raised.gpu-held", True, line)


def read_widths(lines: list[Line]) -> Iterator[Statement]:
    """`raised.link-below` where nvidia-smi tells a quarter of the lanes or fewer: an idle GPU keeps its lanes."""
    section, most, of_laptop = "", 0, False
    columns: list[str] = []
    for line in lines:
        text = line.text
        of_laptop = _mobile(text) if "Product Name" in text else of_laptop
        if "pcie.link.width" in text:
            query = re.search(r"--query-gpu[= ]([\w.,]{2,400})", text)
            columns = [cell.strip() for cell in (query[1] if query else text).split(",")]
        elif columns and "," in text:
            cells = [cell.strip() for cell in text.split(",")]
            if _narrow(dict(zip(columns, cells, strict=False))) and len(cells) == len(columns) and not _mobile(text):
                yield say("raised.link-below", True, line)
                return
        else:
            columns = []
            key, colon, value = (part.strip() for part in text.partition(" : "))
            if not colon:
                section, most = key, 0
            elif section == "Link Width" and (lanes := _LANES.match(value)):
                if key in ("Max", "Device Max"):
                    most = int(lanes[1])
                elif key == "Current" and not of_laptop and 0 < int(lanes[1]) * _NARROW <= most:
                    yield say("raised.link-below", True, line)
                    return


def _narrow(row: dict[str, str]) -> bool:
    now, most = (_LANES.match(row.get(name, "")) for name in _NAMES)
    return bool(now and most) and 0 < int(now[1]) * _NARROW <= int(most[1]) if now and most else False


def _mobile(text: str) -> bool:
    return bool(re.search(r"laptop|mobile|max-q|\bMX ?\d{3}\b|\d{3,4}M\b", text, re.I))
