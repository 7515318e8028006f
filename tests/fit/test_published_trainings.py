"""The ladder against trainings and deployments that were published: what did not fit does not, what was done does."""

from __future__ import annotations

from typing import Any

from compat_matrix import Matrix
from doctor.fit.cards import boards
from doctor.fit.ladder import ladder
from doctor.fit.shape import Shape, parameters, typical
from doctor.fit.work import Work

from ..rows import for_each
from .test_published_numbers import BERT_LARGE, GPT2, LLAMA_7B, LLAMA_31_8B, LLAMA_70B

M = Matrix.load()
OPT_13B, OPT_66B, OPT_175B = (
    Shape(layers=layers, hidden=hidden, heads=heads, kv_heads=heads, ffn=4 * hidden, vocab=50272, gated=False, tied=True,
          bias=True, positions=2050)
    for layers, hidden, heads in ((40, 5120, 40), (64, 9216, 72), (96, 12288, 96))
)  # fmt: skip
LLAMA_33B = Shape(layers=60, hidden=6656, heads=52, kv_heads=52, ffn=17920, vocab=32000)
LLAMA_65B = Shape(layers=80, hidden=8192, heads=64, kv_heads=64, ffn=22016, vocab=32000)
LLAMA_405B = Shape(layers=126, hidden=16384, heads=128, kv_heads=8, ffn=53248, vocab=128256)
GPT_8B = Shape(layers=72, hidden=3072, heads=32, kv_heads=32, ffn=12288, vocab=51200, gated=False, tied=True, bias=True,
               positions=1024, head_dim=96)  # fmt: skip
GPT_1B = Shape(layers=40, hidden=1536, heads=16, kv_heads=16, ffn=6144, vocab=51200, gated=False, tied=True, bias=True,
               positions=1024)  # fmt: skip
NEOX_20B = Shape(layers=44, hidden=6144, heads=64, kv_heads=64, ffn=24576, vocab=50432, gated=False, bias=True)
BLOOM = Shape(
    layers=70, hidden=14336, heads=112, kv_heads=112, ffn=57344, vocab=250880, gated=False, tied=True, bias=True
)
FALCON_40B = Shape(layers=60, hidden=8192, heads=128, kv_heads=8, ffn=32768, vocab=65024, gated=False, tied=True)
GPT_1T = Shape(layers=128, hidden=25600, heads=160, kv_heads=160, ffn=102400, vocab=51200, gated=False, tied=True,
               bias=True, positions=2048)  # fmt: skip
PLAIN = ("none", "accumulation", "checkpointing", "8-bit optimizer")
SPLIT = ("ZeRO 3 / FSDP", "tensor parallel 8 and ZeRO 3")
QLORA = {"lora": 64, "base": "nf4"}


