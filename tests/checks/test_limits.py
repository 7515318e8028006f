"""Limits of the container or process: shared memory, locked memory, files, cores, memory; variables that slow CUDA."""

from __future__ import annotations

from doctor.checks._bad_variables import VARIABLES
from doctor.findings import Policy
from doctor.patient.env_names import wanted
from doctor.snapshot import ABSENT, NOT_ASKED, GpuPair, Snapshot

from ..healthy import healthy
from ..judging import assert_fix_works, ids, run
from ..rows import for_each
from ..sickness import env

SHM, LOCK, FILES, CORES, MEMORY, VARIABLE = (
    "shm-too-small", "memlock-limit", "open-files-low", "cpu-quota-too-small", "cgroup-memory-too-small",
    "environment-variable-breaks-cuda",
)  # fmt: skip
TWO = ("h100", "h100")


def machine(*models: str, container: bool = True, **host: object) -> Snapshot:
    facts = {"host.rdma_devices": 0, **{f"host.{name}": value for name, value in host.items()}}
    return healthy(*models, container=container).replace(facts)


@for_each(
    ("check_id", "sick"),
    [
        (SHM, machine(shm_mib=64)),
        (SHM, machine(shm_mib=0)),
        (SHM, machine(shm_mib=64, provider="runpod")),
        (LOCK, machine(*TWO, memlock_kib=8192, rdma_devices=8)),
        (LOCK, machine(*TWO, container=False, memlock_kib=65536, rdma_devices=1)),
        (CORES, machine(cpu_quota_cores=0.5)),
        (CORES, machine(*TWO, cpu_cores=1)),
        (CORES, machine(*TWO, container=False, cpu_quota_cores=1.5)),
        (MEMORY, machine(memory_limit_mib=2048)),
        (MEMORY, machine(container=False, memory_limit_mib=4000)),
        (VARIABLE, env(machine(), CUDA_LAUNCH_BLOCKING="1")),
        (VARIABLE, env(machine(), CUDA_LAUNCH_BLOCKING="1")),
        (VARIABLE, env(machine(*TWO), NCCL_P2P_DISABLE="1")),
        (VARIABLE, env(machine(), CUDA_INJECTION64_PATH="/opt/x.so")),
    ],
)
def test_a_limit_that_is_too_low_is_the_only_finding_and_can_be_mended(check_id: str, sick: Snapshot) -> None:
    assert ids(sick) == [check_id]
    finding = run(check_id, sick)[2][0]
    assert finding.status == "warn" and finding.fixes[0].possible_here
    assert_fix_works(sick, finding)


@for_each(
    ("check_id", "fine", "said"),
    [
        (SHM, machine(shm_mib=65), 0),
        (SHM, machine(container=False, shm_mib=64), 0),
        (SHM, healthy(torch=False, container=True).replace({"host.shm_mib": 64}), 0),
        (LOCK, machine(*TWO, memlock_kib=8192), 0),
        (LOCK, machine(memlock_kib=8192, rdma_devices=1), 1),
        (LOCK, machine(memlock_kib=32), 1),
        (LOCK, machine(*TWO, memlock_kib=-1, rdma_devices=8), 0),
        (LOCK, machine(*TWO, memlock_kib=64 << 20, rdma_devices=8), 0),
        (FILES, machine(open_files=1024), 0),
        (FILES, machine(open_files=256), 1),
        (FILES, machine(*TWO, open_files=1024), 1),
        (FILES, machine(open_files=-1), 0),
        (CORES, machine(cpu_quota_cores=1.0), 0),
        (CORES, machine(cpu_cores=1), 0),
        (CORES, machine(cpu_cores=ABSENT, cpu_quota_cores=ABSENT), 0),
        (MEMORY, machine(memory_limit_mib=32000), 1),
        (MEMORY, machine(memory_limit_mib=100000), 0),
        (MEMORY, machine("gtx1080", memory_limit_mib=4000), 1),
        (MEMORY, machine(), 0),
        (VARIABLE, env(machine(), CUDA_LAUNCH_BLOCKING="0", CUDA_MODULE_LOADING="LAZY", NCCL_DEBUG="INFO"), 0),
        (VARIABLE, env(machine(), NCCL_P2P_DISABLE="1", TORCH_DISTRIBUTED_DEBUG="DETAIL"), 0),
        (VARIABLE, env(machine(), PYTORCH_NVML_BASED_CUDA_CHECK="1", CUDA_COREDUMP_FILE="/tmp/x"), 2),
        (
            VARIABLE,
            env(machine(*TWO), NCCL_P2P_DISABLE="1").replace({"gpu_pairs": (GpuPair(a="a", b="b", p2p_read=1),)}),
            1,
        ),
    ],
)
def test_limits_that_are_no_fault(check_id: str, fine: Snapshot, said: int) -> None:
    status, _, findings = run(check_id, fine)
    assert status in ("pass", "skipped") and len(findings) == said


