"""Text files of Linux about a machine and a process: /proc, control groups, os-release, pyvenv.cfg.

Lines that are not understood are skipped; nothing is raised. A limit is a number, ``inf`` where there is none, and
None where the text tells neither.
"""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Optional, Tuple

UNLIMITED = float("inf")
_MAX_TEXT = 4 << 20
_NO_LIMIT_BYTES = 1 << 60  # cgroup v1 writes "no limit" as a number near 2**63
_ARM_PARTS = {
    ("0x41", "0xd03"): "Cortex-A53", ("0x41", "0xd08"): "Cortex-A72", ("0x41", "0xd42"): "Cortex-A78AE",
    ("0x41", "0xd0c"): "Neoverse-N1", ("0x41", "0xd40"): "Neoverse-V1", ("0x41", "0xd49"): "Neoverse-N2",
    ("0x41", "0xd4f"): "Neoverse-V2", ("0x41", "0xd83"): "Neoverse-V3AE", ("0x41", "0xd84"): "Neoverse-V3",
    ("0x41", "0xd85"): "Cortex-X925", ("0x41", "0xd87"): "Cortex-A725", ("0x4e", "0x003"): "NVIDIA Denver 2",
    ("0x4e", "0x004"): "NVIDIA Carmel", ("0xc0", "0xac3"): "Ampere-1", ("0x61", "0x022"): "Apple M1",
}  # fmt: skip
_MODEL_KEYS = ("Model", "Hardware", "cpu model", "cpu")  # boards, old Arm, MIPS, POWER


class CpuInfo(NamedTuple):
    """/proc/cpuinfo of the first CPU; ``hypervisor``: it says that it is a virtual one (x86 only)."""

    model: Optional[str]
    hypervisor: bool


class Mount(NamedTuple):
    """One line of mountinfo; ``root`` is the part of the file system that is mounted, ``options`` the file system's."""

    mount_point: str
    root: str
    fstype: str
    options: str


def parse_cpuinfo(text: str) -> CpuInfo:
    """x86, Arm and others; an Arm CPU that is not named is named by its implementer and part."""
    first: Dict[str, str] = {}
    for line in text[:_MAX_TEXT].splitlines():
        key, colon, value = line.partition(":")
        if colon and value.strip():
            first.setdefault(key.strip(), value.strip())
    part = (first.get("CPU implementer", ""), first.get("CPU part", ""))
    model = first.get("model name") or _ARM_PARTS.get(part) or next((first[k] for k in _MODEL_KEYS if k in first), None)
    if not model and all(part):
        model = "Arm implementer %s part %s" % part
    return CpuInfo(model, "hypervisor" in first.get("flags", "").split())


def parse_meminfo(text: str) -> Dict[str, int]:
    """/proc/meminfo: name -> KiB (counts without a unit as they stand)."""
    found = {}
    for line in text[:_MAX_TEXT].splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if words and is_number(words[0]) and words[1:] in ([], ["kB"]):
            found[name] = int(words[0])
    return found


def parse_mountinfo(text: str) -> List[Mount]:
    """/proc/self/mountinfo."""
    found = []
    for line in text[:_MAX_TEXT].splitlines():
        left, dash, right = line.partition(" - ")
        words, tail = left.split(" "), right.split(" ")
        if dash and len(words) >= 6 and len(tail) >= 2:
            options = tail[2] if len(tail) > 2 else ""
            found.append(Mount(_plain(words[4]), _plain(words[3]), tail[0], _plain(options)))
    return found


def parse_cgroup(text: str) -> List[Tuple[Tuple[str, ...], str]]:
    """/proc/self/cgroup: (controllers, path) of each line; no controllers on v2 (hierarchy 0)."""
    found = []
    for line in text[:_MAX_TEXT].splitlines():
        number, _, rest = line.partition(":")
        names, colon, path = rest.partition(":")
        if colon and is_number(number):
            found.append((tuple(name for name in names.split(",") if name), path))
    return found


def parse_cpu_max(text: str) -> Optional[float]:
    """cgroup v2 cpu.max (``150000 100000``, ``max 100000``) -> CPUs."""
    words = text.split()
    if len(words) == 1:
        words.append("100000")
    return _cpus(words[0], words[1]) if len(words) == 2 else None


def parse_cpu_quota(quota_us: str, period_us: str) -> Optional[float]:
    """cgroup v1 cpu.cfs_quota_us (-1: no limit) and cpu.cfs_period_us -> CPUs."""
    quota = quota_us.strip()
    return _cpus("max" if quota == "-1" else quota, period_us.strip())


def parse_memory_limit(text: str) -> Optional[float]:
    """cgroup v2 memory.max (``max`` or bytes), v1 memory.limit_in_bytes -> bytes."""
    word = text.strip()
    if word == "max":
        return UNLIMITED
    if not is_number(word):
        return None
    return UNLIMITED if int(word) >= _NO_LIMIT_BYTES else int(word)


def parse_limits(text: str) -> Dict[str, Tuple[float, float]]:
    """/proc/self/limits: name in small letters -> (soft, hard), in the unit of the line (bytes, files ...)."""
    found = {}
    for line in text[:_MAX_TEXT].splitlines():
        words = line.lower().split()
        at = next((n for n, word in enumerate(words) if _limit(word) is not None), 0)
        soft, hard = [_limit(word) for word in words[at : at + 2]] if at + 1 < len(words) else [None, None]
        if words[:1] == ["max"] and soft is not None and hard is not None:
            found[" ".join(words[:at])] = (soft, hard)
    return found


def parse_os_release(text: str) -> Dict[str, str]:
    """/etc/os-release: shell assignments without expansion."""
    found: Dict[str, str] = {}
    for line in text[:_MAX_TEXT].splitlines():
        name, equals, value = line.strip().partition("=")
        if not equals or not name.replace("_", "").isalnum() or not name.isupper() or not name.isascii():
            continue
        if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
            quote, value = value[0], value[1:-1]
            if quote == '"' and "\\" in value:
                value = re.sub(r'\\(["\\$`])', r"\1", value)
        found[name] = value
    return found


def parse_pyvenv_cfg(text: str) -> Dict[str, str]:
    """pyvenv.cfg: keys in small letters (``home``, ``version``, ``version_info``, ``include-system-site-packages``)."""
    found: Dict[str, str] = {}
    for line in text[:65536].splitlines():
        key, equals, value = line.partition("=")
        if equals and key.strip():
            found.setdefault(key.strip().lower(), value.strip())
    return found


def is_wsl(kernel_release: str) -> bool:
    """Whether the kernel (/proc/sys/kernel/osrelease or /proc/version) is that of Windows' Linux subsystem."""
    return "microsoft" in kernel_release.lower()


def is_number(word: str) -> bool:
    """Plain digits, few enough to be a number of a machine."""
    return word.isascii() and word.isdecimal() and len(word) < 20


def _limit(word: str) -> Optional[float]:
    if word == "unlimited":
        return UNLIMITED
    return int(word) if word.isascii() and word.isdecimal() and len(word) < 21 else None


def _cpus(quota: str, period: str) -> Optional[float]:
    if not is_number(period) or int(period) == 0:
        return None
    if quota == "max":
        return UNLIMITED
    return int(quota) / int(period) if is_number(quota) and int(quota) > 0 else None


def _plain(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), text) if "\\" in text else text
