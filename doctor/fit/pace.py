"""What sets the pace of a step: products, memory, the host's launches, or the link; as ranges, not measured.

Products reach 25 to 60 % of the dense peak in whole trainings (arxiv.org/abs/2104.04473 table 1: 44 to 52 %). A layer
is 40 kernels a step where its parts are fused and 65 where they are not, as counted on the meta device. A kernel costs
the host 6 us on a fast core and 30 us where `prove` begins to call it slow, and the GPU 2 us at the least.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from .cards import Board
from .ladder import SENT_ONCE
from .memory import activations, adapters, cache
from .rules import size_of
from .shape import Shape, parameters
from .work import Work

Bound: TypeAlias = Literal["host", "products", "memory", "link", "open"]
SHARE = 0.25, 0.6
BANDWIDTH = 0.7, 0.95
KERNELS = {"training": (40, 65), "inference": (12, 25)}
"""Of one layer: forward and backward, or forward."""
HOST_US = 6.0, 30.0
LEAST_US = 2.0


class Pace(Struct, frozen=True, kw_only=True):
    """Milliseconds of one step, or of one token of every request: low and high.

    copies: of this work, each with a core of its own, that cost nearly nothing on one GPU; busy_from: sequences at once
    from which the GPU and not the host sets the pace.
    """

    gpu_ms: tuple[float, float]
    host_ms: tuple[float, float]
    link_ms: float = 0.0
    bound: Bound
    kernels: tuple[int, int]
    products: str = ""
    """What the products run on: tensor cores, or CUDA cores."""
    hidden_from_gb_s: tuple[float, float] = (0.0, 0.0)
    """Rate of the link from which its bytes go beside the backward pass, two thirds of the time of a batch."""
    copies: int = 1
    busy_from: int = 0


def pace(shape: Shape, count: float, work: Work, board: Board, way: str = "none", sent: float = 0.0) -> Pace | None:
    """Of one GPU's share in this rung of the ladder, the bytes on the link beside it; None if its rates are not
    listed. `work`: as the rung does it."""
    rate, products = (board.fp32_tflops, "CUDA cores") if work.dtype == "fp32" else (board.half_tflops, "tensor cores")
    if not rate or not board.memory_gb_s:
        return None
    layers, shards = _shares(way, board.count)
    if work.task == "training":
        flops, moved = _training(shape, count, work, shards)
    else:
        flops, moved = _inference(shape, count, work)
    flops, moved = flops / layers, (moved[0] / layers, moved[1] / layers)
    computing = flops / (rate * 1e9 * SHARE[1]), flops / (rate * 1e9 * SHARE[0])
    moving = moved[0] / (board.memory_gb_s * 1e6 * BANDWIDTH[1]), moved[1] / (board.memory_gb_s * 1e6 * BANDWIDTH[0])
    again = KERNELS["inference"] if work.task == "training" and work.checkpointing else (0, 0)  # forward once more
    each = zip(KERNELS[work.task], again, strict=True)
    kernels = tuple(work.accumulation * (shape.layers * sum(one) + 30) for one in each)
    host = kernels[0] * HOST_US[0] / 1e3, kernels[1] * HOST_US[1] / 1e3
    gpu = max(computing[0], moving[0], kernels[0] * LEAST_US / 1e3), max(computing[1], moving[1])
    gpu = gpu[0], max(gpu)
    link_ms = sent / (board.link_gb_s * 1e6) if sent and board.link_gb_s else 0.0
    batches = work.accumulation if way in SENT_ONCE else 1  # the last one's backward pass alone can hide it
    hidden = sent * batches / (gpu[1] * 1e6 * 2 / 3), sent * batches / (gpu[0] * 1e6 * 2 / 3)
    bound: Bound = "open"
    if host[0] > gpu[1]:
        bound = "host"
    elif link_ms > gpu[1]:
        bound = "link"
    elif gpu[0] > host[1]:
        bound = "products" if computing[0] >= moving[0] else "memory"
    ratio = (host[0] + host[1]) / (gpu[0] + gpu[1])
    return Pace(
        gpu_ms=gpu, host_ms=host, link_ms=link_ms, hidden_from_gb_s=hidden, bound=bound,
        kernels=(kernels[0], kernels[1]), products=products,
        copies=max(1, int(host[0] / gpu[1])) if bound == "host" else 1,
        busy_from=max(work.batch + 1, round(work.batch * ratio)) if bound == "host" else 0,
    )  # fmt: skip


def _shares(way: str, count: int) -> tuple[int, int]:
    """How many GPUs share each layer or the layers, and how many the optimizer's states alone."""
    name, _, number = way.partition(" and ")[0].rpartition(" ")
    layers = int(number) if name in ("tensor parallel", "pipeline") else 1
    return layers, max(1, count // layers) if "ZeRO" in way else 1


def _training(shape: Shape, count: float, work: Work, shards: int) -> tuple[float, tuple[float, float]]:
    """FLOPs of forward and backward (and once more forward), and bytes to and from the GPU's memory."""
    s, tokens = shape, work.sequence * work.batch * work.accumulation
    outer = s.hidden * (s.vocab + s.positions + s.kinds)
    inner = max(count * parameters(shape, active=True) / parameters(shape) - outer, count / 20)
    passes = 3 + int(work.checkpointing) - int(bool(work.lora))  # no gradient of frozen weights
    flops = passes * tokens * (2 * inner + 4 * s.layers * s.query * work.sequence)
    trained = (adapters(shape, work.lora) if work.lora else count) / shards
    held = activations(shape, replace(work, checkpointing=False))
    low, high = sum(part.low for part in held), sum(part.high for part in held)
    read = work.accumulation
    least, most = 28 * trained + read * (4 * count + 2 * low), 32 * trained + read * (6 * count + 3 * high)
    return float(flops), (least, most)


def _inference(shape: Shape, count: float, work: Work) -> tuple[float, tuple[float, float]]:
    """Of one token for each request: all active weights and every key and value are read once."""
    active = count * parameters(shape, active=True) / parameters(shape)
    stored = (work.stored.low / count, work.stored.high / count) if work.stored else (size_of(work.dtype),) * 2
    least, most = (active * each + kept for each, kept in zip(stored, cache(shape, work), strict=True))
    return 2 * active * work.batch, (least, most)
