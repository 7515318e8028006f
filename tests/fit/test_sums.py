"""Which ways there are, and both ends of their memory, against sums made in another manner than `fit` makes them."""

from __future__ import annotations

from typing import Any

import pytest

from compat_matrix import Matrix
from doctor.fit.cards import boards
from doctor.fit.ladder import Rung, ladder, ways
from doctor.fit.shape import Shape, parameters
from doctor.fit.work import Work

from ..rows import for_each
from .test_ladder import ADAPTERS
from .test_published_numbers import LLAMA_7B, MIXTRAL

M = Matrix.load()
MIB = 1 << 20
COUNT = 6_738_415_616
BEFORE = ["none", "checkpointing", "8-bit optimizer"]
SHARDED = [*BEFORE, "ZeRO 1", "ZeRO 2", "ZeRO 3 / FSDP", "offload"]
ADAPTED = ["none", "checkpointing", "offload"]
INFERENCE = {"task": "inference", "dtype": "bf16"}
NAMES = [
    (LLAMA_7B, 1, {}, [*BEFORE, "offload"]),
    (LLAMA_7B, 2, {}, [*SHARDED, "tensor parallel 2", "pipeline 2"]),
    (LLAMA_7B, 8, {}, [*SHARDED, "tensor parallel 8", "pipeline 8"]),
    (LLAMA_7B, 16, {}, [*SHARDED, "tensor parallel 8", "tensor parallel 8 and ZeRO 3", "pipeline 16"]),
    (LLAMA_7B, 6, {}, [*SHARDED, "tensor parallel 4", "pipeline 6"]),
    (LLAMA_7B, 1, {"batch": 2}, ["none", "accumulation", "checkpointing", "8-bit optimizer", "offload"]),
    (LLAMA_7B, 1, {"optimizer": "sgd"}, ["none", "checkpointing", "offload"]),
    (MIXTRAL, 8, {}, [*SHARDED, "tensor parallel 8", "pipeline 8", "expert parallel 8"]),
    (MIXTRAL, 6, {}, [*SHARDED, "tensor parallel 4", "pipeline 6", "expert parallel 4"]),
    (LLAMA_7B, 1, {"lora": 64}, ADAPTED),
    (LLAMA_7B, 2, {"lora": 64}, ["none", "checkpointing", "ZeRO 3 / FSDP", "offload"]),
    (LLAMA_7B, 1, INFERENCE, ["none"]),
    (LLAMA_7B, 2, INFERENCE, ["none", "tensor parallel 2", "pipeline 2"]),
    (LLAMA_7B, 6, INFERENCE, ["none", "tensor parallel 4", "pipeline 6"]),
    (LLAMA_7B, 8, INFERENCE, ["none", "tensor parallel 8", "pipeline 8"]),
]


def rungs(shape: Shape, gpus: str, **work: Any) -> dict[str, Rung]:
    return {rung.name: rung for rung in ladder(shape, parameters(shape), Work(**work), boards(M, gpus)[0])}


@for_each(("shape", "gpus", "work", "names"), NAMES)
def test_the_ways_of_so_many_gpus(shape: Shape, gpus: int, work: dict[str, Any], names: list[str]) -> None:
    found = rungs(shape, f"{gpus}xA100-80GB", **work)
    assert list(found) == names
    for rung in found.values():
        assert "over 1 " not in rung.words and "1 stages" not in rung.words, rung
        whole = rung.name.startswith("ZeRO") or rung.name in (f"tensor parallel {gpus}", f"expert parallel {gpus}")
        assert rung.words.endswith(f"split over {gpus} GPUs") is (whole and work != INFERENCE), rung


@for_each(
    ("gpus", "more"), [(1, ["LoRA", "QLoRA"]), (2, ["LoRA", "LoRA, ZeRO 3 / FSDP", "QLoRA", "QLoRA, ZeRO 3 / FSDP"])]
)
def test_adapters_come_behind_where_nothing_else_is_sure(gpus: int, more: list[str]) -> None:
    board = boards(M, f"{gpus}xRTX 3090")[0]
    found = [rung.name for rung in ways(LLAMA_7B, COUNT, Work(), board)]
    assert found == [*rungs(LLAMA_7B, f"{gpus}xRTX 3090"), *more]
    assert [rung.name for rung in ways(LLAMA_7B, COUNT, Work(), boards(M, "8xH200")[0])] == list(
        rungs(LLAMA_7B, "8xH200")
    )


