"""spec-not-met: what a team has agreed on, against what is here."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from packaging.specifiers import SpecifierSet

from doctor.commands.run_print_spec import range_of
from doctor.findings import Expect, FoundConfig, Policy
from doctor.findings.spec import SpecLine, example, meets, too_short, versions
from doctor.snapshot import ABSENT, Missing, Snapshot, Torch, TorchRun

from ..drawn import drawn
from ..healthy import MODELS, healthy
from ..judging import POLICY, assert_fix_works, ids, matrix, report, run
from ..rows import Faults, for_each
from ..scenarios.spec_copies import faults, printed

CHECK = "spec-not-met"


def spec(**lines: str) -> Policy:
    """A policy with these lines; a name that is no key is a package."""
    keys = ("torch", "driver", "cuda", "cudnn", "nccl", "python", "gpu", "os")
    made = [
        SpecLine(name, text) if name in keys else SpecLine("package", text, name.replace("_", "-"))
        for name, text in lines.items()
    ]
    return replace(POLICY, spec=tuple(made))


def with_driver(version: str) -> dict[str, Any]:
    return {"driver.kernel_version": version, "driver.nvml_driver_version": version}


def test_without_a_spec_it_does_not_apply() -> None:
    assert run(CHECK, healthy())[0] == "skipped"


def test_each_machine_meets_its_own_spec_and_each_changed_copy_is_named() -> None:
    """Done line 2, on every model; `tests/scenarios` does it on recorded machines."""
    machines = {model: healthy(model) for model in MODELS}
    machines |= {"8x": healthy(*["h100"] * 8), "two models": healthy("rtx3060", "gtx1080")}
    machines |= {"a container": healthy("l4", container=True), "without torch": healthy(torch=False)}
    with Faults() as found:
        for name, machine in machines.items():
            with found.of(name):
                assert faults(machine) == []
    assert {line.name for line in printed(healthy())} >= {
        "torch", "driver", "cuda", "cudnn", "nccl", "python", "gpu", "os", "numpy", "triton", "torchvision",
    }  # fmt: skip


OFF = [
    ({"torch": ">=2.9,<2.11"}, "torch: 2.8.0+cu128 (the spec requires >=2.9,<2.11)"),
    ({"driver": ">=590"}, "driver: 580.82.07 (the spec requires >=590)"),
    ({"cuda": "==12.9.*"}, "cuda: 12.8 (the spec requires ==12.9.*)"),
    ({"cudnn": "<9.10"}, "cudnn: 9.10.2 (the spec requires <9.10)"),
    ({"nccl": ">=2.28"}, "nccl: 2.27.3 (the spec requires >=2.28)"),
    ({"python": "~=3.12.0"}, "python: 3.11.9 (the spec requires ~=3.12.0)"),
    ({"gpu": "8xH100"}, "gpu: 1 x NVIDIA H100 80GB HBM3 (the spec requires 8xH100)"),
    ({"gpu": "H200"}, "gpu: 1 x NVIDIA H100 80GB HBM3 (the spec requires H200)"),
    ({"os": "ubuntu 24.04"}, "os: ubuntu 22.04 (the spec requires ubuntu 24.04)"),
    ({"os": "debian"}, "os: ubuntu 22.04 (the spec requires debian)"),
    ({"numpy": "<2"}, "numpy: 2.2.6 (the spec requires <2)"),
    ({"flash_attn": ">=2"}, "flash-attn: not installed (the spec requires >=2)"),
]


@for_each(("lines", "words"), OFF)
def test_a_deviation_fails_and_its_line_says_what_is_there(lines: dict[str, str], words: str) -> None:
    status, _, findings = run(CHECK, healthy(), spec(**lines))
    assert status == "fail" and findings[0].detail == words
    assert findings[0].fixes and findings[0].fixes[0].steps


@for_each("lines", [row[0] for row in OFF if "gpu" not in row[0]])
def test_the_step_brings_it_within_the_spec(lines: dict[str, str]) -> None:
    policy = spec(**lines)
    assert ids(healthy(), policy) == [CHECK]
    assert_fix_works(healthy(), run(CHECK, healthy(), policy)[2][0], policy)


def test_a_release_of_cudnn_is_that_of_its_wheels() -> None:
    """cuDNN reports three numbers; the matrix has the fourth of each release that has wheels."""
    rows = [(row.version, row.wheel_cu13 or row.wheel_cu12 or row.wheel_cu11) for row in matrix().cudnn_rows]
    listed = {version: wheel for version, wheel in rows if wheel.count(".") == 3}
    assert listed["9.10.2"] == "9.10.2.21" and len(listed) > 40
    assert {version: matrix().cudnn_wheel(version) for version in listed} == listed
    for version in ("9.10.2.22", "9.10", "9.99.1", "8.3.0"):
        assert matrix().cudnn_wheel(version) == ("9.10.2.22" if version == "9.10.2.22" else ""), version
    judged = {"==9.10.2.21": "pass", "==9.10.2.22": "fail", "<9.10.2.21": "fail", "!=9.10.2.22,<9.11": "pass"}
    assert {allowed: run(CHECK, healthy(), spec(cudnn=allowed))[0] for allowed in judged} == judged


@for_each(
    ("lines", "words"),
    [
        ({"torch": "==2.9.*", "nccl": ">=2.28"}, "for CUDA 13.0. Whether it brings nccl >=2.28 is not known."),
        ({"torch": "==2.9.*", "nccl": "<2.27"}, "for CUDA 13.0. Whether it brings nccl <2.27 is not known."),
        ({"torch": "==2.9.*", "cudnn": ">=9.15"}, "for CUDA 12.9. Whether it brings cudnn >=9.15 is not known."),
        ({"torch": "==2.9.*", "nccl": "==2.27.5"}, "Install torch 2.9.1 for CUDA 12.8."),
        ({"torch": "==2.9.*", "cudnn": "==9.10.2.21"}, "Install torch 2.9.1 for CUDA 12.8."),
    ],
)
def test_a_torch_whose_libraries_are_not_known_says_so(lines: dict[str, str], words: str) -> None:
    assert run(CHECK, healthy(), spec(**lines))[2][0].fixes[0].steps[0].text.endswith(words)


def test_all_lines_are_one_finding_with_a_step_for_each() -> None:
    lines = {"torch": ">=2.9,<2.11", "driver": ">=590", "python": "==3.12.*", "numpy": "<2", "os": "ubuntu 24.04"}
    policy = spec(**lines)
    found = report(healthy(), policy)
    assert [finding.id for finding in found.findings] == [CHECK]
    finding = found.findings[0]
    assert [line.partition(":")[0] for line in finding.detail.splitlines()] == list(lines)
    texts = " ".join(f"{step.text} {step.command}" for step in finding.fixes[0].steps)
    for word in (
        "ubuntu 24.04 and NVIDIA driver >=590",
        "Python 3.12",
        "torch==2.10",
        "numpy<2",
    ):
        assert word in texts, (word, texts)
    assert_fix_works(healthy(), finding, policy)


NO_GPU: dict[str, Any] = {
    "gpus": (), "gpu_pairs": (), "driver.pci_devices": (), "driver.cuda_devices": (), "driver.device_nodes": (),
    "driver.cu_init": 100, "driver.kernel_version": ABSENT, "driver.nvml_driver_version": ABSENT, "driver.proc_gpus": 0,
}  # fmt: skip


def test_where_no_gpu_is_known_torch_is_had_all_the_same() -> None:
    """In an image build: the CUDA build that the spec wants; on a machine for the CPU, the CPU build."""
    bare, none = without_torch(healthy()).replace(NO_GPU), Expect(kind="none")
    for lines, text in (
        ({"torch": "==2.7.*", "cuda": "==12.6.*"}, "Install torch 2.7.1 for CUDA 12.6."),
        ({"torch": "==2.7.*"}, "Install the CPU build of torch 2.7.1."),
    ):
        policy = replace(spec(**lines), expect=none)
        finding = run(CHECK, bare, policy)[2][0]
        assert [step.text for step in finding.fixes[0].steps] == [text]
        assert_fix_works(bare, finding, policy)


def test_where_there_is_no_gpu_driver_and_gpu_are_known_to_be_off() -> None:
    policy = replace(spec(driver=">=570", gpu="8xH100"), expect=Expect(kind="any"))
    finding = run(CHECK, healthy().replace(NO_GPU), policy)[2][0]
    here = [line.partition(" (")[0] for line in finding.detail.splitlines()]
    assert here == ["driver: no NVIDIA GPU", "gpu: no NVIDIA GPU"]
    assert [step.text for step in finding.fixes[0].steps] == [
        "Choose a host with 8xH100 and NVIDIA driver >=570, start there, and run gpudoctor check again."
    ]
    found = {one.id: one for one in report(healthy().replace(NO_GPU), replace(policy, expect=Expect())).findings}
    assert found[CHECK].cause == "no-nvidia-gpu"


def test_companions_come_with_their_torch() -> None:
    steps = run(CHECK, healthy(), spec(torch="==2.7.*", torchvision="==0.22.*", numpy="<2"))[2][0].fixes[0].steps
    assert [step.text for step in steps] == [
        "Install torch 2.7.1 for CUDA 12.6.",
        "Install numpy versions that meet the spec.",
    ]
    steps = run(CHECK, healthy(), spec(python="==3.12.*", torchvision="==0.23.*"))[2][0].fixes[0].steps
    assert steps[-1].command == "~/venv-gpu/bin/python -m pip install torchvision==0.23.0"


def test_an_environment_that_must_not_be_changed_gets_a_new_one_beside_it() -> None:
    """PEP 668: all that the spec names is put into the new one, torch first."""
    machine, policy = healthy().replace({"python.patient.externally_managed": True}), spec(numpy="<2", triton=">=3")
    finding = run(CHECK, machine, policy)[2][0]
    env, torch, packages = finding.fixes[0].steps
    assert "-m venv" in env.command or "uv venv" in env.command
    assert "torch==2.8.0" in torch.command and "'numpy<2'" in packages.command
    assert "triton" not in packages.command, "torch brings it"
    assert all("~/venv-gpu" in step.command for step in (env, torch, packages))
    assert_fix_works(machine, finding, policy)


def test_what_is_unknown_is_not_folded_under_another_fact() -> None:
    machine = healthy().replace({"torch.sass": Missing("error"), "python.distributions": Missing("denied")})
    found = {one.id: one for one in report(machine, spec(numpy=">=1")).findings}
    assert found[CHECK].status == "unknown" and not found[CHECK].cause


def test_another_python_keeps_the_release_of_torch() -> None:
    steps = run(CHECK, healthy(), spec(python="==3.12.*"))[2][0].fixes[0].steps
    assert [step.text for step in steps][1:] == ["Install torch 2.8.0 for CUDA 12.8."]


def test_torch_is_installed_only_within_every_line_of_the_spec() -> None:
    """The newest that fits is not within the spec; and a CUDA that the spec rules out is not taken with it."""
    policy = spec(torch="==2.7.*", cuda="==12.6.*")
    step = run(CHECK, healthy(), policy)[2][0].fixes[0].steps[-1]
    assert "torch==2.7.1" in step.command and step.text == "Install torch 2.7.1 for CUDA 12.6."
    policy = spec(torch="==1.4.*")
    finding = run(CHECK, healthy(), policy)[2][0]
    assert not finding.fixes
    assert finding.detail.endswith("No published torch build with torch ==1.4.* is known to run on this machine.")


MISSING = [
    ("torch", ">=2", {"torch.version": Missing("error", "damaged")}),
    ("driver", ">=535", with_driver("") | {p: Missing("timeout") for p in with_driver("")}),
    ("cuda", ">=12", {"torch.cuda": Missing("denied"), "torch_run.cuda": Missing("not-asked")}),
    ("cudnn", ">=9", {"torch_run.cudnn_version": Missing("not-asked"), "torch.cudnn_bundled": Missing("denied")}),
    ("nccl", ">=2", {"torch_run.nccl_version": Missing("not-asked"), "torch.nccl_bundled": Missing("error")}),
    ("python", ">=3", {"python.patient.version": Missing("absent")}),
    ("os", "ubuntu 22.04", {"host.os_id": Missing("denied")}),
    ("os", "ubuntu 22.04", {"host.os_version": Missing("absent")}),
    ("gpu", "1xH100", {"gpus": Missing("timeout"), "driver.cu_init": Missing("timeout")}),
    ("numpy", ">=1", {"python.distributions": Missing("denied")}),
    ("scipy", ">=1", {"python.distributions_partial": True}),
    ("cuda", ">=12.8.1", {}),
    ("cudnn", "==9.99.1.5", {"torch_run.cudnn_version": "9.99.1"}),
    ("python", "==3.11.7", {"python.patient.version": "3.11"}),
    ("torch", ">=2", {"torch.version": "a build of ours"}),
]  # fmt: skip
"""Key, range, and the changes after which it is not known."""


@for_each(("key", "allowed", "changes"), MISSING)
def test_what_is_not_known_is_unknown_and_required(key: str, allowed: str, changes: dict[str, Any]) -> None:
    machine, policy = healthy().replace(changes), spec(**{key: allowed})
    status, _, findings = run(CHECK, machine, policy)
    assert status == "unknown" and findings[0].detail.startswith(f"{key}: unknown, "), findings
    assert report(machine, policy).verdict in ("unknown", "fail")


def test_a_deviation_names_what_is_unknown_beside_it() -> None:
    machine = healthy().replace({"torch_run.nccl_version": Missing("denied"), "torch.nccl_bundled": Missing("denied")})
    finding = run(CHECK, machine, spec(numpy="<2", nccl=">=2"))[2][0]
    assert finding.status == "fail"
    assert finding.detail.splitlines()[1] == "nccl: unknown, no permission (the spec requires >=2)"


def without_torch(s: Snapshot) -> Snapshot:
    rest = tuple(d for d in s.python.distributions if d.name in ("numpy", "pip"))  # type: ignore[union-attr]
    changes: dict[str, Any] = {"torch": Torch(version=ABSENT), "torch_run": TorchRun(), "python.distributions": rest}
    return s.replace({**changes, "python.patient.torch_version": ABSENT})


def test_a_root_cause_folds_what_it_explains_and_nothing_else() -> None:
    bare = without_torch(healthy())
    policy = replace(spec(torch=">=2", cudnn=">=9", nccl=">=2"), require=("torch",))
    found = {finding.id: finding for finding in report(bare, policy).findings}
    assert found[CHECK].cause == "torch-not-installed" and not found[CHECK].fixes
    policy = replace(policy, spec=(*policy.spec, *spec(numpy="<2").spec))
    found = {finding.id: finding for finding in report(bare, policy).findings}
    assert not found[CHECK].cause and found["torch-not-installed"].fixes


def test_cpu_torch_has_no_cuda_and_is_folded_under_its_cause() -> None:
    cpu = {"torch.version": "2.8.0+cpu", "torch.build": "cpu", "torch.cuda": ABSENT, "torch_run": TorchRun()}
    found = {finding.id: finding for finding in report(healthy().replace(cpu), spec(cuda=">=12")).findings}
    assert found[CHECK].detail == "cuda: none in torch 2.8.0+cpu (the spec requires >=12)"
    assert found[CHECK].cause == "cpu-only-torch"


def test_where_no_gpu_is_expected_driver_and_gpu_are_named_and_not_judged() -> None:
    policy = replace(spec(driver=">=600", gpu="8xH100", python=">=3"), expect=Expect(kind="none"))
    found = report(healthy(), policy)
    assert found.verdict != "fail"
    assert [r.detail for r in found.remarks if r.id == CHECK] == [
        "With --expect none, these are not checked: driver, gpu."
    ]


def test_lines_of_two_files_both_count() -> None:
    lines = (SpecLine("torch", ">=2.8", "", "a.toml"), SpecLine("torch", "<2.8", "", "b.toml"))
    finding = run(CHECK, healthy(), replace(POLICY, spec=lines))[2][0]
    assert finding.detail.splitlines()[0] == "torch: 2.8.0+cu128 (the spec requires <2.8)"
    assert finding.facts["deviations"][0]["file"] == "b.toml"
    twice = tuple(SpecLine("package", text, "numpy", name) for text, name in (("<2", "a.toml"), (">=3", "b.toml")))
    assert len(run(CHECK, healthy(), replace(POLICY, spec=twice))[2][0].detail.splitlines()) == 2


REFUSED = [
    "2.9",
    "",
    " ",
    "===2.9",
    ">=2.8;<3",
    ">3,<2",
    "==2.8.*,!=2.8.*",
    "latest",
    "^2.8",
    ">=2.8 <3",
    ">=" + "9" * 5000,
    "@ git+https://x",
]


@for_each("allowed", REFUSED, ids=lambda text: text[:20])
def test_what_is_no_range_is_refused(allowed: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        SpecLine("torch", allowed)


@for_each(
    ("allowed", "hint"),
    [
        ("2.9", "to allow every 2.9 release, write ==2.9.*"),
        ("2.9.1", "write ==2.9.1"),
        ("580.82.07", "write ==580.82.07"),
        (">=2.8.0+cu128", "a build such as +cu128 can only follow == or !="),
    ],
)
def test_the_refusal_says_what_to_write(allowed: str, hint: str) -> None:
    with pytest.raises(ValueError, match=rf"; {re.escape(hint)}$"):
        SpecLine("torch", allowed)


_NUMBERS = st.lists(st.integers(0, 12), min_size=1, max_size=4).map(lambda some: ".".join(map(str, some)))
_CLAUSE = st.one_of(
    st.tuples(st.sampled_from((">=", "<=", ">", "<", "==", "!=")), _NUMBERS).map("".join),
    st.tuples(st.sampled_from(("==", "!=")), _NUMBERS).map(lambda pair: f"{pair[0]}{pair[1]}.*"),
    _NUMBERS.filter(lambda text: "." in text).map(lambda text: f"~={text}"),
)
_RANGE = st.lists(_CLAUSE, min_size=1, max_size=3).map(",".join)


@drawn(400)
@given(_RANGE, st.lists(st.integers(0, 12), min_size=3, max_size=3))
def test_a_whole_version_is_judged_as_packaging_judges_it(allowed: str, numbers: list[int]) -> None:
    version = ".".join(map(str, numbers))
    within = SpecifierSet(allowed).contains(version, prereleases=True)
    try:
        assert meets(SpecLine("torch", allowed), version) is within
        assert example(allowed) in versions(allowed)
    except ValueError:  # refused as a range that no version can meet
        assert not within


_SUFFIX = st.sampled_from(("", "a0", "rc1", ".post1", ".dev20250801", "a0+ecf3bae40a.nv25.01", "+cu128", ".dev3+cu130"))


@drawn(400)
@given(_NUMBERS, _SUFFIX, st.sampled_from((1, 2)))
def test_the_range_that_is_printed_for_a_version_has_it(numbers: str, suffix: str, parts: int) -> None:
    """Nightlies, vendor builds, pre- and post-releases too; and a version with the next number is outside."""
    allowed = range_of(numbers + suffix, parts)
    line = SpecLine("package", allowed, "some-package")
    assert meets(line, numbers + suffix) is True
    fixed = allowed.removeprefix("==").removesuffix(".*").split(".")
    assert meets(line, ".".join([*fixed[:-1], str(int(fixed[-1]) + 1)])) is False


@drawn(400)
@given(_RANGE, st.integers(0, 12), st.integers(0, 12))
def test_a_short_version_is_met_only_if_all_that_it_may_be_are(allowed: str, major: int, minor: int) -> None:
    """12.8 may be each 12.8.x; the answer is None where they differ."""
    every = {SpecifierSet(allowed).contains(f"{major}.{minor}.{patch}", prereleases=True) for patch in range(15)}
    try:
        found = meets(SpecLine("cuda", allowed), f"{major}.{minor}")
    except ValueError:
        assert every == {False}
        return
    if len(every) > 1:
        assert found is None
    elif found is not None:
        assert found is every.pop()


def test_in_a_container_the_system_is_the_base_image_and_the_file_is_named() -> None:
    """The driver is the host's: whoever may choose a host takes another one."""
    lines = (SpecLine("os", "debian 12", "", "team.toml"), SpecLine("driver", ">=590", "", "team.toml"))
    policy = replace(POLICY, spec=lines)
    finding = run(CHECK, healthy(container=True), policy)[2][0]
    texts = [step.text for step in finding.fixes[0].steps]
    assert texts[0].startswith("Choose a host with NVIDIA driver >=590")
    assert texts[1] == "Start from a base image with debian 12."
    assert finding.fixes[0].note == "If this machine is right, change the spec instead (team.toml)."
    assert_fix_works(healthy(container=True), finding, policy)


