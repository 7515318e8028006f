"""How to start an image with the GPU, for each engine."""

from __future__ import annotations

from ..findings import Fix, Step
from ..snapshot import Snapshot, known


def start_lines(s: Snapshot, reference: str, disable_require: bool = False) -> tuple[tuple[str, str], ...]:
    """(engine, lines to copy): docker, podman, compose, kubernetes; with the variables that this image lacks."""
    given = known(s.container.driver_capabilities)
    variables = {}
    if isinstance(given, str) and not {"all", "compute"} & {word.strip() for word in given.split(",")}:
        variables["NVIDIA_DRIVER_CAPABILITIES"] = "compute,utility"
    if disable_require:
        variables["NVIDIA_DISABLE_REQUIRE"] = "1"
    options = "".join(f" -e {name}={value}" for name, value in variables.items())
    compose = ["services:", "  app:", f"    image: {reference}"]
    kubernetes = ["containers:", "  - name: app", f"    image: {reference}"]
    if variables:
        compose += ["    environment:", *(f"      {name}: '{value}'" for name, value in variables.items())]
        pairs = (f"      - {{name: {name}, value: '{value}'}}" for name, value in variables.items())
        kubernetes += ["    env:", *pairs]
    compose += ["    deploy:", "      resources:", "        reservations:", "          devices:"]
    compose += ["            - {driver: nvidia, count: all, capabilities: [gpu]}"]
    kubernetes += ["    resources: {limits: {nvidia.com/gpu: 1}}"]
    return (
        ("docker", f"docker run --rm --gpus all{options} {reference}"),
        ("podman", f"podman run --rm --device nvidia.com/gpu=all --security-opt=label=disable{options} {reference}"),
        ("compose", "\n".join(compose)),
        ("kubernetes", "\n".join(kubernetes)),
    )


def other_tag(reference: str, grade: str) -> Fix:
    """Another tag of the image's line, whose config was read and judged for this host."""
    step = Step(text="Start that image.", command=f"docker run --rm --gpus all {reference}", where="container-start")
    return Fix(
        id="other-tag", title=f"Use {reference}: according to its config, it runs on this host ({grade})", steps=(step,)
    )
