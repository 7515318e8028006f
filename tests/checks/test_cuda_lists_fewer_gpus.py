"""cuda-lists-fewer-gpus, and what --expect is held against."""

from __future__ import annotations

from msgspec.structs import replace

from doctor.findings import Expect, Policy
from doctor.snapshot import NOT_ASKED, GpuProcess, MigInstance, Missing, Snapshot, known

from ..healthy import gpu, healthy
from ..judging import assert_fix_works, ids, report, run
from ..sickness import compat_loaded, cuda_says, env

FEWER, EXPECT = "cuda-lists-fewer-gpus", "gpu-expectation-unmet"


def dropped(*models: str, container: bool = False) -> Snapshot:
    """CUDA leaves out the last GPU."""
    s = healthy(*(models or ("a100", "a100")), container=container)
    assert isinstance(s.driver.cuda_devices, tuple)
    return s.replace({"driver.cuda_devices": s.driver.cuda_devices[:-1]})


def test_a_gpu_that_cuda_leaves_out() -> None:
    for sick in (dropped(), dropped(container=True), dropped("h100", "l4", "l4")):
        assert ids(sick) == [FEWER]
        finding = run(FEWER, sick)[2][0]
        assert finding.status == "fail" and finding.subject and "is not set" in finding.detail
        assert finding.facts["gpus_of_cuda"] == finding.facts["gpus_of_session"] - 1
        assert_fix_works(sick, finding)


def test_a_compat_library_that_supports_some_gpus_is_named_first() -> None:
    """An RTX 4090 beside an A100: the forward-compatibility libcuda takes data-centre boards only."""
    for models, words, restarts in ((("a100", "rtx4090"), "does not support", 0), (("a100", "a100"), "may not", 1)):
        s = healthy(*models, driver="570.86.10", cuda="12.8", container=True)
        sick = compat_loaded(s).replace({"driver.cuda_devices": (known(s.driver.cuda_devices) or ())[:1]})
        finding = run(FEWER, sick)[2][0]
        assert "/compat/libcuda.so" in finding.detail and words in finding.detail, finding.detail
        assert finding.fixes[0].id == "drop-library-folder"
        assert len([fix for fix in finding.fixes if "restart" in fix.id]) >= restarts
        assert_fix_works(sick, finding)
    plain = run(FEWER, dropped("a100", "rtx4090", container=True))[2][0]
    assert "compat" not in plain.detail


def test_with_an_expectation_the_dropped_gpu_is_the_cause() -> None:
    policy = Policy(expect=Expect.parse("2xA100"), judged_on="2026-11-20")
    assert ids(dropped(), policy) == [FEWER, EXPECT]
    below = next(f for f in report(dropped(), policy).findings if f.id == EXPECT)
    assert below.downstream_of == (FEWER,)


def test_what_explains_a_shorter_list() -> None:
    masked = env(dropped(), CUDA_VISIBLE_DEVICES="0")
    assert run(FEWER, masked)[0] == "pass"
    for value in ("0,7", "0,0"):  # wrong: cuda-visible-devices-wrong tells it
        assert run(FEWER, env(dropped(), CUDA_VISIBLE_DEVICES=value))[0] == "pass"
    named = run(FEWER, env(dropped(), CUDA_VISIBLE_DEVICES="0,1"))
    assert named[0] == "fail" and "names 2" in named[2][0].detail
    gpus = dropped().gpus
    assert isinstance(gpus, tuple)
    mig = dropped().replace({"gpus": (gpus[0], replace(gpus[1], mig_enabled=True, mig_instances=(MigInstance(),)))})
    assert run(FEWER, mig)[0] == "skipped"
    server = replace(gpus[0], processes=(GpuProcess(pid=7, name="nvidia-cuda-mps-server"),))
    for mps in (dropped().replace({"gpus": (server, gpus[1])}), env(dropped(), CUDA_MPS_PIPE_DIRECTORY="/tmp/mps")):
        status, _, findings = run(FEWER, mps)
        assert (status, findings[0].severity) == ("pass", "info")
    assert run(FEWER, dropped().replace({"host.wsl": 2}))[0] == "warn"
    foreign = Missing("denied", "Insufficient Permissions")
    kept = replace(gpus[1], name=foreign, uuid=foreign, pci_address=foreign)
    assert run(FEWER, dropped().replace({"gpus": (gpus[0], kept)}))[0] == "pass", "not given to this session"


def test_unknown_or_skipped_without_the_deciding_facts() -> None:
    for path in ("gpus", "driver.cuda_devices", "driver.cu_init", "host.environment"):
        assert run(FEWER, dropped().replace({path: NOT_ASKED}))[0] == "unknown", path
    assert run(FEWER, cuda_says(healthy(), 100))[0] == "skipped"
    assert run(FEWER, healthy())[0] == run(FEWER, healthy("h100", "l4"))[0] == "pass"