@drawn(400)
@given(
    _RANGE.filter(lambda text: not re.search(r"\d+(?:\.\d+){3}", text)),
    st.lists(st.integers(0, 12), min_size=3, max_size=3),
)
def test_a_cudnn_wheel_means_the_version_that_cudnn_reports(allowed: str, numbers: list[int]) -> None:
    """9.10.2.21 of the wheel is cuDNN 9.10.2; the fourth number counts only in a range that names one."""
    version = ".".join(map(str, numbers))
    try:
        line = SpecLine("cudnn", allowed)
    except ValueError:
        return
    assert meets(line, f"{version}.21") is meets(line, version) is not None
    exact = SpecLine("cudnn", f"=={version}.21")
    assert (meets(exact, f"{version}.21"), meets(exact, f"{version}.22"), meets(exact, version)) == (True, False, None)


WHERE: dict[str, tuple[bool, dict[str, Any]]] = {
    "a workstation": (False, {}),
    "a container": (True, {}),
    "a pod": (True, {"host.scheduler": "kubernetes"}),
    "a rented pod": (True, {"host.provider": "runpod"}),
    "a notebook": (True, {"host.provider": "colab"}),
    "a job": (False, {"host.scheduler": "slurm", "host.user_is_root": False}),
    "Apptainer": (True, {"container.kind": "apptainer"}),
    "a system Python": (True, {"python.patient.externally_managed": True}),
}
ELSEWHERE: list[dict[str, str]] = [
    {"driver": ">=900", "numpy": "<2"},
    {"os": "ubuntu 24.04", "driver": ">=590", "numpy": "<2"},
    {"gpu": "8xH100", "driver": ">=590", "torch": "==2.9.*", "cuda": "==13.0.*", "numpy": "<2"},
    {"gpu": "1xL4", "torch": "==2.7.*"},
    {"os": "debian 12", "torch": "==2.7.*", "python": "==3.12.*"},
]


