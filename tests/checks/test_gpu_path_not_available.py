"""gpu-path-not-available: what is left where no other check names a reason."""

from __future__ import annotations

from doctor.snapshot import Missing

from ..healthy import healthy
from ..judging import assert_fix_works, ids, report, run
from ..torches import import_fails, not_asked, unusable, with_other_build, with_torch

ID = "gpu-path-not-available"


def test_a_torch_that_computes_passes() -> None:
    assert run(ID, healthy())[0] == "pass"


def test_an_error_that_nobody_explains_is_told_with_its_meaning() -> None:
    sick = unusable(healthy(), 719, "CUDA error: unspecified launch failure")
    assert ids(sick) == [ID]
    finding = run(ID, sick)[2][0]
    assert "719" in finding.detail
    assert finding.facts["error"]
    assert_fix_works(sick, finding)


def test_a_wrong_answer_of_a_kernel_fails() -> None:
    sick = healthy().replace({"torch_run.kernel_ran": False, "torch_run.kernel_error": "wrong answer on device 0"})
    assert ids(sick) == [ID]
    assert "wrong answer" in run(ID, sick)[2][0].detail


def test_it_is_folded_under_a_cause() -> None:
    sick = unusable(with_torch(healthy("a100", driver="535.129.03", cuda="12.2"), "2.11.0", "cu130"), 35, "too old")
    found = report(sick).findings
    assert found[0].id == "driver-too-old-for-cuda-build"
    symptom = next(f for f in found if f.id == ID)
    assert "driver-too-old-for-cuda-build" in symptom.downstream_of


def test_not_judged_without_an_import_or_cuda() -> None:
    assert run(ID, import_fails(healthy(), "odd"))[0] == "pass"
    assert run(ID, with_other_build(healthy()))[0] == "skipped"


def test_not_asked_is_unknown() -> None:
    assert run(ID, not_asked(healthy()))[0] == "unknown"
    assert run(ID, not_asked(healthy()).replace({"torch_run.imported": Missing("timeout")}))[0] == "unknown"
