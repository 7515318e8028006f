"""What commands print that are told all they need: `printed/COMMAND.txt`; `python -m tests.cli.printed` writes.

Of each line of LINES its exit code and a digest of what it printed, then every line that one of them printed, once.
Read the difference before you commit it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import sys
from collections.abc import Iterable
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path

from doctor import __version__
from doctor.cli import run

from ..judging import matrix

FOLDER = Path(__file__).with_name("printed")
LINES = """
fit --params 10e9 --gpus 8xA100-40GB
fit --params 7B --gpus 'RTX 4090'
fit --params 13B --gpus 8xH100
fit --params 7B --gpus 'RTX 4090' --lora 16 --base nf4
fit --params 70B --gpus '2xRTX 4090' --lora 64 --base nf4
fit --params 7B --gpus 4xA100-80GB --accumulation 8
fit --params 8B --task inference --dtype q4_k_m --gpus 'RTX 3060' --solve concurrency
fit --params 175B --gpus A100-40GB
fit --params 7B --gpus 'Quantum 9000'
fit --params 7B --gpus '8xH100, 2xA100'
fit --params 7B --gpus 'mine=24GB' --format json
fit --params 10e9 --gpus 2xA100-40GB --format json
resolve --gpu 'RTX 5090' --driver 575 --python 3.12 --os linux
resolve --gpu 'GTX 1080' --driver 535 --python 3.11 --os linux
resolve vllm --gpu 'RTX 4090' --driver 535 --python 3.12 --os linux
resolve --gpu V100 --gpu 'RTX 5090' --python 3.12 --os linux
resolve --gpu 10de:2b85 --driver none --python 3.12 --os linux
resolve torch==2.8 --gpu A100 --driver 535 --format pyproject --python 3.12 --os linux
resolve torch==2.8 --gpu A100 --driver 535 --format requirements --python 3.12 --os linux
resolve torch==2.8 --gpu A100 --driver 580 --format dockerfile --python 3.12 --os linux
resolve torch==2.8 --gpu A100 --driver 580 --format environment-yml --python 3.12 --os linux
resolve --gpu 'RTX 5090' --driver 550 --python 3.12 --os linux
resolve --gpu T4 --driver 999 --python 3.12 --os linux
resolve --gpu H100 --driver 580 --python 3.13t --os linux --format json
resolve -r tests/cli/printed/files/plain.txt --gpu 'GTX 1080' --driver 580 --python 3.11 --os linux
resolve -r tests/cli/printed/files/plain.txt --gpu 'RTX 5090' --driver 580 --python 3.11 --os linux --format json
resolve -r tests/cli/printed/files/plain.txt --gpu 'RTX 5090' --driver 535 --python 3.11 --os linux
resolve -r tests/cli/printed/files/range.txt --gpu 'RTX 5090' --driver 580 --python 3.11 --os linux
resolve -r tests/cli/printed/files/range.txt --gpu 'GTX 1080' --driver 450 --python 3.11 --os linux
resolve -r tests/cli/printed/files/frameworks.txt --gpu 'GTX 1080' --driver 470 --python 3.11 --os linux
what-if --os linux --gpu 'GTX 1080' --driver 535 --torch 2.8
what-if --os linux --gpu 'RTX 5090' --driver 580 --torch 2.6 --python 3.12
what-if --os linux --gpu A100 --driver 535 --torch none --python 3.14
matrix query torch for gpu 'GTX 1080'
matrix query gpu for torch 2.8.0
matrix query python for torch 2.9.1
"""
_CHANGING = re.compile(
    "|".join([re.escape(__version__), re.escape(matrix().version), r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ"])
)


def commands() -> list[str]:
    return list(dict.fromkeys(line.split()[0] for line in LINES.split("\n") if line))


def printed(line: str) -> str:
    """What a command line prints on both streams, and its exit code."""
    os.environ["COLUMNS"] = "100"
    streams = [TextIOWrapper(BytesIO(), "utf-8", write_through=True) for _ in range(2)]
    with redirect_stdout(streams[0]), redirect_stderr(streams[1]):
        code = run(shlex.split(line))
    out, err = (stream.buffer.getvalue().decode() for stream in streams)  # type: ignore[attr-defined]
    return _CHANGING.sub("VERSION", f"{out}{err}exit {code}\n")


def table(command: str) -> str:
    texts = {line: printed(line) for line in LINES.split("\n") if line.startswith(f"{command} ")}
    heads = [f"{hashlib.sha1(text.encode()).hexdigest()[:12]} {line}" for line, text in texts.items()]
    return "\n".join([*heads, "", *unique(texts.values())]) + "\n"


def unique(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(row.rstrip() for text in texts for row in text.splitlines() if row.strip()))


def main() -> int:
    for command in commands():
        (FOLDER / f"{command}.txt").write_text(table(command), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
