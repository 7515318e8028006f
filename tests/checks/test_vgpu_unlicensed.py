"""vgpu-unlicensed."""

from __future__ import annotations

from doctor.snapshot import NOT_ASKED

from ..healthy import healthy
from ..judging import assert_fix_works, ids, run
from ..rows import for_each
from ..sickness import cuda_says
from .gpu_readings import NOT_READ, monitored, one

ID = "vgpu-unlicensed"


@for_each("container", [False, True])
def test_a_virtual_gpu_without_a_licence(container: bool) -> None:
    sick = one("l4", container=container, virtualization_mode=2, vgpu_licensed=False)
    assert ids(sick) == [ID]
    assert run(ID, sick)[0] == "warn"
    assert_fix_works(sick, run(ID, sick)[2][0])


def test_one_that_cuda_already_refuses() -> None:
    sick = one("l4", virtualization_mode=2, vgpu_licensed=False)
    refused = cuda_says(sick, 0).replace(
        {"torch_run.first_call_code": 46, "driver.cuda_devices": sick.driver.cuda_devices}
    )
    assert run(ID, refused)[0] == "fail" and ids(refused)[0] == ID
    assert_fix_works(refused, run(ID, refused)[2][0])


def test_licensed_real_and_unknown() -> None:
    assert run(ID, one("l4", virtualization_mode=2, vgpu_licensed=True))[0] == "pass"
    assert run(ID, monitored(healthy()))[0] == "skipped"
    assert run(ID, one("l4", virtualization_mode=2, vgpu_licensed=NOT_READ))[0] == "unknown"
    assert run(ID, one("l4", virtualization_mode=NOT_READ))[0] == "unknown"
    assert run(ID, healthy().replace({"gpus": NOT_ASKED}))[0] == "unknown"
