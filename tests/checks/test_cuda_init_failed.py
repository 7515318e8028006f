"""cuda-init-failed and the states behind single codes: fabric manager (802), stale uvm (999), lost GPUs."""

from __future__ import annotations

from msgspec.structs import replace

from doctor.findings import Expect, Policy
from doctor.snapshot import NOT_ASKED, LibraryFile, Missing, PciDevice, Snapshot, UnlistedGpu

from ..healthy import healthy
from ..judging import POLICY, assert_fix_works, ids, report, run
from ..rows import for_each
from ..sickness import cuda_says, env, nvml_says, without_libcuda
from .test_no_nvidia_gpu import without_gpu

INIT, FABRIC, STALE, LOST = (
    "cuda-init-failed", "fabric-manager-not-running", "uvm-stale-after-suspend", "gpu-fell-off-bus",
)  # fmt: skip


def no_fabric(s: Snapshot) -> Snapshot:
    """CUDA answers 802 on a board with an NVSwitch."""
    assert not isinstance(s.driver.pci_devices, Missing)
    switch = PciDevice(address="0000:07:00.0", vendor="10de", device="22a3", class_code="068000", driver="nvidia")
    return cuda_says(s, 802).replace({"driver.pci_devices": (*s.driver.pci_devices, switch)})


def one_lost(s: Snapshot) -> Snapshot:
    """The second of two GPUs has fallen off the bus: the driver does not open it any more."""
    assert isinstance(s.gpus, tuple) and isinstance(s.driver.cuda_devices, tuple)
    return s.replace(
        {
            "gpus": s.gpus[:1],
            "driver.nvml_gpu_count": 1,
            "driver.cuda_devices": s.driver.cuda_devices[:1],
            "torch_run.device_count": 1,
            "driver.unlisted_gpus": (
                UnlistedGpu(pci_address=s.gpus[1].pci_address, node="/dev/nvidia1", opening="EIO"),
            ),
        }
    )


@for_each(
    ("check_id", "sick"),
    [
        (INIT, cuda_says(healthy(), 3)),
        (INIT, cuda_says(healthy(container=True), 304)),
        (FABRIC, no_fabric(healthy("h100", "h100"))),
        (FABRIC, cuda_says(healthy(container=True), 802)),
        (STALE, cuda_says(healthy("rtx4090"), 999)),
        (LOST, one_lost(healthy("h100", "h100"))),
        (LOST, nvml_says(cuda_says(healthy(), 999), 15)),
    ],
)
def test_it_comes_first_and_can_be_mended(check_id: str, sick: Snapshot) -> None:
    assert ids(sick)[0] == check_id
    finding = run(check_id, sick)[2][0]
    assert finding.fixes[0].possible_here
    assert_fix_works(sick, finding)


def test_healthy_machines_pass() -> None:
    for s in (healthy(), healthy("h100", "h100"), healthy(container=True)):
        assert [run(i, s)[0] for i in (INIT, FABRIC, STALE, LOST)] == ["pass"] * 4


def test_the_code_is_named_and_told() -> None:
    finding = run(INIT, cuda_says(healthy(), 3))[2][0]
    assert "CUDA_ERROR_NOT_INITIALIZED" in finding.title and finding.facts["cu_init"] == 3


def test_a_code_that_no_table_knows_still_fails() -> None:
    assert run(INIT, cuda_says(healthy(), 123456))[0] == "fail"


def without_its_libcuda(s: Snapshot) -> Snapshot:
    """nvidia-smi works, and the package with libcuda was left out."""
    return without_libcuda(s).replace({"driver.libcuda_candidates": ()})


def test_a_driver_without_its_libcuda_fails() -> None:
    for s in (healthy(torch=False), healthy()):
        sick = without_its_libcuda(s)
        assert ids(sick)[0] == INIT and report(sick).exit_code == 1
        finding = run(INIT, sick)[2][0]
        assert finding.fixes[0].steps[0].command == "apt-get install -y 'libnvidia-compute-580=580.82.07-*'"
        assert_fix_works(sick, finding)
    inside = without_its_libcuda(healthy(container=True))
    assert run(INIT, inside)[0] == "fail"
    assert run(INIT, inside)[2][0].fixes[0].id == "restart-container"


