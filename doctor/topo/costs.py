"""What the slowest link between two GPUs costs each way of splitting a training, by the ladder of `fit`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ..fit.cards import Board, linked
from ..fit.ladder import ladder
from ..fit.shape import typical
from ..fit.work import Work
from .joined import island_words, joined_islands, ring_rate, table_rings
from .matrix import LEGEND, SLOWEST_FIRST, Device, Table
from .odd import odd
from .verdicts import EQUAL, Cost, Fastest, grade_of, meaning, verdict

if TYPE_CHECKING:
    from compat_matrix import Matrix
    from compat_matrix.rows_gpu import GpuSpec

SCHEMA_VERSION = 1
_FAR = ("SYS", "NODE")
"""Ways through two host bridges, slower than PCIe's own rate in a measure that no table lists."""


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
    fastest: Fastest | None
    """None if the matrix lists none for sure."""
    verdict: str
    parameters: float
    tokens: int
    costs: tuple[Cost, ...]
    missing: tuple[str, ...]
    odd: tuple[str, ...] = ()
    """Sentences of what is wrong with the table by itself: a GPU without the others' NVLink."""
    ring: tuple[str, ...] = ()
    """GPUs in the order of a ring over NVLink; rate_gb_s is then that of all such rings together."""
    islands: tuple[tuple[str, ...], ...] = ()
    """GPUs that NVLink joins, where it does not join all."""


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
            missing.append(f"a common rate, because the GPUs are different models ({', '.join(models)})")
        else:
            rate, words = _rate(m, spec, slowest, gpus)
            if rate is None:
                missing.append(
                    f"the rate of {slowest} between two {models[0]} GPUs, which this matrix does not reliably list"
                )
    pair, ring = rate, table_rings(table, spec)
    if ring is not None and spec is not None and rate is not None and (spec.nvlink_total_gb_s or 0) > 0:
        wide, wider = ring_rate(spec, ring, slowest)
        rate, words = (wide, wider) if wide > rate * EQUAL else (rate, words)
    ring = ring if rate != pair else None
    notes = list(table.notes)
    board = _board(m, spec, len(gpus))
    if slowest and board is not None and board.pairs_only and len(gpus) > 2:
        notes.append(f"an NVLink bridge connects at most two {models[0]} GPUs")
    fastest = _fastest(spec, board, table, rate, notes) if slowest and rate else None
    costs = _costs(len(gpus), parameters, tokens, rate, pair, spec, fastest) if slowest else []
    strange = odd(table, _own_nvlink(spec, board))
    joined = joined_islands(table) if not strange else ()
    if joined and ring is None:
        notes.append(island_words(table, joined, slowest))
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
        fastest=fastest,
        verdict=meaning("Rings over NVLink" if ring else slowest, costs, fastest, rate or 0.0),
        parameters=parameters,
        tokens=tokens,
        costs=tuple(costs),
        missing=tuple(missing),
        odd=strange,
        ring=tuple(gpus[at].name for at in ring.order) if ring else (),
        islands=tuple(tuple(gpus[at].name for at in island) for island in joined),
    )


def _own_nvlink(spec: GpuSpec | None, board: Board | None) -> str:
    """`NV18` of boards that have NVLink without a bridge between two of them."""
    known = spec is not None and board is not None and spec.nvlink_links and spec.nvlink_confidence != "memory"
    if not known or board is None or spec is None or board.pairs_only or not board.nvlink_gb_s:
        return ""
    return f"NV{spec.nvlink_links:g}"


def _slowest(links: list[str]) -> str:
    """'' for one GPU alone."""
    for level in SLOWEST_FIRST:
        if level in links:
            return level
    return min(links, key=lambda link: int(link[2:])) if links else ""


def _spec(m: Matrix, model: str) -> GpuSpec | None:
    ids = [row.id for row in m.gpu(model).rows or m.gpus_like(model).rows]
    return next((spec for id in ids for spec in m.gpu_specs if spec.id == id), None)


def _board(m: Matrix, spec: GpuSpec | None, count: int) -> Board | None:
    """So many of these GPUs with the rates of their links."""
    if spec is None:
        return None
    name = next((row.name for row in m.gpus if row.id == spec.id), spec.id)
    return linked(m, spec.id, Board(name=name.removeprefix("NVIDIA "), count=count, memory=0.0))


def _fastest(spec: GpuSpec | None, board: Board | None, table: Table, rate: float, notes: list[str]) -> Fastest | None:
    """What joins these GPUs best, by the matrix. Where all NVLinks lead to the other GPUs, the board has no NVSwitch,
    which a note says."""
    if spec is None or board is None or not board.node_gb_s or spec.nvlink_confidence == "memory":
        return None
    if rate > board.node_gb_s * EQUAL:  # more than is listed: what is here is what is known
        return Fastest(name=_slowest(table.between_gpus()), rate_gb_s=rate, reached=True)
    if board.node_gb_s == board.nvlink_gb_s:
        links = spec.nvlink_links or 0
        rows = [[cell for cell in row if cell != "X"] for row in table.between_each()]
        if len(rows) > 2 and all(
            all(cell.startswith("NV") for cell in row) and sum(int(cell[2:]) for cell in row) == links for row in rows
        ):
            notes.append(
                f"all {links:g} NVLinks of each GPU are in use; NVSwitch would give each pair of GPUs NV{links:g}"
            )
            return Fastest(name=_slowest(table.between_gpus()), rate_gb_s=rate, reached=True)
        reached = rate * EQUAL >= board.node_gb_s
        return Fastest(name=f"NV{links:g}", rate_gb_s=board.node_gb_s, reached=reached)
    reached = rate * EQUAL >= board.node_gb_s and not any(link in _FAR for link in table.between_gpus())
    name = f"PCIe {spec.pcie_gen:g} x{int(spec.pcie_lanes or 16)}"
    return Fastest(name=name, rate_gb_s=board.node_gb_s, reached=reached)


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
        return rate, f"{generation}, {links} x {each:g} = {rate:g} GB/s each way, {2 * rate:g} GB/s in total"
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


def _costs(
    count: int,
    parameters: float,
    tokens: int,
    rate: float | None,
    pair: float | None,
    spec: GpuSpec | None,
    fastest: Fastest | None,
) -> list[Cost]:
    """rate: of collectives that rings carry; pair: of the slowest two GPUs, which experts' all-to-all goes by."""
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
        own = pair or 0.0 if way == "expert parallel" else link
        seconds = sent / (own * 1e9) if own else None
        here = computing / count if computing and way in ("tensor parallel", "pipeline parallel") else computing
        share = seconds / here if seconds is not None and here else None
        best = share * own / fastest.rate_gb_s if share is not None and fastest else None
        known = replace(fastest, reached=False) if fastest and own * EQUAL < link else fastest
        costs.append(Cost(way=way, bytes_per_step=sent, seconds=seconds, share_of_computing=share, fastest_share=best,
                          grade=grade_of(way, share), verdict=verdict(way, share, known, best)))  # fmt: skip
    return costs
