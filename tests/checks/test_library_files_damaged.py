"""Library files that are not as they were installed: what cannot load fails, what is whole is a remark."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from doctor.findings import Policy
from doctor.patient.gather import gather
from doctor.probes import tools
from doctor.probes.collect import snapshot_of
from doctor.snapshot import ChangedFile, Disk, Missing, Snapshot, known
from doctor.targets.recording import Recording
from tests.scenarios.machine_files import records, spoil
from tests.scenarios.torch_build import Workshop, distribution, install

from ..healthy import healthy
from ..judging import assert_fix_works, ids, run
from ..reaction import unhurried
from ..rows import for_each
from ..torches import not_asked

ID = "library-files-damaged"
SITE = "/opt/venv/lib/python3.11/site-packages"
CUBLAS = "nvidia/cublas/lib/libcublas.so.12"


def changed(path: str = CUBLAS, package: str = "nvidia-cublas-cu12", **more: Any) -> ChangedFile:
    facts = {"version": "12.8.4.1", "site": SITE, "state": "empty", "whole": 116_000_000, **more}
    return ChangedFile(path=path, package=package, **facts)


def with_changed(*libraries: ChangedFile, s: Snapshot | None = None) -> Snapshot:
    return (s or not_asked(healthy())).replace({"python.changed_libraries": libraries})


def test_an_empty_library_fails_and_exactly_its_wheel_is_installed_again() -> None:
    sick = with_changed(changed())
    assert ids(sick) == [ID]
    finding = run(ID, sick)[2][0]
    assert finding.title == "libcublas.so.12 is empty (nvidia-cublas-cu12 12.8.4.1)"
    command = finding.fixes[0].steps[-1].command
    assert command.endswith("install --force-reinstall --no-deps nvidia-cublas-cu12==12.8.4.1")
    assert_fix_works(sick, finding)


@for_each("state", ["missing", "empty", "zeros", "cut", "pointer", "not-elf", "machine", "needs"])
def test_what_cannot_load_fails(state: str) -> None:
    sick = with_changed(changed(state=state))
    assert run(ID, sick)[0] == "fail"
    assert_fix_works(sick, run(ID, sick)[2][0])


@for_each(
    "library",
    [
        changed(state="size", size=90_000_000),
        changed(state="missing", elsewhere="/opt/lib/libcublas.so.12"),
        changed("torch/lib/libjitbackend_test.so", "torch", state="missing"),
        changed("nvidia/cuda_cupti/lib/libnvperf_host.so", "nvidia-cuda-cupti-cu12", state="missing"),
        changed("nvidia/nvshmem/lib/nvshmem_transport_ucx.so.3", "nvidia-nvshmem-cu12", state="missing"),
        changed("torch/lib/libcaffe2_detectron_ops_gpu.so", "torch", state="missing"),
        changed("torch/lib/libcaffe2_observers.so", "torch", state="missing", detail="../libcaffe2_observers.so.1.13"),
    ],
)
def test_what_programs_can_do_without_is_a_remark(library: ChangedFile) -> None:
    odd = with_changed(library)
    assert ids(odd) == []
    (remark,) = run(ID, odd)[2]
    assert (remark.status, remark.fixes) == ("pass", ())


def test_a_library_that_torch_loads_when_it_compiles_a_kernel_fails() -> None:
    assert run(ID, with_changed(changed("torch/lib/libcaffe2_nvrtc.so", "torch", state="missing")))[0] == "fail"


def test_a_library_that_was_loaded_is_not_called_broken() -> None:
    s = healthy().replace({"torch_run.libraries_loaded": ("/usr/lib/libcublas.so.12",)})
    assert run(ID, with_changed(changed(state="missing"), s=s))[0] == "pass"


def test_wheels_that_a_cpu_build_does_not_load() -> None:
    s = not_asked(healthy()).replace({"torch.build": "cpu"})
    assert run(ID, with_changed(changed(), s=s))[0] == "pass"
    assert run(ID, with_changed(changed(), s=s), Policy(require=("nvidia-cublas-cu12",)))[0] == "fail"


def test_a_full_disk_comes_first() -> None:
    full = not_asked(healthy()).replace({"host.disks": (Disk(role="environment", path="/opt/venv", free_mib=20),)})
    steps = run(ID, with_changed(changed(), s=full))[2][0].fixes[0].steps
    assert [step.purpose for step in steps] == ["look", "change"] and "only 0.0 GiB is free" in steps[0].text


def test_uv_does_not_link_its_damaged_cache_again() -> None:
    s = not_asked(healthy()).replace({"python.patient.kind": "uv", "python.uv": True})
    assert "--no-cache" in run(ID, with_changed(changed(), s=s))[2][0].fixes[0].steps[-1].command


def test_not_looked_at() -> None:
    assert run(ID, healthy().replace({"python.changed_libraries": Missing("not-asked")}))[0] == "skipped"
    assert run(ID, healthy().replace({"python.changed_libraries": Missing("timeout")}))[0] == "unknown"
    assert run(ID, healthy().replace({"python.changed_libraries": Missing("absent")}))[0] == "skipped"


def snapshot(prefix: Path, deep: bool = False) -> Snapshot:
    lines: list[dict[str, Any]] = []
    options = {"objects": ["extra"], "others": False, "deep": deep}
    gather(lines.append, "/", {"VIRTUAL_ENV": str(prefix)}, tools, options)
    return snapshot_of(Recording(lines, {}, {"kind": "live"}))


def made(prefix: Path, workshop: Workshop) -> Path:
    """An environment with a torch whose libraries RECORD lists, and a package that only --require asks for."""
    site = prefix / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    (prefix / "bin").mkdir()
    (prefix / "bin" / "python3").symlink_to(sys.executable)
    (prefix / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.11.9\n")
    install(site, "2.6.0+cu124", workshop, {}, {})
    for name in ("extra", "other"):
        distribution(site, name, "1.0")
        (site / name).mkdir()
        shutil.copy(workshop.library("libtorch.so"), site / name / "_C.cpython-311-x86_64-linux-gnu.so")
    records(site)
    return site


def test_each_kind_of_damage_is_read_from_the_file(tmp_path: Path) -> None:
    kinds = {"missing": "missing", "link /nowhere/x.so": "missing", "empty": "empty", "zeros": "zeros", "cut 70": "cut",
             "cut 1": "cut", "pointer": "pointer", "words": "not-elf", "aarch64": "machine", "stripped": "size",
             "longer": "size"}  # fmt: skip
    workshop = Workshop(tmp_path / "w")
    site = made(tmp_path / "env", workshop)
    assert snapshot(tmp_path / "env").python.changed_libraries == ()
    library = site / CUBLAS
    whole = library.read_bytes()
    said = {}
    for kind in kinds:
        spoil(library, kind)
        (one,) = known(snapshot(tmp_path / "env").python.changed_libraries) or ()
        said[kind] = one.state
        assert (one.path, one.package, one.version) == (CUBLAS, "nvidia-cublas-cu12", "12.4.5.8")
        library.unlink(missing_ok=True)
        library.write_bytes(whole)
    assert said == kinds


def test_required_packages_count_and_others_do_not(tmp_path: Path) -> None:
    site = made(tmp_path / "env", Workshop(tmp_path / "w"))
    for name in ("extra", "other"):
        (site / name / "_C.cpython-311-x86_64-linux-gnu.so").unlink()
    found = known(snapshot(tmp_path / "env").python.changed_libraries) or ()
    assert [one.package for one in found] == ["extra"]


def test_conda_changes_its_libraries_after_it_wrote_record(tmp_path: Path) -> None:
    site = made(tmp_path / "env", Workshop(tmp_path / "w"))
    for folder in site.glob("*.dist-info"):
        (folder / "INSTALLER").write_text("conda\n")
    spoil(site / "torch" / "lib" / "libtorch.so", "longer")
    assert snapshot(tmp_path / "env").python.changed_libraries == ()
    spoil(site / "torch" / "lib" / "libtorch.so", "cut 20")
    (one,) = known(snapshot(tmp_path / "env").python.changed_libraries) or ()
    assert (one.state, one.package) == ("cut", "torch")


@pytest.mark.torch_wheel
def test_the_real_wheel_without_its_largest_library(with_torch: Path, tmp_path: Path) -> None:
    """healthcheck never imports torch: the files alone tell. The whole wheel has no finding."""
    env = tmp_path / "env"
    shutil.copytree(with_torch, env, symlinks=True, copy_function=os.link)
    assert snapshot(env).python.changed_libraries == ()
    command = unhurried([sys.executable, "-m", "doctor", "healthcheck", "--expect", "none", "--python", str(env)])
    assert subprocess.run(command, capture_output=True, text=True, check=False).returncode == 0
    (library,) = env.glob("lib/python3*/site-packages/torch/lib/libtorch_cpu.so")
    library.unlink()
    run_ = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run_.returncode == 1
    assert run_.stdout.startswith(f"FAIL {ID}: libtorch_cpu.so is missing (torch 2.13.0+cpu)")


def test_what_pip_cannot_remove_is_written_over() -> None:
    steps = run(ID, with_changed(changed(recorded=False)))[2][0].fixes[0].steps
    assert "install --ignore-installed --no-deps nvidia-cublas-cu12==12.8.4.1" in steps[-1].command
    assert "apt" in steps[-1].text


def test_deep_reads_every_file(tmp_path: Path) -> None:
    """A flipped bit in a library and a lost module are warnings; edited and deleted spare files are a remark."""
    site = made(tmp_path / "env", Workshop(tmp_path / "w"))
    for path in ("optim/adam.py", "nn/linear.py", "include/ATen.h", "testing/common.py"):
        (site / "torch" / path).parent.mkdir(exist_ok=True)
        (site / "torch" / path).write_text("import math\n")
    records(site)
    assert snapshot(tmp_path / "env", True).python.changed_files == ()
    library = site / "torch" / "lib" / "libtorch_cuda.so"
    data = bytearray(library.read_bytes())
    data[len(data) // 2] ^= 1
    library.write_bytes(data)
    for path in ("optim/adam.py", "include/ATen.h", "testing/common.py"):
        (site / "torch" / path).unlink()
    (site / "torch" / "nn" / "linear.py").write_text("import cmath\n")
    assert snapshot(tmp_path / "env").python.changed_files == Missing("not-asked")
    seen = snapshot(tmp_path / "env", True).python
    s = not_asked(healthy()).replace(
        {f"python.{name}": getattr(seen, name) for name in ("changed_files", "changed_libraries")}
    )
    status, _, (warning, remark) = run(ID, s)
    assert status == "warn"
    assert warning.facts["libraries"] == ["torch/lib/libtorch_cuda.so: content", "torch/optim/adam.py: missing"]
    assert remark.title == "Files changed since installation: 1 edited, 2 deleted"
    assert_fix_works(s, warning)


def test_hashes_that_were_not_all_computed_prove_nothing() -> None:
    assert run(ID, healthy().replace({"python.changed_files": Missing("timeout")}))[0] == "unknown"
