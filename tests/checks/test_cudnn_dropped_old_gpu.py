"""cudnn-dropped-old-gpu: cuDNN 9.11 and newer start at Turing, torch may still hold Volta code."""

from __future__ import annotations

from doctor.snapshot import Missing, Snapshot
from doctor.text import read
from doctor.text.enrich import with_capabilities

from ..healthy import healthy
from ..judging import assert_fix_works, ids, matrix, run
from ..rows import for_each
from ..torches import not_asked, with_version

ID = "cudnn-dropped-old-gpu"


def with_newer_cudnn(s: Snapshot) -> Snapshot:
    """Somebody raised the cuDNN wheel to 9.12."""
    return with_version(s, nvidia_cudnn_cu12="9.12.0.46").replace(
        {"torch.cudnn_bundled": "9.12.0", "torch_run.cudnn_version": "9.12.0"}
    )


@for_each("model", ["v100", "t4", "h100", "rtx5090"])
def test_the_pinned_cudnn_passes(model: str) -> None:
    assert run(ID, healthy(model))[0] == "pass"


def test_a_newer_cudnn_leaves_volta_out() -> None:
    sick = with_newer_cudnn(healthy("v100"))
    assert ids(sick, status="fail") == [ID]
    finding = run(ID, sick)[2][0]
    assert "nvidia-cudnn-cu12==9.10.2.21" in finding.fixes[0].steps[-1].command
    assert_fix_works(sick, finding)


def test_and_not_turing() -> None:
    assert run(ID, with_newer_cudnn(healthy("t4")))[0] == "pass"


def test_each_gpu_is_judged() -> None:
    sick = with_newer_cudnn(healthy("h100", "v100"))
    assert [f.subject for f in run(ID, sick)[2]] == [sick.gpus[1].key]  # type: ignore[index]


def test_unknown_without_the_deciding_fact() -> None:
    sick = not_asked(with_newer_cudnn(healthy("v100"))).replace({"torch.cudnn_bundled": Missing("error")})
    assert run(ID, sick)[0] == "unknown"
    unlisted = with_newer_cudnn(healthy("v100")).replace({"torch_run.cudnn_version": "12.0.0"})
    assert run(ID, unlisted)[0] == "unknown"


def test_the_wheel_of_a_text_and_a_version_without_torch() -> None:
    def of(text: str) -> str:
        return run(ID, with_capabilities(read(text), matrix()))[0]

    packages = "GPU: {}\ntorch==2.8.0+cu128\nnvidia-cudnn-cu12=={}"
    assert of(packages.format("Tesla V100", "9.11.0.98")) == "fail"
    assert of(packages.format("Tesla V100", "9.10.2.21")) == "pass"
    assert of(packages.format("NVIDIA GeForce RTX 3090", "9.11.0.98")) == "pass"
    assert of("torch.backends.cudnn.version(): 91200\nGPU: Tesla P100-PCIE-16GB") == "fail"
    assert of("torch.backends.cudnn.version(): 91002\nGPU: Tesla P100-PCIE-16GB") == "pass"
