"""required-package-missing: by distribution names, however they are written."""

from __future__ import annotations

from doctor.findings import Finding, FoundConfig, Policy
from doctor.snapshot import Missing, Snapshot

from ..healthy import healthy
from ..judging import assert_fix_works, ids, run
from ..torches import with_other_build, with_torch

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


def wanted(s: Snapshot, name: str) -> Finding:
    return run(ID, s, Policy(require=(name,)))[2][0]


def test_flash_attn_by_the_wheel_of_its_project() -> None:
    """PyPI has its source alone, and a plain line fails: the build does not see torch."""
    url = (
        "https://github.com/Dao-AILab/flash-attention/releases/download/v2.8.3.post1/"
        "flash_attn-2.8.3.post1+cu12torch2.8cxx11abiTRUE-cp311-cp311-linux_x86_64.whl"
    )
    line = wanted(healthy(), "flash-attn").fixes[0].steps[0].command
    assert line == f"/opt/venv/bin/python -m pip install 'flash-attn @ {url}'"


def test_flash_attn_is_compiled_where_no_wheel_fits_and_the_step_says_why() -> None:
    newer = with_torch(healthy(), "2.11.0", "cu130").replace({"torch.cxx11_abi": True})
    cases = (
        (newer, "wheels for torch 1.12 to 2.10, not 2.11"),
        (healthy().replace({"python.patient.version": "3.14.0"}), "no wheel for torch 2.8 and Python 3.14"),
        (healthy().replace({"host.architecture": "aarch64"}), "wheels for torch 2.9 on linux aarch64, not 2.8"),
    )
    for s, reason in cases:
        step = wanted(s, "flash-attn").fixes[0].steps[0]
        assert reason in step.text, step.text
        assert step.command.endswith("pip install --no-build-isolation flash-attn"), step.command
        assert "pip install setuptools wheel packaging ninja psutil && " in step.command


def test_no_line_where_none_can_work() -> None:
    old = wanted(healthy("t4"), "flash-attn")
    assert not old.fixes and "needs compute capability 8.0; a GPU here has 7.5" in old.detail
    cpu = wanted(with_other_build(healthy()), "flash-attn")
    assert not cpu.fixes and "install torch first, then flash-attn" in cpu.detail


def test_what_pins_torch_is_asked_for_in_the_release_of_this_torch() -> None:
    line = wanted(healthy(), "xformers").fixes[0].steps[0].command
    assert line == "/opt/venv/bin/python -m pip install xformers==0.0.32.post2 torch==2.8.0"
    assert wanted(healthy(), "requests").fixes[0].steps[0].command == "/opt/venv/bin/python -m pip install requests"


def test_what_only_an_untrusted_file_requires_says_so_where_it_is_installed() -> None:
    """In the title and in the step; what the user requires himself does not."""
    found = FoundConfig(path="gpudoctor.toml", require=("evil",))
    policy = Policy(require=("evil", "einops"), found=found)
    fixes = {finding.subject: finding.fixes[0] for finding in run(ID, healthy(), policy)[2]}
    assert fixes["evil"].title == "Install evil (named only by gpudoctor.toml, which is not trusted)"
    assert fixes["evil"].steps[-1].text == (
        "Install evil. Only gpudoctor.toml names this package, and that file is not trusted: check this package before "
        "you install it."
    )
    assert fixes["einops"].title == "Install einops" and "trusted" not in fixes["einops"].steps[-1].text
