"""Texts that the readers understand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from ..text import test_readers
from ..text.texts import NAMES, text

SENTENCES = """\
RTX 5080, driver 576.40, torch 2.5.1+cu121 on WSL
2x H100 80GB, driver version 550.54.15, PyTorch 2.6.0+cu124, python 3.11
torch>=2.0,<2.2 but you have torch 2.1.0 which is incompatible
export CUDA_VISIBLE_DEVICES=0,1
LD_LIBRARY_PATH: /usr/local/cuda/lib64:/usr/lib
NVIDIA_DRIVER_CAPABILITIES is unset
| driver | 570.86.10 |
  "torch": "2.6.0+cu124",
"""
PACKAGES = """\
Package           Version
----------------- ------------
numpy             2.1.0
torch             2.5.1+cu121

# Name                    Version                   Build  Channel
pytorch                   2.3.0           cpu_py311h7d93ec0_0    conda-forge
numpy==2.1.0
torch @ https://host.example/whl/torch-2.5.1%2Bcu121-cp311-cp311-linux_x86_64.whl
[pip3] nvidia-nccl-cu12==2.26.2
flash-attn (not installed)
"""
PLACES = """\
/content/train.py:7: UserWarning, running in Google Colab
File "/kaggle/working/run.py", line 3
jane@RUNPOD_POD_ID:/workspace$ docker run --gpus all nvcr.io/nvidia/pytorch:24.05-py3
C:\\Users\\jane\\miniconda3\\envs\\ml\\python.exe
Warning  Failed  pod/train-0  kubelet  containerd  nvidia.com/gpu
slurmstepd: error: execve(): x
apptainer exec --nv image.sif
"""
CSV = """\
$ nvidia-smi --query-gpu=index,name,memory.used,driver_version --format=csv,noheader
0, NVIDIA H100 PCIe, 3 MiB, 570.86.10
NVIDIA L40S, 550.54.15, 46068 MiB, 3 MiB, 00000000:01:00.0, Default, 8.9
"""
SAMPLES = Path(__file__).parent.parent / "text" / "samples.json"
SMI = (test_readers.BANNER, test_readers.NEW_BANNER, test_readers.QUERY, test_readers.CSV, CSV)


def named(*beginnings: str) -> Callable[[], list[bytes]]:
    """The texts whose names begin so."""
    return lambda: [text(name).encode() for name in NAMES if name.startswith(beginnings)]


def smi() -> list[bytes]:
    return [part.encode() for part in SMI]


def keyed() -> list[bytes]:
    return [part.encode() for part in (test_readers.COLLECT_ENV, test_readers.OLD, SENTENCES)] + named(
        "vllm", "mm", "bits"
    )()


def packages() -> list[bytes]:
    return [PACKAGES.encode(), text("vllm").encode()]


def sentences() -> list[bytes]:
    return [SENTENCES.encode()]


def places() -> list[bytes]:
    return [PLACES.encode(), *named("vllm", "trace", "colab")()]


def messages() -> list[bytes]:
    """Every sample of the catalogue, twenty in a text."""
    rows = [row["text"] for row in json.loads(SAMPLES.read_text("utf-8"))]
    return ["\n".join(rows[start : start + 20]).encode() for start in range(0, len(rows), 20)]


def machines() -> list[bytes]:
    """Lists and answers of tools of the machine, and the samples among which such stand."""
    return [*named("machine", "host-lists", "session", "wsl")(), *messages()[-6:]]


def every() -> list[bytes]:
    wrapped = (
        f"<details>\n\n```\n{test_readers.COLLECT_ENV}```\n\x1b[31m> > 1: **driver**: 570.86.10\x1b[0m\r\n".encode()
    )
    return [*keyed(), *smi(), *packages(), *messages(), *named("")(), wrapped, SENTENCES.encode("utf-16")]