@for_each("name", WHERE)
def test_after_another_host_or_image_no_step_is_one_for_here(name: str) -> None:
    """No driver for a host that is left, and what is installed there says so; it comes after the move."""
    container, changes = WHERE[name]
    with Faults() as faults:
        for lines in ELSEWHERE:
            with faults.of(str(lines)):
                policy = spec(**lines)
                machine = healthy(container=container).replace(changes)
                (finding,) = run(CHECK, machine, policy)[2]
                steps = finding.fixes[0].steps
                moved = [step.where in ("provider", "container-start", "dockerfile") for step in steps]
                assert moved[0] and moved == sorted(moved, reverse=True), [step.text for step in steps]
                assert not any(step.where == "host" for step in steps), [step.text for step in steps]
                for step, is_move in zip(steps, moved, strict=True):
                    assert (
                        is_move is step.possible_here is not step.text.startswith(("On that host, ", "In that image, "))
                    )
                assert_fix_works(machine, finding, policy)


def test_a_notebook_has_no_base_image_to_choose() -> None:
    machine = healthy(container=True).replace({"host.provider": "colab"})
    (step,) = run(CHECK, machine, spec(os="ubuntu 24.04"))[2][0].fixes[0].steps
    assert step.text.startswith("On Colab: start a new session, which may run on a host with ubuntu 24.04")


