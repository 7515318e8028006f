"""A machine that is called like its GPU: the prompt is masked, the GPU's name stays, and so does the verdict."""

from __future__ import annotations

import json

import pytest

from ..cli.command import gpudoctor

_TEXT = """bob@{host}:~$ nvidia-smi -L
GPU 0: NVIDIA {gpu} (UUID: GPU-01234567-89ab-cdef-0123-456789abcdef)
torch 1.12.1+cu113
RuntimeError: CUDA error: no kernel image is available for execution on the device
"""


@pytest.mark.slow
def test_the_verdict_is_the_same_masked_and_not() -> None:
    faults = []
    for host, gpu in (
        ("H100", "H100 80GB HBM3"),
        ("L40S", "L40S"),
        ("RTX5090", "GeForce RTX 5090"),
        ("gh200", "GH200 480GB"),
    ):
        text = _TEXT.format(host=host, gpu=gpu).encode()
        masked, plain = (
            json.loads(gpudoctor("explain", "-", "--format", "json", *flags, data=text).stdout)
            for flags in ((), ("--no-redact",))
        )
        told = [[f["id"] for f in report["findings"]] for report in (masked, plain)]
        if told[0] != told[1] or masked["snapshot"]["gpus"][0]["name"] != plain["snapshot"]["gpus"][0]["name"]:
            faults.append((host, told))
        if f"@{host}" in json.dumps(masked):
            faults.append((host, "the host's name is told"))
    assert not faults