@for_each(
    ("shape", "gpus", "work", "first", "never"),
    [
        # Hugging Face, training on one GPU: BERT-large at batch 4 and 512 tokens on a V100 of 16 GB, 14949 MB.
        (BERT_LARGE, "V100-16GB", {"dtype": "fp32", "sequence": 512, "batch": 4}, ("none",), ()),
        # ... and at batch 16 and more it is accumulated, or checkpointed.
        (BERT_LARGE, "V100-16GB", {"dtype": "fp32", "sequence": 512, "batch": 16}, ("accumulation",), ("none",)),
        # nanoGPT: GPT-2 of 124 M on 8 A100 of 40 GB, 12 sequences of 1024 each, plain data parallelism.
        (GPT2, "8xA100-40GB", {"sequence": 1024, "batch": 12, "attention": "fused"}, ("none",), ()),
        # Megatron-LM, arxiv.org/abs/1909.08053 table 1: 1.2 B on one V100 of 32 GB, 8.3 B on eight by tensor parallelism.
        (GPT_1B, "V100-32GB", {"sequence": 1024, "batch": 8}, PLAIN, ()),
        (
            GPT_8B,
            "8xV100-32GB",
            {"sequence": 1024, "batch": 8},
            ("ZeRO 1", "ZeRO 2", *SPLIT, "tensor parallel 8"),
            PLAIN,
        ),
        # ZeRO, arxiv.org/abs/1910.02054: data parallelism alone ends at 1.4 B on 32 GB, 13 B goes without model parallelism.
        (typical(1.4e9), "8xV100-32GB", {"sequence": 1024}, PLAIN, ()),
        (typical(3e9), "V100-32GB", {"sequence": 1024}, ("offload",), PLAIN[:3]),
        (typical(13e9), "64xV100-32GB", {"sequence": 1024}, ("ZeRO 2", *SPLIT), (*PLAIN, "ZeRO 1")),
        # ... table 1: 128 B on 64 GPUs is 32 GB of states, 1 T on 1024 is 15.6 GB by stage 3 alone.
        (typical(1e12), "1024xV100-32GB", {"sequence": 1024, "rule": "zero"}, SPLIT, (*PLAIN, "ZeRO 1", "ZeRO 2")),
        # ZeRO-Offload, arxiv.org/abs/2101.06840: 10 B and more on one V100 of 32 GB.
        (typical(10e9), "V100-32GB", {"sequence": 1024, "rule": "zero"}, ("offload", None), PLAIN),
        # Stanford Alpaca: LLaMA 7B, all weights, on 4 A100 of 80 GB by FSDP.
        (LLAMA_7B, "4xA100-80GB", {"sequence": 512, "batch": 4}, ("ZeRO 1", "ZeRO 2", "ZeRO 3 / FSDP"), PLAIN[:3]),
        # QLoRA, arxiv.org/abs/2305.14314: 33 B on 24 GB and 65 B on 48 GB, adapters in BF16; all of 65 B is over 780 GB.
        (LLAMA_33B, "RTX 4090", {"lora": 64, "base": "nf4", "dtype": "bf16", "sequence": 512}, PLAIN, ()),
        (LLAMA_65B, "A40", {"lora": 64, "base": "nf4", "dtype": "bf16", "sequence": 512}, PLAIN, ()),
        # FSDP with QLoRA (github.com/AnswerDotAI/fsdp_qlora, benchmarks_03_2024.md): 70 B at 2048 tokens on two of 40 GB and
        # eight of 24 GB, on two of 24 GB with the weights in the host's memory; on one none of it.
        (LLAMA_70B, "2xA100-40GB", QLORA, ("ZeRO 3 / FSDP", "offload"), PLAIN),
        (LLAMA_70B, "8xRTX A5000", QLORA, ("ZeRO 3 / FSDP",), PLAIN),
        (LLAMA_70B, "2xRTX A5000", QLORA, ("offload", None), (*PLAIN, "ZeRO 3 / FSDP")),
        (LLAMA_7B, "2xRTX 3090", QLORA, PLAIN, ()),
        (LLAMA_65B, "8xA100-80GB", {"sequence": 512}, (*SPLIT, None), (*PLAIN, "offload", "ZeRO 1", "ZeRO 2")),
        # GPT-NeoX-20B, arxiv.org/abs/2204.06745: 96 A100 of 40 GB, tensors over 2, a pipeline of 4, ZeRO 1.
        (NEOX_20B, "96xA100-40GB", {"sequence": 2048, "batch": 4}, ("ZeRO 2", *SPLIT), (*PLAIN, "offload", "ZeRO 1")),
        # Falcon-40B, arxiv.org/abs/2311.16867: 384 A100 of 40 GB, tensors over 8, a pipeline of 4, ZeRO.
        (FALCON_40B, "384xA100-40GB", {"sequence": 2048}, SPLIT, (*PLAIN, "offload", "ZeRO 1", "ZeRO 2")),
        # OPT-175B, arxiv.org/abs/2205.01068: 992 A100 of 80 GB, FSDP and tensor parallelism.
        (
            OPT_175B,
            "992xA100-80GB",
            {"sequence": 2048},
            SPLIT,
            (*PLAIN, "offload", "ZeRO 1", "ZeRO 2", "tensor parallel 8"),
        ),
        # BLOOM, arxiv.org/abs/2211.05100: 384 A100 of 80 GB, tensors over 4, a pipeline of 12, ZeRO 1.
        (
            BLOOM,
            "384xA100-80GB",
            {"sequence": 2048},
            SPLIT,
            (*PLAIN, "offload", "ZeRO 1", "ZeRO 2", "tensor parallel 8"),
        ),
        # Megatron-LM, arxiv.org/abs/2104.04473: 1 T on 3072 A100 of 80 GB, tensors over 8, a pipeline of 64.
        (
            GPT_1T,
            "3072xA100-80GB",
            {"sequence": 2048},
            SPLIT,
            (*PLAIN, "offload", "ZeRO 1", "ZeRO 2", "tensor parallel 8"),
        ),
        # Llama 3, arxiv.org/abs/2407.21783: 405 B on 16,384 H100 of 80 GB, tensors over 8, a pipeline of 16, FSDP.
        (LLAMA_405B, "16384xH100-80GB", {"sequence": 8192, "attention": "fused"}, SPLIT, (*PLAIN, "offload", "ZeRO 2")),
        # ... and in FP8 for inference it is on one server of eight H100, in BF16 it is not.
        (LLAMA_405B, "8xH100-80GB", {"task": "inference", "dtype": "fp8"}, ("tensor parallel 8",), ("none",)),
        (LLAMA_405B, "8xH100-80GB", {"task": "inference", "dtype": "bf16"}, (None,), ("none", "tensor parallel 8")),
        # ... which a quarter of a GB200 NVL72 holds.
        (LLAMA_405B, "16xGB200", {"task": "inference", "dtype": "bf16"}, ("tensor parallel 16",), ("none",)),
        # vLLM, arxiv.org/abs/2309.06180 table 1: 13 B on one A100 of 40 GB, 66 B on four, 175 B on eight of 80 GB.
        (OPT_13B, "A100-40GB", {"task": "inference", "dtype": "fp16"}, ("none",), ()),
        (OPT_66B, "4xA100-40GB", {"task": "inference", "dtype": "fp16"}, ("tensor parallel 4",), ("none",)),
        (OPT_175B, "8xA100-80GB", {"task": "inference", "dtype": "fp16"}, ("tensor parallel 8",), ("none",)),
        # The notes: a model of 100 GB on three A100 of 40 GB with NVLink as on one, one of 90 GB on an RTX PRO 6000.
        (typical(50e9), "3xA100-40GB", {"task": "inference", "dtype": "bf16"}, ("pipeline 3",), ("none",)),
        (typical(45e9), "RTX PRO 6000 Workstation", {"task": "inference", "dtype": "bf16"}, ("none",), ()),
        # Llama 2, 70 B in half precision: two GPUs of 80 GB and not one. Llama 3.1, 8 B in 4 bits: 16 GB.
        (LLAMA_70B, "2xA100-80GB", {"task": "inference", "dtype": "fp16"}, ("tensor parallel 2",), ("none",)),
        (LLAMA_31_8B, "T4", {"task": "inference", "dtype": "q4_k_m"}, ("none",), ()),
    ],
)
def test_the_way_that_was_gone(
    shape: Shape, gpus: str, work: dict[str, Any], first: tuple[str | None, ...], never: tuple[str, ...]
) -> None:
    board = boards(M, gpus)[0]
    found = {rung.name: rung.within(board.memory) for rung in ladder(shape, parameters(shape), Work(**work), board)}
    fits = next((name for name, within in found.items() if within), None)
    assert fits in first, found
    assert not [name for name in never if found.get(name)], found


