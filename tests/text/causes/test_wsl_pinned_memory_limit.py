"""wsl-pinned-memory-limit."""

from __future__ import annotations

from ...rows import for_each
from .texts import assert_not_told, commands, the_only_failure

ID = "wsl-pinned-memory-limit"


@for_each(
    ("text", "command"),
    [
        ("wsl: 2\ntensor = tensor.pin_memory()\nRuntimeError: CUDA error: out of memory", "pin_memory=False"),
        ("wsl: 2\ncudaHostAlloc(&p, 40 GiB) failed\nCUDA error: out of memory", "pin_memory=False"),
    ],
)
def test_words_that_decide(text: str, command: str) -> None:
    assert command in commands(the_only_failure(text, ID))


@for_each(
    "text",
    [
        "OS: Ubuntu 22.04\ntensor = tensor.pin_memory()\nRuntimeError: CUDA error: out of memory",
        "wsl: 2\nRuntimeError: CUDA error: out of memory",
        "wsl: 2\nDataLoader(dataset, pin_memory=True)",
    ],
)
def test_words_that_only_look_like_it(text: str) -> None:
    assert_not_told(text, ID)
