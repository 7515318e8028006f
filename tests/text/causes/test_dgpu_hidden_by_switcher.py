"""dgpu-hidden-by-switcher."""

from __future__ import annotations

from ...rows import for_each
from .texts import assert_not_told, commands, the_only_failure

ID = "dgpu-hidden-by-switcher"


@for_each(
    ("text", "command"),
    [
        ("prime-select query: intel", "sudo prime-select nvidia"),
        ("supergfxctl mode: Integrated", "supergfxctl --mode Hybrid"),
        ("envycontrol --query\nenvycontrol mode: integrated", "envycontrol -s hybrid"),
    ],
)
def test_words_that_decide(text: str, command: str) -> None:
    assert command in commands(the_only_failure(text, ID))


@for_each(
    "text",
    [
        "prime-select query: nvidia",
        "prime-select query: on-demand",
        "supergfxctl mode: Hybrid",
        "00:02.0 VGA compatible controller: Intel Corporation\n01:00.0 3D controller: NVIDIA Corporation",
    ],
)
def test_words_that_only_look_like_it(text: str) -> None:
    assert_not_told(text, ID)
