"""cuda-visible-devices-wrong, exclusive-compute-mode, gpu-expectation-unmet."""

from __future__ import annotations

import subprocess

from msgspec.structs import replace

from doctor.findings import Expect, Policy
from doctor.patient.process_owner import owner_of
from doctor.snapshot import NOT_ASKED, GpuProcess, MigInstance, Missing, Snapshot, known

from ..healthy import gpu, healthy
from ..judging import assert_fix_works, ids, report, run
from ..rows import for_each
from ..sickness import cuda_says, env, not_given, not_installed, without_nvml

WRONG, MODE, EXPECT = "cuda-visible-devices-wrong", "exclusive-compute-mode", "gpu-expectation-unmet"
MIG = MigInstance(uuid="MIG-11111111-2222-3333-4444-555555555555", name="1g.10gb", gpu_instance=7, compute_instance=0)


def selecting(value: str, *models: str, works: bool = False) -> Snapshot:
    """The variable is set; CUDA sees what it leaves (nothing, unless it works)."""
    s = env(healthy(*(models or ("h100", "h100"))), CUDA_VISIBLE_DEVICES=value)
    return s if works else cuda_says(s, 100)


@for_each(
    "value", ["", " ", "-1", "7", "2,0", "abc", "cuda:0", "0,0", "GPU-ffffffff", "MIG-ffffffff", "MIG-GPU-ffffffff/1/0"]
)
def test_a_value_that_hides_every_gpu_comes_first_and_can_be_mended(value: str) -> None:
    sick = selecting(value)
    assert ids(sick)[0] == WRONG
    finding = run(WRONG, sick)[2][0]
    good = "export CUDA_VISIBLE_DEVICES=0" if value in ("2,0", "0,0") else "unset CUDA_VISIBLE_DEVICES"
    assert finding.status == "fail" and finding.fixes[0].steps[0].command == good
    assert_fix_works(sick, finding)


@for_each(
    "value",
    ["0", "1", "1,0", " 0 , 1 ", "GPU-00000000-0000-4000-8000-233000000000", "GPU-00000001", "MIG-11111111", MIG.uuid],
)
def test_legal_identifiers_are_no_fault(value: object) -> None:
    s = selecting(str(value), works=True)
    assert isinstance(s.gpus, tuple)
    s = s.replace({"gpus": (replace(s.gpus[0], mig_enabled=True, mig_instances=(MIG,)), s.gpus[1])})
    for witness in (s, s.replace({"driver.cuda_devices": NOT_ASKED, "driver.cu_init": NOT_ASKED})):
        assert run(WRONG, witness)[0] == "pass"


def test_a_partly_wrong_value_is_a_warning_that_counts() -> None:
    s = selecting("0,1,7", works=True)
    status, _, findings = run(WRONG, s)
    assert (status, findings[0].facts["visible"]) == ("warn", 2)
    assert_fix_works(s, findings[0])


def test_a_masked_uuid_that_cuda_took_is_good() -> None:
    s = selecting("GPU-<masked-1>", "h100", works=True)
    assert run(WRONG, s)[0] == "pass"


def test_hiding_all_on_purpose_is_a_remark() -> None:
    status, _, findings = run(WRONG, selecting("-1"), Policy(expect=Expect(kind="any")))
    assert (status, findings[0].severity) == ("pass", "info")


def test_void_at_the_containers_start() -> None:
    sick = not_given(healthy(container=True)).replace({"container.visible_devices": "none"})
    finding = run(WRONG, sick)[2][0]
    assert finding.subject == "NVIDIA_VISIBLE_DEVICES"
    assert_fix_works(sick, finding)
    given = healthy(container=True).replace({"container.visible_devices": "void"})
    assert run(WRONG, given)[0] == "pass", "CDI gives GPUs by other means and sets void"


def test_selection_unknown_without_the_deciding_facts() -> None:
    assert run(WRONG, healthy().replace({"host.environment": NOT_ASKED}))[0] == "unknown"
    assert run(WRONG, selecting("7").replace({"gpus": NOT_ASKED}))[0] == "unknown"


@for_each("entry", [MIG.uuid, "GPU-00000000-0000-4000-8000-233000000000", "MIG-GPU-00000000/7/0"])
@for_each("why", ["error", "not-asked"])
def test_an_identifier_is_unknown_where_nobody_could_read_what_it_names(entry: str, why: str) -> None:
    s = selecting(f"{entry},7")
    assert isinstance(s.gpus, tuple)
    gap = Missing(why)  # type: ignore[arg-type]
    s = s.replace({"gpus": tuple(replace(g, uuid=gap, mig_enabled=gap, mig_instances=gap) for g in s.gpus)})
    status, reason, findings = run(WRONG, s)
    assert status == "unknown" and ("uuid" if "GPU-" in entry else "mig_instances") in reason and not findings


def moded(mode: str, *processes: GpuProcess) -> Snapshot:
    s = cuda_says(healthy(), 0).replace(
        {"torch_run.first_call_code": 46, "driver.cuda_devices": healthy().driver.cuda_devices}
    )
    return s.replace({"gpus": (replace(gpu(), compute_mode=mode, processes=processes),)})


@for_each("sick", [moded("prohibited"), moded("exclusive-process", GpuProcess(pid=4711))])
def test_a_refusing_compute_mode_comes_first_and_can_be_mended(sick: Snapshot) -> None:
    assert ids(sick)[0] == MODE
    assert_fix_works(sick, run(MODE, sick)[2][0])


