"""Text files of Linux about the machine and its limits: /proc, cgroup files, os-release."""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Optional, Tuple

_MAX_TEXT = 4 << 20
_UNLIMITED_BYTES = 1 << 60  # cgroup v1 writes "no limit" as a number near 2**63
_ARM_PARTS = {
    ("0x41", "0xd03"): "Cortex-A53", ("0x41", "0xd08"): "Cortex-A72", ("0x41", "0xd42"): "Cortex-A78AE",
    ("0x41", "0xd0c"): "Neoverse-N1", ("0x41", "0xd40"): "Neoverse-V1", ("0x41", "0xd49"): "Neoverse-N2",
    ("0x41", "0xd4f"): "Neoverse-V2", ("0x41", "0xd83"): "Neoverse-V3AE", ("0x41", "0xd84"): "Neoverse-V3",
    ("0x41", "0xd85"): "Cortex-X925", ("0x41", "0xd87"): "Cortex-A725", ("0x4e", "0x003"): "NVIDIA Denver 2",
    ("0x4e", "0x004"): "NVIDIA Carmel", ("0xc0", "0xac3"): "Ampere-1", ("0x61", "0x022"): "Apple M1",
}  # fmt: skip


class CpuInfo(NamedTuple):
    """/proc/cpuinfo. ``logical``: CPUs listed (in a container: the host's); ``cores``, ``sockets``: None if unsaid."""

    model: Optional[str]
    logical: int
    cores: Optional[int]
    sockets: Optional[int]
    flags: Tuple[str, ...]

    @property
    def hypervisor(self) -> bool:
        """The CPU says that it is a virtual one (x86 only)."""
        return "hypervisor" in self.flags


class Limit(NamedTuple):
    """A limit that was read; ``value`` None: there is no limit."""

    value: Optional[float]


class CgroupLine(NamedTuple):
    """One line of /proc/self/cgroup; ``controllers`` empty on v2 (hierarchy 0)."""

    hierarchy: int
    controllers: Tuple[str, ...]
    path: str


def parse_cpuinfo(text: str) -> CpuInfo:
    """x86, Arm and others; an Arm CPU that is not named is named by its implementer and part."""
    logical, cores, packages = 0, set(), set()
    first: Dict[str, str] = {}
    package = ""
    for line in text[:_MAX_TEXT].splitlines():
        key, colon, value = line.partition(":")
        key, value = key.strip(), value.strip()
        if not colon:
            continue
        if (key == "processor" and value.isdecimal()) or re.fullmatch(r"processor \d+", key):
            logical += 1
        elif key == "physical id":
            package = value
            packages.add(value)
        elif key == "core id":
            cores.add((package, value))
        first.setdefault(key, value)
    part = (first.get("CPU implementer", ""), first.get("CPU part", ""))
    model = first.get("model name") or _ARM_PARTS.get(part) or first.get("Hardware") or first.get("cpu model")
    if not model and all(part):
        model = "Arm implementer %s part %s" % part
    flags = first.get("flags") or first.get("Features") or ""
    return CpuInfo(model, logical, len(cores) or None, len(packages) or None, tuple(flags.split()))


def parse_meminfo(text: str) -> Dict[str, int]:
    """/proc/meminfo: name -> KiB (counts without a unit as they stand)."""
    return {
        match.group(1): int(match.group(2))
        for match in re.finditer(r"^([A-Za-z_()0-9]+):\s+(\d{1,18})(?: kB)?\s*$", text[:_MAX_TEXT], re.MULTILINE)
    }


def parse_cgroup(text: str) -> List[CgroupLine]:
    """/proc/self/cgroup."""
    found = []
    for line in text[:_MAX_TEXT].splitlines():
        number, _, rest = line.partition(":")
        names, colon, path = rest.partition(":")
        if colon and number.isascii() and number.isdecimal() and len(number) < 10:
            found.append(CgroupLine(int(number), tuple(name for name in names.split(",") if name), path))
    return found


def parse_cpu_max(text: str) -> Optional[Limit]:
    """cgroup v2 cpu.max (``150000 100000``, ``max 100000``) -> CPUs; None if it is neither."""
    words = text.split()
    if len(words) == 1:
        words.append("100000")
    return _cpus(words[0], words[1]) if len(words) == 2 else None


def parse_cpu_quota(quota_us: str, period_us: str) -> Optional[Limit]:
    """cgroup v1 cpu.cfs_quota_us (-1: no limit) and cpu.cfs_period_us -> CPUs."""
    quota = quota_us.strip()
    return _cpus("max" if quota == "-1" else quota, period_us.strip())


def parse_memory_limit(text: str) -> Optional[Limit]:
    """cgroup v2 memory.max (``max`` or bytes), v1 memory.limit_in_bytes -> bytes."""
    word = text.strip()
    if word == "max":
        return Limit(None)
    if not _is_number(word):
        return None
    return Limit(None if int(word) >= _UNLIMITED_BYTES else int(word))


def parse_limits(text: str) -> Dict[str, Tuple[Limit, Limit]]:
    """/proc/self/limits: name in small letters -> (soft, hard), in the unit of the line (bytes, files ...)."""
    found = {}
    for line in text[:_MAX_TEXT].splitlines():
        match = re.match(r"(Max(?: [a-z]+){1,6})\s{2,40}(unlimited|\d{1,20})\s{1,40}(unlimited|\d{1,20})(?:\s|$)", line)
        if match:
            soft, hard = (Limit(None if value == "unlimited" else int(value)) for value in match.groups()[1:])
            found[match.group(1).lower()] = (soft, hard)
    return found


def parse_os_release(text: str) -> Dict[str, str]:
    """/etc/os-release: shell assignments without expansion."""
    found: Dict[str, str] = {}
    for line in text[:_MAX_TEXT].splitlines():
        match = re.fullmatch(r"([A-Z][A-Z0-9_]*)=(.*)", line.strip())
        if not match:
            continue
        value = match.group(2)
        if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
            quote, value = value[0], value[1:-1]
            if quote == '"':
                value = re.sub(r'\\(["\\$`])', r"\1", value)
        found[match.group(1)] = value
    return found


def is_wsl(kernel_release: str) -> bool:
    """Whether the kernel (/proc/sys/kernel/osrelease or /proc/version) is that of Windows' Linux subsystem."""
    return "microsoft" in kernel_release.lower()


def _cpus(quota: str, period: str) -> Optional[Limit]:
    if not _is_number(period) or int(period) == 0:
        return None
    if quota == "max":
        return Limit(None)
    return Limit(int(quota) / int(period)) if _is_number(quota) and int(quota) > 0 else None


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdecimal() and len(word) < 20
