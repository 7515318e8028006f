"""Lists that people are asked to paste: `lsmod`, `lspci -nnk`, `ls -l /dev/nvidia*`, `dkms status`, a bare `uname`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from ..formats.lazy import lazy
from ..snapshot import DeviceNode, NodeKind, PciDevice
from .statement import Line, Statement, say

_MODULE = lazy(r"(nvidia(?:_\w{1,16})?|nouveau|vfio_pci|nova_core)\s{1,40}\d{3,10}\s{1,20}-?\d{1,6}(?:\s|$)")
_NODE = lazy(
    r"c[r-][w-][\w-]{7}[.+@]?\s{1,4}\d{1,4}\s{1,4}\S{1,40}\s{1,8}\S{1,40}\s{1,8}(\d{1,4}),\s{0,8}(\d{1,6})\s.{1,40}?"
    r"(?:/dev/)?((?:nvidia|dxg)[\w-]{0,24})$"
)
_PATHS = lazy(r"\s{0,8}(?:/dev/(?:nvidia[\w-]{0,24}|dxg),?(?:\s{1,40}|$)){1,80}$")
_CARD = lazy(
    r"(?:([0-9a-f]{4}):)?([0-9a-f]{2}:[0-9a-f]{2}\.\d) (VGA compatible|3D|Display) controller(?: \[03\d\d\])?: "
    r"(.{1,160})"
)
_IDS = lazy(r"\[([0-9a-f]{4}):([0-9a-f]{4})\]")
_IN_USE = lazy(r"\s{0,12}Kernel driver in use: ([\w-]{1,40})")
_DKMS = lazy(
    r"\bnvidia(?:-[\w.-]{1,30})?(?:/|, )(\d{3}\.[\d.]{2,8})(?:-[\w.+~]{1,30})?(?:, (\d{1,2}\.\d{1,3}[\w.+~-]{0,80}), "
    r"[\w-]{3,10})?: (installed|built|added)"
)
_UNAME = lazy(r"Linux \S{1,80} (\d{1,2}\.\d{1,3}\.\d{1,3}\S{0,80}) #\d")
_RELEASE = lazy(
    r"\d\.\d{1,3}\.\d{1,3}[-.][\w.+~-]{0,40}(?:generic|amd64|arm64|azure|aws|gcp|oracle|cloud|default|lts|pve|el\d|fc\d{2}"
    r"|amzn\d|arch\d|zen\d?|lowlatency|WSL2|oem|nvidia|tegra|production)[\w.+~-]{0,40}"
)
_VENDORS = (("nvidia", "10de"), ("advanced micro", "1002"), ("amd/ati", "1002"), ("intel", "8086"))
_KINDS: dict[str, NodeKind] = {
    "nvidiactl": "ctl", "nvidia-uvm": "uvm", "nvidia-uvm-tools": "uvm-tools", "nvidia-modeset": "modeset",
    "nvidia-nvswitchctl": "nvswitch", "dxg": "dxg",
}  # fmt: skip
_MOST = 4096


def read_host_lists(lines: list[Line]) -> Iterator[Statement]:
    """Statements of each list that is there; a part of a list says what it holds and never what it lacks."""
    modules: dict[str, Line] = {}
    nodes: dict[str, tuple[DeviceNode, Line]] = {}
    for line in lines:
        text = line.text
        if "nvidia" in text or text.startswith(("nouveau", "vfio", "nova", "c")):
            if text[:1] in "nv" and (module := _MODULE.match(text)):
                modules.setdefault(module[1], line)
            elif text[:1] == "c" and (node := _NODE.match(text)):
                nodes.setdefault(node[3], (_node(node[3], int(node[1]), int(node[2])), line))
            elif "/dev/nvidia" in text and _PATHS.match(text):
                for name in re.findall(r"/dev/([\w-]{1,32})", text)[:_MOST]:
                    nodes.setdefault(name, (_node(name), line))
            elif ": " in text:
                for _, kernel, state in _DKMS.findall(text[:2000]):
                    yield say("dkms", (kernel, state), line)
        elif text[:1] == "L" and (uname := _UNAME.match(text)):
            yield say("host.kernel", uname[1], line)
        if text[:1].isdecimal() and len(text) < 100 and _RELEASE.fullmatch(text.strip()):
            yield say("host.kernel", text.strip(), line, weak=True)
    if modules:
        names = tuple(modules)
        if "nvidia" not in modules and any(name.startswith("nvidia_") for name in names):
            names = ("nvidia", *names)  # it is beneath the others: its line was cut
        yield say("driver.modules", names, next(iter(modules.values())), weak=True)
        if "nouveau" in modules:
            yield say("driver.nouveau_loaded", True, modules["nouveau"], weak=True)
    if {"ctl", "gpu"} <= {node.kind for node, _ in nodes.values()}:
        yield say("driver.device_nodes", tuple(node for node, _ in nodes.values()), next(iter(nodes.values()))[1])


def _node(name: str, major: int | None = None, minor: int | None = None) -> DeviceNode:
    kind: NodeKind = "gpu" if re.fullmatch(r"nvidia\d{1,4}", name) else _KINDS.get(name, "other")
    node = DeviceNode(path=f"/dev/{name}", kind=kind)
    return node if major is None else replace(node, major=major, minor=minor)


def read_lspci(lines: list[Line]) -> Iterator[Statement]:
    """NVIDIA's boards of `lspci`, with the driver that holds each where -k or -v tells it."""
    cards: list[dict[str, Any]] = []
    first: Line | None = None
    inside = False
    for line in lines:
        text = line.text
        if text[:1].isspace() and inside:
            if in_use := _IN_USE.match(text):
                cards[-1]["driver"] = in_use[1]
            elif "Kernel modules:" in text:
                cards[-1].setdefault("driver", None)
        elif ":" in text[:8] and (card := _CARD.match(text)) and len(cards) < _MOST:
            ids = _IDS.search(card[4])
            vendor = ids[1] if ids else next((v for name, v in _VENDORS if name in card[4].lower()), "0000")
            code = {"VGA compatible": "030000", "3D": "030200", "Display": "038000"}[card[3]]
            address = f"{card[1] or '0000'}:{card[2]}"
            cards.append({"address": address, "vendor": vendor, "device": ids[2] if ids else "", "class_code": code})
            first, inside = first or line, True
        else:
            inside = False
    if first and any(card["vendor"] == "10de" for card in cards):
        yield say("driver.pci_devices", tuple(PciDevice(**card) for card in cards), first)
