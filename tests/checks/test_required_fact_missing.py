"""required-fact-missing: what the verdict cannot do without (DESIGN rule 9), and what explains its absence."""

from __future__ import annotations

from msgspec.structs import replace

from doctor.findings import Expect, Policy
from doctor.patient.movement import WORDS
from doctor.report.healthline import healthline
from doctor.snapshot import ABSENT, NOT_ASKED, Missing, Snapshot, Torch, TorchRun, known

from ..healthy import healthy
from ..judging import POLICY, ids, report, run
from ..rows import for_each
from ..sickness import gvisor, not_given, not_installed, without_nvml
from .test_no_nvidia_gpu import without_gpu
from .test_wsl import wsl1

ID = "required-fact-missing"
NO_LIST = {"torch.arch_text": NOT_ASKED, "torch_run.arch_list": NOT_ASKED}
ANY, NONE = Policy(expect=Expect(kind="any")), Policy(expect=Expect(kind="none"))


def subjects(s: Snapshot, policy: Policy = POLICY) -> list[str]:
    return [f.subject for f in run(ID, s, policy)[2]]


def test_healthy_machines_lack_nothing() -> None:
    for s in (healthy(), healthy(container=True), healthy(torch=False)):
        assert run(ID, s)[0] == "pass"


@for_each("reason", ["denied", "timeout", "error", "not-asked", "absent"])
@for_each("path", ["driver.cu_init", "torch.build", "torch.sass"])
def test_each_required_fact(path: str, reason: str) -> None:
    sick = healthy().replace({path: Missing(reason), **NO_LIST})  # type: ignore[arg-type]
    assert subjects(sick) == [path]


def test_torchs_own_list_tells_its_architectures_too() -> None:
    """conda-forge keeps libtorch_cuda.so outside of site-packages."""
    for name in NO_LIST:
        left = {key: value for key, value in NO_LIST.items() if key != name}
        assert subjects(healthy().replace({"torch.sass": ABSENT, **left})) == []


def test_an_empty_list_is_no_answer() -> None:
    own = {"torch.version": "2.8.0a0+git1234567", **NO_LIST}
    assert subjects(healthy().replace({"torch.sass": (), "torch.ptx": (), **own})) == ["torch.sass"]
    assert subjects(healthy().replace({"torch.sass": (), "torch.ptx": ("9.0",), **own})) == []
    assert subjects(without_nvml(healthy()).replace({"driver.cuda_devices": ()})) == ["gpus"]


@for_each("reason", ["denied", "timeout", "error", "conflict"])
def test_whether_torch_is_installed_was_asked_and_could_not_be_told(reason: str) -> None:
    unread = healthy().replace({"torch": Torch(version=Missing(reason)), "torch_run": TorchRun()})  # type: ignore[arg-type]
    assert subjects(unread) == ["torch.version"]
    assert subjects(healthy().replace({"torch": Torch(), "torch_run": TorchRun()})) == []


def test_nothing_was_looked_at() -> None:
    """That nobody looked is no sign that there is no GPU, or no torch."""
    assert subjects(Snapshot(), ANY) == ["driver.kernel_version", "gpus", "driver.cu_init"]
    assert subjects(Snapshot(), NONE) == ["torch.version"]
    assert subjects(healthy(torch=False), NONE) == []


def test_the_drivers_version_and_the_gpus_have_two_witnesses() -> None:
    assert subjects(healthy().replace({"driver.kernel_version": ABSENT})) == []
    assert subjects(healthy().replace({"driver.kernel_version": ABSENT, "driver.nvml_driver_version": ABSENT})) == [
        "driver.kernel_version"
    ]
    assert subjects(without_nvml(healthy())) == []
    assert subjects(without_nvml(healthy()).replace({"driver.cuda_devices": NOT_ASKED})) == ["gpus"]


def test_a_sandbox_that_shows_nothing_is_unknown() -> None:
    bare = gvisor(healthy(torch=False))
    seen = report(bare, Policy(judged_on="2026-11-20"))
    assert (seen.verdict, seen.exit_code) == ("unknown", 3)
    assert {f.id for f in seen.findings if f.status == "unknown"} == {ID, "gvisor-without-nvproxy"}
    assert subjects(bare) == ["driver.kernel_version", "gpus", "driver.cu_init"]
    assert subjects(bare, ANY) == []
    assert subjects(bare, NONE) == []


def test_no_gpu_on_the_bus_explains_all() -> None:
    for policy in (Policy(), ANY, NONE):
        assert subjects(without_gpu(healthy()), policy) == []
    assert subjects(wsl1()) == []


def test_folded_under_the_cause_that_explains_it() -> None:
    for sick in (not_installed(healthy()), not_given(healthy(container=True))):
        found = report(sick).findings
        assert found[0].id != ID
        assert all(f.downstream_of for f in found if f.id == ID)


def test_under_any_a_sign_of_a_gpu_makes_its_facts_required() -> None:
    assert subjects(healthy().replace({"driver.cu_init": Missing("timeout")}), ANY) == ["driver.cu_init"]


def test_a_driver_that_was_cut_off_for_want_of_time_is_not_sound() -> None:
    """It may hang: NVML after its start, or among a GPU's fields, or libcuda after cuInit. The other library's list does
    not stand in for it."""
    s = healthy()
    (gpu,) = known(s.gpus) or ()
    for cause, words in (("starved", "not enough processor time"), ("answering", "slow answers")):
        late = Missing("timeout", f"nvmlDeviceGetCount was not over after 7 s: {WORDS[cause]}")
        for changes, subject, title in (
            ({"gpus": late, "driver.nvml_gpu_count": late, "gpu_pairs": late}, "gpus", "the list of GPUs"),
            ({"gpus": (replace(gpu, name=late),)}, "gpus", "the state of the GPUs"),
            ({"gpus": (replace(gpu, power_draw_w=late, temperature_c=late),)}, "gpus", "the state of the GPUs"),
            ({"driver.cuda_devices": late}, "driver.cuda_devices", "which GPUs CUDA lists"),
        ):
            sick = s.replace(changes)
            assert subjects(sick) == [subject]
            assert report(sick).verdict == "unknown"
            assert healthline(report(sick)).startswith(f"UNKNOWN {ID}: Unknown: {title}"[:40])
            assert healthline(report(sick)).endswith(f"({words})")


def test_what_the_user_left_out_is_not_required() -> None:
    blind = healthy().replace({"driver.cu_init": NOT_ASKED, "torch.sass": NOT_ASKED, **NO_LIST})
    assert subjects(blind, Policy(left_out=("driver", "torch.sass"))) == []
    assert subjects(blind, Policy(left_out=("driver.cu",))) == ["driver.cu_init", "torch.sass"]


def test_a_required_package_needs_the_list_of_packages() -> None:
    unread = healthy().replace({"python.distributions": Missing("denied")})
    assert subjects(unread, Policy(require=("flash-attn",))) == ["python.distributions"]
    assert subjects(unread) == []
    nobody = unread.replace({"torch": Torch(), "torch_run": TorchRun()})
    assert subjects(nobody, Policy(require=("torch",))) == ["python.distributions", "torch.version"]


def test_a_cpu_build_has_no_architectures_to_miss() -> None:
    assert subjects(healthy().replace({"torch.build": "cpu", "torch.sass": ABSENT})) == []


def test_torch_facts_are_not_folded_under_the_driver() -> None:
    sick = not_installed(healthy()).replace({"torch.sass": Missing("error"), **NO_LIST})
    found = {f.subject: f.downstream_of for f in report(sick).findings if f.id == ID}
    assert found["torch.sass"] == () and ID in ids(sick)