@for_each(
    ("shape", "gpus", "work"),
    [(shape, gpus, work | more) for shape, gpus, work, _ in NAMES for more in ({"rule": "zero"}, {"sequence": 96})],
)
def test_parts_sum_to_the_total(shape: Shape, gpus: int, work: dict[str, Any]) -> None:
    """By one school's rule table exactly; by all of them the whole differs less than its parts."""
    for name, rung in rungs(shape, f"{gpus}xA100-80GB", **work).items():
        held = rung.held
        assert all(0 <= part.low <= part.high for part in held.parts), name
        low, high = (sum(getattr(part, end) for part in held.parts) for end in ("low", "high"))
        freed = 0.0 if held.accumulating else held.shared
        if "rule" in work:
            assert (held.low, held.high) == pytest.approx((low - freed, high)), name
        else:
            assert low - freed <= held.low * (1 + 1e-9) and held.high <= high * (1 + 1e-9), name


STATES = {"mixed": (16, 20), "fp32": (16, 16), "bf16": (8, 8)}
"""Bytes of each parameter with AdamW: by the ZeRO paper and by SageMaker; three or four numbers of one type."""


def kept(dtype: str, sequence: int) -> tuple[float, float]:
    """Activations of LLaMA 7B, tensor by tensor of a layer: with FlashAttention, and with written-out attention."""
    size = {"fp32": 4, "bf16": 2, "mixed": 2}[dtype]
    tensors = {"inputs of two norms": 8192, "outputs of two norms": 8192, "q, k, v and their result": 4 * 4096,
               "gate, up, its activation, their product": 4 * 11008}  # fmt: skip
    low = sum(tensors.values()) * size + 32 * 4
    if dtype == "mixed":
        # Norms in fp32 step by step; a half copy of what q, k, v and gate, up take.
        high = 2 * 4096 * 8 + 2 * 4096 * (3 + 2) + (4 * 4096 + 4 * 11008) * 2 + 32 * sequence * (2 + 4)
    else:
        high = sum(tensors.values()) * size + 32 * sequence * size
    return sequence * 32 * low, sequence * 32 * high


@for_each(("dtype", "sequence"), [(dtype, sequence) for dtype in STATES for sequence in (64, 2048)])
def test_both_ends_of_a_training_by_another_sum(dtype: str, sequence: int) -> None:
    size = 4 if dtype == "fp32" else 2
    acts, logits = kept(dtype, sequence), (sequence * 32000 * (8 + size), sequence * 32000 * (12 + size))
    step = {"mixed": 4, "fp32": 4, "bf16": 2}[dtype] * COUNT - acts[1] - logits[1]
    low = STATES[dtype][0] * COUNT + 1.01 * (acts[0] + logits[0]) + (8 + 250) * MIB - min(acts[0], size * COUNT)
    high = STATES[dtype][1] * COUNT + 1.1 * (acts[1] + logits[1]) + (300 + 1400) * MIB + max(0.0, step)
    held = rungs(LLAMA_7B, "A100-80GB", dtype=dtype, sequence=sequence)["none"].held
    assert (held.low, held.high) == pytest.approx((low, high), rel=1e-9)
    assert (step > 0) is (sequence == 64), "the square roots of AdamW are in one of the cases"


@for_each("gpus", [2, 8])
def test_both_ends_of_what_is_split_by_another_sum(gpus: int) -> None:
    """2 bytes of weights, 2 of gradients, 12 of states; 64 tokens, whose activations are checkpointed."""
    layer, inputs = (end / 32 for end in kept("mixed", 64)), 64 * 32 * 4096 * 2
    acts = [inputs + end for end in layer]
    logits = [max(0.0, 64 * 32000 * each - (end - inputs)) for each, end in zip((10, 14), acts, strict=True)]
    moving = [1.01 * (acts[0] + logits[0]), 1.1 * (acts[1] + logits[1])]
    fixed, step = (258 * MIB, 1700 * MIB), 4 * COUNT - acts[1] - logits[1]
    outer, weights = 2 * 32000 * 4096 * 2, 2 * COUNT
    whole = (weights - outer) / 32, 2 * (weights - outer) / 32 + outer
    expected = {
        "checkpointing": (16 * COUNT, step, (0, 0), 2 * COUNT),
        "8-bit optimizer": (10 * COUNT, 0, (0, 0), 2 * COUNT),
        "ZeRO 1": ((4 + 12 / gpus) * COUNT, step / gpus, (0, 0), 2 * COUNT),
        "ZeRO 2": ((2 + 14 / gpus) * COUNT, step / gpus, (0, 0), 2 * COUNT / gpus),
        "ZeRO 3 / FSDP": (16 / gpus * COUNT, step / gpus, whole, 2 * COUNT / gpus),
        "offload": (4 * COUNT, 0, (0, 0), 2 * COUNT),
    }
    found = rungs(LLAMA_7B, f"{gpus}xA100-80GB", sequence=64, rule="zero")
    for name, (states, roots, gathered, gradients) in expected.items():
        low = states + moving[0] + fixed[0] + gathered[0] - min(acts[0], gradients)
        high = states + moving[1] + fixed[1] + gathered[1] + roots
        assert (found[name].held.low, found[name].held.high) == pytest.approx((low, high), rel=1e-9), name
    tensor = found[f"tensor parallel {gpus}"].held
    low = (16 * COUNT + moving[0] - min(acts[0], 2 * COUNT)) / gpus + fixed[0]
    assert (tensor.low, tensor.high) == pytest.approx((low, (16 * COUNT + moving[1] + step) / gpus + fixed[1]))
    pipeline = found[f"pipeline {gpus}"].held
    low = 16 * COUNT / gpus + moving[0] + fixed[0] - min(acts[0], 2 * COUNT / gpus)
    assert (pipeline.low, pipeline.high) == pytest.approx((low, 16 * COUNT / gpus + moving[1] + fixed[1]))


