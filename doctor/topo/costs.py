"""What the slowest link between two GPUs costs each way of splitting a training, by the ladder of `fit`."""

from __future__ import annotations

import re
from math import ceil
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ..fit.cards import Board
from ..fit.ladder import ladder
from ..fit.shape import typical
from ..fit.work import Work
from .matrix import LEGEND, SLOWEST_FIRST, Device, Table

if TYPE_CHECKING:
    from compat_matrix import Matrix
    from compat_matrix.rows_gpu import GpuSpec

SCHEMA_VERSION = 1
_PAIRS = re.compile(r"RTX|TITAN|\bA(40|30|4500|5000|5500|6000)\b|PCIe|Quadro")
"""Boards that a bridge joins two by two."""


_UNLESS, _SLOWED = "waits, unless", "slowed by the link"
_LITTLE = 0.1
"""Of the computing: time on the link that nobody minds."""
_BACKWARD = 2 / 3
"""Of a step's computing, the backward pass."""


class Cost(Struct, frozen=True, kw_only=True):
    """One way to split: bytes that each GPU sends per step; seconds: of these on the link at its full rate."""

    way: str
    bytes_per_step: float
    seconds: float | None
    share_of_computing: float | None
    """Of the step's computing at the tensor cores' dense peak; above 1 the link takes longer."""
    verdict: str


class Answer(Struct, frozen=True, kw_only=True):
    """The matrix and what it means. Rates in GB/s, one way; `missing`: facts without which seconds are not known."""

    schema_version: int
    devices: tuple[Device, ...]
    links: tuple[tuple[str, ...], ...]
    legend: dict[str, str]
    nearest_nics: dict[str, list[str]]
    notes: tuple[str, ...]
    slowest: str
    rate_gb_s: float | None
    rate_words: str
    verdict: str
    parameters: float
    tokens: int
    costs: tuple[Cost, ...]
    missing: tuple[str, ...]


def answer(m: Matrix, table: Table, parameters: float, tokens: int, named: str = "") -> Answer:
    """All of it; `named`: the GPUs' model where the table does not tell it."""
    slowest = _slowest(table.between_gpus())
    gpus = [device for device in table.devices if device.is_gpu]
    models = sorted({named} if named else {device.model for device in gpus})
    spec = _spec(m, models[0]) if len(models) == 1 and models[0] else None
    missing = []
    rate, words = None, ""
    if slowest:
        if not models[0]:
            missing.append("the GPUs' model (--gpu 'RTX 3090')")
        elif len(models) > 1:
            missing.append(f"one rate for GPUs of several kinds ({', '.join(models)})")
        else:
            rate, words = _rate(m, spec, slowest, gpus)
            if rate is None:
                missing.append(f"the rate of {slowest} between two {models[0]}: not listed for sure in this matrix")
    notes = list(table.notes)
    if slowest and spec is not None and spec.nvlink_links and _PAIRS.search(models[0]) and len(gpus) > 2:
        notes.append(f"NVLink's bridge joins two {models[0]} at most")
    costs = _costs(len(gpus), parameters, tokens, rate, spec) if slowest else []
    return Answer(
        schema_version=SCHEMA_VERSION,
        devices=table.devices,
        links=table.links,
        legend=LEGEND,
        nearest_nics=table.nearest_nics(),
        notes=tuple(notes),
        slowest=slowest,
        rate_gb_s=rate,
        rate_words=words,
        verdict=_meaning(slowest, costs),
        parameters=parameters,
        tokens=tokens,
        costs=tuple(costs),
        missing=tuple(missing),
    )


def _slowest(links: list[str]) -> str:
    """'' for one GPU alone."""
    for level in SLOWEST_FIRST:
        if level in links:
            return level
    return min(links, key=lambda link: int(link[2:])) if links else ""


def _meaning(slowest: str, costs: list[Cost]) -> str:
    """By what the link takes on these GPUs; where that is not known, by what such a link usually means."""
    if not slowest:
        return "One GPU: there is nothing between GPUs."
    if all(cost.verdict for cost in costs):
        fine = [cost.way for cost in costs if cost.verdict.startswith("fine")]
        more = [cost.way for cost in costs if cost.verdict.startswith(_UNLESS)]
        slow = [cost.way for cost in costs if cost.verdict.startswith(_SLOWED)]
        waits = [cost.way for cost in costs if cost.way not in (*fine, *more, *slow)]
        parts = [f"fine for {_listed(fine)}"] * bool(fine)
        parts += [f"{_listed(more)} if steps are accumulated"] * bool(more)
        parts += [f"{_listed(slow)} slowed by the link"] * bool(slow)
        parts += [f"{_listed(waits)} will wait for the link"] * bool(waits)
        return f"{slowest}: {'; '.join(parts)}."
    if slowest.startswith("NV"):
        return f"{slowest}: NVLink between all GPUs, made for ZeRO-3 and tensor parallel too."
    return f"{slowest}: fine for DDP; ZeRO-3 and tensor parallel will wait for the link."


