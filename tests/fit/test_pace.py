"""What sets the pace of the work, against figures that were published and stories that are known."""

from __future__ import annotations

from typing import Any

from compat_matrix import Matrix
from doctor.fit.cards import boards
from doctor.fit.pace import Pace, pace
from doctor.fit.shape import Shape, parameters
from doctor.fit.work import Work

from ..rows import for_each
from .test_fit_command import asked, gpudoctor
from .test_published_numbers import LLAMA_7B

M = Matrix.load()
SMALL = Shape(layers=2, hidden=128, heads=2, kv_heads=2, ffn=512, vocab=1000)
"""A network as small as those of the notebooks in which a fast GPU is no faster."""


def paced(shape: Shape, gpu: str, **work: Any) -> Pace:
    found = pace(shape, parameters(shape), Work(**work), boards(M, gpu)[0])
    assert found is not None
    return found


def test_a_small_training_is_bound_by_the_core_and_a_faster_gpu_changes_nothing() -> None:
    fast = paced(SMALL, "RTX PRO 6000 Workstation", batch=16, sequence=16)
    slow = paced(SMALL, "RTX 3060 Ti", batch=16, sequence=16)
    assert fast.bound == slow.bound == "host" and fast.host_ms == slow.host_ms
    large = paced(SMALL, "RTX 3060 Ti", batch=16 * 2000, sequence=16)
    assert large.bound in ("products", "memory") and slow.busy_from < 16 * 2000


def test_two_copies_on_one_gpu_cost_nearly_nothing_and_many_do() -> None:
    assert 2 <= paced(SMALL, "RTX 3060 Ti", batch=16, sequence=16).copies <= 4


@for_each(
    ("gpu", "dtype", "ms"),
    [("A100-80GB", "bf16", 1000 / 104.9), ("A100-80GB", "int8", 1000 / 155.6)],
)
def test_gpt_fast_generates_with_7b_as_the_memory_allows(gpu: str, dtype: str, ms: float) -> None:
    """pytorch.org/blog/accelerating-generative-ai-2: Llama-7B, one sequence, 104.9 and 155.6 tokens a second."""
    found = paced(LLAMA_7B, gpu, task="inference", dtype=dtype, sequence=200)
    assert found.gpu_ms[0] <= ms <= max(found.gpu_ms[1], found.host_ms[1])


def test_megatron_s_iterations_lie_in_the_range() -> None:
    """arxiv.org/abs/2104.04473 table 1: 1.7 B parameters, 16 sequences of 2048 a GPU, 137 TFLOP/s on an A100."""
    shape = Shape(layers=24, hidden=2304, heads=24, kv_heads=24, ffn=9216, vocab=51200, gated=False, tied=True)
    found = paced(shape, "A100-80GB", batch=16, sequence=2048, checkpointing=True)
    flops = 96 * 16 * 2048 * 24 * 2304**2 * (1 + 2048 / (6 * 2304) + 51200 / (16 * 24 * 2304))
    assert found.bound == "products" and found.gpu_ms[0] < flops / 137e9 < found.gpu_ms[1]


def test_single_precision_runs_on_cuda_cores_until_tf32_is_allowed() -> None:
    found = paced(LLAMA_7B, "A100-80GB", dtype="fp32")
    assert found.products == "CUDA cores" and found.bound == "products"
    text = gpudoctor("fit", "--params", "7B", "--dtype", "fp32", "--gpus", "A100-80GB").stdout.decode()
    assert "moves it to the tensor cores, 16 times as fast on paper" in " ".join(text.split())


def test_without_nvlink_sharding_waits_for_the_link() -> None:
    assert asked("--params", "7B", "--seq", 512, "--gpus", "8xL40S")["pace"]["bound"] == "link"
    assert asked("--params", "7B", "--seq", 4096, "--gpus", "8xH100-80GB")["pace"]["bound"] == "products"


def test_the_same_work_on_other_gpus_side_by_side() -> None:
    words = ("--params", "1B", "--gpus", "RTX 3060 Ti", "--compare", "RTX PRO 6000 Workstation,2xA100-40GB,Other=48GB")
    found = asked(*words)["compared"]
    assert [one["board"]["count"] for one in found] == [1, 2, 1] and found[0]["way"] == "none"
    assert found[0]["board"]["power_w"] == 600 and found[2]["pace"] is None
    text = gpudoctor("fit", *words).stdout.decode()
    assert "600 W" in text and "not listed" in text and "What sets the pace" in text


def test_gpt_3_s_network_and_a_link_that_nobody_named() -> None:
    """10,000 GPUs with 400 Gb/s each were used for 174.6 billion parameters: enough, and no more than thrice the need."""
    words = ("--params", "174.6e9", "--seq", 2048, "--gpus", "10000xV100-32GB")
    low, high = (8 * rate for rate in asked(*words)["pace"]["hidden_from_gb_s"])
    assert 400 / 3 < low < high < 400
    text = " ".join(gpudoctor("fit", *map(str, words)).stdout.decode().split())
    assert "unknown: see --network" in text
    slow, fast = (asked(*words, "--network", rate)["pace"]["bound"] for rate in (10, 400))
    assert slow == "link" and fast == "products"


def test_gpus_of_which_only_the_memory_is_known() -> None:
    found = asked("--params", "7B", "--gpus", "2xOther=192GB")
    assert found["gpus"]["name"] == "Other" and found["fits"] is True and found["pace"] is None
