"""Environment variables: `CUDA_VISIBLE_DEVICES=0`, `export ...`, `NAME is unset`, collect_env's `CUDA_HOME: ...`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..formats.lazy import lazy
from .statement import Line, Statement, say

NAMES = (
    "LD_LIBRARY_PATH", "LD_PRELOAD", "CUDA_", "NVIDIA_", "NCCL_", "TORCH_", "PYTORCH_", "CUDNN_", "TRITON_", "SLURM_",
    "XLA_", "VLLM_", "PIP_EXTRA_INDEX_URL", "PIP_INDEX_URL", "UV_TORCH_BACKEND",
    "WSL_", "HIP_VISIBLE_DEVICES", "BNB_CUDA_VERSION", "COLAB_GPU", "KAGGLE_",
)  # fmt: skip
_SET = lazy(
    r"\s{0,8}(?:\$ )?(?:(?:export|set|ENV|declare -x|\$env:)\s{0,4})?([A-Z][A-Z0-9_]{2,60})\s{0,2}=\s{0,2}(.{0,1500})$"
)
_UNSET = lazy(r"\s{0,8}([A-Z][A-Z0-9_]{2,60}) (?:is|was|=)?\s{0,2}(?:unset|not set)\b")
_COLON = lazy(
    r"\s{0,8}(?:\$)?(CUDA_VISIBLE_DEVICES|CUDA_HOME|LD_LIBRARY_PATH|NVIDIA_VISIBLE_DEVICES"
    r"|NVIDIA_DRIVER_CAPABILITIES): (.{0,1500})$"
)
_ECHO = lazy(r"(?:.{0,120}?[$#%>!] ?)?echo\s{1,4}[\"']?(?:\$(?:env:)?\{?|%)([A-Z][A-Z0-9_]{2,60})\}?%?[\"']?\s{0,4}$")
"""A prompt of a shell, PowerShell, cmd or a notebook that asks for a variable; the answer is on the next line."""
_UUIDS = r"(?:GPU|MIG)-[\w-]{6,60}"
_ANSWERS = (
    ("_VISIBLE_DEVICES", lazy(rf"-1|\d{{1,3}}(?:, ?\d{{1,3}}){{0,63}}|{_UUIDS}(?:,{_UUIDS}){{0,63}}")),
    ("_PATH", lazy(r"[/:]\S{1,1500}|[A-Za-z]:\\[^<>|*?\"]{1,800}")),
    ("_HOME", lazy(r"/\S{1,400}|[A-Za-z]:\\[^<>|*?\"]{1,400}")),
)
"""How the value of such a variable looks."""
_NEXT = lazy(r"\s{1,8}(?=[A-Z][A-Z0-9_]{2,60}=\S)")
"""Before another assignment of the same line: `CUDA_HOME=/opt/cuda LD_LIBRARY_PATH=/opt/lib python train.py`."""
_COMMAND = lazy(r"\s{1,8}(?=[a-z~./][\w./-]{0,200}(?:\s|$))")
"""Before a command or a sentence; values with blanks are numbers, conditions with `=`, or paths of Windows."""
NOT_SET = ("none", "null", "unset", "not set", "empty", "undefined", "not defined", "not detected", "not found",
           "(none)", "(unset)", "(not set)", "<none>", "<not set>", "<unset>")  # fmt: skip
"""As value of a variable: it is not set. `NVIDIA_VISIBLE_DEVICES=none` is a value of its own."""
_SECRET = ("TOKEN", "SECRET", "PASSWORD", "_KEY", "AUTH")


def read_variables(lines: list[Line]) -> Iterator[Statement]:
    """Variables that matter to CUDA, torch and containers; never secrets."""
    echoed, at = "", -1
    for line in lines:
        text = line.text
        if echoed and line.number == at + 1 and _answers(echoed, text.strip()):
            yield from variable(echoed, text, line)
        echoed = ""
        if "echo " in text and (echo := _ECHO.match(text)):
            echoed, at = echo[1], line.number
            continue
        if "_" not in text[:80]:
            continue
        if found := _SET.match(text):
            first, *others = _NEXT.split(found[2])
            for name, _, value in ((found[1], "=", first), *(one.partition("=") for one in others)):
                yield from variable(name, _alone(value), line)
        elif found := _COLON.match(text):
            yield from variable(found[1], found[2], line)
        elif gone := _UNSET.match(text):
            yield say("variable.unset", gone[1], line)


def _alone(value: str) -> str:
    """A value without the command that follows it."""
    whole = "\\" in value or value.startswith(("'", '"'))
    return value if whole else _COMMAND.split(value, maxsplit=1)[0]


def _answers(name: str, text: str) -> bool:
    """Whether a line is the value of this variable: another prompt, an error or a sentence is none."""
    return any(name.endswith(end) and form.fullmatch(text) for end, form in _ANSWERS)


def variable(name: str, content: str, line: Line) -> Iterator[Statement]:
    """One variable, where it matters and is no secret."""
    value = content.strip().strip("'\"")
    if not name.startswith(NAMES) or any(word in name for word in _SECRET):
        return
    if value.lower() in NOT_SET and not (name == "NVIDIA_VISIBLE_DEVICES" and value == "none"):
        yield say("variable.unset", name, line)
        return
    if name == "CUDA_VERSION" or value.lower() in ("n/a", "could not collect") or value.startswith("("):
        return
    if name.endswith("_VISIBLE_DEVICES"):  # the rest of the line speaks of something else
        value = re.split(r"(?<![,\s])\s", value, maxsplit=1)[0].strip("'\"").rstrip(",")
    yield say("variable", (name, value), line)
