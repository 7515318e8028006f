"""Wheels against the pins in torch's own metadata, markers evaluated."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from packaging.specifiers import Specifier

from compat_matrix.versions import is_same
from doctor.fixes.packages import with_distributions
from doctor.snapshot import Distribution, Missing, known

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


_TOOLKIT = 'cuda-toolkit[cublas]==13.0.3; platform_system == "Linux"'


def test_a_release_with_one_more_zero_is_the_pinned_one() -> None:
    """`cuda-toolkit 13.0.3.0` on the index is what torch 2.13.0 pins as 13.0.3; its extras still pin their wheels."""
    marker = "platform_system == 'Linux' and extra == 'cublas'"
    toolkit = Distribution(
        name="cuda-toolkit", version="13.0.3.0", location="/v", requires=(f"nvidia-cublas==13.1.1.3; {marker}",)
    )
    cublas = Distribution(name="nvidia-cublas", version="13.1.1.3", location="/v", requires=())
    fresh = healthy().replace(
        {"torch.requires": (_TOOLKIT,), "python.distributions": with_distributions(healthy(), [toolkit, cublas])}
    )
    assert run("nvidia-wheels-off-torch-pins", fresh)[0] == "pass"
    others = with_distributions(fresh, [replace(cublas, version="13.2.0.9")])
    finding = run("nvidia-wheels-off-torch-pins", fresh.replace({"python.distributions": others}))[2][0]
    assert finding.facts == {"nvidia-cublas": {"installed": "13.2.0.9", "pinned": "13.1.1.3"}}


_VERSIONS = st.builds(
    lambda release, rest: ".".join(map(str, release)) + rest,
    st.lists(st.integers(0, 2), min_size=1, max_size=4),
    st.sampled_from(["", "", ".post1", "rc1", "a0", ".dev3", "+cu128", "+cpu", ".post1+cu128"]),
)


@given(_VERSIONS, _VERSIONS)
def test_a_pin_accepts_what_pip_accepts(have: str, pinned: str) -> None:
    assert is_same(have, pinned) == Specifier(f"=={pinned}").contains(have, prereleases=True)
