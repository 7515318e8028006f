"""What nvidia-smi prints (the banner, old and 610+, and -q), nvitop's table, and `nvcc --version`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..formats.lazy import lazy
from . import values
from .statement import Line, Statement, say

_BANNER = lazy(r"NVIDIA-SMI\s{1,8}(\d{3}\.\d{2,3}(?:\.\d{2,3})?|N/A)|NVITOP\s{1,8}\d")
_DRIVER = lazy(r"(?:Driver|KMD) Version:\s{0,8}(\d{3}\.\d{2,3}(?:\.\d{2,3})?)")
_CUDA = lazy(r"CUDA (?:UMD |Driver )?Version:\s{0,8}(\d{1,2}\.\d{1,2})\b")
_ROW = lazy(
    r"\|\s{1,4}(\d{1,3})\s{1,4}(\S[^|]{1,60}?)\s{1,30}(?:On|Off|N/A|WDDM|TCC|MCDM)\s{0,4}\|\s{0,4}"
    r"([0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)?"
)
_ALONE = lazy(
    r"\|\s{1,4}\d{1,3}\s{1,4}\S[^|]{1,60}\|\s{1,4}[0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d (?:On|Off)\s{1,3}\|"
)
"""A row of the table that is pasted without its banner."""
_ECC = lazy(r"\b(?:On|Off)\s{1,3}\|\s{1,40}(\d{1,9}|Off)\s{0,2}\|\s{0,4}$")
_MEMORY = lazy(r"(\d{1,7}(?:\.\d{1,2})?[MG])iB\s{0,4}/\s{0,6}(\d{1,7}(?:\.\d{1,2})?[MG])iB")
_OWNER = lazy(r"\|\s{1,6}(\d{1,3})\s{1,8}(?:N/A\s{1,6}N/A\s{1,6})?(?:\d{1,9}|-|Not)\b")
_MUCH_MIB = 2000
_MODE = lazy(r"\b(E\. Process|E\. Thread|Prohibited|Default)\b")
_RETIRED = ("Single Bit ECC", "Double Bit ECC")


def read_smi(lines: list[Line]) -> Iterator[Statement]:
    """Statements of a banner and its table."""
    seen = processes = False
    index: int | None = None
    busy = _Memory()
    for line in lines:
        text = line.text
        if processes and text.strip():
            bare = text.strip().strip("|")
            if bare.startswith("+--"):
                yield say("raised.smi-lists-no-process", True, line)
            processes = set(bare) == {"="}
        if not seen and not _BANNER.search(text) and not _ALONE.match(text):
            continue
        busy.read_line(text)
        if _BANNER.search(text):
            seen = True
            if driver := _DRIVER.search(text):
                yield say("driver.nvml_driver_version", driver[1], line)
                yield say("driver.nvml_init", 0, line)
                yield say("raised.smi-works", True, line)
            if cuda := _CUDA.search(text):
                yield say("driver.nvml_cuda_version", cuda[1], line)
        elif "Process name" in text or "Process Name" in text:
            processes = True
        elif "|" in text and (row := _ROW.match(text)):
            index = int(row[1])
            name = row[2].strip()
            cut = name.endswith("...")
            fields = {"index": index, "name": None if cut else name, "count": 1, "vendor": "nvidia"}
            if row[3]:
                fields["pci_address"] = f"0000:{row[3][-7:].lower()}"
            if ecc := _ECC.search(text):
                fields["ecc_enabled"] = ecc[1] != "Off"
                if ecc[1] != "Off":
                    fields["ecc_uncorrected_volatile"] = int(ecc[1])
            yield say("gpu", fields, line)
        elif index is not None and (memory := _MEMORY.search(text)) and "%" in text:
            fields = {"index": index, "name": None, "count": 1, "vendor": "nvidia",
                      "memory_used_mib": _mib(memory[1]), "memory_total_mib": _mib(memory[2])}  # fmt: skip
            if mode := _MODE.search(text):
                fields["compute_mode"] = {"E. Process": "exclusive-process", "E. Thread": "exclusive-thread"}.get(
                    mode[1], mode[1].lower()
                )
            yield say("gpu", fields, line)
            busy.row(index, _mib(memory[1]), _mib(memory[2]), text, line)
            index = None
    yield from busy.statements()


def _mib(size: str) -> int:
    """`46068M`, `44.99G` (of nvitop) in MiB."""
    return round(float(size[:-1]) * (1024 if size[-1] == "G" else 1))


class _Memory:
    """Memory of idle cards that no row of the table of processes explains; `raised.*` is a condition of messages."""

    def __init__(self) -> None:
        self._held: dict[int, Line] = {}
        self._listed = False

    def read_line(self, text: str) -> None:
        """The table of processes begins, or names a process and its card."""
        if re.match(r"\|\s{1,4}Processes:", text):
            self._listed = True
        elif self._listed and (owner := _OWNER.match(text)):
            self._held.pop(int(owner[1]), None)

    def row(self, index: int, used: int, total: int, text: str, line: Line) -> None:
        """A card's memory and load."""
        load = re.search(r"[MG]iB\s{0,4}\|\s{1,8}(\d{1,3})%\s", text)
        if used >= _MUCH_MIB and used * 4 >= total and load and int(load[1]) == 0:
            self._held[index] = line

    def statements(self) -> Iterator[Statement]:
        """Without a process only where there is a table of them at all: many a paste ends before it."""
        for line in list(self._held.values())[:1]:
            yield say("raised.idle-memory", True, line)
            if self._listed:
                yield say("raised.memory-without-process", True, line)


