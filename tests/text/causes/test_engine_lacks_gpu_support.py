"""engine-lacks-gpu-support."""

from __future__ import annotations

from ...rows import for_each
from .texts import assert_not_told, commands, the_only_failure

ID = "engine-lacks-gpu-support"


@for_each(
    ("text", "command"),
    [
        (
            'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].',
            "nvidia-ctk runtime configure --runtime=docker",
        ),
        (
            "OS: Fedora Linux 40\ndocker: Error response from daemon: unknown or invalid runtime name: nvidia.",
            "dnf install -y nvidia-container-toolkit",
        ),
        (
            "Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all\ncontainer_runtime: podman",
            "nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",
        ),
        (
            "OCI runtime hook error: exec: nvidia-container-runtime-hook: executable file not found in $PATH",
            "apt-get install -y nvidia-container-toolkit",
        ),
        (
            'Failed to create pod sandbox: no runtime for "nvidia" is configured',
            "nvidia-ctk runtime configure --runtime=containerd --set-as-default",
        ),
    ],
)
def test_words_that_decide(text: str, command: str) -> None:
    assert command in commands(the_only_failure(text, ID))


@for_each(
    "text",
    [
        "docker: Error response from daemon: pull access denied for org/image, repository does not exist.",
        "docker: Error response from daemon: driver failed programming external connectivity: port is already allocated.",
        "nvidia-container-toolkit 1.17.4 is installed\nRuntimes: io.containerd.runc.v2 nvidia runc",
    ],
)
def test_words_that_only_look_like_it(text: str) -> None:
    assert_not_told(text, ID)