def test_torch_is_chosen_for_the_driver_that_the_spec_requires() -> None:
    """The driver here is too old for it; on the host that comes first, it is not."""
    for container in (True, False):
        machine = healthy(driver="535.183.01", cuda="12.2", container=container)
        finding = run(CHECK, machine, spec(driver=">=580", torch="==2.9.*", cuda="==13.0.*"))[2][0]
        assert "torch==2.9.1" in finding.fixes[0].steps[-1].command, finding.detail
        assert "No published torch build" not in finding.detail


def test_a_build_whose_cudnn_is_known_comes_before_one_whose_cudnn_is_not() -> None:
    step = run(CHECK, healthy(), spec(cudnn="==9.13.*"))[2][0].fixes[0].steps[-1]
    release, tag = re.search(r"torch==([\d.]+)(?:\+(cu\d+))?", step.command).groups()  # type: ignore[union-attr]
    row = matrix().torch_release(release).release
    assert row is not None and row.cudnn_per_build[tag or "cu130"].startswith("9.13."), step.command


def test_no_torch_is_installed_that_the_specs_driver_cannot_run() -> None:
    """CUDA 13 needs driver 580; the one that is here does not matter, because the spec forbids it."""
    for allowed in ("<550", "==535.*"):
        for machine in (healthy(), healthy(container=True), without_torch(healthy()).replace(NO_GPU)):
            command = run(CHECK, machine, spec(torch=">=2.9", driver=allowed))[2][0].fixes[0].steps[-1].command
            assert re.search(r"torch==2\.\d+\.\d+\+cu12\d ", command), command


