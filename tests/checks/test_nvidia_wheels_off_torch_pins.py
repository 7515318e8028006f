"""Wheels against the pins in torch's own metadata, markers evaluated."""

from __future__ import annotations

from msgspec.structs import replace

from doctor.snapshot import Missing, known

from ..healthy import healthy
from ..judging import assert_fix_works, ids, run
from ..torches import with_version


def test_wheels_off_the_pins_are_a_warning() -> None:
    sick = with_version(healthy(), nvidia_nccl_cu12="2.28.9", nvidia_cublas_cu12="12.9.1.4")
    assert ids(sick) == ["nvidia-wheels-off-torch-pins"]
    finding = run("nvidia-wheels-off-torch-pins", sick)[2][0]
    assert finding.status == "warn"
    assert finding.facts["nvidia-nccl-cu12"] == {"installed": "2.28.9", "pinned": "2.27.3"}
    assert_fix_works(sick, finding)


def test_a_wheel_of_another_major_fails() -> None:
    sick = with_version(healthy(), nvidia_cublas_cu12="13.0.0.19")
    assert ids(sick, status="fail") == ["nvidia-wheels-off-torch-pins"]


def test_a_pin_for_another_platform_does_not_count() -> None:
    """`platform_machine == "x86_64"` in the pin, aarch64 here."""
    sick = with_version(healthy(), nvidia_nccl_cu12="2.28.9").replace({"host.architecture": "aarch64"})
    assert run("nvidia-wheels-off-torch-pins", sick)[0] == "pass"


def test_pins_unknown() -> None:
    sick = healthy().replace({"torch.requires": Missing("error")})
    gone = tuple(replace(d, requires=Missing("error")) for d in known(sick.python.distributions) or ())
    assert run("nvidia-wheels-off-torch-pins", sick.replace({"python.distributions": gone}))[0] == "unknown"
