"""The import of torch fails: by itself, or as the symptom of a cause."""

from __future__ import annotations

from ..healthy import healthy
from ..judging import assert_fix_works, ids, run
from ..rows import for_each
from ..torches import import_fails, not_asked, without_torch

ID = "torch-import-broken"


def test_a_torch_that_imports_passes() -> None:
    assert run(ID, healthy())[0] == "pass"


@for_each("fault", ["raised", "crash", "hang"])
def test_a_failure_without_a_known_cause_is_the_one_finding(fault: str) -> None:
    sick = import_fails(healthy(), "ImportError: something nobody has seen", fault)
    assert ids(sick) == [ID]
    finding = run(ID, sick)[2][0]
    assert "something nobody has seen" in finding.detail
    assert finding.facts["fault"] == fault
    assert_fix_works(sick, finding)


def test_not_asked_is_unknown() -> None:
    status, reason, _ = run(ID, not_asked(healthy()))
    assert (status, "torch_run.imported" in reason) == ("unknown", True)


def test_checks_are_skipped_without_torch() -> None:
    for check in (ID, "bundled-cuda-libs-missing", "mixed-cuda-wheels", "libc-incompatible", "numpy-abi-mismatch"):
        assert run(check, without_torch(healthy()))[:2] == ("skipped", "torch is not installed")
