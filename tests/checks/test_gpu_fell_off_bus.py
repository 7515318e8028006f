"""gpu-fell-off-bus: lost, not given to this session, or nobody knows."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from doctor.snapshot import Missing, Snapshot, UnlistedGpu

from ..healthy import healthy
from ..judging import POLICY, assert_fix_works, ids, report, run
from ..sickness import env

OFF = "gpu-fell-off-bus"
SECOND = "0000:11:00.0"
NO_NODE = Missing("absent", "no such node")


def unlisted(s: Snapshot | None = None, **said: Any) -> Snapshot:
    """NVML and CUDA list the first of two GPUs only; what the kernel says of the second."""
    s = s or healthy("h100", "h100")
    assert isinstance(s.gpus, tuple) and isinstance(s.driver.cuda_devices, tuple)
    changes: dict[str, Any] = {
        "gpus": s.gpus[:1],
        "driver.cuda_devices": s.driver.cuda_devices[:1],
        "driver.nvml_gpu_count": 1,
    }
    if said:
        changes["driver.unlisted_gpus"] = (UnlistedGpu(pci_address=SECOND, node="/dev/nvidia1", **said),)
    return s.replace(changes)


def test_a_restriction_is_no_fault() -> None:
    for said in (
        {"opening": "EPERM"},
        {"opening": "EACCES"},
        {"opening": NO_NODE},
        {"opening": "ok", "excluded": True},
    ):
        s = unlisted(**said)
        assert ids(s) == [], said
        status, _, findings = run(OFF, s)
        assert status == "pass" and findings[0].severity == "info" and findings[0].facts["not_given"] == [SECOND]
        assert findings[0].facts["gpus_of_machine"] == 2 and findings[0].facts["gpus_of_session"] == 1
    for variable in ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"):
        for s in (unlisted(), unlisted(opening="ok")):
            assert ids(env(s, **{variable: "4711"})) == [], variable
    grid = {"JOB_ID": "4711", "SGE_ROOT": "/opt/sge"}
    assert ids(env(unlisted(), **grid)) == [] and ids(env(unlisted(), JOB_ID="4711")) == [OFF], (
        "any CI system has a JOB_ID"
    )


def test_what_the_driver_or_the_kernel_log_calls_lost() -> None:
    for said in (
        {"opening": "EIO"},
        {"opening": "ENODEV"},
        {"opening": "ENXIO"},
        {"opening": "ok", "fell_off_in_log": True},
    ):
        sick = env(unlisted(**said), PBS_JOBID="4711") if said["opening"] == "ENODEV" else unlisted(**said)
        assert ids(sick) == [OFF], said
        finding = run(OFF, sick)[2][0]
        assert finding.status == "fail" and SECOND in finding.title
        *_, last = finding.fixes[0].steps
        assert last.command.endswith("ipmitool chassis power cycle") and last.ends == "all jobs on this host"
        assert_fix_works(sick, finding)


def test_a_lost_gpu_of_somebody_else_is_a_warning() -> None:
    status, _, findings = run(OFF, unlisted(opening="EPERM", fell_off_in_log=True))
    assert status == "warn" and SECOND in findings[0].title
    steps = [step for fix in findings[0].fixes for step in fix.steps]
    assert [step.text for step in steps] == [f"Nothing to do here. Tell the operator: GPU {SECOND} is lost."]
    assert not any(step.command or step.ends for step in steps)


def test_who_switches_the_power_off_and_on() -> None:
    """The button under the desk, the BMC of a server, the provider of a virtual machine; never a shutdown afar."""
    for facts, line, where in (
        ({"host.chassis": "desktop"}, "shutdown -h now", "host"),
        ({"host.chassis": "laptop"}, "shutdown -h now", "host"),
        ({"host.chassis": "server"}, "sync && ipmitool chassis power cycle", "host"),
        ({"host.chassis": Missing("absent")}, "sync && ipmitool chassis power cycle", "host"),
        ({"host.chassis": "desktop", "host.virtualization": "kvm"}, "", "provider"),
        ({"host.chassis": "server", "host.provider": "aws"}, "", "provider"),
    ):
        base = {"host.virtualization": "none", "host.provider": Missing("absent"), "host.user_is_root": True}
        finding = report(unlisted(opening="EIO").replace({**base, **facts})).findings[0]
        (step,) = finding.fixes[0].steps
        assert (step.command, step.where, step.ends) == (line, where, "all jobs on this host"), facts
        assert step.destructive


def test_a_node_of_a_cluster_is_drained_first() -> None:
    for facts, words in (
        ({"host.cluster_node": "slurm"}, "scontrol update nodename="),
        ({"host.cluster_node": "kubernetes"}, "kubectl cordon"),
        ({"host.scheduler": "pbs", "host.user_is_root": True}, "pbsnodes -o"),
    ):
        first, *rest = report(unlisted(opening="EIO").replace(facts)).findings[0].fixes[0].steps
        assert words in first.command and not first.ends and rest[-1].ends == "all jobs on this host", facts


def test_where_nothing_tells_both_are_named() -> None:
    for s in (unlisted(), unlisted(opening="ok"), unlisted(opening="EBUSY"), unlisted(opening=Missing("timeout"))):
        whole = report(s)
        assert (whole.exit_code, [f.id for f in whole.findings]) == (3, [OFF])
        finding = whole.findings[0]
        assert finding.status == "unknown" and SECOND in finding.title
        assert "lost" in finding.title and "not given" in finding.title
    assert "did not return" in report(unlisted(opening=Missing("timeout"))).findings[0].detail


def test_nvml_says_lost_and_the_pci_list_names_it() -> None:
    s = healthy("h100", "h100", "h100")
    assert isinstance(s.gpus, tuple)
    lost = Missing("error", "NVML 15: GPU is lost")
    nameless = replace(s.gpus[1], key="gpu-1", name=lost, uuid=lost, pci_address=lost, compute_capability=lost)
    sick = s.replace({"gpus": (s.gpus[0], nameless, s.gpus[2])})
    finding = run(OFF, sick)[2][0]
    assert finding.title == f"The GPU at {SECOND} no longer responds" and finding.facts["gpu"] == SECOND
    assert_fix_works(sick, finding, POLICY)
    named = s.replace({"gpus": (s.gpus[0], replace(s.gpus[1], temperature_c=lost), s.gpus[2])})
    assert [f.title for f in run(OFF, named)[2]] == [f"The NVIDIA H100 80GB HBM3 at {SECOND} no longer responds"]
    dead = s.replace(
        {
            "driver.nvml_init": 15,
            "gpus": lost,
            "driver.unlisted_gpus": (
                UnlistedGpu(pci_address="0000:10:00.0", opening="ok"),
                UnlistedGpu(pci_address=SECOND, opening="EIO"),
            ),
        }
    )
    assert SECOND in run(OFF, dead)[2][0].title


def test_the_step_fits_the_place() -> None:
    s = unlisted(opening="EIO")
    rented = run(OFF, s.replace({"host.virtualization": "amazon", "host.provider": "aws"}))[2][0].fixes[0]
    assert rented.title == "Stop and start the instance" and not rented.steps[0].command
    assert "reboot" not in "".join(step.command for step in (*run(OFF, s)[2][0].fixes[0].steps, *rented.steps))


def test_no_false_alarm_where_the_number_differs_for_other_reasons() -> None:
    cards = healthy("h100", "h100").driver.pci_devices
    host = unlisted().replace({"driver.proc_gpus": 1, "driver.pci_devices": cards})
    assert ids(host) == [], "virtual functions of a vGPU host are on the bus, and are no GPUs of the driver's"
    assert ids(unlisted(healthy("h100", "h100", container=True))) == []
    for path in ("gpus", "driver.pci_devices"):
        status = run(OFF, unlisted().replace({path: Missing("denied")}))[0]
        assert status == ("unknown" if path == "gpus" else "pass")
