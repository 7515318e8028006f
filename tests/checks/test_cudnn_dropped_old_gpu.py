"""cudnn-dropped-old-gpu: cuDNN 9.11 and newer start at Turing, torch may still hold Volta code."""

from __future__ import annotations

import pytest

from doctor.snapshot import Missing, Snapshot

from ..healthy import healthy
from ..judging import assert_fix_works, ids, run
from ..torches import not_asked, with_version

ID = "cudnn-dropped-old-gpu"


def with_newer_cudnn(s: Snapshot) -> Snapshot:
    """Somebody raised the cuDNN wheel to 9.12."""
    return with_version(s, nvidia_cudnn_cu12="9.12.0.46").replace(
        {"torch.cudnn_bundled": "9.12.0", "torch_run.cudnn_version": "9.12.0"}
    )


@pytest.mark.parametrize("model", ["v100", "t4", "h100", "rtx5090"])
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
