"""A driver is the whole machine's: a fix that would lose another GPU says so, and the driver on the disk counts."""

from __future__ import annotations

from compat_matrix.resolver import resolve
from compat_matrix.served import served_by
from compat_matrix.versions import tag_cuda
from doctor.findings import Policy
from doctor.fixes.machine import visible_gpus
from doctor.fixes.which_torch import gpus_to_serve, which_torch
from doctor.resolve.machine import of_snapshot
from doctor.snapshot import ABSENT, LibraryFile, MigInstance, Missing, PciDevice, Snapshot, TorchRun

from ..healthy import MODELS, gpu, healthy
from ..judging import POLICY, assert_fix_works, matrix, report, run
from ..rows import for_each

OPEN, DROPPED, LOADED = "open-kernel-module-required", "driver-dropped-gpu", "driver-not-loaded"


def card(model: str, slot: int) -> PciDevice:
    return PciDevice(address=f"0000:{0x10 + slot:02x}:00.0", vendor="10de", device=str(MODELS[model]["pci"]),
                     class_code="030000", driver="nvidia")  # fmt: skip


def cards(first: str, *others: str, flavour: str = "open") -> Snapshot:
    """NVML and CUDA show the first GPU; the others are on the bus, and this module does not drive them."""
    bus = tuple(card(model, slot) for slot, model in enumerate((first, *others)))
    return healthy(first, torch=False).replace(
        {"driver.kernel_flavour": flavour, "driver.pci_devices": bus, "gpus": (gpu(first),)}
    )


@for_each(
    ("first", "other", "flavour", "lost"),
    [
        ("rtx5090", "gtx1080", "open", "NVIDIA GeForce RTX 5090"),
        ("gtx1080", "rtx5090", "proprietary", "NVIDIA GeForce GTX 1080"),
        ("rtx3060", "gtx1080", "open", ""),
        ("t4", "gtx1080", "open", ""),
    ],
)
def test_what_a_module_loses_is_said(first: str, other: str, flavour: str, lost: str) -> None:
    s = cards(first, other, flavour=flavour)
    finding = run(OPEN, s)[2][0]
    titles = [fix.title for fix in finding.fixes]
    assert ("two machines" in titles[0]) == bool(lost), titles
    assert [title for title in titles if "lose" in title] == [title for title in titles if lost and lost in title]
    assert_fix_works(s, finding)


def on_disk(version: str, *models: str) -> Snapshot:
    """Libraries of this driver, and no module."""
    bus = tuple(card(model, slot) for slot, model in enumerate(models))
    library = LibraryFile(soname="libcuda.so.1", path="/usr/lib/libcuda.so.1", version=version, found_by="default")
    gap = Missing("error", "nvmlInit: 9 Driver Not Loaded")
    return healthy(models[0], torch=False).replace(
        {
            "driver.pci_devices": tuple(PciDevice(address=d.address, vendor=d.vendor, device=d.device,
                                                  class_code=d.class_code, driver=None) for d in bus),
            "driver.modules": (), "driver.kernel_version": ABSENT, "driver.kernel_flavour": ABSENT, "driver.nvml_init": 9,
            "driver.nvml_driver_version": gap, "driver.nvml_cuda_version": gap, "gpus": gap, "driver.device_nodes": (),
            "driver.cu_init": 100, "driver.cuda_devices": Missing("error"), "driver.libcuda_version": version,
            "driver.nvml_library_version": version, "driver.libcuda_candidates": (library,), "driver.proc_gpus": ABSENT,
        }
    )  # fmt: skip


@for_each(
    ("version", "models", "dropped", "root"),
    [
        ("590.48.01", ("gtx1080",), "fail", DROPPED),
        ("595.58.03", ("v100",), "fail", DROPPED),
        ("580.82.07", ("gtx1080",), "pass", LOADED),
        ("595.58.03", ("v100", "t4"), "fail", LOADED),
        ("590.48.01", ("t4",), "pass", LOADED),
    ],
)
def test_the_driver_on_the_disk_counts(version: str, models: tuple[str, ...], dropped: str, root: str) -> None:
    s = on_disk(version, *models)
    status, _, findings = run(DROPPED, s)
    assert status == dropped
    for finding in findings:
        assert_fix_works(s, finding)
    below = run(LOADED, s)[2][0].downstream_of
    assert (DROPPED in below) == (root == DROPPED)


def steps(s: Snapshot, check_id: str, policy: Policy = POLICY) -> list[str]:
    """Each fix of this finding in words: title, text of its first step, note."""
    finding = next(f for f in report(s, policy).findings if f.id == check_id)
    return [f"{fix.id}: {fix.title}. {fix.steps[0].text} {fix.note}" for fix in finding.fixes]


def half_upgraded(version: str, *models: str) -> Snapshot:
    """Libraries of this version, the module of the one before the upgrade."""
    gap = Missing("error", "nvmlInit: 18")
    return healthy(*models, torch=False).replace(
        {
            "driver.kernel_flavour": "proprietary" if "v100" in models else "open", "driver.nvml_init": 18,
            "driver.nvml_library_version": version, "driver.libcuda_version": version, "driver.nvml_driver_version": gap,
            "driver.nvml_cuda_version": gap, "driver.nvml_gpu_count": gap, "gpus": gap, "driver.cu_init": 803,
            "driver.cuda_devices": gap,
        }
    )  # fmt: skip


