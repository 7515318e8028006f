"""A fix fits the place that the text comes from: every message that decides, in every place, and exact ones of each."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from doctor.commands.assess import load_known
from doctor.findings import Finding, Fix
from doctor.fixes.where import another_machine
from doctor.snapshot import Snapshot, Symptom
from doctor.text import read
from doctor.text.complaint import ON_ANY_MACHINE
from doctor.text.decided import decided
from doctor.text.enrich import with_capabilities
from doctor.text.fixes.extension import OF_ANY_PACKAGE
from doctor.text.fixes.offer import builders, doable
from doctor.text.fixes.parts import Evidence
from doctor.text.messages import catalogue

from ..healthy import healthy
from ..judging import assert_fix_works, matrix, report
from ..rows import Faults, for_each

SAMPLES = [s for s in json.loads((Path(__file__).parent / "samples.json").read_text("utf-8")) if s["decides"]]
HOST = r"\bsudo \b|\breboot\b|modprobe|rmmod|systemctl|ubuntu-drivers|nvidia-driver-\d"
PLACES = {
    "colab": ('File "/content/train.py", line 3', rf"docker |podman |apptainer |uv venv|{HOST}"),
    "kaggle": ('File "/kaggle/working/train.py", line 3', rf"docker |podman |apptainer |uv venv|{HOST}"),
    "runpod": ("RUNPOD_POD_ID=abc", rf"docker |podman |{HOST}"),
    "vast": ("VAST_CONTAINERLABEL=C.123", rf"docker |podman |{HOST}"),
    "kubernetes": ("kubernetes: True\ncontainer: True", rf"docker |podman |{HOST}"),
    "docker": ("container: docker", rf"podman |apptainer |{HOST}"),
    "podman": ("container: podman", rf"docker |apptainer |{HOST}"),
    "apptainer": ("container_runtime: apptainer", rf"docker |podman |{HOST}"),
    "slurm": ("scheduler: slurm", HOST),
    "wsl": ("OS: Ubuntu 22.04\nwsl: 2", r"ubuntu-drivers|nvidia-driver-\d|modprobe|rmmod|\bdkms |mokutil|sudo reboot"),
    "windows": ("OS: Windows 11", r"\bapt|\bsudo\b|export |unset |LD_LIBRARY_PATH| && |/usr/|python3|systemctl|fuser"),
    "conda": ("OS: Ubuntu 22.04\ninstaller: conda", r"Restart-Computer|Remove-Item"),
    "ubuntu": ("OS: Ubuntu 22.04.4 LTS (x86_64)", r"Restart-Computer|\bdnf "),
    "fedora": ("OS: Fedora Linux 40", r"Restart-Computer|apt-get"),
}
"""Place: a line that tells it, and what its user cannot do or would not type there."""
ENGINE = (
    "engine-lacks-gpu-support", "cdi-spec-outdated", "rootless-engine-needs-no-cgroups",
    "container-device-permission-denied", "device-nodes-missing",
)  # fmt: skip
"""Causes that the engine tells before a container exists: its user stands on the host."""
ELSEWHERE = {
    "apptainer": (*ENGINE, "container-no-gpu-flag", "container-driver-capabilities-missing"),
    "slurm": (*ENGINE, "container-no-gpu-flag"),
    "docker": ENGINE, "podman": ENGINE, "wsl": ("open-kernel-module-required",),
    "windows": ("fabric-manager-not-running", "cuda-compat-on-unsupported-gpu", "cuda-compat-conflict",
                "driver-libs-not-on-loader-path", "libcuda-stub-loaded", "memlock-limit"),
}  # fmt: skip
"""Place: causes that do not occur there, or are told on its host."""


OWN_PLACE = re.compile("container:|container_runtime:|WSL|OS: Windows")
"""Samples that tell another place themselves."""


def failures(text: str) -> tuple[Snapshot, list[Finding]]:
    s = read(text)
    return s, [f for f in report(s).findings if f.status == "fail"]


def fix_of(text: str, check: str) -> Fix:
    _, found = failures(text)
    return next(f for f in found if f.id == check).fixes[0]


def commands(fix: Fix) -> str:
    return "\n".join(step.command for step in fix.steps)


def words(fix: Fix) -> str:
    return "\n".join((fix.title, *(step.text for step in fix.steps)))


def wrong_at(place: str, sample: dict[str, str]) -> None:
    """The first fix of each failure can be carried out at this place, and the failure is gone after it."""
    line, never = PLACES[place]
    s = read(f"{line}\n{sample['text']}")
    whole = report(s)
    for finding in (f for f in whole.findings if f.status == "fail"):
        told = f"{finding.id} of {sample['text'][:60]!r}"
        if finding.cause and not finding.fixes:
            continue  # its cause is repaired
        assert finding.fixes, told
        first = finding.fixes[0]
        assert first.possible_here or not any(fix.possible_here for fix in finding.fixes), told
        assert_fix_works(s, finding, before=whole)
        if finding.id in ELSEWHERE.get(place, ()) or OWN_PLACE.search(sample["text"]):
            continue
        typed = "\n".join(row for row in commands(first).splitlines() if not row.startswith("RUN "))
        wrong = re.search(never, typed)
        assert wrong is None, f"{told}: {wrong and wrong[0]!r} in {typed!r}"


PAIRS = [(place, sample) for number, sample in enumerate(SAMPLES) for place in (*PLACES, *PLACES)[number % 14 :][:14]]
"""Each sample at each place, its own place of the round first: every 14th pair has all samples and, in turn, all places."""


def _pair(value: Any) -> str:
    return value if isinstance(value, str) else value["text"][:60]


@pytest.mark.slow
@for_each(("place", "sample"), PAIRS[::14], ids=_pair)
def test_a_fix_fits_the_place_that_the_text_comes_from(place: str, sample: dict[str, str]) -> None:
    wrong_at(place, sample)


@pytest.mark.slow
@pytest.mark.parametrize("turn", range(1, 14))
def test_a_fix_fits_every_place(turn: int) -> None:
    with Faults() as faults:
        for place, sample in PAIRS[turn::14]:
            with faults.of(f"{place}-{_pair(sample)}"):
                wrong_at(place, sample)


def test_every_check_that_a_message_decides_offers_its_own_fixes() -> None:
    decided = {check for message in catalogue() for check, _ in message.decides}
    assert decided - set(builders()) == set()


@pytest.mark.slow
def test_no_sample_is_left_with_the_catalogues_words() -> None:
    """But for rows whose own fix is more exact than any other (tests/text/test_own_fixes.py)."""
    exact = {f"by-{message.id}" for message in catalogue() if message.exact}
    for sample in SAMPLES:
        for finding in failures(sample["text"])[1]:
            id = finding.fixes[0].id if finding.fixes else ""
            named = finding.id.startswith("extension-") and id.removeprefix("by-") not in OF_ANY_PACKAGE
            own = named or id in exact or finding.id == "gpu-path-not-available"
            assert own or not id.startswith("by-"), sample["text"][:60]


MISMATCH = "Failed to initialize NVML: Driver/library version mismatch"
FELL_OFF = "NVRM: Xid (PCI:0000:65:00): 79, GPU has fallen off the bus."
HELD = (
    "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 23.65 GiB of which 4.31 MiB is "
    "free. Process 1234 has 22.90 GiB memory in use. Including non-PyTorch memory, this process has 500.00 MiB "
    "memory in use."
)


@for_each(
    ("place", "said"),
    [
        ("ubuntu", "sudo rmmod nvidia_uvm"),
        ("wsl", "wsl --shutdown"),
        ("windows", "Restart-Computer"),
        ("docker", "docker restart CONTAINER"),
        ("podman", "podman restart CONTAINER"),
        ("kubernetes", "kubectl delete pod POD"),
        ("slurm", "sbatch --exclude=NODE JOB"),
    ],
)
def test_a_driver_that_must_start_anew_in_the_words_of_the_place(place: str, said: str) -> None:
    assert said in commands(fix_of(f"{PLACES[place][0]}\n{MISMATCH}", "driver-library-version-mismatch"))


@for_each(
    ("place", "said"),
    [("colab", "Disconnect and delete runtime"), ("kaggle", "Stop the session"), ("runpod", "stop this pod")],
)
def test_a_container_of_a_provider_starts_anew_in_its_console(place: str, said: str) -> None:
    fix = fix_of(f"{PLACES[place][0]}\n{MISMATCH}", "driver-library-version-mismatch")
    assert said in words(fix) and not commands(fix)


@for_each(
    ("place", "said"),
    [
        ("colab", "Change runtime type"),
        ("kaggle", "Accelerator"),
        ("runpod", "RunPod"),
        ("vast", "Vast.ai"),
        ("kubernetes", "Schedule the pod on a node"),
        ("slurm", "Submit the job to a node"),
        ("ubuntu", "turn the machine off"),
        ("windows", "turn the machine off"),
    ],
)
def test_a_lost_gpu_is_left_to_whose_machine_it_is(place: str, said: str) -> None:
    assert said in words(fix_of(f"{PLACES[place][0]}\n{FELL_OFF}", "gpu-fell-off-bus"))


@for_each(
    ("place", "said"),
    [
        ("colab", "Restart session"),
        ("kaggle", "Restart & clear"),
        ("windows", "Stop-Process -Id PID"),
        ("wsl", "Task Manager"),
        ("docker", "ps aux"),
        ("ubuntu", "sudo fuser -v /dev/nvidia*"),
    ],
)
def test_held_memory_is_freed_as_the_place_does_it(place: str, said: str) -> None:
    fix = fix_of(f"{PLACES[place][0]}\n{HELD}", "gpu-memory-held-by-stale-process")
    assert said in words(fix) + commands(fix)


NOT_COMPILED = (
    "GPU 0: NVIDIA GeForce RTX 4090\nPyTorch version: 2.7.1+cpu\nAssertionError: Torch not compiled with CUDA enabled"
)


def test_torch_is_replaced_by_a_build_of_the_matrix_with_the_places_own_python() -> None:
    linux = commands(fix_of(f"OS: Ubuntu 22.04\n{NOT_COMPILED}", "cpu-only-torch"))
    windows = commands(fix_of(f"OS: Windows 11\n{NOT_COMPILED}", "cpu-only-torch"))
    whole = "python3 -m pip install torch==2.7.1+cu126 torchvision==0.22.1+cu126 torchaudio==2.7.1+cu126"
    assert linux == f"{whole} --index-url https://download.pytorch.org/whl/cu126", "+cpu is 2.7.1 too"
    assert windows.replace("python ", "python3 ").startswith("python3 -m pip install") and "python3" not in windows
    portable = rf'{NOT_COMPILED}{chr(10)}File "C:\ui\python_embeded\Lib\site-packages\torch\x.py"'
    assert commands(fix_of(portable, "cpu-only-torch")).startswith("./python_embeded/python.exe -m pip install")


def test_in_a_notebook_it_is_said_how_a_cell_runs_it_and_that_the_session_starts_anew() -> None:
    fix = fix_of(f"{PLACES['colab'][0]}\n{NOT_COMPILED}", "cpu-only-torch")
    assert "put ! before" in fix.note and "restart the session" in fix.note and "RUN " not in fix.note


def test_a_driver_that_is_not_told_is_named_with_the_build() -> None:
    assert re.search(r"It needs NVIDIA driver \d{3}\.\d+", fix_of(NOT_COMPILED, "cpu-only-torch").note)


def test_conda_replaces_what_it_brought_itself() -> None:
    fix = fix_of(f"OS: Ubuntu 22.04\ninstaller: conda\n{NOT_COMPILED}", "cpu-only-torch")
    assert commands(fix).startswith("conda install --yes -c conda-forge 'pytorch=") and "pip" not in commands(fix)
    toolkit = fix_of(
        "installer: conda\nPyTorch version: 2.7.1+cu128\nThe detected CUDA version (11.2) mismatches the version that was "
        "used to compile\nPyTorch (12.8). Please make sure to use the same CUDA versions.",
        "nvcc-torch-cuda-mismatch",
    )
    assert "conda install --yes -c nvidia cuda-toolkit=12.8" in commands(toolkit)


def test_an_old_gpu_gets_a_build_that_the_matrix_lists_for_it() -> None:
    text = "GPU 0: NVIDIA GeForce GTX 1080\nPyTorch version: 2.9.0+cu128\nCUDA error: no kernel image is available for execution on the device"
    assert "torch==2.9.0" in commands(fix := fix_of(text, "torch-dropped-old-gpu-sm"))
    assert "whl/cu126" in commands(fix)


@for_each(
    ("text", "engine", "said"),
    [
        ("OS: Ubuntu 22.04", "docker", "apt-get install -y nvidia-container-toolkit"),
        ("OS: Fedora Linux 40", "docker", "dnf install -y nvidia-container-toolkit"),
        ("OS: Ubuntu 22.04\ncontainer_runtime: podman", "podman", "nvidia-ctk cdi generate"),
        ("OS: Ubuntu 22.04\nwsl: 2", "docker", "sudo service docker restart"),
        ("OS: Windows 11", "docker", "wsl --update"),
    ],
)
def test_the_toolkit_is_set_up_for_engine_and_system(text: str, engine: str, said: str) -> None:
    error = f'{engine}: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].'
    fix = fix_of(f"{text}\n{error}", "engine-lacks-gpu-support")
    assert said in commands(fix) and fix.possible_here


def test_docker_of_snap_is_replaced() -> None:
    text = 'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]]. (snap)'
    fix = fix_of(f"OS: Ubuntu 22.04\n{text}", "engine-lacks-gpu-support")
    assert fix.steps[0].command.startswith("sudo snap remove docker") and fix.steps[0].destructive


REQUIRE = "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.4, please update your driver to a newer version"


def test_an_unmet_requirement_names_image_and_driver_that_meet_it() -> None:
    _, found = failures(f"OS: Ubuntu 22.04\nNvidia driver version: 535.104.05\n{REQUIRE}")
    fixes = next(f for f in found if f.id == "container-require-cuda-unsatisfied").fixes
    assert fixes[0].id == "older-image" and fixes[0].possible_here
    assert any("branch 580 or newer" in fix.title and fix.possible_here for fix in fixes)
    pod = fix_of(f"RUNPOD_POD_ID=a\n{REQUIRE}", "container-require-cuda-unsatisfied")
    assert "CUDA Versions" in words(pod) and "12.4" in words(pod)


@for_each(
    ("scheduler", "line"),
    [
        ("slurm", "--gres=gpu:1"),
        ("pbs", "ngpus=1"),
        ("sge", "#$ -l gpu=1"),
        ("lsf", "#BSUB -gpu"),
        ("htcondor", "request_gpus"),
    ],
)
def test_a_gpu_is_asked_for_in_the_batch_systems_words(scheduler: str, line: str) -> None:
    text = f"scheduler: {scheduler}\nCUDA_VISIBLE_DEVICES=NoDevFiles"
    assert line in commands(fix_of(text, "scheduler-gpu-allocation"))


def test_triton_links_what_apptainer_and_wsl_bring() -> None:
    error = "AssertionError: libcuda.so cannot found!\n/usr/bin/ld: cannot find -lcuda: No such file or directory"
    apptainer = commands(fix_of(f"container_runtime: apptainer\n{error}", "triton-libcuda-link-missing"))
    assert "/.singularity.d/libs/libcuda.so.1" in apptainer and "sudo" not in apptainer
    wsl = commands(fix_of(f"wsl: 2\n{error}", "triton-libcuda-link-missing"))
    assert wsl == "export TRITON_LIBCUDA_PATH=/usr/lib/wsl/lib"


@for_each(
    ("text", "wheel"),
    [
        (
            "Could not load library libcudnn_ops_infer.so.8. Error: libcudnn_ops_infer.so.8: cannot open",
            "nvidia-cudnn-cu12==8.*",
        ),
        ("Could not locate cudnn_ops64_9.dll. Please make sure it is in your library path!", "nvidia-cudnn-cu12==9.*"),
        ("Loaded runtime CuDNN library: 8.0.5 but source was compiled with: 8.1.0.", "nvidia-cudnn-cu11>=8.1,<9"),
    ],
)
def test_cudnn_is_asked_for_in_the_version_that_the_message_names(text: str, wheel: str) -> None:
    assert wheel in commands(fix_of(text, "cudnn-shadowed-or-mismatched"))


def test_a_reset_names_the_gpu_by_the_address_of_the_kernel_log() -> None:
    text = "[1234.5] NVRM: Xid (PCI:0000:3b:00): 48, pid=1234, An uncorrectable double bit error"
    assert "-i 0000:3b:00.0 --gpu-reset" in commands(fix_of(text, "gpu-hardware-ecc-fault"))


def test_an_extension_is_named_by_the_file_of_the_message() -> None:
    error = "/site-packages/flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so: undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationESs"
    fix = fix_of(f"PyTorch version: 2.6.0+cu124\nImportError: {error}", "extension-built-for-other-torch")
    assert "flash-attn" in commands(fix) and "EXTENSION" not in commands(fix)
    own = error.replace("flash_attn_2_cuda.", "my_ops/_C.")
    assert commands(fix_of(f"ImportError: /opt/v{own}", "extension-built-for-other-torch")).endswith("my_ops")


def test_the_clouds_filter_of_drivers_is_for_those_who_need_another_driver() -> None:
    pod = replace(healthy(), host=replace(healthy().host, provider="runpod"))
    assert "CUDA Versions" in another_machine(pod, "with a newer driver", {}, by_driver=True).text
    assert "CUDA Versions" not in another_machine(pod, "whose GPUs run at their full power limit", {}).text


def test_no_placeholder_stands_for_an_extension_that_no_line_names() -> None:
    """What gpudoctor itself reads on that machine tells which it is. No row of the catalogue has one either."""
    line = "CUDA error: no kernel image is available for execution on the device"
    for name in ("extension-lacks-gpu-arch", "extension-built-for-other-torch"):
        told = Evidence(healthy(), matrix(), Symptom(id="ranked", line=1, text=line), line)
        assert [fix.steps[0].command for fix in builders()[name](told) if fix] == ["gpudoctor check"]
    rows = Path("doctor/text/catalogue.json").read_text("utf-8").splitlines()
    of_extensions = [row for row in rows if '"decides":[["extension-' in row]
    assert len(of_extensions) > 5 and not [row for row in of_extensions if '"EXTENSION"' in row]


def test_conda_gets_the_library_that_has_the_missing_version() -> None:
    text = "installer: conda\nImportError: libstdc++.so.6: version `GLIBCXX_3.4.33' not found (required by x.so)"
    assert "'libstdcxx-ng>=14'" in commands(fix_of(text, "libc-incompatible"))


def test_companions_go_with_torch_where_the_text_names_few_packages() -> None:
    few = "GPU 0: NVIDIA GeForce RTX 5090\ntorch==2.5.1+cu121\nCUDA error: no kernel image is available for execution on the device"
    assert "torchvision==" in commands(fix_of(few, "torch-lacks-new-gpu-sm"))
    for version in ("1.4.0", "2.14.0", "2.5.1+cu121"):
        for driver in ("", "Nvidia driver version: 525.60.13\n", "Nvidia driver version: 580.65.06\n"):
            told = f"GPU 0: NVIDIA H100 PCIe\nPyTorch version: {version}\n{driver}Torch not compiled with CUDA enabled"
            line = commands(fix_of(told, "cpu-only-torch"))
            assert line.count("pip install") == 1, "a torchvision that is only guessed is not written anew"
    listed = f"numpy==1.26.4\ntriton==3.1.0\npillow==10.0.0\n{few}"
    assert "torchvision" not in commands(fix_of(listed, "torch-lacks-new-gpu-sm"))


FACTS = (
    "PyTorch version: 2.7.1+cu128", "PyTorch version: 1.8.0", "PyTorch version: 2.9.0.dev20250101+cu130",
    "PyTorch version: 2.6.0a0+nv25.1", "Python version: 3.13t", "Python version: 2.7", "Nvidia driver version: 450.80.02",
    "Nvidia driver version: 390", "GPU 0: Tesla K80", "GPU 0: NVIDIA GeForce RTX 5090", "GPU 0: something else",
    "GPU 0: NVIDIA H100 80GB HBM3\nGPU 1: NVIDIA GeForce GTX 980", "LD_LIBRARY_PATH=/usr/local/cuda/lib64:/x", "wsl: 1",
    "CUDA_VISIBLE_DEVICES=7", "nvcc release: 9.2", "arch: aarch64", "OS: Alpine Linux", "OS: macOS 14",
    "flash-attn==other build", "xformers==0.0.20", "tensorflow==2.16.1", "virtualization: kvm", "provider: lambda",
)  # fmt: skip


@for_each("seed", range(8), quick=8)
def test_odd_facts_beside_a_message_neither_break_nor_spoil_its_fix(seed: int) -> None:
    chance = Random(seed)
    lines = [line for line, _ in PLACES.values()]
    for _ in range(8):
        parts = [chance.choice(lines), *chance.sample(FACTS, 4), *(s["text"] for s in chance.sample(SAMPLES, 2))]
        s, found = failures("\n".join(parts))
        judged = with_capabilities(s, matrix())
        for finding in found:
            for plain in decided(load_known(finding.id).about, judged):
                assert doable(plain, judged, matrix()).fixes, parts
            if finding.cause and not finding.fixes:
                continue  # its cause is repaired
            assert finding.fixes, parts
            after = s
            for step in finding.fixes[0].steps:
                after = after.replace(step.changes)
            left = [f for f in report(after).findings if f.status == "fail"]
            assert (finding.id, finding.subject) not in [(f.id, f.subject) for f in left], parts
            # on another machine, or a Mac whose text complains of CUDA after all, what did not matter here is judged
            other_machine = finding.id in ("no-nvidia-gpu", *(ON_ANY_MACHINE if s.host.system == "darwin" else ()))
            assert other_machine or {f.id for f in left} <= {f.id for f in found}, parts