def read_query(lines: list[Line]) -> Iterator[Statement]:
    """`nvidia-smi -q`: a log of keys and values under one heading for each GPU; of a part of it, the ECC counts."""
    inside, index, section, since = False, -1, "", ""
    pages: dict[int, int] = {}
    health: dict[int, int] = {}
    for line in lines:
        text = line.text
        if "NVSMI LOG" in text:
            inside, index = True, -1
            continue
        if not inside:
            if text.strip() != "Volatile":
                continue
            inside, index = True, 0  # the part about ECC alone
        if re.match(r"\s{0,4}GPU\s{1,4}[0-9A-Fa-f]{8}:", text):
            index += 1
            yield say(
                "gpu",
                {
                    "index": index,
                    "name": None,
                    "count": 1,
                    "vendor": "nvidia",
                    "pci_address": "0000:" + text.strip()[-10:].lower(),
                },
                line,
            )
            continue
        key, colon, value = (part.strip() for part in text.partition(" : "))
        if not colon:
            section = text.strip()
            if section not in ("Single Bit", "Double Bit"):
                since = section if section in ("Volatile", "Aggregate") else ""
            continue
        if key == "CUDA Version" and (cuda := values.cuda(value)):
            yield say("driver.nvml_cuda_version", cuda, line)
        elif index >= 0:
            yield from _field(key, value, section, index, line)
            if section == "Health" and (bits := _fabric_bits(key, value)):
                health[index] = health.get(index, 0) | bits
                yield say("gpu", {**_BASE, "index": index, "fabric_health": health[index]}, line)
            if section == "Retired Pages" and key in _RETIRED and (count := values.number(value)) is not None:
                pages[index] = pages.get(index, 0) + count
                yield say(
                    "gpu",
                    {"index": index, "name": None, "count": 1, "vendor": "nvidia", "retired_pages": pages[index]},
                    line,
                )
            uncorrected = key.endswith(("Uncorrectable", "Uncorrectable Parity", "Uncorrectable SEC-DED")) or (
                section == "Double Bit" and key == "Total"
            )
            if since == "Volatile" and uncorrected and (errors := values.number(value)):
                yield say(
                    "gpu",
                    {"index": index, "name": None, "count": 1, "vendor": "nvidia", "ecc_uncorrected_volatile": errors},
                    line,
                )


