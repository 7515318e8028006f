"""cpu-only-torch: by torch's version file, and only a fault where a GPU is wanted."""

from __future__ import annotations

from doctor.findings import Expect, Policy
from doctor.snapshot import Missing

from ..healthy import healthy
from ..judging import assert_fix_works, ids, report, run
from ..rows import for_each
from ..torches import with_other_build
from .test_no_nvidia_gpu import without_gpu

ID = "cpu-only-torch"


def test_a_cuda_build_passes() -> None:
    assert run(ID, healthy())[0] == "pass"


@for_each("model", ["h100", "rtx5090", "l4", "t4"])
def test_a_cpu_build_is_the_one_failure_and_the_fix_keeps_the_version(model: str) -> None:
    sick = with_other_build(healthy(model))
    assert ids(sick, status="fail") == [ID]
    finding = run(ID, sick)[2][0]
    assert_fix_works(sick, finding)
    assert "torch==2.8.0+cu12" in finding.fixes[0].steps[-1].command, "pip takes 2.8.0+cpu for 2.8.0"
    assert not any("uninstall" in step.command for step in finding.fixes[0].steps), "never without torch in between"


def test_without_a_gpu_it_is_still_told_after_the_cause() -> None:
    sick = without_gpu(with_other_build(healthy()))
    found = report(sick).findings
    assert [f.id for f in found if f.status == "fail"] == ["no-nvidia-gpu", ID]
    assert found[[f.id for f in found].index(ID)].downstream_of == ("no-nvidia-gpu",)
    assert_fix_works(sick, run(ID, sick)[2][0])


@for_each(("kind", "gpu", "status"), [("none", True, "pass"), ("any", True, "fail"), ("any", False, "pass")])
def test_expectations(kind: str, gpu: bool, status: str) -> None:
    sick = with_other_build(healthy())
    sick = sick if gpu else without_gpu(sick)
    got, _, findings = run(ID, sick, Policy(expect=Expect(kind=kind)))  # type: ignore[arg-type]
    assert got == status
    assert findings[0].severity == ("error" if status == "fail" else "info")


@for_each(("expect", "require", "status"), [
    ("none", ("torch",), "warn"), ("none", ("torchvision",), "pass"), ("any", ("torch",), "pass"), ("none", (), "pass"),
])  # fmt: skip
def test_in_an_image_build_a_required_torch_is_one_for_gpus(expect: str, require: tuple[str, ...], status: str) -> None:
    """Who builds an image for the CPU says --expect none, and requires nothing."""
    sick = without_gpu(with_other_build(healthy()))
    policy = Policy(expect=Expect(kind=expect), require=require)  # type: ignore[arg-type]
    got, _, findings = run(ID, sick, policy)
    assert got == status
    shown = [finding for finding in report(sick, policy).findings if finding.id == ID]
    assert bool(shown) == (status == "warn")
    if shown:
        assert "for CUDA" in findings[0].fixes[0].title or "CUDA build" in findings[0].fixes[0].title
        assert_fix_works(sick, findings[0], policy)
    assert run(ID, healthy(), policy)[0] == "pass"


def test_the_local_tag_tells_where_the_version_file_is_missing() -> None:
    sick = with_other_build(healthy()).replace({"torch.build": Missing("absent")})
    assert run(ID, sick)[0] == "fail"


def test_unknown_where_nothing_tells() -> None:
    gone = {name: Missing("denied") for name in ("torch.build", "torch.cuda", "torch_run.cuda")}
    assert run(ID, healthy().replace({**gone, "torch.version": "2.8.0"}))[0] == "unknown"


def test_gpus_that_no_driver_serves_together_are_sent_to_another_host() -> None:
    """Pascal needs the proprietary module, Blackwell the open one."""
    sick = with_other_build(healthy("gtx1080", "rtx5090", driver="450.248.02", cuda="11.0")).replace(
        {"python.patient.version": "3.8.18"}
    )
    finding = run(ID, sick)[2][0]
    assert finding.fixes[0].id == "choose-another-host"
    assert_fix_works(sick, finding)


def test_macos_is_not_judged_by_this_check() -> None:
    status, reason, findings = run(ID, with_other_build(healthy()).replace({"host.system": "darwin"}))
    assert status == "skipped" and "macOS" in reason and not findings
