"""container-no-gpu-flag and its kin: what a container or job was given, judged by what is really missing."""

from __future__ import annotations

from doctor.snapshot import ABSENT, NOT_ASKED, Missing, Snapshot

from ..healthy import healthy, nodes
from ..judging import assert_fix_works, ids, report, run
from ..rows import for_each
from ..sickness import cuda_says, env, gvisor, not_given, not_installed, unlisted, without_libcuda, without_nvml
from .test_no_nvidia_gpu import without_gpu

FLAG, CAPS = "container-no-gpu-flag", "container-driver-capabilities-missing"
NV, CLASS, JOB = "apptainer-without-nv", "k8s-runtimeclass-missing", "scheduler-gpu-allocation"


def inside(kind: str = "docker") -> Snapshot:
    return healthy(container=True).replace({"container.kind": kind})


def utility_only(s: Snapshot) -> Snapshot:
    return without_libcuda(s).replace({"container.driver_capabilities": "utility"})


def apptainer(s: Snapshot) -> Snapshot:
    """The host's /dev, none of its libraries."""
    return not_given(s).replace({"container.kind": "apptainer", "driver.device_nodes": nodes(1)})


def allocated(s: Snapshot) -> Snapshot:
    s = not_given(s).replace({"container.kind": "kubernetes", "host.scheduler": "kubernetes"})
    return s.replace({"container.visible_devices": "GPU-00000000-0000-4000-8000-233000000000"})


def job(s: Snapshot) -> Snapshot:
    return env(unlisted(s), SLURM_JOB_ID="4711", CUDA_VISIBLE_DEVICES="NoDevFiles").replace({"host.scheduler": "slurm"})


@for_each(
    ("check_id", "sick"),
    [
        (FLAG, not_given(inside())),
        (FLAG, not_given(inside("podman"))),
        (FLAG, not_given(inside("kubernetes"))),
        (FLAG, not_given(inside()).replace({"host.provider": "runpod"})),
        (CAPS, utility_only(inside())),
        (CAPS, without_libcuda(inside()).replace({"container.driver_capabilities": None})),
        (NV, apptainer(inside())),
        (CLASS, allocated(inside())),
        (JOB, job(healthy())),
    ],
)
def test_it_comes_first_and_can_be_mended(check_id: str, sick: Snapshot) -> None:
    assert ids(sick)[0] == check_id
    first = report(sick).findings[0]
    assert all(f.downstream_of for f in report(sick).findings[1:] if f.status != "warn"), "one cause, one root"
    assert first.fixes[0].possible_here
    assert_fix_works(sick, first)


@for_each(
    ("kind", "word"),
    [
        ("docker", "--gpus all"),
        ("podman", "nvidia.com/gpu=all"),
        ("kubernetes", "nvidia.com/gpu: 1"),
        ("containerd", "nerdctl"),
    ],
)
def test_the_start_is_told_in_the_engines_words(kind: str, word: str) -> None:
    assert word in run(FLAG, not_given(inside(kind)))[2][0].fixes[0].steps[0].command


def test_apptainer_is_open_where_nothing_shows_a_driver_of_the_host() -> None:
    """Its version, its device nodes or its cards: each shows that the host has one."""
    unread = {"driver.modules": NOT_ASKED, "driver.kernel_version": NOT_ASKED, "driver.pci_devices": NOT_ASKED,
              "driver.device_nodes": ()}  # fmt: skip
    cards = apptainer(inside()).driver.pci_devices
    for shown, status in (
        ({"driver.kernel_version": "580.65.06"}, "fail"), ({"driver.device_nodes": nodes(1)}, "fail"),
        ({"driver.pci_devices": cards}, "fail"), ({}, "unknown"), ({"driver.modules": ()}, "skipped"),
    ):  # fmt: skip
        assert run(NV, apptainer(inside()).replace(unread | shown))[0] == status, shown


def test_healthy_machines_pass() -> None:
    assert [run(i, healthy())[0] for i in (FLAG, CAPS, NV, CLASS, JOB)] == ["skipped"] * 5
    assert [run(i, inside())[0] for i in (FLAG, CAPS)] == ["pass", "pass"]
    assert run(NV, inside("apptainer"))[0] == "pass"
    assert run(JOB, env(healthy(), SLURM_JOB_ID="1", SLURM_JOB_GPUS="0"))[0] == "pass"


def test_missing_utility_is_a_warning_while_cuda_works() -> None:
    sick = without_nvml(healthy("h100", "h100", container=True)).replace({"container.driver_capabilities": "compute"})
    status, _, findings = run(CAPS, sick)
    assert status == "warn"
    assert_fix_works(sick, findings[0])


def test_missing_utility_is_a_remark_where_one_gpu_works() -> None:
    s = without_nvml(inside()).replace({"container.driver_capabilities": "compute"})
    assert report(s).verdict == "pass"
    assert [f.id for f in report(s).remarks] == [CAPS]


def test_capabilities_that_lack_nothing_needed_are_no_fault() -> None:
    assert run(CAPS, inside().replace({"container.driver_capabilities": "graphics"}))[0] == "pass"


def test_void_is_told_by_its_own_variable() -> None:
    sick = not_given(inside()).replace({"container.visible_devices": "void"})
    assert ids(sick)[:2] == ["cuda-visible-devices-wrong", FLAG]


def test_another_cause_is_not_this_one() -> None:
    assert FLAG not in ids(not_installed(inside()))
    assert FLAG not in ids(without_gpu(inside()))
    assert JOB not in ids(env(cuda_says(healthy(), 100), SLURM_JOB_ID="1", CUDA_VISIBLE_DEVICES="-1"))


def test_unknown_without_the_deciding_facts() -> None:
    blind = not_given(inside()).replace({"driver.device_nodes": Missing("denied")})
    assert run(FLAG, blind)[0] == "unknown"
    assert run(CAPS, blind)[0] == "unknown"
    assert run(FLAG, gvisor(inside()))[0] == "unknown"
    assert run(FLAG, healthy().replace({"container.kind": NOT_ASKED}))[0] == "unknown"
    assert run(CAPS, utility_only(inside()).replace({"container.driver_capabilities": NOT_ASKED}))[0] == "unknown"
    assert (
        run(NV, gvisor(inside()).replace({"container.kind": "apptainer", "driver.libcuda_path": NOT_ASKED}))[0]
        == "unknown"
    )
    assert run(CLASS, allocated(inside()).replace({"container.visible_devices": NOT_ASKED}))[0] == "unknown"
    assert run(JOB, job(healthy()).replace({"host.environment": NOT_ASKED}))[0] == "unknown"
    asked = env(cuda_says(healthy(), 100), SLURM_JOB_ID="1").replace({"gpus": ABSENT, "driver.cu_init": NOT_ASKED})
    assert run(JOB, asked)[0] == "unknown"