def test_a_container_that_was_given_some_is_not_judged_by_the_machine() -> None:
    policy = Policy(expect=Expect.parse("2xA100"), judged_on="2026-11-20")
    given = healthy("a100", "a100", container=True)
    assert isinstance(given.gpus, tuple) and isinstance(given.driver.cuda_devices, tuple)
    given = given.replace(
        {
            "gpus": given.gpus[:1],
            "driver.cuda_devices": given.driver.cuda_devices[:1],
            "driver.proc_gpus": 1,
            "container.visible_devices": "0",
        }
    )
    status, _, findings = run(EXPECT, given, policy)
    assert status == "unknown" and findings[0].title.startswith("NVIDIA_VISIBLE_DEVICES=0 hides GPUs")
    assert findings[0].facts["gpus_of_machine"] == 2
    assert run(EXPECT, given.replace({"container.visible_devices": "all"}), policy)[0] == "fail"
    assert run(EXPECT, given, Policy(expect=Expect.parse("3xA100")))[0] == "fail"
    assert run(EXPECT, given, Policy(expect=Expect.parse("1xA100")))[0] == "pass"


def test_mig_counts_by_instances() -> None:
    cut = replace(
        gpu("a100"), mig_enabled=True, mig_instances=tuple(MigInstance(name=f"A100 MIG {i}") for i in range(7))
    )
    for expect, gpus, status in (
        ("7xA100", (cut,), "pass"),
        ("1xA100", (cut,), "fail"),
        ("8", (cut, gpu("a100", 1)), "pass"),
        ("1", (replace(cut, mig_instances=()),), "fail"),
        ("1", (replace(cut, mig_instances=Missing("error")),), "unknown"),
    ):
        assert run(EXPECT, healthy("a100").replace({"gpus": gpus}), Policy(expect=Expect.parse(expect)))[0] == status, (
            expect
        )


def test_one_that_compat_leaves_out_is_it_and_several_are_them() -> None:
    for models, words in (
        (("a100", "rtx4090"), "not support it."),
        (("a100", "rtx4090", "rtx4090"), "not support them."),
    ):
        s = healthy(*models, driver="570.86.10", cuda="12.8", container=True)
        sick = compat_loaded(s).replace({"driver.cuda_devices": (known(s.driver.cuda_devices) or ())[:1]})
        finding = run(FEWER, sick)[2][0]
        assert words in finding.detail and (finding.subject != "") == (len(models) == 2), finding.detail


def beside_mig(devices: str, **variables: str) -> Snapshot:
    """Two A100, the first cut into two instances. `devices`: what CUDA lists, an instance or the whole GPU."""
    s = healthy("a100", "a100")
    first, second = known(s.gpus) or ()
    instances = tuple(MigInstance(uuid=f"MIG-{i}", name="A100 MIG 3g.40gb") for i in range(2))
    listed = known(s.driver.cuda_devices) or ()
    shown = {"instance": (replace(listed[0], uuid="MIG-0"),), "whole": (replace(listed[1], ordinal=0),)}[devices]
    s = s.replace({"gpus": (replace(first, mig_enabled=True, mig_instances=instances), second)})
    return env(s.replace({"driver.cuda_devices": shown}), **variables)


def test_mig_on_one_gpu_hides_a_whole_one() -> None:
    """Mixed modes, with and without masks: (CUDA's list, mask, status, ids of the fixes)."""
    second = str((known(healthy("a100", "a100").gpus) or ())[1].uuid)
    rows = (
        ("instance", {}, "warn", ["choose-whole-gpus", "switch-mig-off"]),
        ("instance", {"CUDA_VISIBLE_DEVICES": "0,1"}, "warn", ["choose-whole-gpus", "switch-mig-off"]),
        ("instance", {"CUDA_VISIBLE_DEVICES": "MIG-0"}, "pass", []),
        ("whole", {"CUDA_VISIBLE_DEVICES": second}, "skipped", []),
    )
    for devices, variables, status, fixes in rows:
        s = beside_mig(devices, **variables)
        found, _, findings = run(FEWER, s)
        assert (found, [fix.id for finding in findings for fix in finding.fixes]) == (status, fixes), (
            devices,
            variables,
        )
        for finding in findings:
            assert_fix_works(s, finding)


def test_an_expectation_that_only_mig_prevents() -> None:
    s = beside_mig("instance")
    for expect, first in (
        ("1xA100", "choose-whole-gpus"),
        ("2xA100", "switch-mig-off"),
        ("8xA100", "choose-another-host"),
    ):
        policy = Policy(expect=Expect.parse(expect), judged_on="2026-11-20")
        finding = run(EXPECT, s, policy)[2][0]
        assert finding.fixes[0].id == first
        assert_fix_works(s, finding, policy)
