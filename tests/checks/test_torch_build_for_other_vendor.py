"""torch-build-for-other-vendor: ROCm and XPU builds on a machine with an NVIDIA GPU."""

from __future__ import annotations

from doctor.snapshot import Missing

from ..healthy import healthy
from ..judging import assert_fix_works, ids, run
from ..rows import for_each
from ..torches import with_other_build
from .test_no_nvidia_gpu import without_gpu

ID = "torch-build-for-other-vendor"


def test_a_cuda_build_passes() -> None:
    assert run(ID, healthy())[0] == "pass"


@for_each(("kind", "local"), [("rocm", "rocm6.4"), ("xpu", "xpu")])
def test_the_wrong_vendor_is_the_one_failure_and_the_fix_works(kind: str, local: str) -> None:
    sick = with_other_build(healthy(), kind, local)
    assert ids(sick, status="fail") == [ID]
    assert_fix_works(sick, run(ID, sick)[2][0])


def test_without_an_nvidia_gpu_it_is_not_judged() -> None:
    assert run(ID, without_gpu(with_other_build(healthy(), "rocm", "rocm6.4")))[0] == "skipped"


def test_unknown_where_the_build_is_not_known() -> None:
    gone = {name: Missing("denied") for name in ("torch.build", "torch.cuda", "torch_run.cuda")}
    assert run(ID, healthy().replace({**gone, "torch.version": "2.8.0"}))[0] == "unknown"
