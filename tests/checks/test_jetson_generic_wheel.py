"""jetson-generic-wheel: a published aarch64 wheel on a Jetson board leads; what follows from it is folded."""

from __future__ import annotations

from doctor.snapshot import DeviceNode, Missing, Snapshot

from ..healthy import healthy
from ..judging import assert_fix_works, ids, report, run
from ..rows import for_each
from ..torches import no_kernel_image, not_asked, with_other_build
from .test_triton import on

ID = "jetson-generic-wheel"


def orin(capability: str = "8.7") -> Snapshot:
    """A Jetson board: Tegra nodes, no PCI GPU, aarch64."""
    s = on(healthy(), capability)
    node = DeviceNode(path="/dev/nvmap", kind="tegra", readable=True, writable=True)
    return s.replace(
        {
            "host.kernel": "5.15.148-tegra",
            "host.architecture": "aarch64",
            "driver.device_nodes": (node,),
            "driver.pci_devices": (),
            "driver.modules": ("nvidia",),
        }
    )


def test_a_cpu_wheel_leads() -> None:
    sick = with_other_build(orin())
    assert ids(sick, status="fail")[0] == ID
    found = {f.id: f.downstream_of for f in report(sick).findings}
    assert ID in found["cpu-only-torch"]
    assert_fix_works(sick, run(ID, sick)[2][0])


def test_a_server_build_without_code_for_the_board_leads() -> None:
    sick = no_kernel_image(orin())
    assert ids(sick, status="fail")[0] == ID
    assert all(ID in f.downstream_of for f in report(sick).findings if f.id.startswith("torch-"))
    assert_fix_works(sick, run(ID, sick)[2][0])


def test_a_build_with_the_boards_code_passes() -> None:
    good = orin().replace({"torch.sass": ("8.0", "8.7", "9.0")})
    assert run(ID, good)[0] == "pass"
    thor = orin("11.0").replace(
        {"torch.sass": ("8.0", "9.0", "11.0"), "torch.cuda": "13.0", "torch.version": "2.9.0+cu130"}
    )
    assert run(ID, thor)[0] == "pass"


def test_nvidias_build_is_not_judged_by_the_list() -> None:
    assert run(ID, orin().replace({"torch.version": "2.5.0a0+872d972e41.nv24.8"}))[0] == "pass"


@for_each("model", ["h100", "rtx4090"])
def test_other_machines_are_no_jetson(model: str) -> None:
    assert run(ID, healthy(model))[0] == "skipped"


def test_unknown_without_the_build() -> None:
    gone = {name: Missing("denied") for name in ("torch.sass", "torch.ptx", "torch.arch_text", "torch_run.arch_list")}
    assert run(ID, not_asked(orin()).replace({**gone, "torch.version": "2.8.0"}))[0] == "unknown"