def test_a_spec_for_gpus_never_gets_the_cpu_build() -> None:
    """On a laptop without a GPU, the steps are for the host that comes first."""
    bare = without_torch(healthy()).replace(NO_GPU)
    for lines in ({"gpu": "8xH100"}, {"driver": "==580.*"}):
        fix = run(CHECK, bare, spec(torch="==2.8.*", **lines))[2][0].fixes[0]
        assert [step.text for step in fix.steps][1:] == ["On that host, install torch 2.8.0 for CUDA 12.8."]


def test_a_build_whose_nccl_is_known_comes_before_one_whose_nccl_is_not() -> None:
    """2.8.0+cu129 brings NCCL 2.27.3 too: the step would change nothing."""
    command = run(CHECK, healthy(), spec(nccl=">=2.28"))[2][0].fixes[0].steps[-1].command
    row = matrix().torch_release(re.search(r"torch==([\d.]+)", command)[1]).release  # type: ignore[index]
    assert row is not None and meets(SpecLine("nccl", ">=2.28"), row.nccl), command


def test_torch_2_11_of_pypi_has_another_cudnn_than_pytorchs_list_of_builds() -> None:
    """Its wheel pins 9.19, and it is what the line installs; the other one is never promised."""
    machine = healthy(driver="580.82.07", cuda="13.0")
    finding = run(CHECK, machine, spec(torch="==2.11.*", cuda="==13.0.*", cudnn="==9.19.*"))[2][0]
    assert finding.fixes[0].steps[-1].command.startswith("/opt/venv/bin/python -m pip install torch==2.11.0")
    assert_fix_works(machine, finding, spec(torch="==2.11.*", cuda="==13.0.*", cudnn="==9.19.*"))


