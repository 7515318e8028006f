"""Device numbers and names: nvidia-smi's list of GPUs compared with CUDA's devices 0, 1 ... in a prompt or a log."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..formats.lazy import lazy
from .statement import Line, Statement, say

_LISTED = lazy(r"\s{0,8}GPU (\d{1,2}): (.{3,60}?) \(UUID: GPU-")
_ROW = lazy(r"\s{0,4}\|\s{1,4}(\d{1,2})\s{1,4}(\S[^|]{1,60}?)\s{1,30}(?:On|Off|N/A|WDDM|TCC|MCDM)\s{0,4}\|")
_QUERY = lazy(r"torch\.cuda\.get_device_name\((?:device=)?[\"']?(?:cuda:)?(\d{1,2})?[\"']?\)")
_ANSWER = lazy(
    r"\s{0,8}(?:Out ?\[\d{1,5}\]:\s?)?[\"']?((?:NVIDIA|GeForce|Tesla|Quadro|TITAN|RTX|GTX)[\w -]{1,50})[\"']?\s{0,4}$"
)
_PRINTED = (
    lazy(r"\bDevice (\d{1,2}): \"?([A-Z][\w -]{3,50})\"?(?:, compute capability|$)"),  # ggml, deviceQuery
    lazy(r"\bDevice: cuda:(\d{1,2}) ([A-Z][\w -]{3,50}) : "),  # ComfyUI
    lazy(r"\bCUDA:(\d{1,2}) \(([A-Z][\w -]{3,50}), \d{3,7} ?MiB\)"),  # Ultralytics
    lazy(r"-> device: (\d{1,2}), name: ([A-Z][\w -]{3,50}), pci bus id"),  # TensorFlow
)
_LIMITS = lazy(
    r"VISIBLE_DEVICES|CUDA_DEVICE_ORDER.{0,8}PCI|--gpus \S{0,4}device=|--cuda-device|CUDA_DEVICE_ORDER.{0,8}FASTEST"
)


def read_device_names(lines: list[Line]) -> Iterator[Statement]:
    """`raised.device-order` where both list the same models in another order, `raised.device-named` where one differs.

    One name of CUDA's says less: the program may have been given another GPU alone. Nothing is said where the text
    tells which GPUs are visible, or where a list contradicts itself (two machines).
    """
    by_smi: dict[int, str] = {}
    by_cuda: dict[int, str] = {}
    at: Line | None = None
    queried: int | None = None
    for line in lines:
        text = line.text
        if "DEVICE" in text and _LIMITS.search(text):
            return
        if not text.strip():
            continue
        waiting, queried = queried, None
        if found := _LISTED.match(text) or ("|" in text and _ROW.match(text)) or None:
            names = by_smi
        elif found := _printed(text):
            names, at = by_cuda, at or line
        elif waiting is not None and (answer := _ANSWER.match(text)):
            at = at or line
            if by_cuda.setdefault(waiting, _plain(answer[1])) != _plain(answer[1]):
                return
            continue
        else:
            if "get_device_name" in text and len(calls := _QUERY.findall(text)) == 1:
                queried = int(calls[0] or 0)
            continue
        number, name = int(found[1]), _plain(found[2])
        if name.endswith("..."):
            return
        if names.setdefault(number, name) != name:
            return
    if at is None or len(by_smi) < 2 or not by_cuda:
        return
    differ = [number for number, name in by_cuda.items() if name != by_smi.get(number, name)]
    if not differ or not set(by_cuda.values()) <= set(by_smi.values()):
        return
    whole = sorted(by_cuda.values()) == sorted(by_smi.values()) and len(by_cuda) > 1
    yield say("raised.device-order" if whole else "raised.device-named", True, at)


def _printed(text: str) -> re.Match[str] | None:
    """CUDA's number and name of a device, as programs print them."""
    if "evice" not in text and "CUDA:" not in text:
        return None
    return next((found for pattern in _PRINTED if (found := pattern.search(text))), None)


def _plain(name: str) -> str:
    return re.sub(r"^(?:nvidia |geforce |tesla |quadro ){1,4}", "", name.strip().lower())
