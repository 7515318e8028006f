"""mig-limitations, cuda-device-order-mismatch."""

from __future__ import annotations

from typing import Any

from doctor.snapshot import NOT_ASKED, MigInstance, Missing, Snapshot, known

from ..healthy import NOT_SUPPORTED, healthy
from ..judging import assert_fix_works, ids, run
from ..rows import for_each
from ..sickness import cuda_says, env
from .gpu_readings import NOT_READ, one, only

MIG, ORDER = "mig-limitations", "cuda-device-order-mismatch"
UUIDS = tuple(f"MIG-{i}1111111-2222-3333-4444-555555555555" for i in range(2))
TWO = tuple(MigInstance(uuid=uuid, gpu_instance=i + 1, compute_instance=0) for i, uuid in enumerate(UUIDS))


def in_mig(*instances: MigInstance, code: int = 0, models: tuple[str, ...] = ("h100",), **facts: Any) -> Snapshot:
    s = one(*models, mig_enabled=True, mig_pending=True, mig_instances=instances, **facts)
    return cuda_says(s, code) if code else s


@for_each("container", [False, True])
def test_mig_without_an_instance_comes_first_and_can_be_mended(container: bool) -> None:
    sick = in_mig(code=100).replace({"container.kind": "docker" if container else "none"})
    assert ids(sick)[0] == MIG and set(ids(sick)) <= {MIG, "cuda-init-failed", "gpu-path-not-available"}
    finding = only(MIG, sick)
    assert finding.status == "fail" and finding.fixes[0].possible_here
    assert_fix_works(sick, finding)


def test_mig_without_an_instance_beside_a_gpu_that_works_is_a_warning() -> None:
    s = in_mig(models=("h100", "h100"))
    s = s.replace({"driver.cuda_devices": s.driver.cuda_devices[1:]})  # type: ignore[index]
    assert ids(s) == [MIG] and only(MIG, s).status == "warn"
    assert_fix_works(s, only(MIG, s))


@for_each("value", [None, "0", UUIDS[0]])
def test_healthy_mig_has_no_finding(value: str | None) -> None:
    s = in_mig(*TWO)
    assert ids(s if value is None else env(s, CUDA_VISIBLE_DEVICES=value)) == []


def test_the_whole_gpu_named_where_an_instance_is_needed() -> None:
    whole = "GPU-00000000-0000-4000-8000-233000000000"
    sick = env(in_mig(*TWO, code=100), CUDA_VISIBLE_DEVICES=whole)
    assert ids(sick)[0] == MIG
    finding = only(MIG, sick)
    instance = known(known(known(sick.gpus)[0].mig_instances)[0].uuid)  # type: ignore[index]
    assert (finding.status, finding.fixes[0].steps[0].command) == ("fail", f"export CUDA_VISIBLE_DEVICES={instance}")
    for processes, number in (((), "1"), (Missing("denied"), "N")):
        gpus = tuple(gpu.with_(processes=processes) for gpu in sick.gpus)  # type: ignore[union-attr]
        (fix,) = only(MIG, sick.replace({"gpus": gpus})).fixes
        listed = "\"$(nvidia-smi -L | grep -o 'MIG-[^)]*' | sed -n Np)\""
        wanted = f"export CUDA_VISIBLE_DEVICES={instance if number == '1' else listed}"
        assert [step.command for step in fix.steps] == [wanted], "an idle one, or the user's choice"
    assert_fix_works(sick, finding)
    unseen = env(in_mig(*TWO), CUDA_VISIBLE_DEVICES=whole).replace(
        {"driver.cuda_devices": NOT_ASKED, "driver.cu_init": NOT_ASKED}
    )
    assert only(MIG, unseen).status == "warn"
    assert run(MIG, env(in_mig(*TWO), CUDA_VISIBLE_DEVICES=whole))[2] == []


def test_several_instances_named() -> None:
    s = env(in_mig(*TWO), CUDA_VISIBLE_DEVICES=",".join(UUIDS))
    assert ids(s) == [MIG] and only(MIG, s).status == "warn"
    assert_fix_works(s, only(MIG, s))


def test_mig_that_goes_off_with_the_next_reset_is_a_remark() -> None:
    s = in_mig(*TWO).replace({"gpus": tuple(g.with_(mig_pending=False) for g in in_mig(*TWO).gpus)})  # type: ignore[union-attr]
    assert only(MIG, s).status == "pass"


def test_mig_unknown_or_skipped_without_its_facts() -> None:
    assert run(MIG, one("h100", mig_enabled=NOT_READ))[0] == "unknown"
    assert run(MIG, one("h100", mig_enabled=True, mig_instances=NOT_READ))[0] == "unknown"
    assert run(MIG, one("h100", mig_enabled=NOT_SUPPORTED))[0] == "skipped"
    assert run(MIG, healthy().replace({"gpus": NOT_ASKED}))[0] == "unknown"


def fastest_first() -> Snapshot:
    """NVML: RTX 3060, RTX 4090; CUDA: the faster one first."""
    s = healthy("rtx3060", "rtx4090")
    return s.replace({"driver.cuda_devices": tuple(reversed(s.driver.cuda_devices))})  # type: ignore[arg-type]


def test_another_order_is_a_remark_and_a_warning_where_numbers_choose() -> None:
    s = fastest_first()
    assert ids(s) == [] and only(ORDER, s).status == "pass"
    first = s.replace({"driver.cuda_devices": s.driver.cuda_devices[:1]})  # type: ignore[index]
    chosen = env(first, CUDA_VISIBLE_DEVICES="0")
    assert ids(chosen) == [ORDER]
    assert "RTX 4090 in CUDA" in only(ORDER, chosen).title
    assert_fix_works(chosen, only(ORDER, chosen))


def test_orders_that_are_no_fault() -> None:
    assert run(ORDER, healthy("rtx3060", "rtx4090"))[:2] == ("pass", "")
    assert run(ORDER, env(fastest_first(), CUDA_DEVICE_ORDER="PCI_BUS_ID"))[2] == []
    named = env(fastest_first(), CUDA_VISIBLE_DEVICES="GPU-00000001")
    assert run(ORDER, named)[2] == []
    assert run(ORDER, healthy("h100", "h100"))[0] == "skipped"


def test_order_unknown_without_its_facts() -> None:
    for path in ("gpus", "driver.cuda_devices", "host.environment"):
        assert run(ORDER, fastest_first().replace({path: NOT_ASKED}))[0] == "unknown"
    strange = fastest_first().replace({"gpus": healthy("h100", "l4").gpus})
    assert (
        run(
            ORDER,
            strange.replace({"gpus": tuple(g.with_(pci_address="0000:99:00.0", uuid="GPU-x") for g in strange.gpus)}),
        )[0]
        == "unknown"
    )  # type: ignore[union-attr]
