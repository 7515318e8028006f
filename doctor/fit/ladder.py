"""The rungs from one plain copy to many GPUs: memory of each GPU, bytes that it sends per step, the time on the link.

Bytes per step and GPU: all-reduce of the gradients 2(n-1)/n of them; ZeRO 1 and 2 the same, ZeRO 3 (FSDP) half as much
again (arxiv.org/abs/1910.02054 section 7); tensor parallelism four all-reduces of the activations per layer
(arxiv.org/abs/1909.08053 section 3); a pipeline's stage its activations and their gradients per micro-batch. Offload
moves gradients down and weights up over PCIe. Where several batches make a step, gradients are summed first and sent
once; what is sharded or split is sent for each batch, with ZeRO 2 the first half of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from .cards import Board
from .memory import FROZEN, ROOTS, STATES, Estimate, Part, activations, adapters, beside, estimate
from .shape import Shape
from .work import Work

SENT_ONCE = ("none", "accumulation", "checkpointing", "8-bit optimizer", "ZeRO 1", "LoRA", "QLoRA")
"""Ways whose bytes go once a step, behind the last batch."""
ADAPTED = {"LoRA": "bf16", "QLoRA": "nf4"}
"""Ways that train adapters alone, and the type of the frozen weights that go with them."""
RANK = 16
"""Of these adapters; their memory is small beside that of the frozen weights."""
_NODE = 8
"""GPUs that a tensor is split over at most: those of one node."""


class Rung(Struct, frozen=True):
    """One way to split or spare. sent: bytes per step and GPU over `link_gb_s`; words: what it changes."""

    name: str
    held: Estimate
    sent: float
    link_gb_s: float
    words: str

    @property
    def ms(self) -> float | None:
        """Time of the bytes on the link at its full rate; None if nothing is sent or the rate is not known."""
        return self.sent / (self.link_gb_s * 1e9) * 1e3 if self.sent and self.link_gb_s else None

    def within(self, memory: float) -> bool | None:
        """None: by the low ends only."""
        return True if self.held.high <= memory else None if self.held.low <= memory else False


def as_done(work: Work, way: str) -> Work:
    """The work as this rung does it: every way behind the plain one takes one sequence at a time."""
    if work.task == "inference" or way == "none":
        return work
    if base := ADAPTED.get(way.partition(",")[0]):
        return replace(as_done(work, "checkpointing"), lora=RANK, base=base)
    spared = work.checkpointing or way != "accumulation"
    return replace(work, batch=1, accumulation=work.batch * work.accumulation, checkpointing=spared)


def ways(shape: Shape, count: float, work: Work, board: Board) -> list[Rung]:
    """The ladder; where no rung of a full training fits for sure, it goes on to adapters."""
    found = ladder(shape, count, work, board)
    if work.task == "inference" or work.lora or any(rung.within(board.memory) for rung in found):
        return found
    for name, base in ADAPTED.items():
        for rung in ladder(shape, count, as_done(work, name), board):
            if rung.name in ("none", "ZeRO 3 / FSDP"):
                title = name if rung.name == "none" else f"{name}, {rung.name}"
                flags = f"--lora {RANK}" + f" --base {base}" * (name != "LoRA")
                words = f"trains only adapters, on weights in {base}: {flags}"
                words += f"; {rung.words}" * (rung.name != "none")
                found.append(replace(rung, name=title, words=words))
    return found


def ladder(shape: Shape, count: float, work: Work, board: Board) -> list[Rung]:
    """Every rung that these GPUs allow, the one that costs least first. MIG slices do not reach each other."""
    ways = _inference if work.task == "inference" else _training
    return list(ways(shape, count, work, replace(board, count=1) if board.mig else board))


def _training(shape: Shape, count: float, work: Work, board: Board) -> Iterator[Rung]:
    trained = adapters(shape, work.lora) if work.lora else count
    n, gradients = board.count, trained * (4 if work.dtype == "fp32" else 2)
    reduce = 2 * (n - 1) / n * gradients
    link = board.link_gb_s
    copy = "one copy per GPU; gradients are summed" if n > 1 else "as it is"
    yield Rung("none", estimate(shape, count, work), reduce, link, copy)
    times = work.batch * work.accumulation
    if work.batch > 1:
        one, words = as_done(work, "accumulation"), f"{times} batches of one sequence each, accumulated into one step"
        yield Rung("accumulation", estimate(shape, count, one), reduce, link, words)
    small = as_done(work, "checkpointing")
    yield Rung(
        "checkpointing",
        estimate(shape, count, small),
        reduce,
        link,
        "one more forward pass: about a third more compute",
    )
    if work.lora:
        yield from _apart_from_frozen(shape, count, small, board, reduce)
        return
    if work.optimizer == "adamw":
        eight = replace(small, optimizer="adamw-8bit")
        yield Rung("8-bit optimizer", estimate(shape, count, eight), reduce, link, "AdamW states in 8 bits")
    moved = _without(estimate(shape, count, small), "optimizer", "master", "master gradients", ROOTS)
    offload = Rung("offload", moved, 2 * gradients, board.pcie_gb_s, "optimizer and fp32 copies in host memory")
    if n == 1:
        yield offload
        return
    whole, size = estimate(shape, count, small), 4.0 if work.dtype == "fp32" else 2.0
    states = "optimizer", "master", ROOTS
    for stage, names, factor, words in (
        ("ZeRO 1", states, 1.0, "optimizer states"),
        ("ZeRO 2", (*states, "gradients", "master gradients"), (times + 1) / 2, "optimizer states and gradients"),
        ("ZeRO 3 / FSDP", (*STATES, ROOTS), 1.5 * times, "weights, gradients and optimizer states"),
    ):
        held = _split(whole, names, n)
        held = _gathering(held, shape, count * size, size) if "weights" in names else held
        yield Rung(stage, held, factor * reduce, link, f"{words} split over {n} GPUs")
    yield offload
    width = min(n, _NODE)
    while width > 1 and shape.heads % width:
        width -= 1
    tokens = small.sequence * times
    if width > 1:
        sent = 4 * 2 * (width - 1) / width * tokens * shape.hidden * 2 * shape.layers
        words = f"each matrix split over {width} GPUs"
        yield Rung(f"tensor parallel {width}", estimate(shape, count, small, width), sent, board.node_gb_s, words)
        both = _split(estimate(shape, count, small, width), (*STATES, ROOTS), n // width)
        if n // width > 1:
            more = 1.5 * times * 2 * (n // width - 1) / (n // width) * gradients / width
            words = f"each matrix split over {width} GPUs, all states split over {n // width} groups"
            both = _gathering(both, shape, count * size, size, width)
            yield Rung(f"tensor parallel {width} and ZeRO 3", both, sent + more, link, words)
    stages = min(n, shape.layers)
    held = beside(_shared(shape, count, small, stages), _states(whole, stages), measured=small.context)
    held = replace(held, accumulating=whole.accumulating)
    words = f"{stages} stages; GPUs idle while the pipeline fills"
    yield Rung(f"pipeline {stages}", held, 2 * 2 * tokens * shape.hidden, link, words)
    if shape.experts:
        ways = max(w for w in range(1, n + 1) if shape.experts % w == 0 and w <= n)
        part = _experts(shape)
        share = (1 - part) + part / ways
        sent = 4 * tokens * shape.hidden * 2 * max(1, shape.active_experts) * shape.layers * (ways - 1) / ways
        held = _split(whole, (*STATES, ROOTS), 1 / share)
        yield Rung(f"expert parallel {ways}", held, sent + reduce, link, f"experts split over {ways} GPUs")


def _inference(shape: Shape, count: float, work: Work, board: Board) -> Iterator[Rung]:
    yield Rung("none", estimate(shape, count, work), 0.0, board.link_gb_s, "a full copy on each GPU")
    width = board.count
    while width > 1 and shape.heads % width:
        width -= 1
    if width > 1:
        tokens = work.batch
        sent = 2 * 2 * (width - 1) / width * tokens * shape.hidden * 2 * shape.layers
        words = f"each matrix split over {width} GPUs; bytes per generated token"
        yield Rung(f"tensor parallel {width}", estimate(shape, count, work, width), sent, board.link_gb_s, words)
    stages = min(board.count, shape.layers)
    if stages > 1:
        held = estimate(shape, count, work, stages)
        words = f"{stages} stages, one after the other"
        yield Rung(f"pipeline {stages}", held, 2.0 * work.batch * shape.hidden, board.link_gb_s, words)


def _apart_from_frozen(shape: Shape, count: float, work: Work, board: Board, reduce: float) -> Iterator[Rung]:
    """FSDP with adapters: the frozen weights are gathered, or fetched from the host, in both passes of each batch."""
    n, whole = board.count, estimate(shape, count, work)
    frozen = next(part.high for part in whole.parts if part.name == FROZEN)
    if n > 1:
        held = _gathering(_split(whole, (FROZEN, *STATES, ROOTS), n), shape, frozen)
        sent = work.accumulation * (2 * (n - 1) / n * frozen + 1.5 * reduce)
        words = f"frozen weights, adapters and their states split over {n} GPUs"
        yield Rung("ZeRO 3 / FSDP", held, sent, board.link_gb_s, words)
    held = _gathering(_split(_without(whole, FROZEN), (*STATES, ROOTS), n), shape, frozen)
    sent = 2 * work.accumulation * frozen
    yield Rung("offload", held, sent, board.pcie_gb_s, "frozen weights in host memory, fetched layer by layer")


def _gathering(held: Estimate, shape: Shape, weights: float, size: float = 2.0, by: int = 1) -> Estimate:
    """With the weights that are whole for a while: one layer at least, two and the embeddings at most.

    weights: bytes of them all, size: bytes of an embedding's weight, by: how many GPUs share each layer.
    """
    outer = min(weights, size * shape.hidden * shape.vocab * (2 if shape.head and not shape.tied else 1))
    layer = (weights - outer) / shape.layers
    part = Part("gathered weights", layer / by, (2 * layer + outer) / by, "a layer's full weights while it is computed")
    return replace(held, parts=(*held.parts, part))


def _split(whole: Estimate, names: tuple[str, ...], by: float) -> Estimate:
    """The estimate with these parts shared by so many GPUs."""
    parts = tuple(Part(p.name, p.low / by, p.high / by, p.note) if p.name in names else p for p in whole.parts)
    return replace(whole, parts=parts, states=_scaled(whole, parts))


def _scaled(whole: Estimate, parts: tuple[Part, ...]) -> tuple[float, float]:
    """The states of both ends after their parts have changed, in the proportion of the parts."""
    ends = []
    for end, total in zip(("low", "high"), whole.states, strict=True):
        before = sum(getattr(part, end) for part in whole.parts if part.name in STATES)
        after = sum(getattr(part, end) for part in parts if part.name in STATES)
        ends.append(total * after / before if before else 0.0)
    return ends[0], ends[1]


def _without(whole: Estimate, *names: str) -> Estimate:
    parts = tuple(part for part in whole.parts if part.name not in names)
    return replace(whole, parts=parts, states=_scaled(whole, parts))


def _states(whole: Estimate, by: int) -> tuple[float, float]:
    return whole.states[0] / by, whole.states[1] / by


def _shared(shape: Shape, count: float, work: Work, stages: int) -> list[Part]:
    """Parts of one stage of a pipeline: its share of the states; its layers' activations, of as many micro-batches."""
    found = [p for p in estimate(shape, count, work).parts if p.name in STATES]
    return [
        *(Part(p.name, p.low / stages, p.high / stages, p.note) for p in found),
        *(p for p in activations(shape, work)),
    ]


def _experts(shape: Shape) -> float:
    """Share of the parameters that are experts."""
    from .shape import parameters

    without = parameters(replace(shape, experts=0, ffn=0, dense_layers=0)) if shape.experts else 0
    whole = parameters(shape)
    return max(0.0, 1 - without / whole) if whole else 0.0
