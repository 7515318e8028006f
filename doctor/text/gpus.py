"""Lines that name GPUs: `GPU 0: NVIDIA A10 (UUID: GPU-...)`, `RTX 5080`, `2x H100`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..formats.lazy import lazy
from . import values
from .names import typed
from .statement import Line, Statement, say

_LISTED = lazy(r"\s{0,12}(?:GPU|Device|gpu)\s{0,2}#?(\d{1,4}(?:,\d{1,4}){0,63})\s{0,2}[:=]\s{0,4}(\S.{0,300})")
"""MMEngine puts the numbers of equal GPUs together: `GPU 0,1,2: ...`."""
_UUID = lazy(r"\(UUID:\s{0,2}((?:GPU|MIG)-[0-9a-fA-F/-]{4,80})\)")
_REST = lazy(r"(?:,|\s{2,}|\s\((?!gfx))")
_SERIES = lazy(r"\b(?:rtx|gtx|geforce)[ -]?(10|16|20|30|40|50)(?:xx|[ -]?series)\b", re.I)
_OF_SERIES = {"10": "6.1", "16": "7.5", "20": "7.5", "30": "8.6", "40": "8.9", "50": "12.0"}
"""`RTX 50 series`: every board of it has this compute capability."""
_OF_JETSON = lazy(r"\b(?:(orin)|(xavier)|(thor)|(tx2)|(tx1|jetson nano))\b", re.I)
_JETSONS = ("8.7", "7.2", "11.0", "6.2", "5.3")
MOST_GPUS = 4096
"""Of one text: no machine has more, and a list that goes on is called longer."""
OTHERS = lazy(
    r"\b(?:amd|radeon|instinct|gfx\d{3,5}\w?|intel|arc [ab]\d{3}|iris|rx ?(?:vega|\d{3,4}(?: ?xtx?)?)|vega ?\d{2}"
    r"|firepro|u?hd graphics|apple m\d|m[1-5] (?:pro|max|ultra)|mi\d{2,3}x?|qualcomm|adreno|llvmpipe|matrox|aspeed)\b",
    re.I,
)
NVIDIA = lazy(
    r"\b(?:nvidia|geforce|quadro|tesla|titan|jetson|rtx|gtx|gt ?\d{3,4}m?|mx ?\d{3}|nvs"
    r"|orin|xavier|thor|dgx|gb10|gb200|gb300|gh200"
    r"|[abhlptvk]\d{2,3}[gs]?|[at]\d000|v100dx?|grid|\d{3}mx?|b[23]00|h[12]00|pg\d{3})\b",
    re.I,
)


def read_gpus(lines: list[Line]) -> Iterator[Statement]:
    """Statements of every line of a numbered list of GPUs."""
    found_gpus = 0
    for line in lines:
        head = line.text[:48].lstrip()
        if head[:1] not in "GDg" or (found := _LISTED.match(line.text)) is None:
            continue
        for index in found[1].split(","):
            yield from gpu_statements(found[2], line, int(index))
            found_gpus += 1
        if found_gpus > MOST_GPUS:
            return


def gpu_statements(value: str, line: Line, index: int | None = None) -> Iterator[Statement]:
    """One GPU (or `2x H100`); `sm sm_90`, a UUID and a PCI id beside the name are read too."""
    if (listed := _LISTED.match(value)) is not None:
        value, index = listed[2], int(listed[1].partition(",")[0])
    uuid = _UUID.search(value)
    name = _REST.split(_UUID.sub("", value), maxsplit=1)[0].strip().strip("'\"")
    if not name or name[0] in "/(" or name.lower() in values.NOTHING or len(name) > 100:
        return
    rest = re.split(r",\s{1,4}[A-Za-z][\w ]{0,30}[:=]\s", value[len(name) :], maxsplit=1)[0]  # up to another key
    board = typed(name)
    name, count = board.name, board.boards if index is None else 1
    fields: dict[str, object] = {"index": index, "name": name, "count": min(count, MOST_GPUS + 1)}
    if board.memory_gib:
        fields["memory_total_mib"] = board.memory_gib * 1024
    board_says = re.split(r"\blist\b", rest, maxsplit=1)[0]
    if arch := re.search(r"\bsm[_ ](?:sm_)?(\d{1,2}\.\d|\d{2,3})[af]?\b", board_says):
        fields["compute_capability"] = values.capability(arch[1])
    elif series := _SERIES.search(name):
        fields["compute_capability"] = _OF_SERIES[series[1]]
    elif module := _OF_JETSON.search(name):
        fields["compute_capability"] = _JETSONS[(module.lastindex or 1) - 1]
    if uuid:
        fields["uuid"] = uuid[1]
    if pci := re.search(r"\b10de:([0-9a-f]{4})\b", rest, re.I):
        fields["pci_device_id"] = pci[1].lower()
    if gib := re.search(r"\bmemory_gb (\d{1,3})\b", rest):
        fields["memory_total_mib"] = int(gib[1]) * 1024
    kind = ""
    if "NVIDIA" in name or not OTHERS.search(name):
        kind = "nvidia" if NVIDIA.search(name) or "NVIDIA" in rest else ""
    else:
        kind = "other"
    if kind or name.lower() == "unknown":
        yield say("gpu", {**fields, "vendor": kind}, line)