def test_where_torch_cannot_be_had_nothing_is_installed_that_brings_another() -> None:
    policy = spec(torch="==1.4.*", torchvision="==0.5.*", triton="==3.2.*", numpy="<2")
    finding = run(CHECK, healthy(), policy)[2][0]
    assert [step.command.partition("install ")[2] for step in finding.fixes[0].steps] == ["'numpy<2'"]
    assert "No published torch build with torch ==1.4.*" in finding.detail


def test_a_count_of_gpus_is_said_with_its_noun() -> None:
    for allowed, words in (("2", "with 2 GPUs,"), ("8xA100", "with 8xA100,"), ("A100", "with A100,")):
        for machine in (healthy(), healthy().replace(NO_GPU)):
            policy = replace(spec(gpu=allowed), expect=Expect(kind="any"))
            assert words in run(CHECK, machine, policy)[2][0].fixes[0].steps[0].text


def test_what_only_an_untrusted_file_names_says_so_in_its_step_and_in_the_title() -> None:
    found = FoundConfig(path="gpudoctor.toml", spec=True)
    ours = SpecLine("package", "<2", "numpy", "/home/me/.config/gpudoctor.toml")
    evil, worse = (SpecLine("package", ">=1", name, "gpudoctor.toml") for name in ("evil", "worse"))
    finding = run(CHECK, healthy(), replace(POLICY, spec=(ours, evil, worse), found=found))[2][0]
    fix = finding.fixes[0]
    assert fix.title == "Bring this machine in line with the spec in gpudoctor.toml, which is not trusted"
    mine, theirs = fix.steps
    assert "numpy<2" in mine.command and "evil" not in mine.command and "trusted" not in mine.text
    assert "'evil>=1' 'worse>=1'" in theirs.command
    assert theirs.text.endswith(
        "Only gpudoctor.toml names these packages, and that file is not trusted: check these packages before you "
        "install them."
    )
    trusted = run(CHECK, healthy(), replace(POLICY, spec=(ours, evil)))[2][0].fixes[0]
    assert "trusted" not in f"{trusted.title}{trusted.steps[0].text}" and len(trusted.steps) == 1


