"""The GPUs that a model should fit on: described (`8xA100-40GB`, `H100:1g.10gb`), or those of a Snapshot."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from compat_matrix.close_names import unlisted_gpu

from ..snapshot import Snapshot, known

if TYPE_CHECKING:
    from compat_matrix import Matrix
    from compat_matrix.rows_gpu import Gpu

_SWITCHED = re.compile(r"SXM|HGX|HBM3e?$|\bG?B[23]00\b|GH200|\bH20\b|\b[AH][128]00$")
"""Boards whose NVLinks join all GPUs of a node; others have a bridge for two."""
_RACK = re.compile(r"\bGB[23]00\b")
"""Racks whose NVLinks join 72 GPUs."""
_LEFT = 0.985
"""Of the listed memory, where no board's own figure is listed: firmware and driver hold some."""


_SAME = 0.12
"""A driver lists up to 7 % less than a board is sold with: ECC, firmware."""


class Unclear(Exception):
    """GPUs that the words do not name: one line; `unknown`: not in the matrix (exit 3), else wrong usage (2)."""

    def __init__(self, text: str, unknown: bool = False) -> None:
        super().__init__(text)
        self.unknown = unknown


class Board(Struct, frozen=True, kw_only=True):
    """So many GPUs of one kind. memory: bytes of one that can be had; rates one way, GB/s, 0 if not known."""

    name: str
    count: int
    memory: float
    gib: float = 0.0
    """The memory size that it is sold with, where the matrix names it."""
    nvlink_gb_s: float = 0.0
    pcie_gb_s: float = 0.0
    pairs_only: bool = False
    """NVLink joins two boards at most."""
    half_tflops: float = 0.0
    """Dense peak of the tensor cores in half precision; 0: not listed."""
    fp32_tflops: float = 0.0
    memory_gb_s: float = 0.0
    power_w: float = 0.0
    context: float = 0.0
    """Bytes of the CUDA context as a training step of `prove` found them; 0: not measured."""

    network_gb_s: float = 0.0
    """Between nodes, of each GPU, one way; 0: not known."""
    mig: bool = False
    """Slices of a GPU: a process sees one of them, and none reaches another."""

    @property
    def node(self) -> int:
        """GPUs of one node."""
        return 72 if _RACK.search(self.name) else 8

    @property
    def link_gb_s(self) -> float:
        """Of the slowest link between any two of them; 0: not known."""
        return self.network_gb_s if self.count > self.node else self.node_gb_s

    @property
    def node_gb_s(self) -> float:
        """Of the link that joins all of one node."""
        return self.nvlink_gb_s if self.nvlink_gb_s and (not self.pairs_only or self.count <= 2) else self.pcie_gb_s


def boards(m: Matrix, text: str) -> tuple[Board, ...]:
    """The boards that a description of one GPU model means: one per memory size with this name, smallest first.
    Raises Unclear."""
    if re.search(r"\w\s*(?:[,;+/&]|\band\b)\s*\w", text):
        raise Unclear(
            f"--gpus {text!r}: use one GPU model at a time; if different GPUs work together, give the smallest"
        )
    times = re.match(r"\s*(?:(\d{1,6})\s*[xX×*]\s*(?=\D|\d{4})|(\d{1,2})\s+(?=[A-Za-z]))", text)
    count, name = (int(times[1] or times[2]), text[times.end() :].strip()) if times else (1, text.strip())
    name, _, profile = name.partition(":")
    own = re.fullmatch(r"([^=]{1,60}?)\s*=\s*(\d{1,4}(?:\.\d)?)\s?GI?B", name, re.I)
    if own and count and float(own[2]):
        return (Board(name=own[1], count=count, memory=float(own[2]) * (1 << 30)),)
    if not name or not count:
        raise Unclear(f"--gpus {text!r}: must name GPUs, such as 8xA100-40GB or 'RTX 4090'")
    wanted = re.search(r"(?i)[ -]?\b(\d{1,3})\s?GI?B\b", name)
    rows, whole = _named(m, name), True
    if not rows and wanted:
        rows, whole = _named(m, name.replace(wanted[0], "")), False
    if not rows:
        sentence = unlisted_gpu(m, name)
        hint = " Or give" if sentence.endswith("?") else ": give"
        hint += f" its memory, such as {name}=24GB"
        raise Unclear(f"{sentence}{hint if '=' not in name else ''}", unknown=True)
    sizes: dict[float, tuple[float, Gpu]] = {}
    for row in rows:
        for gib, memory in _sizes(row).items():
            known_, first = sizes.get(gib, (memory, row))
            sizes[gib] = min(known_, memory), first
    if wanted and float(wanted[1]) in sizes:
        sizes = {float(wanted[1]): sizes[float(wanted[1])]}
    elif wanted and (len(sizes) > 1 or not whole):
        several, model = " and ".join(f"{gib:g}" for gib in sorted(sizes)), name.replace(wanted[0], "")
        raise Unclear(f"{model} is listed with {several} GB; for a different size write {model}={wanted[1]}GB", True)
    if not sizes:
        raise Unclear(f"this matrix does not list the memory of {name!r}", unknown=True)
    if profile:
        return (_slice(m, [row for _, row in sizes.values()], name, profile, count),)
    return tuple(
        linked(m, row.id, Board(name=row.name.removeprefix("NVIDIA "), count=count, memory=memory, gib=gib))
        for gib, (memory, row) in sorted(sizes.items())
    )


