"""Where no GPU is there and none is expected, no fix downloads CUDA: torch comes from PyTorch's index of CPU builds."""

from __future__ import annotations

import re
from typing import Any

from msgspec.structs import replace

from compat_matrix.versions import numbers
from doctor.findings import Expect, Finding, Policy
from doctor.snapshot import ABSENT, EnvVar, Missing, Snapshot

from ..healthy import healthy
from ..judging import POLICY, assert_fix_works, report
from ..rows import for_each
from ..torches import with_other_build, without_torch

INDEX = "https://download.pytorch.org/whl/cpu"


def without_gpu(s: Snapshot) -> Snapshot:
    """No NVIDIA card, driver or library, and everything asked."""
    changes: dict[str, Any] = {f"driver.{name}": ABSENT for name in s.driver.__struct_fields__}
    changes |= {"driver.pci_devices": (), "driver.modules": (), "driver.device_nodes": (), "driver.faults": ()}
    changes |= {"gpus": (), "driver.libcuda_candidates": (), "driver.unlisted_gpus": ()}
    return s.replace(changes)


BARE = without_gpu(without_torch(healthy()))


def expecting(kind: str, *require: str) -> Policy:
    return replace(POLICY, expect=Expect(kind=kind), require=require)  # type: ignore[arg-type]


def about_torch(s: Snapshot, policy: Policy) -> list[Finding]:
    return [f for f in report(s, policy).findings if f.status in ("fail", "warn")]


def commands(found: list[Finding]) -> list[str]:
    """Every line that installs something, of every tool."""
    steps = [step for f in found for fix in f.fixes for step in fix.steps]
    lines = [line for step in steps for line in (step.command, *(way.command for way in step.alternatives))]
    return [line for line in lines if re.search(r"\binstall\b", line)]


PLACES: dict[str, dict[str, Any]] = {
    "Linux": {},
    "Arm": {"host.architecture": "aarch64"},
    "Windows": {"host.system": "windows", "host.libc": ABSENT},
    "an old Python": {"python.patient.version": "3.8.20"},
    "a Python without wheels": {"python.patient.version": "3.6.15"},
    "an old C library": {"host.libc": "glibc 2.17"},
    "PEP 668": {"python.patient.externally_managed": True},
    "uv": {"python.uv": True, "python.patient.kind": "venv"},
    "an index that is set": {"host.environment": (EnvVar("PIP_INDEX_URL", INDEX),)},
}


@for_each("place", list(PLACES))
def test_any_machine_gets_the_cpu_build_from_its_index(place: str) -> None:
    s = BARE.replace(PLACES[place])
    found = about_torch(s, expecting("any", "torchvision"))
    lines = commands(found)
    assert {"required-package-missing"} <= {f.id for f in found} and lines
    for line in lines:
        assert INDEX in line and not re.search(r"\+cu\d|whl/cu\d", line), line
    for finding in found:
        assert_fix_works(s, finding, expecting("any", "torchvision"))


def test_macos_has_no_other_build() -> None:
    s = BARE.replace({"host.system": "darwin", "host.libc": ABSENT, "host.architecture": "arm64"})
    lines = commands(about_torch(s, expecting("any")))
    assert lines and not [line for line in lines if "index" in line]


def test_musl_has_no_wheel_at_all() -> None:
    assert commands(about_torch(BARE.replace({"host.libc": "musl 1.2.5"}), expecting("any"))) == []


def test_the_release_fits_python_and_the_c_library() -> None:
    for changes, last in (({"host.libc": "glibc 2.17"}, (2, 6)), ({"python.patient.version": "3.8.20"}, (2, 4))):
        line = commands(about_torch(BARE.replace(changes), expecting("any")))[0]
        version = re.search(r"torch==([\d.]+)", line)
        assert version and numbers(version[1])[:2] == last, line


def test_an_image_that_is_built_gets_cuda_first_and_the_cpu_build_second() -> None:
    """`--expect none`: its hosts may have GPUs; the one who requires torch chooses."""
    found = [f for f in about_torch(BARE, expecting("none", "torch")) if f.id == "torch-not-installed"]
    assert [fix.id for fix in found[0].fixes] == ["install-torch", "install-cpu-torch"]


def test_a_gpu_that_is_there_is_served() -> None:
    s = without_torch(healthy("h100"))
    assert not [line for line in commands(about_torch(s, expecting("any", "torchvision"))) if INDEX in line]
    lost = s.replace({"gpus": Missing("timeout"), "driver.cuda_devices": Missing("timeout")})
    assert not [line for line in commands(about_torch(lost, expecting("any"))) if INDEX in line]


def test_what_goes_with_a_cpu_torch_is_a_cpu_build() -> None:
    s = without_gpu(with_other_build(healthy()))
    kept = tuple(d for d in s.python.distributions if d.name != "torchvision")  # type: ignore[union-attr]
    lines = commands(about_torch(s.replace({"python.distributions": kept}), expecting("any", "torchvision")))
    assert lines and all(INDEX in line for line in lines if "torchvision" in line)


def test_no_room_is_asked_for_what_is_not_installed() -> None:
    status = {c.id: c.status for c in report(BARE, expecting("any")).checks}["disk-too-small-for-install"]
    assert status == "skipped"