@for_each(
    ("model", "wanted", "has", "lacks"),
    [
        ("rtx5090", ">=590", "-open", ""),
        ("rtx4090", ">=590", "nvidia-driver-", ""),
        ("gtx1080", ">=590", "", "nvidia-driver-"),
        ("v100", ">=600", "", "nvidia-driver-"),
        ("gtx1080", ">=570,<581", "nvidia-driver-580", "-open"),
    ],
)
def test_a_driver_is_installed_only_if_it_drives_the_gpus_here(model: str, wanted: str, has: str, lacks: str) -> None:
    s = healthy(model, driver="550.163.01", cuda="12.4").replace({"driver.kernel_flavour": ABSENT})
    (finding,) = run(CHECK, s, spec(driver=wanted))[2]
    commands = " ".join(step.command for fix in finding.fixes for step in fix.steps)
    assert has in commands and (not lacks or lacks not in commands)


MET = [
    ("driver", "<580", "575.57.08"), ("driver", "!=580.*,>=580,<581.5", "581.4"), ("driver", "==580.82", "580.82"),
    ("driver", ">580,<581", "580.82.07"), ("driver", "==580.82.07", "580.82.07"), ("torch", "==2.9.0", "2.9.0"),
    ("torch", "==2.9.1+cu128", "2.9.1+cu128"), ("torch", "==2.9rc1", "2.9.0rc1"), ("python", "<=3.11", "3.10.2"),
    ("cuda", "~=12.8", "12.9.1"), ("os", "debian ==12", "12"), ("os", "ubuntu <24", "22.04"),
]  # fmt: skip


