"""Commands of fixes as a shell reads them: quoted paths, the home folder, the engine that the user has."""

from __future__ import annotations

import subprocess
from pathlib import Path

from doctor.fixes.interpreter import executable, quoted
from doctor.snapshot import ABSENT, EnvVar, LibraryFile, Snapshot

from ..healthy import healthy
from ..judging import report, run
from ..rows import for_each
from ..sickness import compat_loaded, cuda_says, nvml_says
from ..torches import no_kernel_image, with_torch


def volta(**changes: object) -> Snapshot:
    """A V100 and a torch without code for it."""
    return no_kernel_image(with_torch(healthy("v100"), "2.11.0", "cu130")).replace(dict(changes))


@for_each("path", ["/opt/venv/bin/python", "/opt/my envs/x/bin/python", "~/venv-gpu/bin/python", "~/a b/p"])
def test_a_shell_reads_the_path_that_was_meant(path: str, tmp_path: Path) -> None:
    line = f"printf %s {quoted(path)}"
    told = subprocess.run(["sh", "-c", line], env={"HOME": str(tmp_path)}, capture_output=True, text=True, check=True)
    assert told.stdout == path.replace("~", str(tmp_path), 1)


def test_the_new_environments_python_can_be_run() -> None:
    found = report(volta(**{"python.patient.externally_managed": True})).findings[0]
    commands = [step.command for step in found.fixes[0].steps]
    assert commands[0].endswith("-m venv ~/venv-gpu")
    assert commands[1].startswith("~/venv-gpu/bin/python -m pip install ")


def test_the_uv_line_is_quoted_too() -> None:
    found = report(volta(**{"python.patient.executable": "/opt/my envs/x/bin/python"})).findings[0]
    other = found.fixes[0].steps[-1].alternatives[0]
    assert other.tool == "uv" and "--python '/opt/my envs/x/bin/python' torch" in other.command
    assert executable(volta(**{"python.patient.executable": ABSENT})) == "python3"


def test_a_library_path_with_a_space_is_quoted() -> None:
    there = LibraryFile(
        soname="libcuda.so.1",
        path="/opt/gpu libs/libcuda.so.1",
        found_by="elsewhere",
        real_path="/opt/gpu libs/libcuda.so.580.82.07",
    )
    sick = healthy().replace({"driver.libcuda_path": ABSENT, "driver.libcuda_candidates": (there,)})
    command = run("driver-libs-not-on-loader-path", sick)[2][0].fixes[0].steps[0].command
    assert command.startswith("export LD_LIBRARY_PATH='/opt/gpu libs'$")


def test_a_compat_folder_that_is_named_by_a_link_is_taken_off_the_path() -> None:
    """LD_LIBRARY_PATH=/usr/local/cuda/compat, and what is loaded has its real path."""
    sick = cuda_says(compat_loaded(healthy("rtx3060", driver="535.183.01", cuda="12.2", container=True)), 804)
    real = str(sick.driver.libcuda_path)
    linked = LibraryFile(
        soname="libcuda.so.1", path="/usr/local/cuda/compat/libcuda.so.1", real_path=real, found_by="LD_LIBRARY_PATH"
    )
    sick = sick.replace(
        {
            "host.environment": (EnvVar("LD_LIBRARY_PATH", "/opt/lib:/usr/local/cuda/compat"),),
            "driver.libcuda_candidates": (linked,),
        }
    )
    fix = run("cuda-compat-on-unsupported-gpu", sick)[2][0].fixes[0]
    assert [step.command for step in fix.steps] == ["export LD_LIBRARY_PATH=/opt/lib"]


@for_each(
    ("kind", "provider", "begin"),
    [
        ("docker", ABSENT, "docker run --gpus all "),
        ("podman", ABSENT, "podman run --device nvidia.com/gpu=all "),
        ("kubernetes", ABSENT, "kubectl delete pod "),
        ("docker", "runpod", ""),
    ],
)
def test_a_container_is_started_by_the_engine_that_the_user_has(kind: str, provider: object, begin: str) -> None:
    lost = nvml_says(cuda_says(healthy(container=True), 100), 999)
    lost = lost.replace({"container.kind": kind, "host.provider": provider})
    command = run("nvml-unknown-error-container-cgroup", lost)[2][0].fixes[0].steps[0].command
    assert command.startswith(begin) and bool(command) == bool(begin)
