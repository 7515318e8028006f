"""Which architectures a library holds code for, counted over the containers that hold kernels.

A union of all entries would be wrong: libtorch_cuda.so of torch 2.15 has 10.3f code in 59 of 476 containers and 8.9
code in one, and does not support 8.9 by that. So every count here is a count of containers.
"""

from __future__ import annotations

from typing import Dict, FrozenSet, List, NamedTuple, Tuple

from .elf import SHT_NOBITS, parse_elf
from .fatbin import PTX, SASS, SECTIONS, Container, FatbinError, Header, Target, decode, walk
from .reader import Pread

_MAX_PATTERNS = 4096
_MAX_SECTIONS = 16

# A translation unit without kernels (and a device-link stub) still yields a cubin of headers. Its section names tell,
# where they can be read. Where not, up to these bytes it surely holds none. Measured with ptxas 11.8, 12.1, 12.4, 12.8,
# 13.0 and 13.5, the largest cubin of an empty unit against the smallest with one empty kernel: below 7.0: 904, 1536;
# 7.0 to 8.9: 1464, 2088; 9.0: 1736, 2384; 10.0 and up: 2276, 4752.
_EMPTY_CUBIN_BYTES = ((7, 1440), (9, 1760), (10, 2300), (1000, 3400))
# Above that an empty unit may lie too (long names of constants: 1912 bytes in torch 2.6, 8984 in 2.14), in sizes that
# differ by generation. But all entries of a container are one unit: up to this many times the limit, an entry is what
# the others are.
_UNSURE_TIMES = 3
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


def summarize(read: Pread) -> FatbinSummary:
    """Count the fat binaries of an ELF file. Raises ElfError; OSError from ``read``."""
    elf = parse_elf(read)
    found = [s for s in elf.sections if s.name in SECTIONS and s.type != SHT_NOBITS and s.size]
    return FatbinSummary(
        tuple(summarize_section(read, s.name, s.offset, s.size) for s in found[:_MAX_SECTIONS]),
    )


class _Held(NamedTuple):
    """What one entry adds to its container."""

    target: Target
    kernel: bool


class _Known(NamedTuple):
    """Up to how many bytes such an entry surely holds no kernel, above how many surely one; its row in the table."""

    empty_bytes: int
    kernel_bytes: int
    row: int


Shape = Tuple[_Held, ...]
Key = Tuple[int, ...]
_KERNEL = 1  # added to the row of an entry with a kernel: rows are even


def summarize_section(read: Pread, name: str, offset: int, size: int) -> SectionSummary:
    """Count one section. Damage is told in ``problem``; what came before it is kept."""
    shapes = Shapes()
    counts: Dict[Key, int] = {}
    problem = ""
    try:
        for raw in walk(read, offset, size):
            problem = problem or raw.problem
            key = shapes.key(raw)
            counts[key] = counts.get(key, 0) + 1
        if size and not read(offset + size - 1, 1):
            problem = problem or "file ends inside the section"
    except FatbinError as error:
        problem = problem or str(error)
    return shapes.summary(name, size, counts, problem)


def _summary(name: str, size: int, shapes: Dict[Shape, int], problem: str) -> SectionSummary:
    entries: Dict[Target, int] = {}
    patterns: Dict[FrozenSet[Target], int] = {}
    for shape, count in shapes.items():
        for held in shape:
            entries[held.target] = entries.get(held.target, 0) + count
        targets = _kernel_targets(shape)
        if targets and (targets in patterns or len(patterns) < _MAX_PATTERNS):
            patterns[targets] = patterns.get(targets, 0) + count
        elif targets:
            problem = problem or "containers are too different to be counted"
    code = sorted((target for target in entries if target.kind in (SASS, PTX)), key=_order)
    return SectionSummary(
        name,
        size,
        sum(shapes.values()),
        sum(patterns.values()),
        sum(entries.values()),
        tuple(TargetCount(t, entries[t], sum(n for held, n in patterns.items() if t in held)) for t in code),
        tuple(Pattern(held, n) for held, n in sorted(patterns.items(), key=lambda item: -item[1])),
        {target.kind: n for target, n in entries.items() if target.kind not in (SASS, PTX)},
        bool(problem),
        problem,
    )


class _Table(NamedTuple):
    """What entries are like, by kind, architecture and flags; and what each adds without a kernel, then with one."""

    known: Dict[Tuple[int, int, int], _Known]
    held: List[_Held]


class Shapes:
    """Equal containers are counted once: thousands of entries make a few dozen shapes."""

    __slots__ = ("_table",)

    def __init__(self) -> None:
        self._table = _Table({}, [])

    def key(self, container: Container) -> Key:
        """What the container is counted under; only for ``summary`` of the same object."""
        return _shape(container, self._table)

    def summary(self, name: str, size: int, counts: Dict[Key, int], problem: str) -> SectionSummary:
        """The section whose containers have these keys, so many of each; ``problem``: why not all were read, or ""."""
        shapes: Dict[Shape, int] = {}
        for key, count in counts.items():
            shape = tuple([self._table.held[row] for row in key])
            shapes[shape] = shapes.get(shape, 0) + count
        return _summary(name, size, shapes, problem)


def _shape(raw: Container, table: _Table) -> Tuple[int, ...]:
    """What each entry of one container adds, as rows of the table."""
    shape: List[int] = []
    unsure: List[int] = []
    known = table.known
    for header in raw.headers:
        kind, _, length, arch, flags, unpacked = header
        fact = known.get((kind, arch, flags)) or _know(header, table)
        code_bytes = unpacked or length
        if code_bytes > fact[0]:
            shape.append(fact[2] + _KERNEL)
            if code_bytes <= fact[1]:
                unsure.append(len(shape) - 1)
        else:
            shape.append(fact[2])
    if raw.has_code:
        for n, has_code in raw.has_code.items():
            shape[n] = (shape[n] & ~_KERNEL) + has_code
        unsure = [n for n in unsure if n not in raw.has_code]
    if unsure:
        others = [row for n, row in enumerate(shape) if n not in unsure and table.held[row].target.kind == SASS]
        if others and not any(row & _KERNEL for row in others):
            for n in unsure:
                shape[n] &= ~_KERNEL
    return tuple(shape)


def _know(header: Header, table: _Table) -> _Known:
    entry = decode(header)
    empty = kernel = 0
    if entry.kind == PTX:
        empty = kernel = _EMPTY_PTX_BYTES
    elif entry.kind == SASS:
        major = int(entry.arch.split(".")[0])
        empty = next((limit for below, limit in _EMPTY_CUBIN_BYTES if major < below), 0)
        kernel = empty * _UNSURE_TIMES
    code = entry.kind in (SASS, PTX)
    target = Target(entry.kind, entry.arch, entry.variant) if code else Target(entry.kind, "")
    known = _Known(empty, kernel, len(table.held))
    table.known[header[0], header[3], header[4]] = known
    table.held.extend((_Held(target, False), _Held(target, code)))
    return known


def _kernel_targets(shape: Shape) -> FrozenSet[Target]:
    holding = frozenset([held.target for held in shape if held.kernel])
    if all(target.kind == PTX for target in holding) and any(held.target.kind == SASS for held in shape):
        # PTX beside empty cubins is the text of the same empty translation unit, comments and all.
        return frozenset()
    return holding


def _order(target: Target) -> "Tuple[bool, List[int], str]":
    return (target.kind != SASS, [int(part) for part in target.arch.split(".")], target.variant)
