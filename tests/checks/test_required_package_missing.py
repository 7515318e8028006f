"""required-package-missing: by distribution names, however they are written."""

from __future__ import annotations

from doctor.findings import Policy
from doctor.snapshot import Missing

from ..healthy import healthy
from ..judging import assert_fix_works, ids, run

ID = "required-package-missing"


def test_installed_packages_pass_in_any_spelling() -> None:
    assert run(ID, healthy(), Policy(require=("numpy", "Nvidia_Cudnn.cu12", "torch")))[0] == "pass"


def test_nothing_required_is_skipped() -> None:
    assert run(ID, healthy())[0] == "skipped"
    assert run(ID, healthy(), Policy(require=("torch",)))[0] == "skipped"


def test_each_absent_one_fails_and_the_fix_works() -> None:
    policy = Policy(require=("flash_attn", "numpy", "xformers"))
    assert sorted(ids(healthy(), policy, status="fail")) == [ID, ID]
    findings = run(ID, healthy(), policy)[2]
    assert [f.subject for f in findings] == ["flash-attn", "xformers"]
    for finding in findings:
        assert_fix_works(healthy(), finding, policy)


def test_unknown_where_the_list_could_not_be_read() -> None:
    sick = healthy().replace({"python.distributions": Missing("denied")})
    assert run(ID, sick, Policy(require=("numpy",)))[0] == "unknown"
