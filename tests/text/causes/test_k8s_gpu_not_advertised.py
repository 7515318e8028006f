"""k8s-gpu-not-advertised."""

from __future__ import annotations

from ...rows import for_each
from .texts import assert_not_told, commands, the_only_failure

ID = "k8s-gpu-not-advertised"


@for_each(
    ("text", "command"),
    [
        ("kubernetes: True\nnvidia.com/gpu: 0", "kubectl describe nodes"),
        (
            "No devices found. Waiting indefinitely.\nkubernetes: True",
            "patch daemonset nvidia-device-plugin-daemonset",
        ),
    ],
)
def test_words_that_decide(text: str, command: str) -> None:
    assert command in commands(the_only_failure(text, ID))


@for_each(
    "text",
    [
        "Warning  FailedScheduling  0/3 nodes are available: 3 Insufficient cpu.",
        "Warning  FailedScheduling  0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",  # they may all be taken
        "kubernetes: True\nAllocatable:\n  nvidia.com/gpu: 8",
        "Could not load NVML library: libnvidia-ml.so.1",
    ],
)
def test_words_that_only_look_like_it(text: str) -> None:
    assert_not_told(text, ID)