@for_each(("base", "each"), [("", 2.0), ("nf4", 4.127 / 8), ("int8", 1.0)])
def test_both_ends_beside_frozen_weights_by_another_sum(base: str, each: float) -> None:
    """Adapters of rank 64 with 16 bytes each; embeddings stay in 16 bits, whatever the linear layers have."""
    outer = 2 * 32000 * 4096
    frozen = (COUNT - outer) * each + outer * 2
    acts, logits = kept("mixed", 64), (64 * 32000 * 10, 64 * 32000 * 14)
    low = frozen + 16 * ADAPTERS + 1.01 * (acts[0] + logits[0]) + 258 * MIB - min(acts[0], 2 * ADAPTERS)
    step = 4 * ADAPTERS - acts[1] - logits[1]
    high = frozen + 16 * ADAPTERS + 1.1 * (acts[1] + logits[1]) + 1700 * MIB + step
    assert step > 0
    held = rungs(LLAMA_7B, "A100-80GB", sequence=64, rule="zero", lora=64, base=base)["none"].held
    assert (held.low, held.high) == pytest.approx((low, high), rel=1e-9)


@for_each(
    ("dtype", "each", "outer"),
    [("fp32", 4.0, 4.0), ("fp16", 2.0, 2.0), ("bf16", 2.0, 2.0), ("fp8", 1.0, 2.0), ("int4", 0.5, 2.0),
     ("awq", 4.156 / 8, 2.0), ("q8_0", 8.5008 / 8, 8.5008 / 8)],
)  # fmt: skip
def test_both_ends_of_an_inference_by_another_sum(dtype: str, each: float, outer: float) -> None:
    embeddings = 2 * 32000 * 4096
    weights = (COUNT - embeddings) * each + embeddings * outer
    cache, widest, logits = 3 * 500 * 2 * 32 * 4096 * 2, 2 * 11008, 3 * 32000 * 4
    step = 2 * 3 * widest + logits, 2 * 3 * 500 * widest + logits
    found = rungs(LLAMA_7B, "4xA100-80GB", task="inference", dtype=dtype, batch=3, sequence=500)
    for name, by in (("none", 1), ("tensor parallel 4", 4), ("pipeline 4", 4)):
        low = (weights + cache + 1.01 * step[0]) / by + 258 * MIB
        high = (weights + cache + 1.1 * step[1]) / by + 1700 * MIB
        held = found[name].held
        assert (held.low, held.high) == pytest.approx((low, high), rel=1e-9), name
    assert found["tensor parallel 4"].sent == 2 * 2 * 3 / 4 * 3 * 4096 * 2 * 32
    assert found["pipeline 4"].sent == 2 * 3 * 4096 and found["none"].sent == 0


def test_experts_are_split_and_the_rest_is_not() -> None:
    """Mixtral: 8 experts of three matrices in each of 32 layers, with a row of the router for each."""
    experts = 32 * (8 * 3 * 4096 * 14336 + 8 * 4096)
    whole = parameters(MIXTRAL)
    rung = rungs(MIXTRAL, "4xA100-80GB", rule="zero", sequence=64)["expert parallel 4"]
    states = sum(part.high for part in rung.held.parts if part.name in ("weights", "gradients", "master", "optimizer"))
    assert states == pytest.approx(16 * (whole - experts + experts / 4), rel=1e-9)
    dispatched = 4 * 64 * 4096 * 2 * 2 * 32 * 3 / 4
    assert rung.sent == pytest.approx(dispatched + 2 * 3 / 4 * 2 * whole)
