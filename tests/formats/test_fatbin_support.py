"""A few special kernels are no support; general code in nearly all containers is."""

from __future__ import annotations

from doctor.formats.fatbin import Target
from doctor.formats.fatbin_summary import FatbinSummary, summarize
from doctor.formats.fatbin_support import _OWN_CODE_ONLY, Share, coverage, loaded_section, served, supported
from tests.readers import bytes_reader, summarize_file

from ..fixtures.fatbins.synthetic import fatbin_library
from ..judging import matrix
from ..rows import for_each
from .test_fatbin import FATBINS

GENERIC = ["sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"]


def of(containers: list[list[str]]) -> FatbinSummary:
    return summarize(bytes_reader(fatbin_library(containers)))


def names(summary: FatbinSummary) -> list[str]:
    return [target.name for target in supported(summary)]


def share(summary: FatbinSummary, *targets: str) -> Share:
    section = loaded_section(summary)
    assert section is not None
    return served(section, lambda target: target.name in targets)


def test_torch_2_15_in_miniature() -> None:
    """415 plain containers, 57 with family kernels, single ones with more: as measured on libtorch_cuda.so."""
    torch = of(
        [GENERIC] * 415
        + [[*GENERIC, "sm_100a", "sm_103f"]] * 57
        + [[*GENERIC, "sm_90a"]] * 3
        + [[*GENERIC, "sm_89", "sm_120a", "sm_121a"]]
    )
    assert names(torch) == GENERIC
    assert share(torch, "sm_103f").grade == "few"
    assert share(torch, "sm_70").grade == "none"
    assert coverage(torch, "SASS", "8.9") == 1 / 476
    assert coverage(torch, "SASS", "9.0") == 1.0


def test_specific_code_in_containers_of_its_own_does_not_dilute_the_rest() -> None:
    """NCCL 2.32: 56 general containers and 20 for the 10.0 family alone."""
    nccl = of([[*GENERIC, "compute_120"]] * 54 + [GENERIC] * 2 + [["sm_100f"]] * 20)
    assert names(nccl) == [*GENERIC, "compute_120"]
    assert share(nccl, "sm_80") == Share(56, 56)


def test_one_general_target_and_one_specific_serve_together() -> None:
    """cuDNN: old engines carry 9.0, newer ones 9.0a; a Hopper GPU runs both."""
    cudnn = of([["sm_61", "sm_80", "sm_90"]] * 5 + [["sm_75", "sm_80", "sm_90a"]] * 5 + [["sm_100"]] * 30)
    assert share(cudnn, "sm_90").grade == "partial"
    assert share(cudnn, "sm_90", "sm_90a").grade == "full"
    assert share(cudnn, "sm_61").grade == "partial"
    assert names(cudnn) == ["sm_80", "sm_90"]


def test_containers_of_one_generation_each_count_among_themselves() -> None:
    summary = summarize_file(str(FATBINS / "one_generation_each.so"))
    assert share(summary, "sm_80") == Share(2, 6)
    assert names(summary) == []


@for_each(
    ("library", "expected"),
    [
        ("special_kernels", ["sm_80", "sm_90"]),
        ("ptx_only", ["compute_80"]),
        ("nvcc_relocatable", ["sm_80", "sm_90", "compute_90"]),
        ("nvcc_host_only", []),
        ("no_device_code", []),
    ],
)
def test_libraries_made_by_nvcc(library: str, expected: list[str]) -> None:
    assert names(summarize_file(str(FATBINS / f"{library}.so"))) == expected


def test_the_linked_code_decides_over_the_linkers_inputs() -> None:
    linked = loaded_section(summarize_file(str(FATBINS / "nvcc_relocatable.so")))
    assert linked is not None and linked.name == ".nv_fatbin"
    inputs = summarize(bytes_reader(fatbin_library([["sm_80"]], section="__nv_relfatbin")))
    alone = loaded_section(inputs)
    assert alone is not None and alone.name == "__nv_relfatbin"
    assert loaded_section(summarize_file(str(FATBINS / "nvcc_host_only.so"))) is None


def test_nothing_is_never_full() -> None:
    assert Share(0, 0).grade == "none"
    assert coverage(of([]), "SASS", "9.0") == 0.0


def test_names_are_nvccs() -> None:
    assert [Target("SASS", "9.0", "a").name, Target("PTX", "12.0", "f").name] == ["sm_90a", "compute_120f"]


def test_older_code_of_the_generation_stands_in_for_a_target_that_many_containers_hold() -> None:
    """libtorch_cuda_cu.so of torch 1.13: a fifth comes from static libraries, with 3.5 in place of 3.7."""
    rest = ["sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86"]
    assert names(of([["sm_37", *rest]] * 187 + [["sm_35", *rest]] * 46 + [["sm_80"]] * 16)) == ["sm_37", *rest]
    assert names(of([["sm_75", "sm_80", "sm_89"]] + [["sm_75", "sm_80"]] * 9)) == ["sm_75", "sm_80"], "special kernels"
    onnx = of([["sm_75", "sm_80", "sm_90a"]] * 7 + [["sm_80", "sm_90a"]] * 3)
    assert names(onnx) == ["sm_80", "sm_90a"], "nothing older of its generation is there"
    orin = of([["sm_75", "sm_80", "sm_87"]] * 7 + [["sm_75", "sm_80"]] * 3)
    assert names(orin) == ["sm_75", "sm_80"], "an Orin does not run what was compiled for 8.0"


def test_systems_on_a_chip_are_those_of_the_matrix() -> None:
    special = {row.device for row in matrix().binary_rules if row.rule not in ("from-build-cuda", "misnamed")}
    assert set(_OWN_CODE_ONLY) == special - {"10.7"}