@for_each(
    ("shape", "free_gib", "thousands"),
    [(OPT_13B, 12, 15.7), (OPT_66B, 21, 9.7), (OPT_175B, 264, 60.1)],
)
def test_vllm_s_slots_of_the_kv_cache(shape: Shape, free_gib: float, thousands: float) -> None:
    """arxiv.org/abs/2309.06180 table 1: memory for the KV cache, and how many tokens it holds."""
    from doctor.fit.memory import GIB, kv_bytes

    assert abs(free_gib * GIB / kv_bytes(shape, "fp16") / 1000 / thousands - 1) < 0.03


@for_each(("sequence", "allocated"), [(512, 8.28), (2048, 9.16)])
def test_adapters_by_fsdp_as_measured(sequence: int, allocated: float) -> None:
    """LLaMA 7B in half precision with adapters on two RTX 3090, batch 1, checkpointed: the peak of allocated memory.

    github.com/AnswerDotAI/fsdp_qlora, benchmarks_03_2024.md; a process's context is not in torch's figure.
    """
    work = Work(lora=64, sequence=sequence, checkpointing=True)
    rungs = ladder(LLAMA_7B, parameters(LLAMA_7B), work, boards(M, "2xRTX 3090")[0])
    held = next(rung.held for rung in rungs if rung.name == "ZeRO 3 / FSDP")
    context = next(part for part in held.parts if part.name == "CUDA context")
    assert held.low - context.low < allocated * 2**30 < held.high - context.high
