"""Hosts to judge an image against, described by driver and GPU: facts as a sound host's driver and bus show them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..resolve.changed import in_words, with_driver, with_gpus
from ..resolve.machine import Unclear, card, driver
from ..snapshot import DeviceNode, Gpu, Snapshot, known

if TYPE_CHECKING:
    from compat_matrix import Matrix

_BRANDS = (
    (r"\bGeForce\b", 5), (r"\bTITAN\b", 6), (r"\bQuadro RTX\b", 12), (r"\bQuadro\b", 1), (r"\bTesla\b", 2),
    (r"\bRTX\b", 13), (r"\b(?:[ABHLGP]B?|GH)\d{1,3}[A-Z]{0,2}\b", 14),
)  # fmt: skip
"""NVML's number for a product's brand: the first of these patterns found in its name."""


def described(m: Matrix, version: str, gpu: str, arch: str) -> tuple[str, Snapshot]:
    """(name, facts) of a Linux host with this driver and GPU ("": any GPU); `arch` "": the usual one for the GPU.

    Raises Unclear.
    """
    whole, _ = driver(m, version, "linux")
    if not whole:
        raise Unclear("--driver none: an image with CUDA cannot run on a host without a driver")
    cards = [card(m, gpu)] if gpu else []
    s = in_words("linux", arch or ("aarch64" if any(one.with_grace for one in cards) else "x86_64"))
    if any(one.tegra for one in cards):
        raise Unclear(
            "a Jetson's driver is part of JetPack and needs images built for JetPack, so it is not judged", unknown=True
        )
    if cards:
        s = s.replace(with_gpus(s, m, cards))
    s = s.replace(with_driver(s, m, whole))
    if cards:
        count = cards[0].count
        s = s.replace({"gpus": tuple(_branded(g) for g in known(s.gpus) or ()), "driver.device_nodes": _nodes(count)})
    s = s.replace({"driver.modules": ("nvidia", "nvidia_uvm"), "driver.nouveau_loaded": False})
    names = [f"{one.count}x {one.name}" if one.count > 1 else one.name for one in cards]
    return ", ".join([*names, f"driver {whole}"]), s


def _branded(gpu: Gpu) -> Gpu:
    name = known(gpu.name) or ""
    brand = next((number for pattern, number in _BRANDS if re.search(pattern, name)), None)
    return gpu if brand is None else replace(gpu, brand_id=brand)


def _nodes(count: int) -> tuple[DeviceNode, ...]:
    """The nodes that the container toolkit passes into a container."""
    gpus = [DeviceNode(path=f"/dev/nvidia{i}", kind="gpu", mode=0o666, major=195, minor=i) for i in range(count)]
    nodes = (
        *gpus,
        DeviceNode(path="/dev/nvidiactl", kind="ctl", mode=0o666, major=195, minor=255),
        DeviceNode(path="/dev/nvidia-uvm", kind="uvm", mode=0o666),
    )
    return tuple(replace(node, readable=True, writable=True) for node in nodes)
