"""wsl-gpu-not-in-wddm-mode."""

from __future__ import annotations

from ...rows import for_each
from .texts import assert_not_told, commands, the_only_failure

ID = "wsl-gpu-not-in-wddm-mode"


@for_each(
    ("text", "command"),
    [
        ("wsl: 2\n|   0  Tesla T4    TCC  | 00000000:01:00.0 Off |\nNo devices were found", "nvidia-smi -g 0 -dm 0"),
        (
            "wsl: 2\n|   1  Quadro RTX 6000    TCC  | 00000000:21:00.0 Off |\nNo devices were found",
            "nvidia-smi -g 1 -dm 0",
        ),
        ("wsl: 2\nDriver Model: Current TCC\nNo devices were found", "nvidia-smi -g 0 -dm 0"),
    ],
)
def test_words_that_decide(text: str, command: str) -> None:
    assert command in commands(the_only_failure(text, ID))


@for_each(
    "text",
    [
        "wsl: 2\n|   0  Quadro RTX 6000   WDDM  | 00000000:01:00.0 Off |\nNo devices were found",
        "OS: Windows Server 2022\n|   0  Tesla T4    TCC  | 00000000:01:00.0 Off |\nNo devices were found",
        "wsl: 2\nNo devices were found",
    ],
)
def test_words_that_only_look_like_it(text: str) -> None:
    assert_not_told(text, ID)
