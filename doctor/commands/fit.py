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
@click.option(
    "--params", metavar="N", help="Parameter count, such as 10e9, 7B or 350M: assumes a typical decoder of that size."
)
@click.option("--gpus", metavar="GPUS", help="For example 8xA100-40GB, 'RTX 4090' or A100-40GB:1g.5gb.")
@click.option("--from", "from_", metavar="REPORT", help="Use the GPUs in a saved JSON report ('-': stdin).")
@click.option("--task", type=click.Choice(("training", "inference")), default="training", help="Default: training.")
@click.option("--dtype", type=click.Choice(TYPES),
              help="Default: mixed precision; for inference the type in the model's files, else bf16.")  # fmt: skip
@click.option("--optimizer", type=click.Choice(OPTIMIZERS), help="For training. Default: adamw.")
@click.option("--seq", type=COUNT, default=2048, help="Tokens per sequence, or per whole request. Default: 2048.")
@click.option("--batch", type=COUNT, default=1, help="Sequences per GPU, or concurrent requests. Default: 1.")
@click.option("--accumulation", type=COUNT, default=1, metavar="N",
              help="Gradient accumulation: batches per optimizer step. Default: 1.")  # fmt: skip
@click.option(
    "--checkpointing", is_flag=True, help="Activation checkpointing: keep each layer's input, recompute the rest."
)
@click.option(
    "--lora", type=click.IntRange(1, 4096), metavar="RANK", help="Train LoRA adapters of this rank on all layers."
)
@click.option(
    "--base",
    type=click.Choice(TYPES[2:]),
    help="Type of the frozen weights (nf4 for QLoRA). Default: the type in the model's files, else bf16.",
)
@click.option("--kv-dtype", type=click.Choice(("fp32", "bf16", "fp8", "int8")),
              help="Type of the KV cache, for inference. Default: bf16.")  # fmt: skip
@click.option("--attention", type=click.Choice(("fused", "eager")),
              help="fused (FlashAttention), or eager (stores attention scores). "
              "Default: range over both.")  # fmt: skip
@click.option("--meta-device", is_flag=True,
              help="Measure activations in one step on torch's meta device, which uses no memory.")  # fmt: skip
@click.option("--model", "own_class", metavar="FILE:CLASS",
              help="Do the same with your own class, which is built without arguments and called with "
              "token ids.")  # fmt: skip
@click.option(
    "--python",
    "python_",
    metavar="PATH",
    help="The interpreter or environment with torch, for --meta-device or --model.",
)
@click.option(
    "--rules", type=click.Choice(RULES), help="Count bytes per parameter with this rule only. Default: all rules."
)
@click.option("--solve", type=click.Choice(("batch", "seq", "concurrency")), help="Find the largest value that fits.")
@click.option("--network", type=click.FloatRange(0.1, 100_000), metavar="GBIT",
              help="Network speed between nodes of 8 GPUs (72 for GB200): Gb/s per GPU, one way.")  # fmt: skip
@click.option("--compare", metavar="GPUS,GPUS", help="Compare with other GPUs, such as 'RTX 4090,2xL40S'.")
@click.option("--gpu-memory-utilization", "share", type=click.FloatRange(0.01, 1), metavar="SHARE",
              help="Share of GPU memory to use, as in vLLM. Default: 0.9 for inference, else all.")  # fmt: skip
@options(report_flags("text", "json", "markdown", "html"))
@click.option("--matrix", metavar="PATH", help="Look up GPUs in this matrix (see matrix export).")
@click.option(
    "--timeout",
    type=click.FloatRange(0.1, 3600),
    help="Time limit for examining this machine, in seconds. Default: 20.",
)
def fit(**flags: Any) -> int:
    """Say whether a model fits on the GPUs, with the memory of each part; if not, show the first split that fits.

    \b
    gpudoctor fit --params 10e9 --gpus 8xA100-40GB                      training with AdamW in mixed precision
    gpudoctor fit ./Llama-3.1-8B --gpus 'RTX 4090' --lora 16 --base nf4     config.json and safetensors headers
    gpudoctor fit --params 70B --task inference --dtype awq --gpus 2xH100-80GB --solve concurrency

    This command reads no weights and contacts no server. The memory of each part is a range. For a GPU name with
    several memory sizes (H100), you get one answer per size. If training all weights does not fit, LoRA and QLoRA are
    tried next. Exit codes: 0 it fits, as is or in the way shown, 1 it does not fit, 2 wrong usage, 3 it may fit,
    fits only with some memory sizes, or the model family or GPU is unknown.
    """
    from .run_fit import run_fit

    return run_fit(flags)