def _named(m: Matrix, name: str) -> tuple[Gpu, ...]:
    """The rows of a name whose memory is listed, without laptop parts unless it says so; else those without it."""
    bare = re.fullmatch(r"(?i)(?:nvidia |tesla )?[a-z]{1,2}\d{2,3}[a-z]?", name)  # a chip, of which there are boards
    exact, like = m.gpu(name).rows, m.gpus_like(name).rows
    for rows in (like, exact) if bare else (exact, like):
        if not re.search(r"(?i)laptop|mobile|max-q", name):
            rows = tuple(row for row in rows if "Laptop" not in row.name) or rows
        if any(_sizes(row) for row in rows):
            return rows
    return exact or like


def _sizes(row: Gpu) -> dict[float, float]:
    """GiB that the board is sold with to the bytes that its driver lists: one name can have several (RTX 4060 Ti)."""
    found: dict[float, float] = {}
    for mib in row.memory_mib:
        gib = row.memory_gib if row.memory_gib and abs(mib / 1024 / row.memory_gib - 1) < _SAME else round(mib / 1024)
        found[gib] = min(found.get(gib, mib * 2.0**20), mib * 2.0**20)
    if row.memory_gib and row.memory_gib not in found:
        found[row.memory_gib] = row.memory_gib * _LEFT * (1 << 30)
    return found


def _slice(m: Matrix, rows: list[Gpu], name: str, profile: str, count: int) -> Board:
    """A MIG slice of the one of these boards that has this profile."""
    have: set[str] = set()
    for row in rows:
        for one in m.mig_profiles:
            if row.name not in re.split(r" / |, ", one.gpu):
                continue
            if one.profile == profile and one.memory_gib:
                memory = one.memory_gib * (1 << 30)
                return Board(name=f"{row.name.removeprefix('NVIDIA ')} {profile}", count=count, memory=memory, mig=True)
            have.add(one.profile)
    raise Unclear(f"{name} has no MIG profile {profile!r}" + (f": it has {', '.join(sorted(have))}" if have else ""))


def of_snapshot(m: Matrix, s: Snapshot) -> list[Board]:
    """The GPUs of a Snapshot by kind: with what is free of each where others hold memory. Empty if there is none."""
    found: dict[str, list[float]] = {}
    ids: dict[str, str] = {}
    for gpu in known(s.gpus) or ():
        total = known(gpu.memory_total_mib)
        if not total:
            continue
        free = total - (known(gpu.memory_used_mib) or 0)
        match = m.gpu(known(gpu.name), known(gpu.pci_device_id), known(gpu.pci_subsystem_id), total)
        name = known(gpu.name) or "GPU"
        found.setdefault(name, []).append(free * (1 << 20))
        ids[name] = match.rows[0].id if match.rows else ""
    steps = known(s.measured.training) or () if s.measured is not None else ()
    context = max((known(step.context_mib) or 0.0 for step in steps), default=0.0) * (1 << 20)
    kinds = [
        Board(name=name.removeprefix("NVIDIA "), count=len(f), memory=min(f), context=context if len(found) == 1 else 0)
        for name, f in found.items()
    ]
    return [linked(m, ids[name], board) for name, board in zip(found, kinds, strict=True)]


def linked(m: Matrix, id: str, board: Board) -> Board:
    """The board with the rates of the matrix row `id`; as it is where none are listed."""
    from msgspec.structs import replace

    spec = next((spec for spec in m.gpu_specs if spec.id == id), None)
    if spec is None:
        return board
    rate = next((r for r in m.pcie if spec.pcie_gen and r.gen == f"{spec.pcie_gen:g}"), None)
    lanes = (spec.pcie_lanes or 16) / 16
    joined = (spec.nvlink_total_gb_s or 0.0) / 2
    pcie = (rate.x16_gb_s or 0.0) * lanes if rate else 0.0
    return replace(
        board,
        nvlink_gb_s=joined,
        pcie_gb_s=pcie,
        pairs_only=bool(joined) and not _SWITCHED.search(board.name),
        half_tflops=spec.bf16_tensor_tflops or spec.fp16_tensor_fp32acc_tflops or 0.0,
        fp32_tflops=spec.fp32_tflops or 0.0,
        memory_gb_s=spec.mem_bw_gb_s or 0.0,
        power_w=spec.tdp_w or 0.0,
    )
