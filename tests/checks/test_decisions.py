"""Both sides of small decisions that several checks share: names that are unknown, lists of two kinds, skips."""

from __future__ import annotations

from doctor.checks._boards import is_superchip
from doctor.checks._code import witnesses
from doctor.findings import Finding, Fix, Step
from doctor.fixes.which_torch import which_torch
from doctor.judge import load
from doctor.judge.judge import in_words
from doctor.judge.plan import _asks_for_steps
from doctor.judge.preflight import _any_build_serves
from doctor.snapshot import Missing

from ..healthy import gpu, healthy
from ..judging import matrix, report, run
from ..sickness import cuda_says


def test_a_gpu_of_no_known_name_is_no_superchip_by_its_name() -> None:
    board = gpu("h100")
    for name, is_one in (("NVIDIA GH200 480GB", True), ("NVIDIA H100 80GB HBM3", False), (Missing("error"), False)):
        assert is_superchip(matrix(), board.with_(name=name, pci_device_id=Missing("error"))) == is_one, name
    assert is_superchip(matrix(), board.with_(integrated=True))


def test_a_list_of_architectures_has_machine_code_and_ptx_apart() -> None:
    s = healthy().replace({"torch.sass": Missing("error"), "torch_run.arch_list": ("sm_80", "sm_90", "compute_90")})
    code = next(one for one in witnesses(s, matrix()) if one.witness == "torch.cuda.get_arch_list()")
    assert (code.sass, code.ptx) == (("8.0", "9.0"), ("9.0",))


def test_only_a_skipped_check_says_what_kind_of_skip_it_is() -> None:
    checks = report(healthy()).checks
    assert {bool(one.skip) for one in checks if one.status == "skipped"} == {True}
    assert {one.skip for one in checks if one.status != "skipped"} == {""}


def test_what_a_passed_check_says_is_its_remark_or_that_all_is_sound() -> None:
    check = load("driver-not-loaded")
    remark = Finding(id=check.id, status="pass", severity="info", title="A remark")
    assert in_words(check, "pass", [remark]) == ("A remark", True)
    assert in_words(check, "pass", []) == (check.about.sound, False)
    failed = Finding(id=check.id, status="fail", severity="error", title="It failed")
    assert in_words(check, "fail", [remark, failed]) == ("It failed", False)
    assert in_words(check, "unknown", []) == ("", False)


def test_what_asks_for_steps() -> None:
    """What failed, with a fix or without; a warning and a fact in need only with one; a consequence by its own fix."""
    fix = Fix(id="repair", title="Repair it", steps=(Step(text="Do it.", where="host"),))
    for status, fixes, cause, asks in (
        ("fail", (), "", True),
        ("fail", (fix,), "", True),
        ("fail", (), "driver-not-loaded", False),
        ("fail", (fix,), "driver-not-loaded", True),
        ("warn", (fix,), "", True),
        ("warn", (), "", False),
        ("unknown", (fix,), "", True),
        ("unknown", (), "", False),
        ("pass", (fix,), "", False),
    ):
        one = Finding(id="x", status=status, severity="error", title="X", fixes=fixes, cause=cause)  # type: ignore[arg-type]
        assert _asks_for_steps(one) == asks, (status, fixes, cause)


def test_a_gpu_whose_last_branch_is_named_gets_no_newer_one() -> None:
    """Kepler ends with 470 (which has ended), Pascal and Volta with 580; Turing has no last branch."""
    board = gpu("gtx1080").with_(name="GeForce GTX 770", compute_capability="3.0", pci_device_id=Missing("error"))
    kepler = {"gpus": (board,), "driver.pci_devices": Missing("denied")}
    for s, branch in (
        (healthy("gtx1080"), "branch 580)"),
        (healthy("v100"), "branch 580)"),
        (healthy("gtx1080", driver="470.256.02", cuda="11.4").replace(kepler), "branch 470)"),
    ):
        finding = run("open-kernel-module-required", cuda_says(s, 100).replace({"driver.kernel_flavour": "open"}))[2][0]
        fix = next(fix for fix in finding.fixes if fix.id == "install-driver")
        assert branch in fix.title and "newer" not in fix.title + fix.steps[0].text, fix.title


def test_no_torch_is_chosen_where_no_gpu_is_known_or_named() -> None:
    assert which_torch(healthy().replace({"host.system": "darwin"}), matrix()) is None
    assert which_torch(healthy(), matrix(), gpus=()) is None
    assert which_torch(healthy(), matrix()) is not None


def test_a_torch_of_no_known_version_has_code_where_every_build_of_its_index_has() -> None:
    def serves(model: str, tag: str, cuda: str) -> bool:
        unknown = {"torch.version": Missing("not-asked"), "torch.wheel_tag": tag, "torch.cuda": cuda}
        return _any_build_serves(healthy(model).replace(unknown), matrix())

    assert serves("h100", "cu126", "12.6") and serves("h100", "cu128", "12.8")
    assert not serves("rtx5090", "cu118", "11.8")
    assert not serves("gtx1080", "cu130", "13.0")
    assert not serves("h100", "cu999", "99.9"), "no build has this tag"