@for_each(
    ("version", "models", "kept"),
    [
        ("595.58.03", ("v100",), "install-driver"),
        ("595.58.03", ("t4", "v100"), "install-driver"),
        ("595.58.03", ("t4", "h100"), ""),
        ("580.95.05", ("v100",), ""),
        ("570.211.01", ("v100",), ""),
    ],
)
def test_a_reboot_into_a_driver_that_dropped_a_gpu_is_no_fix(version: str, models: tuple[str, ...], kept: str) -> None:
    s = half_upgraded(version, *models)
    found = steps(s, "driver-library-version-mismatch")
    ids = [words.partition(":")[0] for words in found]
    assert ids == ([kept] if kept else ["reload-modules", "reboot"])
    assert ("no longer supports Tesla V100" in found[0]) == bool(kept), found
    assert ("branch 580" in found[0]) == bool(kept)


CPU = {"torch.build": "cpu", "torch.cuda": ABSENT, "torch.version": "2.9.1+cpu", "torch.sass": (), "torch.ptx": (),
       "torch_run": TorchRun()}  # fmt: skip


@for_each(
    ("first", "other", "words"),
    [
        ("rtx5090", "gtx1080", "no code for NVIDIA GeForce GTX 1080 (sm_61). No published build"),
        ("rtx4090", "t4", ""),
        ("rtx3060", "h100", ""),
    ],
)
def test_a_torch_build_is_judged_by_every_card(first: str, other: str, words: str) -> None:
    bus = (card(first, 0), card(other, 1))
    for container in (False, True):
        s = healthy(first, container=container).replace({**CPU, "driver.pci_devices": bus})
        found = steps(s, "cpu-only-torch")[0]
        shown = bool(words) and not container
        assert ("no code for" in found) == shown, "a container has the cards that it was given"
        assert words in found or not shown


@for_each(("first", "other"), [("rtx4090", "gtx1080"), ("t4", "v100"), ("h100", "v100"), ("rtx3060", "gtx1080")])
@for_each("version", ["2.9.1+cpu", ""])
def test_the_torch_to_install_serves_every_card_where_one_does(version: str, first: str, other: str) -> None:
    """`resolve` and the fix name the same build; with the card alone, or in a container, it is another one."""
    torch = CPU if version else {"torch.version": ABSENT, "torch.build": ABSENT, "torch.cuda": ABSENT}
    alone = healthy(first).replace({**torch, "torch_run": TorchRun(), "torch.sass": (), "torch.ptx": ()})
    both = alone.replace({"driver.pci_devices": (card(first, 0), card(other, 1))})
    m = matrix()
    capabilities = [m.gpu(None, str(MODELS[name]["pci"])).capability for name in (first, other)]
    choice, machine = which_torch(both, m), of_snapshot(both, m)
    assert choice and isinstance(served_by(m, choice.build.rows[0], capabilities), dict)
    assert {one.capability for one in machine.cards} == set(capabilities)
    best = resolve(m, machine.question([])).candidates[0].build
    assert choice.recommended == best.torch and isinstance(served_by(m, best, capabilities), dict)
    found = steps(both, "cpu-only-torch" if version else "torch-not-installed")[0]
    assert f"Install torch {choice.build.torch} for CUDA {tag_cuda(choice.build.tag)}" in found
    assert "no code for" not in found
    inside = healthy(first, container=True).replace({"driver.pci_devices": both.driver.pci_devices})
    assert gpus_to_serve(inside, m) == visible_gpus(inside, m)
    assert {one.capability for one in of_snapshot(alone, m).cards} == set(capabilities[:1])


def test_a_gpu_that_is_hidden_on_purpose_is_only_named() -> None:
    whole = healthy("rtx4090", "gtx1080").replace(CPU)
    devices = whole.driver.cuda_devices
    assert not isinstance(devices, Missing)
    found = steps(whole.replace({"driver.cuda_devices": devices[:1]}), "cpu-only-torch")[0]
    assert "no code for NVIDIA GeForce GTX 1080 (sm_61). torch 2." in found and "has code for all GPUs" in found
    assert "no code for" not in steps(whole, "cpu-only-torch")[0]


@for_each(("other", "lost"), [("gtx1080", "NVIDIA GeForce GTX 1080 (sm_61)"), ("t4", ""), ("h100", "")])
def test_a_toolkit_is_judged_by_every_card(other: str, lost: str) -> None:
    bus = (card("rtx5090", 0), card(other, 1))
    s = healthy("rtx5090").replace({"torch.version": "2.9.1+cu130", "torch.cuda": "13.0", "driver.pci_devices": bus})
    found = steps(s, "cuda-toolkit-missing", Policy(judged_on=POLICY.judged_on, building=True))
    assert found
    assert all((f"cannot compile for {lost}" in words) == bool(lost) for words in found), found


def test_what_mig_hides_is_said_before_it_is_switched() -> None:
    first, second, third = (gpu("a100", n) for n in range(3))
    on = first.with_(mig_enabled=True, mig_instances=())
    cut = second.with_(mig_enabled=True, mig_instances=(MigInstance(uuid="MIG-1", name="MIG 3g.40gb"),))
    base = healthy("a100", "a100", "a100").replace({"driver.cuda_devices": ABSENT})
    make, off = steps(base.replace({"gpus": (on, second, third)}), "mig-limitations")
    assert "hides whole GPUs: programs that use NVIDIA A100-SXM4-80GB (1) and NVIDIA A100-SXM4-80GB (2)" in make
    assert "hides whole GPUs" not in off
    _, off = steps(base.replace({"gpus": (on, cut, third)}), "mig-limitations")
    assert "hides whole GPUs: programs that use NVIDIA A100-SXM4-80GB (0)" in off
    make, off = steps(base.replace({"gpus": (on,)}), "mig-limitations")
    assert "hides" not in make + off
    unnumbered = on.with_(index=Missing("error"))
    fixes = next(
        f for f in report(base.replace({"gpus": (unnumbered, cut)})).findings if f.id == "mig-limitations"
    ).fixes
    assert all("-i 0000:10:00.0" in fix.steps[0].command for fix in fixes), "without -i it takes all GPUs"
