"""NVIDIA_REQUIRE_* as libnvidia-container and the container toolkit judge it; where they differ, both are held."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from doctor.formats.require import (
    RequireGpu,
    RequireHost,
    RequireResult,
    evaluate_container_toolkit,
    evaluate_libnvidia_container,
    requirements,
)

from ..rows import for_each

A100_550 = RequireHost("12.4", "550.54.15", (RequireGpu("8.0", "tesla"),))
CUDA_12_8 = (
    "cuda>=12.8 brand=unknown,driver>=470,driver<471 brand=tesla,driver>=470,driver<471 "
    "brand=tesla,driver>=550,driver<551 brand=nvidia,driver>=550,driver<551"
)


def hook(expression: str, host: RequireHost = A100_550) -> RequireResult:
    return evaluate_libnvidia_container([("NVIDIA_REQUIRE_CUDA", expression)], host)


def toolkit(expression: str, host: RequireHost = A100_550) -> RequireResult:
    return evaluate_container_toolkit([("NVIDIA_REQUIRE_CUDA", expression)], host)


def test_an_image_newer_than_the_driver_is_let_in_by_brand_and_branch() -> None:
    assert hook(CUDA_12_8).satisfied is True
    geforce = A100_550._replace(gpus=(RequireGpu("8.9", "geforce"),))
    assert hook(CUDA_12_8, geforce) == RequireResult(False, "NVIDIA_REQUIRE_CUDA", "cuda>=12.8")
    assert hook(CUDA_12_8, A100_550._replace(driver="555.42.02")).satisfied is False


def test_the_toolkit_is_never_told_brand_or_driver() -> None:
    assert toolkit(CUDA_12_8).satisfied is False
    assert toolkit(CUDA_12_8, A100_550._replace(cuda="12.8")).satisfied is True
    assert toolkit("brand!=geforce").satisfied is True  # it compares with an empty brand


@for_each(
    ("expression", "by_hook", "by_toolkit"),
    [
        ("", True, True),
        ("  ", True, True),
        ("cuda>=12.4", True, True),
        ("cuda>12.4", False, False),
        ("cuda=12.4.0", True, True),
        ("cuda!=12.4", False, False),
        ("cuda<=12.4,arch>=7.0", True, True),
        ("cuda>=11,arch<8", False, False),
        ("cuda>=13 arch=8.0", True, True),
        ("arch>=8.6", False, False),
        ("brand=Tesla", True, False),
        ("CUDA>=12.4", True, True),  # the toolkit does not know CUDA in capitals and skips it
        ("cuda>=12.4 foo", True, False),  # the hook stops before it sees foo
        ("foo cuda>=12.4", False, False),
        ("foo=1", False, True),
        ("cuda>=1.2.3.4", True, False),
        ("cuda>=v12", False, True),
        ("cuda=>12", False, False),
        ("cuda!11", True, False),
        ("cuda>=", False, False),
        (">=12", False, True),
        ("brand>tesla", False, False),
        ("driver>=535", True, False),
        ("cuda>=12.4-rc1", False, True),
    ],
)
def test_both_tools(expression: str, by_hook: bool, by_toolkit: bool) -> None:
    assert (hook(expression).satisfied, toolkit(expression).satisfied) == (by_hook, by_toolkit)


def test_a_refused_expression_is_told_from_an_unmet_one() -> None:
    assert hook("foo=1").error == "unknown property: foo"
    assert "invalid" in toolkit("cuda>=x").error
    assert hook("cuda>=13").error == toolkit("cuda>=13").error == ""


def test_each_visible_gpu_is_asked_by_the_hook_and_the_first_by_the_toolkit() -> None:
    mixed = A100_550._replace(gpus=(RequireGpu("8.0", "tesla"), RequireGpu("6.1", "geforce")))
    assert (hook("arch>=7", mixed).satisfied, toolkit("arch>=7", mixed).satisfied) == (False, True)


def test_without_a_visible_gpu_the_hook_lets_arch_and_brand_pass() -> None:
    nobody = A100_550._replace(gpus=())
    assert (hook("arch>=9,brand=tesla", nobody).satisfied, toolkit("arch>=9", nobody).satisfied) == (True, False)


def test_a_missing_fact_is_unknown_unless_another_alternative_holds() -> None:
    blind = RequireHost("12.4", None, None)
    assert hook(CUDA_12_8, blind) == RequireResult(None, "NVIDIA_REQUIRE_CUDA", "brand=unknown,driver>=470,driver<471")
    assert hook("cuda>=12.0 brand=tesla", blind).satisfied is True
    assert hook("brand=tesla,cuda>=13", blind).satisfied is False
    assert toolkit("cuda>=12", RequireHost(None, "550", None)).satisfied is None
    assert hook("brand=tesla foo=1", blind).satisfied is None


def test_all_variables_must_hold_and_jetpack_is_left_out() -> None:
    environment = {
        "NVIDIA_REQUIRE_CUDA": "cuda>=12.0",
        "NVIDIA_REQUIRE_ARCH": "arch>=9.0",
        "NVIDIA_REQUIRE_JETPACK": "jetpack>=6",
        "CUDA_VERSION": "12.0.1",
        "PATH": "/bin",
    }
    found = requirements(environment)
    assert found == [("NVIDIA_REQUIRE_ARCH", "arch>=9.0"), ("NVIDIA_REQUIRE_CUDA", "cuda>=12.0")]
    assert evaluate_libnvidia_container(found, A100_550) == RequireResult(False, "NVIDIA_REQUIRE_ARCH", "arch>=9.0")
    for word in ("1", "true", "True"):
        assert requirements({**environment, "NVIDIA_DISABLE_REQUIRE": word}) == []
    assert requirements({**environment, "NVIDIA_DISABLE_REQUIRE": "yes"}) == found


def test_an_old_image_asks_by_its_cuda_version() -> None:
    assert requirements({"CUDA_VERSION": "10.1.243"}) == [("CUDA_VERSION", "cuda>=10.1")]
    assert requirements({"CUDA_VERSION": "latest"}) == []


EXPRESSIONS = st.text(alphabet="cudarhbnive=<>!,. 0123456789v-", max_size=60)
FACTS = st.sampled_from([None, "", "12.4", "8.0", "x"])


@given(EXPRESSIONS, FACTS, FACTS, st.sampled_from([None, (), (RequireGpu(None, None),), (RequireGpu("8.0", "tesla"),)]))
def test_no_expression_is_too_odd(
    expression: str, cuda: str | None, driver: str | None, gpus: tuple[RequireGpu, ...] | None
) -> None:
    host = RequireHost(cuda, driver, gpus)
    for result in (hook(expression, host), toolkit(expression, host)):
        assert not (result.satisfied and result.error)
        assert result.satisfied is not False or result.variable
