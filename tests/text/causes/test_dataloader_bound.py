"""dataloader-bound."""

from __future__ import annotations

from ...rows import for_each
from .texts import assert_not_told, commands, the_only_failure

ID = "dataloader-bound"


@for_each(
    ("text", "command"),
    [
        ("Epoch: [0][10/5005] Time 0.50 Data 0.45", "num_workers="),
        ("cpu_cores: 16\nthreads per process: 64", "export OMP_NUM_THREADS=16"),
    ],
)
def test_words_that_decide(text: str, command: str) -> None:
    assert command in commands(the_only_failure(text, ID))


@for_each(
    "text",
    [
        "Epoch: [0][10/5005] Time 0.50 Data 0.01",
        "cpu_cores: 64\nthreads per process: 8",
        "time 12:30 data 2024-05-01",
    ],
)
def test_words_that_only_look_like_it(text: str) -> None:
    assert_not_told(text, ID)
