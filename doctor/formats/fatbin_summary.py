"""Which architectures a library holds code for, counted over the containers that hold kernels.

A union of all entries would be wrong: libtorch_cuda.so of torch 2.15 has 10.3f code in 59 of 476 containers and 8.9
code in one, and does not support 8.9 by that. So every count here is a count of containers.
"""

from __future__ import annotations

from collections import Counter
from typing import Dict, FrozenSet, List, NamedTuple, Tuple

from .elf import SHT_NOBITS, parse_elf
from .fatbin import PTX, SASS, SECTIONS, Container, Entry, FatbinError, Target, walk
from .reader import FileReader, Pread

_MAX_PATTERNS = 4096
_MAX_SECTIONS = 16

# A translation unit without kernels (and a device-link stub) still yields a cubin of headers. Measured with ptxas 11.8,
# 12.1, 12.4, 12.8, 13.0 and 13.5, bytes of the largest empty cubin against the smallest with one empty kernel:
# below 7.0: 904, 1536; 7.0 to 8.9: 1464, 2088; 9.0: 1736, 2384; 10.0 and up: 2276, 4752. Units that only hold
# constants (NCCL, bitsandbytes) lie just above the first number.
_EMPTY_CUBIN_BYTES = ((7, 1440), (9, 1760), (10, 2300), (1000, 3400))
# ".version", ".target" and ".address_size" alone are 56 bytes.
_EMPTY_PTX_BYTES = 80


class TargetCount(NamedTuple):
    """``entries``: all of this target; ``containers``: those in which it holds kernels."""

    target: Target
    entries: int
    containers: int


class Pattern(NamedTuple):
    """A set of targets and the number of kernel-holding containers that hold exactly this set."""

    targets: FrozenSet[Target]
    containers: int


class SectionSummary(NamedTuple):
    """One fat binary section, counted. ``containers`` is all, ``kernel_containers`` those with a kernel."""

    name: str
    size: int
    containers: int
    kernel_containers: int
    entries: int
    targets: Tuple[TargetCount, ...]
    patterns: Tuple[Pattern, ...]
    other_kinds: Dict[str, int]
    truncated: bool
    problem: str


class FatbinSummary(NamedTuple):
    """The fat binary sections of one library; none: the library carries no CUDA code."""

    sections: Tuple[SectionSummary, ...]

    @property
    def truncated(self) -> bool:
        return any(section.truncated for section in self.sections)

    @property
    def problem(self) -> str:
        return next((section.problem for section in self.sections if section.problem), "")

    @property
    def kernel_containers(self) -> int:
        return sum(section.kernel_containers for section in self.sections)

    def section(self, name: str) -> "SectionSummary | None":
        """The section of that name, or None."""
        return next((section for section in self.sections if section.name == name), None)


def summarize_file(path: str) -> FatbinSummary:
    """Count the fat binaries of the library at ``path``. Raises ElfError, OSError."""
    with FileReader(path) as reader:
        return summarize(reader.pread)


def summarize(read: Pread) -> FatbinSummary:
    """Count the fat binaries of an ELF file. Raises ElfError; OSError from ``read``."""
    elf = parse_elf(read)
    found = [s for s in elf.sections if s.name in SECTIONS and s.type != SHT_NOBITS and s.size]
    return FatbinSummary(
        tuple(summarize_section(read, s.name, s.offset, s.size) for s in found[:_MAX_SECTIONS]),
    )


def summarize_section(read: Pread, name: str, offset: int, size: int) -> SectionSummary:
    """Count one section. Damage is told in ``problem``; what came before it is kept."""
    containers = kernels = entries = 0
    per_target: Counter[Target] = Counter()
    holding: Counter[Target] = Counter()
    patterns: Counter[FrozenSet[Target]] = Counter()
    other: Counter[str] = Counter()
    problem = ""
    try:
        for container in walk(read, offset, size):
            containers += 1
            entries += len(container.entries)
            problem = problem or container.problem
            targets = _kernel_targets(container)
            for entry in container.entries:
                if entry.kind in (SASS, PTX):
                    per_target[Target(entry.kind, entry.arch, entry.variant)] += 1
                else:
                    other[entry.kind] += 1
            if targets:
                kernels += 1
                holding.update(targets)
                if targets in patterns or len(patterns) < _MAX_PATTERNS:
                    patterns[targets] += 1
        if size and not read(offset + size - 1, 1):
            problem = problem or "file ends inside the section"
    except FatbinError as error:
        problem = problem or str(error)
    return SectionSummary(
        name,
        size,
        containers,
        kernels,
        entries,
        tuple(TargetCount(t, per_target[t], holding[t]) for t in sorted(per_target, key=_order)),
        tuple(Pattern(t, n) for t, n in patterns.most_common()),
        dict(other),
        bool(problem),
        problem,
    )


def _kernel_targets(container: Container) -> FrozenSet[Target]:
    entries = container.entries
    machine_code = [e for e in entries if e.kind == SASS]
    if machine_code and not any(map(_holds_kernel, machine_code)):
        # PTX beside empty cubins is the text of the same empty translation unit, comments and all.
        return frozenset()
    return frozenset(Target(e.kind, e.arch, e.variant) for e in entries if _holds_kernel(e))


def _holds_kernel(entry: Entry) -> bool:
    if entry.kind == PTX:
        return entry.unpacked > _EMPTY_PTX_BYTES
    if entry.kind != SASS:
        return False
    major = int(entry.arch.split(".")[0])
    return entry.unpacked > next((limit for below, limit in _EMPTY_CUBIN_BYTES if major < below), 0)


def _order(target: Target) -> "Tuple[bool, List[int], str]":
    return (target.kind != SASS, [int(part) for part in target.arch.split(".")], target.variant)
