"""no-nvidia-gpu: decided by the PCI list, and by nothing else."""

from __future__ import annotations

from doctor.findings import Expect, Policy
from doctor.snapshot import ABSENT, DeviceNode, Missing, PciDevice, Snapshot

from ..healthy import healthy
from ..judging import assert_fix_works, run
from ..rows import for_each
from ..sickness import without_libcuda, without_nvml


def without_gpu(s: Snapshot) -> Snapshot:
    """A machine with only AMD graphics: every fact that the missing card changes."""
    return s.replace(
        {
            "driver.pci_devices": (
                PciDevice(address="0000:03:00.0", vendor="1002", device="73bf", class_code="030000"),
            ),
            "driver.kernel_version": ABSENT,
            "driver.kernel_flavour": ABSENT,
            "driver.modules": (),
            "driver.device_nodes": (),
            "driver.proc_gpus": ABSENT,
            "driver.nvml_init": ABSENT,
            "driver.nvml_driver_version": ABSENT,
            "driver.nvml_library_path": ABSENT,
            "driver.nvml_library_version": ABSENT,
            "driver.libcuda_path": ABSENT,
            "driver.libcuda_version": ABSENT,
            "driver.cu_init": ABSENT,
            "driver.cuda_version": ABSENT,
            "driver.cuda_devices": ABSENT,
            "gpus": ABSENT,
        }
    )


def test_healthy_machine_passes() -> None:
    assert run("no-nvidia-gpu", healthy())[0] == "pass"


def test_a_bus_without_nvidia_fails_and_names_what_is_there() -> None:
    status, _, findings = run("no-nvidia-gpu", without_gpu(healthy()))
    assert status == "fail"
    assert "AMD" in findings[0].detail


def test_the_fix_works() -> None:
    sick = without_gpu(healthy())
    assert_fix_works(sick, run("no-nvidia-gpu", sick)[2][0])


@for_each(
    ("provider", "words", "here"),
    [
        ("colab", "Runtime > Change runtime type > a GPU", True),
        ("kaggle", "Settings > Accelerator > a GPU", True),
        ("runpod", "with a plan that includes an NVIDIA GPU", False),
        ("", "with a plan that includes an NVIDIA GPU", False),
    ],
)
def test_where_a_session_gets_its_gpu(provider: str, words: str, here: bool) -> None:
    """In a notebook's session it is a setting, which its user can reach."""
    sick = without_gpu(healthy()).replace({"host.provider": provider or Missing("absent")})
    step = run("no-nvidia-gpu", sick)[2][0].fixes[0].steps[0]
    assert words in step.text and step.possible_here is here


def test_an_unreadable_bus_is_unknown() -> None:
    for reason in ("denied", "absent", "timeout"):
        sick = without_gpu(healthy()).replace({"driver.pci_devices": Missing(reason)})  # type: ignore[arg-type]
        assert run("no-nvidia-gpu", sick)[0] == "unknown"


def test_no_gpu_is_a_remark_where_any_machine_will_do() -> None:
    status, _, findings = run("no-nvidia-gpu", without_gpu(healthy()), Policy(expect=Expect(kind="any")))
    assert status == "pass"
    assert [f.severity for f in findings] == ["info"]


def test_a_jetson_is_not_judged_by_its_pci_list() -> None:
    jetson = without_gpu(healthy()).replace(
        {"driver.device_nodes": (DeviceNode(path="/dev/nvhost-gpu", kind="tegra"),)}
    )
    assert run("no-nvidia-gpu", jetson)[0] == "skipped"
    listed = without_gpu(healthy()).replace({"driver.cuda_devices": healthy().driver.cuda_devices, "driver.cu_init": 0})
    assert run("no-nvidia-gpu", listed)[0] == "pass"


def test_wsl_is_not_judged_by_its_pci_list() -> None:
    sick = without_gpu(healthy()).replace({"host.wsl": 2})
    assert run("no-nvidia-gpu", sick)[0] == "skipped"


def test_macos_has_no_cuda() -> None:
    mac = without_nvml(without_libcuda(healthy())).replace(
        {"host.system": "darwin", "driver.pci_devices": Missing("absent"), "driver.device_nodes": Missing("absent")}
    )
    assert run("no-nvidia-gpu", mac)[0] == "fail"
    assert_fix_works(mac, run("no-nvidia-gpu", mac)[2][0])
    assert run("no-nvidia-gpu", mac, Policy(expect=Expect.parse("any")))[0] == "pass"
