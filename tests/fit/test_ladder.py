"""The rungs of the ladder against sums by hand: LLaMA 7B has 6,738,415,616 parameters, 2 bytes each in bf16."""

from __future__ import annotations

from typing import Any

import pytest

from compat_matrix import Matrix
from doctor.fit.cards import boards
from doctor.fit.ladder import Rung, ladder
from doctor.fit.shape import parameters
from doctor.fit.work import Work

from ..rows import for_each
from .test_fit_command import asked, gpudoctor
from .test_published_numbers import LLAMA_7B

M = Matrix.load()
WEIGHTS = 6_738_415_616 * 2
OUTER = 2 * 32000 * 4096 * 2
"""Embeddings and the head."""
LAYER = (WEIGHTS - OUTER) / 32
ADAPTERS = 32 * 64 * (4 * (4096 + 4096) + 3 * (4096 + 11008))
"""Of rank 64, on the four matrices of attention and the three behind it."""


def rungs(gpus: str, **work: Any) -> dict[str, Rung]:
    return {rung.name: rung for rung in ladder(LLAMA_7B, parameters(LLAMA_7B), Work(**work), boards(M, gpus)[0])}


def gathered(rung: Rung) -> tuple[float, float]:
    (part,) = (part for part in rung.held.parts if part.name == "gathered weights")
    return part.low, part.high


def test_fsdp_and_offload_beside_adapters() -> None:
    ways = rungs("2xA100-80GB", dtype="bf16", lora=64)
    shared, offload = ways["ZeRO 3 / FSDP"], ways["offload"]
    assert gathered(shared) == gathered(offload) == pytest.approx((LAYER, 2 * LAYER + OUTER))
    assert shared.sent == pytest.approx(WEIGHTS + 1.5 * 2 * ADAPTERS)
    assert offload.sent == pytest.approx(2 * WEIGHTS)
    twice = rungs("2xA100-80GB", dtype="bf16", lora=64, accumulation=2)
    assert [twice[name].sent for name in ("ZeRO 3 / FSDP", "offload")] == [2 * shared.sent, 2 * offload.sent]


@for_each(
    ("way", "factor"),
    [
        ("none", 1), ("accumulation", 1), ("checkpointing", 1), ("8-bit optimizer", 1), ("ZeRO 1", 1),
        ("ZeRO 2", 4.5), ("ZeRO 3 / FSDP", 12),
    ],
)  # fmt: skip
def test_bytes_of_a_step_of_eight_sequences(way: str, factor: float) -> None:
    """All gradients once, or the first half of the sum for each of eight, or 1.5 times for each of eight."""
    for work in ({"batch": 2, "accumulation": 4}, {"batch": 8}):
        sent = rungs("8xA100-80GB", **work)[way].sent
        assert sent == pytest.approx(factor * 2 * 7 / 8 * WEIGHTS)


def test_what_splits_layers_sends_activations_of_every_sequence() -> None:
    ways = rungs("16xA100-80GB", batch=2, accumulation=4, sequence=1024)
    tokens = 8 * 1024
    assert ways["pipeline 16"].sent == 2 * 2 * tokens * 4096
    tensor = 4 * 2 * 7 / 8 * tokens * 4096 * 2 * 32
    assert ways["tensor parallel 8"].sent == pytest.approx(tensor)
    both = ways["tensor parallel 8 and ZeRO 3"]
    assert both.sent == pytest.approx(tensor + 8 * 1.5 * WEIGHTS / 8)
    assert gathered(both) == pytest.approx((LAYER / 8, (2 * LAYER + OUTER) / 8))
    assert gathered(ways["ZeRO 3 / FSDP"]) == pytest.approx((LAYER, 2 * LAYER + OUTER))


def test_a_link_hides_a_sum_behind_the_last_of_several_batches() -> None:
    words = ("--params", "1.3B", "--gpus", "8xA100-80GB", "--accumulation")
    one, eight = (asked(*words, count)["pace"]["hidden_from_gb_s"] for count in (1, 8))
    assert one == pytest.approx(eight, rel=0.02)


def test_one_sequence_at_a_time_is_the_same_work_however_it_is_asked_for() -> None:
    words = ("--params", "7B", "--gpus", "4xA100-80GB")
    batch, summed = (asked(*words, flag, 8) for flag in ("--batch", "--accumulation"))
    assert batch["first_that_fits"] == summed["first_that_fits"] == "ZeRO 2"
    assert batch["pace"]["kernels"] == summed["pace"]["kernels"]


@pytest.mark.slow
@for_each(("params", "gpu"), [("70B", "RTX 4090"), ("175B", "A100-40GB"), ("405B", "A100-80GB")])
def test_the_fewest_gpus_that_hold_a_model(params: str, gpu: str) -> None:
    words = ("--params", params, "--task", "inference", "--gpus")
    count = asked(*words, gpu)["enough"]["gpus"]
    assert asked(*words, f"{count}x{gpu}")["first_that_fits"]
    assert asked(*words, f"{count - 1}x{gpu}")["first_that_fits"] is None


def test_slices_of_a_gpu_hold_nothing_together() -> None:
    for gpus in ("A100-40GB:1g.5gb", "7xA100-40GB:1g.5gb"):
        found = asked("--params", "7B", "--task", "inference", "--gpus", gpus)
        assert found["enough"] is None and [way["name"] for way in found["ways"]] == ["none"]
    assert b"MIG slices cannot share it, because they cannot reach each other." in b" ".join(
        gpudoctor("fit", "--params", "7B", "--gpus", gpus).stdout.split()
    )


@pytest.mark.slow
@for_each(
    "words",
    ["RTX 4090, RTX 3090", "2xRTX 4090 + RTX 3090", "4xA100-40GB and 4xH100-80GB", "A100-40GB/H100-80GB", "A10;T4",
     "RTX 4090, RTX 3090=24GB"],
)  # fmt: skip
def test_several_kinds_are_told(words: str) -> None:
    done = gpudoctor("fit", "--params", "7B", "--gpus", words)
    assert done.returncode == 2 and b"use one GPU model at a time" in done.stderr and b"=24GB, " not in done.stderr


@pytest.mark.slow
@for_each(("words", "count"), [("8 H200", 8), ("8xH200", 8), ("3090 Ti", 1), ("4090 D=24GB", 1), ("2 x RTX 4090", 2)])
def test_how_many_are_told(words: str, count: int) -> None:
    assert asked("--params", "7B", "--gpus", words)["gpus"]["count"] == count
