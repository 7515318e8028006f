"""Cohorts: who is compared with whom, and what the group is called."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from doctor.fleet.cohorts import Alike, alike, cohort, cohort_of, link_of, name_of, short, size_gib
from doctor.fleet.kinds import MIXED, Cohort
from doctor.fleet.thresholds import thresholds
from doctor.snapshot import ABSENT, Host, Missing, Snapshot

from ..drawn import drawn
from ..healthy import gpu
from ..rows import for_each

H100 = ("NVIDIA H100 80GB HBM3", 81559)
H200 = ("NVIDIA H200", 143771)


def machine(*gpus: object, arch: object = "x86_64") -> Snapshot:
    return Snapshot(gpus=tuple(gpus), host=Host(architecture=arch))  # type: ignore[arg-type]


def test_a_node_of_eight_h100() -> None:
    s = machine(*(gpu("h100", index) for index in range(8)))
    assert cohort_of(s) == Cohort("H100 80GB HBM3", 8, 80, "x86_64")
    assert name_of(Cohort("H100 80GB HBM3", 8, 80, "x86_64")) == "8x H100 80GB"
    assert name_of(cohort([H200] * 8, "x86_64")) == "8x H200"


def test_gpus_that_cannot_be_listed_are_no_cohort_and_no_gpu_is_one() -> None:
    assert cohort_of(Snapshot(gpus=Missing("error", "NVML"))) is None
    assert cohort_of(machine()) == Cohort("", 0, 0, "x86_64")
    assert name_of(Cohort("", 0, 0, "x86_64")) == "no GPU"
    assert name_of(Cohort("", 2, 0, "")) == "2x GPU"


def test_several_models_or_sizes_are_mixed() -> None:
    assert cohort([H100] * 4 + [H200] * 4, "x86_64") == Cohort(MIXED, 8, 141, "x86_64")
    assert cohort([("NVIDIA GeForce RTX 4060 Ti", 8188), ("NVIDIA GeForce RTX 4060 Ti", 16380)], None).model == MIXED
    assert name_of(Cohort(MIXED, 8, 141, "x86_64")) == "8 GPUs of several models"


def test_a_gpu_that_does_not_say_its_name_or_memory_makes_no_mixed_node() -> None:
    assert cohort([H100] * 7 + [(None, None)], "x86_64") == Cohort("H100 80GB HBM3", 8, 80, "x86_64")


def test_the_name_says_what_tells_two_cohorts_apart_and_no_more() -> None:
    small, large = Cohort("GeForce RTX 4060 Ti", 1, 8, "x86_64"), Cohort("GeForce RTX 4060 Ti", 1, 16, "x86_64")
    arm = Cohort("GH200 480GB", 1, 96, "aarch64")
    assert name_of(small, [small, arm]) == "1x GeForce RTX 4060 Ti"
    assert [name_of(one, [small, large]) for one in (small, large)] == [
        "1x GeForce RTX 4060 Ti 8GB",
        "1x GeForce RTX 4060 Ti 16GB",
    ]
    other = arm._replace(arch="x86_64")
    assert name_of(arm, [arm, other]) == "1x GH200 480GB aarch64"
    assert name_of(Cohort("H100 80GB HBM3", 8, 80, ""), [Cohort("H100 80GB HBM3", 8, 96, "")]) == "8x H100 80GB"


def test_the_vendor_is_no_part_of_a_model() -> None:
    assert [short(n) for n in ("NVIDIA H200", "Tesla T4", "  NVIDIA L4 ")] == ["H200", "Tesla T4", "L4"]


@for_each(
    "mib, gib",
    [(81559, 80), (143771, 141), (95830, 96), (183359, 180), (189471, 180), (275040, 288), (23034, 24), (15360, 16),
     (46068, 48), (49140, 48), (11019, 11), (10240, 10), (124_000, 128), (0, 0), (-1, 0), (1_000_000, 977)],
)  # fmt: skip
def test_memory_is_named_by_the_size_that_is_sold(mib: int, gib: int) -> None:
    assert size_gib(mib) == gib


def test_no_card_of_the_matrix_is_near_a_border_between_two_sizes() -> None:
    """Totals differ by driver: 1 % more or less must not put a node into another cohort."""
    rows = json.loads((Path(__file__).parents[2] / "compat_matrix/data/gpus.json").read_text("utf-8"))
    sizes = {mib for row in rows for mib in row.get("memory_mib") or ()}
    assert len(sizes) > 25
    for mib in sizes:
        assert size_gib(mib * 0.99) == size_gib(mib) == size_gib(mib * 1.01), mib


@drawn(100)
@given(st.integers(100, 600_000), st.integers(100, 600_000))
def test_more_memory_is_never_a_smaller_size(a: int, b: int) -> None:
    assert (size_gib(min(a, b))) <= size_gib(max(a, b))
    assert size_gib(a) in thresholds().memory_sizes_gib.value


def test_speed_is_compared_by_power_limit_and_link() -> None:
    one = gpu("h100")
    assert alike(700.0, link_of(one)) == Alike(700.0, "gen4 x16")
    assert alike(699.98, "gen4 x16") == alike(700.0, "gen4 x16")
    assert alike(600.0, "gen4 x16") != alike(700.0, "gen4 x16") != alike(700.0, "gen4 x8")
    assert link_of(replace(one, pcie_width_max=8)) == "gen4 x8"
    assert link_of(replace(one, pcie_gen_max=ABSENT)) == ""
    assert alike(None, "") == Alike(None, "")