def _listed(ways: list[str]) -> str:
    return " and ".join([", ".join(ways[:-1]), ways[-1]] if len(ways) > 1 else ways)


def _spec(m: Matrix, model: str) -> GpuSpec | None:
    ids = [row.id for row in m.gpu(model).rows or m.gpus_like(model).rows]
    return next((spec for id in ids for spec in m.gpu_specs if spec.id == id), None)


def _rate(m: Matrix, spec: GpuSpec | None, slowest: str, gpus: list[Device]) -> tuple[float | None, str]:
    """GB/s one way of the slowest link, and how it comes about."""
    if slowest.startswith("NV"):
        if spec is None or not spec.nvlink_links or not spec.nvlink_total_gb_s or spec.nvlink_confidence == "memory":
            return None, ""
        links, each = int(slowest[2:]), spec.nvlink_total_gb_s / 2 / spec.nvlink_links
        if links > spec.nvlink_links:
            return None, ""
        generation = f"NVLink {spec.nvlink_gen:g}" if spec.nvlink_gen else "NVLink"
        rate = links * each
        return rate, f"{generation}, {links} x {each:g} = {rate:g} GB/s each way, {2 * rate:g} GB/s in all"
    measured = [(d.pcie_gen_max, d.pcie_width_max) for d in gpus]
    if all(gen and width for gen, width in measured):
        gen, lanes = min(gen or 0 for gen, _ in measured), min(width or 0 for _, width in measured)
    elif spec is not None and spec.pcie_gen:
        gen, lanes = int(spec.pcie_gen), int(spec.pcie_lanes or 16)
    else:
        return None, ""
    row = next((r for r in m.pcie if r.gen == f"{gen}"), None)
    if row is None or not row.x16_gb_s:
        return None, ""
    rate = row.x16_gb_s * lanes / 16
    return rate, f"PCIe {gen} x{lanes}, at most {rate:g} GB/s each way"


def _costs(count: int, parameters: float, tokens: int, rate: float | None, spec: GpuSpec | None) -> list[Cost]:
    link = rate or 0.0
    board = Board(name="", count=count, memory=0.0, nvlink_gb_s=link, pcie_gb_s=link, network_gb_s=link)
    shape, work = typical(parameters), Work(sequence=tokens)
    peak = ((spec.bf16_tensor_tflops or spec.fp16_tensor_fp32acc_tflops) if spec else None) or 0.0
    computing = 6 * parameters * tokens / (peak * 1e12) if peak else None
    found = {}
    for rung in ladder(shape, parameters, work, board):
        for mark, way in (("none", "DDP"), ("ZeRO 2", "ZeRO 1 and 2"), ("ZeRO 3", "FSDP / ZeRO 3"),
                          ("tensor parallel", "tensor parallel"), ("pipeline", "pipeline parallel")):  # fmt: skip
            if rung.name.startswith(mark) and "and ZeRO" not in rung.name:
                found[way] = rung.sent
    mixed = replace(shape, experts=count, active_experts=min(2, count))
    for rung in ladder(mixed, parameters, work, board):
        if rung.name.startswith("expert"):
            found["expert parallel"] = rung.sent - found["DDP"]  # the gradients' sum is DDP's own row
    costs = []
    for way, sent in found.items():
        seconds = sent / (link * 1e9) if link else None
        here = computing / count if computing and way in ("tensor parallel", "pipeline parallel") else computing
        share = seconds / here if seconds is not None and here else None
        costs.append(Cost(way=way, bytes_per_step=sent, seconds=seconds, share_of_computing=share,
                          verdict=_verdict(way, share)))  # fmt: skip
    return costs


def _verdict(way: str, share: float | None) -> str:
    """In words: gradients may be sent while the backward pass goes on, a tensor's sums may not."""
    if share is None:
        return ""
    if way in ("tensor parallel", "expert parallel"):
        if share < _LITTLE:
            return "fine"
        if share <= 1:
            return f"{_SLOWED}: its time is {100 * share:.0f} % of the computing, and comes on top"
        return f"waits for the link: {share:.1f} times as long as the computing, and comes on top"
    if way in ("DDP", "ZeRO 1 and 2"):
        if share <= _BACKWARD:
            return "fine: gradients can be sent during the backward pass"
        return f"{_UNLESS} about {ceil(share / _BACKWARD)} steps are accumulated before gradients are sent"
    if share <= 1:
        return "fine: it can be sent while the GPU computes"
    return f"waits for the link: {share:.1f} times as long as the computing"
