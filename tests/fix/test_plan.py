"""The plan is found by judging: each fix once, the root cause's first, and what is left said."""

from __future__ import annotations

from msgspec.structs import replace

from doctor.commands.fix_apply import environment_steps
from doctor.judge.plan import Plan, plan
from doctor.report.steps import plan_text
from doctor.report.terminal import Display
from doctor.snapshot import ABSENT, EnvVar, PciDevice, Snapshot, TorchRun, known

from ..healthy import healthy
from ..judging import POLICY, matrix, report


def of(s: Snapshot, only: str = "") -> Plan:
    return plan(s, matrix(), POLICY, only)


def old_torch_on_a_new_gpu() -> Snapshot:
    """An RTX 5090 with a CUDA 12.4 build."""
    sass = ("5.0", "6.0", "7.0", "7.5", "8.0", "8.6", "9.0")
    return healthy("rtx5090", driver="570.211.01", cuda="12.8").replace(
        {
            "torch.version": "2.5.1+cu124",
            "torch.cuda": "12.4",
            "torch.sass": sass,
            "torch.arch_text": (),
            "torch.requires": (),
            "torch_run": TorchRun(),
        }
    )


def test_a_healthy_machine_needs_nothing() -> None:
    found = of(healthy())
    assert found.ends == "nothing-to-do" and not found.fixes
    assert plan_text(found, Display()) == "gpudoctor found nothing it can fix.\n"


def test_one_install_removes_the_cause_and_what_follows_from_it() -> None:
    found = of(old_torch_on_a_new_gpu())
    assert [p.finding.id for p in found.fixes] == ["torch-lacks-new-gpu-sm"]
    assert "torch-companion-mismatch" in found.fixes[0].removes
    text = plan_text(found, Display())
    assert text.count("pip install") == 1, "the same step must not be told twice"
    assert "gpudoctor check" in text.splitlines()[-1]


def test_in_short_it_is_the_verdict_and_the_first_step() -> None:
    quiet = Display(quiet=True)
    assert plan_text(of(healthy()), quiet) == "PASS  gpudoctor found nothing it can fix.\n"
    text = plan_text(of(old_torch_on_a_new_gpu()), quiet)
    assert text.startswith("FAIL  PyTorch 2.5.1+cu124 does not support your RTX 5090") and "pip install" in text
    hidden = healthy().replace({"host.environment": (EnvVar("CUDA_VISIBLE_DEVICES", ""),), "driver.cu_init": 100})
    assert plan_text(of(hidden), quiet).startswith("FAIL  ")
    no_fix = Plan(verdict="fail", ends="stuck", unfixed=(of(old_torch_on_a_new_gpu()).fixes[0].finding,))
    assert "No fix is known for torch-lacks-new-gpu-sm." in plan_text(no_fix, quiet)


def test_two_causes_are_two_fixes_in_order() -> None:
    sick = old_torch_on_a_new_gpu().replace(
        {
            "host.environment": (EnvVar("CUDA_VISIBLE_DEVICES", ""),),
            "driver.cu_init": 100,
            "driver.cuda_devices": ABSENT,
        }
    )
    found = of(sick)
    ids = [p.finding.id for p in found.fixes]
    assert len(ids) == len(set(ids)) and {"cuda-visible-devices-wrong", "torch-lacks-new-gpu-sm"} <= set(ids)


def test_what_waits_for_another_machine_says_so() -> None:
    amd = PciDevice(address="0000:03:00.0", vendor="1002", device="73bf", class_code="030000")
    sick = healthy().replace(
        {
            "driver.pci_devices": (amd,),
            "driver.cuda_devices": ABSENT,
            "gpus": ABSENT,
            "torch.version": "2.8.0+cpu",
            "driver.device_nodes": (),
            "driver.modules": (),
            "driver.kernel_version": ABSENT,
            "driver.cu_init": ABSENT,
            "torch.build": "cpu",
            "torch.cuda": ABSENT,
            "torch.sass": (),
            "torch.arch_text": (),
            "torch_run": TorchRun(),
        }
    )
    found = of(sick)
    assert [p.finding.id for p in found.fixes] == ["no-nvidia-gpu", "cpu-only-torch"]
    assert found.fixes[0].look_again
    assert found.fixes[1].waits_for == ("no-nvidia-gpu",)


def test_one_check_alone_can_be_planned_for() -> None:
    sick = old_torch_on_a_new_gpu()
    assert {p.finding.id for p in of(sick, "torch-lacks-new-gpu-sm").fixes} == {"torch-lacks-new-gpu-sm"}
    assert of(sick, "no-nvidia-gpu").ends == "nothing-to-do"


def test_a_consequence_is_repaired_by_its_cause() -> None:
    sick = old_torch_on_a_new_gpu()
    found = of(sick, "torch-companion-mismatch")
    assert [p.finding.id for p in found.fixes] == ["torch-lacks-new-gpu-sm"] and found.ends == "pass"
    assert "torch-companion-mismatch" in found.fixes[0].removes
    assert environment_steps(found, "torch-companion-mismatch") == list(found.fixes[0].fix.steps)


def test_ascii_has_no_other_bytes() -> None:
    assert plan_text(of(old_torch_on_a_new_gpu()), Display(ascii_=True)).isascii()


def test_a_warning_with_a_fix_gets_its_steps() -> None:
    """What `check` shows with a fix, `fix` shows too, on a machine where nothing failed."""
    s = healthy()
    library = next(d for d in known(s.python.distributions) or () if d.name == "nvidia-cublas-cu12")
    off = replace(library, version="12.6.4.1")
    rest = tuple(d for d in known(s.python.distributions) or () if d.name != library.name)
    warned = s.replace({"python.distributions": (*rest, off)})
    found = report(warned).findings
    assert [f.status for f in found] == ["warn"] and found[0].fixes
    planned = of(warned)
    assert [p.finding.id for p in planned.fixes] == [found[0].id] and planned.ends == "pass"
    assert f"for {found[0].id} (a warning)" in plan_text(planned, Display())
    assert environment_steps(planned) == [], "--apply leaves a warning alone"
    assert environment_steps(planned, found[0].id) == list(found[0].fixes[0].steps)