@for_each(("key", "allowed", "version"), MET)
def test_a_range_that_a_version_meets_is_not_too_short(key: str, allowed: str, version: str) -> None:
    line = SpecLine(key, allowed)
    assert meets(line, version) is not False and not too_short(line)


PINNED = {
    "the torch step brings it": ({"torch": "==2.9.*", "triton": "==3.5.*"}, ["torch==2.9"], ""),
    "any that torch brings": ({"torch": "==2.9.*", "triton": ">=3.4"}, ["torch==2.9"], ""),
    "a wide range of torch, one Triton": ({"torch": ">=2.9", "triton": "==3.5.*"}, ["torch==2.9"], ""),
    "another package too": ({"torch": "==2.9.*", "triton": "==3.5.*", "numpy": "<2"}, ["torch==2.9", "'numpy<2'"], ""),
    "another Triton than torch requires": (
        {"torch": "==2.9.*", "triton": "==3.3.*"},
        ["torch==2.9"],
        "No triton ==3.3.* is known to work with torch 2.9",
    ),
    "another Triton than this torch requires": (
        {"triton": "==3.3.*"},
        [],
        "No triton ==3.3.* is known to work with torch 2.8.0",
    ),
}


@for_each("what", PINNED)
def test_what_torch_brings_is_not_installed_again(what: str) -> None:
    """The torch step brings its Triton; one that it does not work with is no step, and the lines are named."""
    lines, commands, lack = PINNED[what]
    finding = run(CHECK, healthy(), spec(**lines))[2][0]
    steps = finding.fixes[0].steps if finding.fixes else ()
    assert len(steps) == len(commands), [step.command for step in steps]
    assert all(text in step.command for text, step in zip(commands, steps, strict=True))
    assert "triton" not in " ".join(step.command for step in steps)
    assert lack in finding.detail
    if not lack:
        assert_fix_works(healthy(), finding, spec(**lines))


def test_a_triton_of_ones_own_is_put_back_where_torch_stays() -> None:
    have = healthy().python.distributions
    assert not isinstance(have, Missing)
    put = [replace(d, version="3.1.0") if d.name == "triton" else d for d in have]
    machine = healthy().replace({"python.distributions": tuple(put)})
    one = run(CHECK, machine, spec(triton="==3.4.*"))[2][0]
    assert "'triton==3.4.*'" in one.fixes[0].steps[0].command


IN_WSL = [
    (2, "Ubuntu 22.04", "pass", ""),
    (2, "ubuntu", "pass", ""),
    (2, "linux", "pass", ""),
    (2, "WSL2", "pass", ""),
    (2, "wsl 2", "pass", ""),
    (2, "wsl", "pass", ""),
    (2, "WSL >=2", "pass", ""),
    (2, "wsl ==2", "pass", ""),
    (1, "WSL", "pass", ""),
    (1, "WSL2", "fail", "os: wsl 1 (the spec requires WSL2)"),
    (2, "wsl-1", "fail", "os: wsl 2 (the spec requires wsl-1)"),
    (2, "windows", "fail", "os: ubuntu 22.04 (the spec requires windows)"),
    (2, "debian 12", "fail", "os: ubuntu 22.04 (the spec requires debian 12)"),
    (0, "WSL2", "fail", "os: ubuntu 22.04, not in WSL (the spec requires WSL2)"),
    (0, "wsl", "fail", "os: ubuntu 22.04, not in WSL (the spec requires wsl)"),
    (None, "wsl", "unknown", "os: unknown, "),
    (None, "ubuntu 22.04", "pass", ""),
]


@for_each(("wsl", "allowed", "status", "words"), IN_WSL)
def test_the_system_in_wsl_is_its_distribution_and_wsl_can_be_asked_for(
    wsl: int | None, allowed: str, status: str, words: str
) -> None:
    machine = healthy().replace({"host.wsl": Missing("denied") if wsl is None else wsl})
    findings = run(CHECK, machine, spec(os=allowed))[2]
    assert [one.status for one in findings] == ([] if status == "pass" else [status])
    assert not words or words in findings[0].detail