def test_a_missing_libcuda_that_another_check_explains_is_left_to_it() -> None:
    there = LibraryFile(soname="libcuda.so.1", path="/usr/local/nvidia/lib64/libcuda.so.1", found_by="elsewhere")
    assert run(INIT, without_libcuda(healthy()).replace({"driver.libcuda_candidates": (there,)}))[0] == "skipped"
    utility = without_its_libcuda(healthy(container=True)).replace({"container.driver_capabilities": "utility"})
    assert run(INIT, utility)[0] == "skipped"
    nixos = without_its_libcuda(healthy()).replace({"torch_run": healthy().torch_run})
    assert run(INIT, nixos)[0] == "skipped", "torch finds a libcuda that our loader does not"


def test_cuda_that_starts_and_lists_no_gpu_fails() -> None:
    sick = healthy(torch=False).replace({"driver.cuda_devices": ()})
    assert ids(sick, status="fail") == [INIT]
    assert_fix_works(sick, run(INIT, sick)[2][0])


def test_no_gpu_and_a_hidden_gpu_are_no_fault_where_anything_is_expected() -> None:
    """Images bring driver libraries, stubs and compat libraries to machines without a GPU."""
    anything = Policy(expect=Expect(kind="any"), judged_on="2026-11-20")
    libraries = {"driver.libcuda_path": "/usr/lib/libcuda.so.535.183.01", "driver.nvml_library_path": "/usr/lib/n.so"}
    laptop = cuda_says(without_gpu(healthy()), 100).replace({**libraries, "driver.nvml_init": 9})
    stub = without_gpu(healthy(torch=False)).replace({"driver.libcuda_stub": True, "driver.cu_init": 34, **libraries})
    masked = env(cuda_says(healthy(), 100), CUDA_VISIBLE_DEVICES="")
    for s in (laptop, stub, masked):
        assert ids(s, anything, "fail") == []
        assert report(s, POLICY).verdict == "fail"
    assert ids(cuda_says(healthy(), 100), anything, "fail")[0] == INIT, "a GPU that is there is judged in full"


def test_a_code_alone_tells_of_no_other_version() -> None:
    for s in (healthy(), healthy(container=True)):
        words = " ".join(step.text for fix in run(INIT, cuda_says(s, 3))[2][0].fixes for step in fix.steps)
        assert "version" not in words


def test_a_gpu_that_says_it_is_lost() -> None:
    s = healthy()
    assert isinstance(s.gpus, tuple)
    gone = replace(s.gpus[0], memory_total_mib=Missing("error", "NVML 15: GPU is lost"))
    assert run(LOST, s.replace({"gpus": (gone,)}))[0] == "fail"


def test_fewer_gpus_than_the_bus_shows_are_no_fault_in_a_container() -> None:
    assert run(LOST, one_lost(healthy("h100", "h100", container=True)))[0] == "pass"


def test_999_is_not_judged_in_containers_and_wsl() -> None:
    assert run(STALE, cuda_says(healthy(container=True), 999))[0] == "skipped"
    assert run(STALE, cuda_says(healthy().replace({"host.wsl": 2}), 999))[0] == "skipped"


def test_unknown_without_the_deciding_facts() -> None:
    blind = healthy().replace({"driver.cu_init": NOT_ASKED, "torch_run.first_call_code": NOT_ASKED, "gpus": NOT_ASKED})
    assert [run(i, blind)[0] for i in (INIT, FABRIC, STALE, LOST)] == ["unknown"] * 4
    assert run(STALE, cuda_says(healthy(), 999).replace({"driver.nvml_init": NOT_ASKED}))[0] == "unknown"
