"""One policy for which torch: the installed minor release where a build of it fits, else what `resolve` recommends."""

from __future__ import annotations

from typing import Any

from compat_matrix.resolver import resolve
from compat_matrix.versions import numbers
from doctor.fixes.compatible import compatible_torch
from doctor.fixes.which_torch import which_torch
from doctor.resolve.machine import Unclear, of_snapshot
from doctor.snapshot import ABSENT, Missing, PciDevice, Snapshot, known

from ..healthy import healthy
from ..judging import matrix
from ..rows import Faults, for_each
from ..torches import with_other_build, with_torch, without_torch

DRIVERS = {"470.256.02": "11.4", "535.261.03": "12.2", "570.211.01": "12.8", "580.82.07": "13.0", "590.44.01": "13.1"}
BUILDS = (("2.1.2", "cu121"), ("2.6.0", "cu124"), ("2.9.1", "cu128"), ("2.11.0", "cu130"))
SYSTEMS: dict[str, dict[str, Any]] = {
    "Linux": {},
    "Arm": {"host.architecture": "aarch64"},
    "Windows": {"host.system": "windows", "host.libc": ABSENT, "driver.kernel_version": Missing("absent")},
    "WSL": {"host.wsl": 2},
    "glibc 2.17": {"host.libc": "glibc 2.17"},
    "Python 3.8": {"python.patient.version": "3.8.20"},
    "Python 3.13t": {"python.patient.version": "3.13.1", "python.patient.free_threaded": True},
}


def fitting(s: Snapshot) -> list[tuple[str, str]]:
    """Every build that fits the machine as `resolve` sees it, best first."""
    found = resolve(matrix(), of_snapshot(s, matrix()).question([])).candidates
    return [(one.build.torch, one.build.tag) for one in found if one.grade != "forward-compat"]


def test_every_machine_keeps_its_minor_release_or_takes_what_resolve_recommends() -> None:
    kept = taken = 0
    with Faults() as faults:
        for n, model in enumerate(("h100", "v100", "rtx5090", "rtx3060 rtx5090")):
            for i, (driver, cuda) in enumerate(DRIVERS.items()):
                version, tag = BUILDS[(i + n) % len(BUILDS)]
                s = with_torch(healthy(*model.split(), driver=driver, cuda=cuda), version, tag)
                with faults.of(f"{model}, driver {driver}, torch {version}"):
                    there = fitting(s)
                    own = [one for one in there if numbers(one[0])[:2] == numbers(version)[:2]]
                    choice = which_torch(s, matrix())
                    if not there:
                        assert choice is None
                        continue
                    assert choice is not None and choice.which.keeps == bool(own)
                    build = (choice.build.torch, choice.build.tag)
                    assert build in own if own else build == there[0]
                    assert (version, tag) not in own or build == (version, tag), "what fits stays"
                    newest = max(there, key=lambda one: numbers(one[0]))[0]
                    assert choice.which.newest == newest and newest in choice.which.sentence
                    kept, taken = kept + bool(own), taken + (not own)
    assert min(kept, taken) >= 3, "both happen"


@for_each("system", list(SYSTEMS))
def test_an_empty_environment_gets_what_resolve_recommends(system: str) -> None:
    for model in ("h100", "rtx4090", "v100", "rtx5090"):
        s = without_torch(healthy(model)).replace(SYSTEMS[system])
        there, choice = fitting(s), which_torch(s, matrix())
        assert (choice and (choice.build.torch, choice.build.tag)) == (there[0] if there else None), model


def test_another_patch_of_the_minor_release_is_kept() -> None:
    """A patch that the matrix does not list is replaced by one that it does, of the same minor."""
    s = with_torch(healthy("h100"), "2.9.0", "cu128")
    assert which_torch(s.replace({"torch.version": "2.9.7+cu128"}), matrix()).build.torch == "2.9.1"  # type: ignore[union-attr]


@for_each("version", ["2.10.0.dev20251118+cu128", "2.8.0a0+34c6371d24.nv25.08"])
def test_nothing_is_kept_of_a_nightly_or_a_vendors_build(version: str) -> None:
    s = healthy("h100").replace({"torch.version": version})
    choice = which_torch(s, matrix())
    assert choice and not choice.which.installed and (choice.build.torch, choice.build.tag) == fitting(s)[0]


def test_a_cpu_build_is_replaced_in_its_release() -> None:
    choice = which_torch(with_other_build(healthy("h100")), matrix())
    assert choice and choice.which.keeps and choice.build.torch == "2.8.0"


def test_boards_on_the_bus_are_considered_where_no_driver_names_them() -> None:
    card = PciDevice(address="0000:3b:00.0", vendor="10de", device="1db1", class_code="030200")
    s = without_torch(healthy("v100")).replace(
        {"gpus": Missing("error"), "driver.cuda_devices": Missing("error"), "driver.pci_devices": (card,)}
    )
    choice = which_torch(s, matrix())
    assert (
        choice and list(choice.build.served_by) == ["7.0"] and (choice.build.torch, choice.build.tag) == fitting(s)[0]
    )


def test_a_driver_that_does_not_drive_the_gpu_comes_first() -> None:
    s = without_torch(healthy("rtx5090", driver="550.163.01", cuda="12.4"))
    fix = compatible_torch(s, matrix())
    assert which_torch(s, matrix()) is None and fix and fix.id == "newer-driver-and-torch"


@for_each("libc", ["musl 1.2.5", "musl 1.1"])
def test_musl_has_no_build(libc: str) -> None:
    s = healthy("h100").replace({"host.libc": libc})
    assert which_torch(s, matrix()) is None
    try:
        of_snapshot(s, matrix())
    except Unclear as unclear:
        assert unclear.unknown and "musl" in str(unclear)
    else:
        raise AssertionError("resolve names a build")


def test_a_jetson_gets_no_wheel_of_the_index() -> None:
    s = healthy("h100").replace({"host.kernel": "5.15.148-tegra"})
    fix = compatible_torch(s, matrix())
    assert fix and fix.id == "jetson-build"


def test_an_unknown_gpu_does_not_hide_the_answer_for_the_others() -> None:
    s = healthy("h100", "a100")
    gpus = known(s.gpus) or ()
    lost = gpus[1].with_(name=Missing("error"), compute_capability=Missing("error"), pci_device_id=Missing("error"))
    machine = of_snapshot(s.replace({"gpus": (gpus[0], lost)}), matrix())
    assert [one.capability for one in machine.cards] == ["9.0"] and "not considered" in machine.notes[0]
