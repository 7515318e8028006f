"""`gpudoctor fit`: does the model fit on these GPUs, and if not, how to split it."""

from __future__ import annotations

from typing import Any

import click

from .click_flags import Command, options
from .flags import report_flags

TYPES = ("mixed", "fp32", "fp16", "bf16", "fp8", "int8", "int4", "nf4", "awq", "gptq", "q8_0", "q6_k", "q5_k_m",
         "q5_k_s", "q4_k_m", "q4_k_s", "iq4_xs", "q3_k_l", "q3_k_s", "q2_k", "iq2_m")  # fmt: skip
OPTIMIZERS = ("adamw", "adamw-8bit", "sgd-momentum", "sgd")
RULES = ("zero", "megatron", "hugging-face", "sagemaker")
COUNT = click.IntRange(1, 1 << 30)


@click.command(cls=Command)
@click.argument("model", required=False, metavar="[FOLDER|FILE]")
@click.option("--params", metavar="N", help="Parameters, such as 10e9, 7B or 350M: a typical decoder of that size.")
@click.option("--gpus", metavar="GPUS", help="Such as 8xA100-40GB, 'RTX 4090' or A100-40GB:1g.5gb.")
@click.option("--from", "from_", metavar="REPORT", help="The GPUs of a saved JSON report ('-': stdin).")
@click.option("--task", type=click.Choice(("training", "inference")), default="training", help="Default: training.")
@click.option("--dtype", type=click.Choice(TYPES),
              help="Default: mixed precision; for inference as the files store it, else bf16.")  # fmt: skip
@click.option("--optimizer", type=click.Choice(OPTIMIZERS), help="Of a training. Default: adamw.")
@click.option("--seq", type=COUNT, default=2048, help="Tokens of a sequence, or of a whole request. Default: 2048.")
@click.option("--batch", type=COUNT, default=1, help="Sequences on each GPU at once, or requests at once. Default: 1.")
@click.option("--accumulation", type=COUNT, default=1, metavar="N",
              help="Batches whose gradients are summed before a step. Default: 1.")  # fmt: skip
@click.option("--checkpointing", is_flag=True, help="Keep each layer's input, compute the rest again.")
@click.option("--lora", type=click.IntRange(1, 4096), metavar="RANK", help="Train adapters of this rank on all layers.")
@click.option(
    "--base",
    type=click.Choice(TYPES[2:]),
    help="Type of the frozen weights (nf4 for QLoRA). Default: as the files store them, else bf16.",
)
@click.option("--kv-dtype", type=click.Choice(("fp32", "bf16", "fp8", "int8")),
              help="Of the KV cache, for inference. Default: bf16.")  # fmt: skip
@click.option("--attention", type=click.Choice(("fused", "eager")),
              help="Fused as FlashAttention, or eager: its scores are kept. Default: either, as a range.")  # fmt: skip
@click.option("--meta-device", is_flag=True,
              help="Count activations in one step on torch's meta device; no memory is taken.")  # fmt: skip
@click.option("--model", "own_class", metavar="FILE:CLASS",
              help="Count in a step of your class instead: made without arguments, it gets token ids.")  # fmt: skip
@click.option("--python", "python_", metavar="PATH", help="The Python, or environment, that has torch for that.")
@click.option("--rules", type=click.Choice(RULES), help="One school's bytes per parameter. Default: all of them.")
@click.option("--solve", type=click.Choice(("batch", "seq", "concurrency")), help="The largest that fits.")
@click.option("--network", type=click.FloatRange(0.1, 100_000), metavar="GBIT",
              help="Between nodes of 8 GPUs (72 of GB200): Gb/s of each GPU, one way.")  # fmt: skip
@click.option("--compare", metavar="GPUS,GPUS", help="The same work on other GPUs, such as 'RTX 4090,2xL40S'.")
@click.option("--gpu-memory-utilization", "share", type=click.FloatRange(0.01, 1), metavar="SHARE",
              help="Of the GPU's memory, as vLLM takes it. Default: 0.9 for inference, else all.")  # fmt: skip
@options(report_flags("text", "json", "html"))
@click.option("--matrix", metavar="PATH", help="Take GPUs from this matrix (see matrix export).")
@click.option("--timeout", type=click.FloatRange(0.1, 3600), help="Seconds for looking at this machine. Default: 20.")
def fit(**flags: Any) -> int:
    """Say whether a model fits on GPUs, part by part, and the first way to split it that does.

    \b
    gpudoctor fit --params 10e9 --gpus 8xA100-40GB                      a training with AdamW in mixed precision
    gpudoctor fit ./Llama-3.1-8B --gpus 'RTX 4090' --lora 16 --base nf4     config.json and safetensors headers
    gpudoctor fit --params 70B --task inference --dtype awq --gpus 2xH100-80GB --solve concurrency

    It reads no weights and asks no server. Every part is a range. A name with several memory sizes (H100) is
    answered for each. Where training all weights does not fit, LoRA and QLoRA are the next ways. Exit codes: 0 it
    fits, as it is or in a way that is named, 1 it does not, 2 wrong usage, 3 it may fit, fits on some memory sizes
    only, or the model's family or the GPU is not known.
    """
    from .run_fit import run_fit

    return run_fit(flags)
