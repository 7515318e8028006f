"""A skip says whether the check does not apply or was not examined, and the verdict follows from it."""

from __future__ import annotations

from msgspec.structs import replace

from doctor.findings import Expect, Policy
from doctor.judge import load_all
from doctor.judge.report import Report
from doctor.judge.selection import nothing_to_check
from doctor.snapshot import ABSENT, NOT_ASKED, Snapshot

from ..healthy import healthy
from ..judging import POLICY, report
from ..rows import for_each
from ..sickness import gvisor, not_given, without_nvml
from ..soundness.selected import selection_faults
from .test_no_nvidia_gpu import without_gpu
from .test_selection import selecting

HEALTHY = {
    "one GPU": healthy(),
    "eight GPUs": healthy(*["h100"] * 8),
    "two models": healthy("rtx3060", "gtx1080"),
    "no torch": healthy(torch=False),
    "in a container": healthy(container=True),
}
NO_GPU = {"by the PCI list": without_gpu(healthy()), "gVisor": gvisor(without_gpu(healthy()))}


def only(s: Snapshot, *names: str, policy: Policy = POLICY) -> Report:
    return report(s, replace(policy, only=names))


def kinds(found: Report, kind: str) -> dict[str, str]:
    """Check to reason, of the skips of one kind."""
    return {check.id: check.reason for check in found.checks if check.skip == kind}


@for_each("name", HEALTHY)
def test_on_a_healthy_machine_only_what_was_not_measured_is_not_examined(name: str) -> None:
    s = HEALTHY[name].replace({"engines.engines": (), "driver.pcie_paths": ()})
    found = kinds(report(s), "not-examined")
    assert found and all("gpudoctor prove" in reason for reason in found.values()), found


@for_each("machine", HEALTHY | NO_GPU)
@for_each("expect", ["gpu", "any", "none"])
def test_each_check_named_alone(machine: str, expect: str) -> None:
    s = (HEALTHY | NO_GPU)[machine]
    assert not selection_faults(report(s, replace(POLICY, expect=Expect.parse(expect))))


@for_each("name", NO_GPU)
def test_a_gpu_that_is_expected_and_not_there_was_not_examined(name: str) -> None:
    found = report(NO_GPU[name])
    for check in load_all():
        row = next(row for row in found.checks if row.id == check.id)
        elsewhere = row.reason in ("not in WSL", "--expect names neither a number of GPUs nor a model")
        if check.about.layer == "hardware" and check.about.needs_gpu and not elsewhere:
            assert row.status in ("fail", "unknown") or row.skip == "not-examined", row
    assert only(NO_GPU[name], "gpu-too-hot").exit_code == 3


@for_each("name", NO_GPU)
@for_each("expect", ["any", "none"])
def test_a_gpu_that_need_not_be_there_is_nothing_to_check(name: str, expect: str) -> None:
    policy = replace(POLICY, expect=Expect.parse(expect))
    found = kinds(report(NO_GPU[name], policy), "not-examined")
    assert all("gpudoctor prove" in reason for reason in found.values()), found
    alone = only(NO_GPU[name], "gpu-too-hot", policy=policy)
    assert (alone.verdict, alone.exit_code) == ("pass", 0) and nothing_to_check(alone)


def test_a_package_that_is_required_and_not_there_was_not_examined() -> None:
    s = healthy(torch=False)
    assert only(s, "torch-lacks-new-gpu-sm").exit_code == 0
    assert only(s, "torch-lacks-new-gpu-sm", policy=replace(POLICY, require=("torch",))).exit_code == 3
    assert only(s, "jax-cpu-fallback").exit_code == 0
    assert only(s, "jax-cpu-fallback", policy=replace(POLICY, require=("jax",))).exit_code == 3


def test_the_reason_is_in_the_finding_of_the_named_check() -> None:
    found = only(without_gpu(healthy()), "gpu-too-hot", "nvlink-inactive")
    assert {f.title for f in found.findings} == {
        "gpu-too-hot was not checked: this machine has no NVIDIA GPU",
        "nvlink-inactive was not checked: this machine has no NVIDIA GPU",
    }
    blind = only(healthy().replace({"gpus": NOT_ASKED}), "gpu-too-hot")
    assert blind.findings[0].title == "gpu-too-hot was not checked: it needs the list of GPUs (not examined)"
    assert nothing_to_check(only(healthy(), "nvlink-inactive")) == "nothing to check: only one GPU"


def test_one_named_check_that_was_judged_is_enough_beside_one_that_does_not_apply() -> None:
    found = only(healthy(), "nvlink-inactive", "exclusive-compute-mode")
    assert found.verdict == "pass" and nothing_to_check(found) == ""


def test_a_cause_of_texts_is_not_examined_on_a_machine() -> None:
    found = only(healthy(), "imex-not-working")
    assert found.exit_code == 3 and "gpudoctor explain" in found.findings[0].title


@for_each("s", [healthy(), without_gpu(healthy()), not_given(healthy(container=True)), without_nvml(healthy())])
def test_nothing_is_sound_where_skip_leaves_nothing(s: Snapshot) -> None:
    ids = tuple(check.id for check in load_all())
    found = report(s, replace(POLICY, skip=ids))
    assert (found.verdict, found.exit_code) == ("unknown", 3) and found.findings[0].title == "Nothing was checked"
    alone = report(s, replace(POLICY, only=("gpu-too-hot",), skip=("gpu-too-hot",)))
    assert alone.exit_code == 3 and "skipped by --skip" in alone.findings[0].title


def test_what_does_not_apply_is_nothing_examined_either() -> None:
    rest = ("nvlink-inactive", "jax-cpu-fallback")
    ids = tuple(check.id for check in load_all() if check.id not in rest)
    assert report(healthy(), replace(POLICY, skip=ids)).verdict == "unknown"


@for_each(("fail_on", "code"), [("fail", 0), ("unknown", 1), ("warn", 1)])
def test_fail_on_counts_checks(fail_on: str, code: int) -> None:
    s = healthy().replace({"host.shm_mib": NOT_ASKED, "host.memory_limit_mib": NOT_ASKED})
    found = report(s, replace(POLICY, fail_on=fail_on))  # type: ignore[arg-type]
    assert not found.findings and any(check.status == "unknown" for check in found.checks)
    assert found.exit_code == code and (found.verdict == "unknown") == bool(code)
    known = replace(POLICY, fail_on=fail_on, only=("exclusive-compute-mode",))  # type: ignore[arg-type]
    assert report(healthy(), known).exit_code == 0


def test_a_skip_that_is_no_matter_of_policy_stays_what_it_is() -> None:
    jetson = healthy().replace({"driver.pci_devices": (), "gpus": ABSENT})
    assert only(jetson, "other-kernel-driver-bound").exit_code == 0, "CUDA lists its GPU, which is not on the PCI bus"


def test_fail_on_keeps_the_verdict_of_what_was_found() -> None:
    warned = selecting("0,1,7", works=True).replace({"host.memory_limit_mib": NOT_ASKED})
    found = report(warned, replace(POLICY, fail_on="unknown"))
    assert (found.verdict, found.exit_code) == ("warn", 1)