@for_each(
    ("check_id", "path"),
    [
        (SHM, "host.shm_mib"),
        (SHM, "container.kind"),
        (LOCK, "host.memlock_kib"),
        (FILES, "host.open_files"),
        (CORES, "host.cpu_quota_cores"),
        (CORES, "gpus"),
        (MEMORY, "host.memory_limit_mib"),
        (VARIABLE, "host.environment"),
    ],
)
def test_unknown_without_the_deciding_fact(check_id: str, path: str) -> None:
    assert run(check_id, machine().replace({path: NOT_ASKED}))[0] == "unknown"


def test_locked_memory_is_unknown_where_nobody_looked_for_rdma() -> None:
    assert run(LOCK, machine(memlock_kib=8192, rdma_devices=NOT_ASKED))[0] == "unknown"


def test_thresholds_of_limits_are_the_policys() -> None:
    for check_id, name, value, s in (
        (SHM, "shm_warn_mib", 1024, machine(shm_mib=512)),
        (CORES, "cores_per_gpu", 8, machine(cpu_cores=6)),
        (MEMORY, "memory_limit_warn_mib", 16384, machine(memory_limit_mib=10000)),
        (LOCK, "memlock_warn_kib", 1 << 30, machine(*TWO, memlock_kib=64 << 20, rdma_devices=8)),
    ):
        assert run(check_id, s)[0] == "pass"
        assert run(check_id, s, Policy(thresholds={name: value}))[0] == "warn"
    assert len(run(FILES, machine(open_files=5000), Policy(thresholds={"open_files": 10000}))[2]) == 1


def test_every_variable_of_the_table_is_gathered_and_shows_when_set() -> None:
    for row in VARIABLES:
        assert wanted(row.name), row.name
        value = "/tmp/x" if row.values == "*" else row.values[0].upper()
        findings = run(VARIABLE, env(machine(*TWO), **{row.name: value}))[2]
        assert [f.subject for f in findings] == [row.name]
        assert findings[0].status == ("warn" if row.level == "warn" else "pass")


def test_wording_of_the_container_that_it_runs_in() -> None:
    pod = machine(shm_mib=64).replace({"container.kind": "kubernetes"})
    assert "emptyDir" in run(SHM, pod)[2][0].fixes[0].steps[0].command
    rented = machine(shm_mib=64, provider="runpod")
    assert "RunPod" in run(SHM, rented)[2][0].fixes[0].steps[0].text


def test_eager_loading_is_a_remark() -> None:
    status, _, (finding,) = run(VARIABLE, env(machine(), CUDA_MODULE_LOADING="EAGER"))
    assert (status, finding.severity) == ("pass", "info")


def test_one_core_is_told_in_the_singular() -> None:
    (finding,) = run("cpu-quota-too-small", healthy("h100", "h100").replace({"host.cpu_quota_cores": 1.0}))[2]
    assert finding.title == "Only 1 processor core for 2 GPUs"


def test_four_gib_for_an_h100_is_a_warning() -> None:
    for mib, status in ((4096, "warn"), (16384, "pass"), (128 << 10, "pass")):
        assert run("cgroup-memory-too-small", healthy().replace({"host.memory_limit_mib": mib}))[0] == status
