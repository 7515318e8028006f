"""A case as the text that somebody would paste: the environment block, the facts a line each, the error's lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_PRINTED = {
    "torch": "PyTorch version", "torch_cuda": "CUDA used to build PyTorch", "driver": "Nvidia driver version",
    "nvidia_smi_cuda": "nvidia-smi CUDA Version", "cuda_available": "Is CUDA available", "python": "Python version",
    "os": "OS", "gcc": "GCC version", "glibc": "Libc version",
}  # fmt: skip
"""Keys that tools print in words of their own; all others stand as they are."""


def render(case: dict[str, Any]) -> str:
    """The text of a case. Nothing else of it may be looked at: the rest tells the answer."""
    block, error = case.get("collect_env") or [], case.get("error_text") or []
    rows = [block] if isinstance(block, str) else list(block)
    for key, value in (case.get("facts") or {}).items():
        rows += _fact(key, value)
    rows += [error] if isinstance(error, str) else list(error)
    return "\n".join(rows) + "\n"


def _fact(key: str, value: Any) -> Iterator[str]:
    if key == "gpus" and isinstance(value, list):
        boards = [gpu if isinstance(gpu, dict) else {"name": str(gpu)} for gpu in value]
        listed = [gpu for gpu in boards for _ in range(int(gpu.get("count") or 1))]
        for number, gpu in enumerate(listed):
            more = "".join(f", {name} {_plain(said)}" for name, said in gpu.items() if name not in ("name", "count"))
            yield f"GPU {number}: {gpu.get('name', 'unknown')}{more}"
    elif key in ("packages", "env") and isinstance(value, dict):
        none, sign = ("(not installed)", "==") if key == "packages" else ("is unset", "=")
        for name, said in value.items():
            yield f"{name} {none}" if said is None else f"{name}{sign}{_plain(said)}"
    else:
        yield f"{_PRINTED.get(key, key)}: {_plain(value)}"


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={_plain(said)}" for name, said in value.items())
    if isinstance(value, list):
        return ", ".join(map(_plain, value))
    return "none" if value is None else str(value)