def _field(key: str, value: str, section: str, index: int, line: Line) -> Iterator[Statement]:
    base: dict[str, object] = {"index": index, "name": None, "count": 1, "vendor": "nvidia"}
    if key == "Product Name" and section != "Fan":
        yield say("gpu", {**base, "name": value}, line)
    elif key == "GPU UUID":
        yield say("gpu", {**base, "uuid": value}, line)
    elif key == "Compute Mode":
        yield say("gpu", {**base, "compute_mode": value.lower().replace("_", "-")}, line)
    elif (name := _MODES.get(section.lower(), {}).get(key)) and (flag := values.yes_no(value)) is not None:
        yield say("gpu", {**base, name: flag}, line)
    elif key == "Total" and section == "FB Memory Usage" and (size := values.number(value)) is not None:
        yield say("gpu", {**base, "memory_total_mib": size}, line)
    elif key == "Pending" and section == "Remapped Rows" and (flag := values.yes_no(value)) is not None:
        yield say("gpu", {**base, "row_remap_pending": flag}, line)
    elif key == "Remapping Failure Occurred" and (flag := values.yes_no(value)) is not None:
        yield say("gpu", {**base, "row_remap_failed": flag}, line)
    elif key == "Uncorrectable Error" and section == "Remapped Rows" and (rows := values.number(value)) is not None:
        yield say("gpu", {**base, "remapped_rows_uncorrectable": rows}, line)
    elif key == "SRAM Threshold Exceeded" and (flag := values.yes_no(value)) is not None:
        yield say("gpu", {**base, "sram_threshold_exceeded": flag}, line)
    elif key == "Replays Since Reset" and (count := values.number(value)) is not None:
        yield say("gpu", {**base, "pcie_replays": count}, line)
    elif section in ("Fabric", "Health") and (known := _FABRIC.get(key)):
        name, codes = known
        if (code := codes.get(value.lower())) is not None:
            yield say("gpu", {**base, name: code}, line)


_MODES = {
    "mig mode": {"Current": "mig_enabled"},
    "ecc mode": {"Current": "ecc_enabled", "Pending": "ecc_pending"},  # `Ecc Mode` in older drivers
}
_BASE: dict[str, object] = {"name": None, "count": 1, "vendor": "nvidia"}
_FABRIC: dict[str, tuple[str, dict[str, int]]] = {
    "State": ("fabric_state", {"not started": 1, "in progress": 2, "completed": 3}),
    "Status": ("fabric_status", {
        "success": 0, "invalid argument": 2, "not supported": 3, "not found": 6, "timeout": 10, "gpu is lost": 15,
        "insufficient resources": 23, "unknown error": 999,
    }),
    "Summary": ("fabric_health_summary", {"healthy": 1, "unhealthy": 2, "limited capacity": 3}),
}  # fmt: skip
"""Keys under `Fabric` and their words, as NVML's numbers (nvml.h: NVML_GPU_FABRIC_STATE_*, _HEALTH_*)."""
_FLAGS = {"Route Recovery in progress": 2, "Route Unhealthy": 4, "Access Timeout Recovery": 6}
"""Where their two bits begin in NVML's mask: 1 is true, 2 is false."""
_WRONG = ("none", "sysguid", "chassis", "partition", "nvlink", "firmware", "location", "state")
"""Words of `Incorrect Configuration`, each at its number in the mask less 1."""


def _fabric_bits(key: str, value: str) -> int:
    """The part of NVML's mask of the fabric's health that one line tells; 0 where it tells nothing (N/A)."""
    word = value.lower()
    if key == "Bandwidth":
        return {"degraded": 1, "full": 2}.get(word, 0)
    if key in _FLAGS and (flag := values.yes_no(value)) is not None:
        return (1 if flag else 2) << _FLAGS[key]
    if key == "Incorrect Configuration":
        word = "none" if word in ("false", "no") else word.replace("system guid", "sysguid")
        return next((number << 8 for number, known in enumerate(_WRONG, 1) if known in word), 0)
    return 0


def read_nvcc(lines: list[Line]) -> Iterator[Statement]:
    """`nvcc --version`."""
    for line in lines:
        if "release" in line.text and (found := re.search(r"Cuda compilation tools, release (\d{1,2}\.\d)", line.text)):
            yield say("cuda.nvcc_version", found[1], line)