def test_compute_modes_that_refuse_nobody() -> None:
    desktop = GpuProcess(pid=1, kind="graphics")
    for s in (
        healthy(),
        moded("exclusive-process"),
        moded("exclusive-process", desktop),
        moded("default", GpuProcess(pid=1)),
    ):
        assert run(MODE, s)[0] == "pass"
    ours = moded("exclusive-process", GpuProcess(pid=4711)).replace({"torch_run.kernel_ran": True})
    assert run(MODE, ours)[0] == "pass"


SERVER = GpuProcess(pid=900, name="/usr/bin/nvidia-cuda-mps-server")
PIPE = "/run/mps"


@for_each(
    ("process", "pipe", "status"),
    [
        (SERVER, PIPE, "pass"),
        (SERVER, Missing("absent", PIPE), "fail"),
        (SERVER, Missing("denied", PIPE), "fail"),
        (SERVER, NOT_ASKED, "unknown"),
        (GpuProcess(pid=2, owner="session"), NOT_ASKED, "pass"),
        (GpuProcess(pid=2, owner="user"), NOT_ASKED, "fail"),
        (GpuProcess(pid=2, owner="other"), NOT_ASKED, "fail"),
        (GpuProcess(pid=2, owner="other", name="python"), PIPE, "fail"),
    ],
)
def test_who_may_hold_an_exclusive_gpu(process: GpuProcess, pipe: str | Missing, status: str) -> None:
    s = moded("exclusive-process", process).replace({"driver.mps_pipe": pipe})
    found, _, findings = run(MODE, s)
    assert found == status
    for finding in findings:
        assert_fix_works(s, finding)
        commands = [step.command for fix in finding.fixes for step in fix.steps]
        assert not any("kill" in command for command in commands[:1])
        assert any("kill" in command for command in commands) == (process.owner == "user")


def test_another_gpu_comes_first() -> None:
    held = replace(gpu(), compute_mode="exclusive-process", processes=(GpuProcess(pid=2, owner="other"),))
    s = healthy("h100", "h100").replace({"torch_run.kernel_ran": NOT_ASKED})
    s = s.replace({"gpus": (held, (known(s.gpus) or ())[1])})
    finding = run(MODE, s)[2][0]
    assert [fix.id for fix in finding.fixes] == ["use-another-gpu", "ask-owner", "default-compute-mode"]
    assert finding.fixes[0].steps[0].command == f"export CUDA_VISIBLE_DEVICES={known(s.gpus)[1].uuid}"  # type: ignore[index]
    assert_fix_works(s, finding)


def test_the_owner_of_a_process_is_read_from_proc() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            assert owner_of(child.pid) == "session"
        finally:
            child.kill()
    assert owner_of(child.pid) is None


def test_compute_mode_unknown_without_it() -> None:
    assert run(MODE, healthy().replace({"gpus": NOT_ASKED}))[0] == "unknown"
    assert run(MODE, healthy().replace({"gpus": (replace(gpu(), compute_mode=Missing("denied")),)}))[0] == "unknown"


@for_each(
    ("expect", "models", "status"),
    [
        ("2xH100", ("h100", "h100"), "pass"),
        ("H100", ("h100",), "pass"),
        ("2", ("h100", "l4"), "pass"),
        ("1xRTX4090", ("rtx4090",), "pass"),
        ("rtx 4090", ("rtx4090",), "pass"),
        ("1xA100-SXM4", ("a100",), "pass"),
        ("8xH100", ("h100",) * 7, "fail"),
        ("8xH100", ("h100",) * 9, "fail"),
        ("A10", ("a100",), "fail"),
        ("L4", ("h100",), "fail"),
        ("2xH100", ("h100", "a100"), "fail"),
        ("gpu", ("h100",), "skipped"),
    ],
)
def test_expectations(expect: str, models: tuple[str, ...], status: str) -> None:
    assert run(EXPECT, healthy(*models), Policy(expect=Expect.parse(expect)))[0] == status


def test_an_expectation_that_nobody_can_judge_is_a_required_unknown() -> None:
    policy = Policy(expect=Expect.parse("8xH100"), judged_on="2026-11-20")
    blind = healthy().replace({"gpus": Missing("denied"), "driver.cuda_devices": Missing("error")})
    assert report(blind, policy).exit_code == 3 and EXPECT in ids(blind, policy, "unknown")
    unnamed = healthy().replace({"gpus": (replace(gpu(), name=Missing("error")),)})
    assert run(EXPECT, unnamed, policy)[0] == "fail", "CUDA names it: one H100"
    assert run(EXPECT, unnamed.replace({"driver.cuda_devices": NOT_ASKED}), policy)[0] == "unknown"


def test_cuda_is_asked_where_nvml_is_not_there() -> None:
    policy = Policy(expect=Expect.parse("8xH100"))
    whole, one = without_nvml(healthy(*["h100"] * 8)), without_nvml(healthy())
    assert run(EXPECT, whole, policy)[0] == "pass"
    assert run(EXPECT, one, policy)[0] == "fail"
    assert run(EXPECT, env(one, CUDA_VISIBLE_DEVICES="0"), policy)[0] == "unknown"


def test_an_unmet_expectation_is_mended_by_another_machine_and_folded_under_causes() -> None:
    policy = Policy(expect=Expect.parse("8xH100"))
    sick = healthy("h100")
    assert ids(sick, policy) == [EXPECT]
    assert_fix_works(sick, run(EXPECT, sick, policy)[2][0], policy)
    assert run(EXPECT, not_installed(healthy()), policy)[0] == "unknown"
