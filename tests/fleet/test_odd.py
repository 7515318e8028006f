"""Odd values: the borders of 5 % and 80 %, splits, unknown values, and the table of facts that are compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec import inspect

from doctor.fleet.facts import compared, differs_by_nature, facts, field_of, key_of, label
from doctor.fleet.odd import Odd, Split, Unread, judge, without_repeats
from doctor.snapshot import Missing, Snapshot

from ..drawn import drawn
from ..rows import for_each

DRIVER = "driver.kernel_version"


def odd(counts: dict[str, int], unknown: int = 0, size: int = 0, path: str = DRIVER) -> list[str]:
    found = judge(path, counts, unknown, size or sum(counts.values()) + unknown)
    return [one.value for one in found if isinstance(one, Odd)]


def split(counts: dict[str, int], unknown: int = 0, path: str = DRIVER) -> list[tuple[str, int]]:
    found = judge(path, counts, unknown, sum(counts.values()) + unknown)
    return [value for one in found if isinstance(one, Split) for value in one.values]


@for_each(
    "counts, unknown, values",
    [
        ({"a": 95, "b": 5}, 0, ["b"]),
        ({"a": 94, "b": 6}, 0, []),
        ({"a": 80, "b": 5, "c": 5, "d": 5, "e": 5}, 0, ["b", "c", "d", "e"]),
        ({"a": 79, "b": 5, "c": 5, "d": 5, "e": 6}, 0, []),
        ({"a": 80, "b": 5}, 15, ["b"]),
        ({"a": 79, "b": 5}, 16, []),
        ({"a": 8, "b": 2}, 0, ["b"]),
        ({"a": 12, "b": 3}, 0, []),
        ({"a": 4, "b": 1}, 0, ["b"]),
        ({"a": 3, "b": 1}, 0, []),
        ({"a": 445, "b": 3}, 0, ["b"]),
        ({"a": 1000}, 0, []),
        ({}, 10, []),
        ({"a": 1}, 0, []),
    ],
)
def test_both_sides_of_five_and_of_eighty_percent(counts: dict[str, int], unknown: int, values: list[str]) -> None:
    assert odd(counts, unknown) == values


def test_an_odd_value_says_what_the_others_have() -> None:
    assert judge(DRIVER, {"570": 445, "565": 3}, 0, 448) == (Odd(DRIVER, "565", 3, "570", 445, ("565",)),)


@for_each(
    "counts, values",
    [
        ({"a": 300, "b": 148}, [("a", 300), ("b", 148)]),
        ({"a": 94, "b": 6}, [("a", 94), ("b", 6)]),
        ({"a": 60, "b": 37, "c": 3}, [("a", 60), ("b", 37)]),
        ({"a": 85, "b": 12, "c": 3}, [("a", 85), ("b", 12)]),
        ({"a": 2, "b": 2}, [("a", 2), ("b", 2)]),
        ({"a": 2, "b": 1}, []),
        ({"a": 8, "b": 2}, []),
        ({str(n): 1 for n in range(12)}, []),
    ],
)
def test_several_large_values_are_one_split(counts: dict[str, int], values: list[tuple[str, int]]) -> None:
    assert split(counts) == values


def test_a_third_value_is_odd_beside_a_split_only_if_one_has_eighty_percent() -> None:
    assert odd({"a": 85, "b": 12, "c": 3}) == ["c"]
    assert odd({"a": 60, "b": 37, "c": 3}) == []


def test_what_could_not_be_read_is_unknown_and_never_odd() -> None:
    assert judge(DRIVER, {"a": 95}, 5, 100) == (Unread(DRIVER, 5, 95),)
    assert judge(DRIVER, {"a": 94}, 6, 100) == ()
    assert judge(DRIVER, {}, 100, 100) == ()
    assert judge(DRIVER, {"a": 4}, 1, 5) == (Unread(DRIVER, 1, 4),)


@for_each(
    "counts, values",
    [
        ({"515000": 90, "515001": 6, "520000": 2, "400000": 2}, ["400000"]),
        ({"100000": 95, "99000": 5}, []),
        ({"100000": 95, "98990": 5}, ["98990"]),
        ({"100000": 97, "50000": 2, "50100": 1}, ["50000"]),
        ({"100000": 97, "absent": 3}, ["absent"]),
    ],
)
def test_memory_sizes_within_one_percent_are_equal(counts: dict[str, int], values: list[str]) -> None:
    assert odd(counts, path="host.memory_total_mib") == values


def test_other_numbers_are_compared_exactly_and_equal_sizes_are_one_value() -> None:
    assert odd({"100000": 97, "99900": 3}, path="host.open_files") == ["99900"]
    (found,) = judge("gpus.memory_total_mib", {"100000": 97, "50000": 2, "50100": 1}, 0, 100)
    assert isinstance(found, Odd)
    assert found == Odd("gpus.memory_total_mib", "50000", 3, "100000", 97, ("50000", "50100"))


def test_a_value_that_every_node_has_on_some_gpu_is_large() -> None:
    """Nodes with two values on their GPUs count for both: more than the cohort together."""
    (found,) = judge("gpus.vbios", {"new": 448, "old": 448}, 0, 448)
    assert isinstance(found, Split)
    assert odd({"new": 448, "old": 1}, size=448, path="gpus.vbios") == ["old"]


COUNTS = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 300), max_size=6)


@drawn(300)
@given(COUNTS, st.integers(0, 50))
def test_the_rule_holds_for_every_odd_value_and_for_no_other(counts: dict[str, int], unknown: int) -> None:
    size = sum(counts.values()) + unknown
    expected = {
        value
        for value, nodes in counts.items()
        if (100 * nodes <= 5 * size or nodes <= 2)
        and any(100 * other >= 80 * size for name, other in counts.items() if name != value)
    }
    assert set(odd(counts, unknown, size or 1)) == expected


@drawn(100)
@given(COUNTS, st.integers(0, 50), st.randoms())
def test_the_order_of_the_values_does_not_matter(counts: dict[str, int], unknown: int, rng: Any) -> None:
    shuffled = list(counts.items())
    rng.shuffle(shuffled)
    size = sum(counts.values()) + unknown
    assert judge(DRIVER, counts, unknown, size) == judge(DRIVER, dict(shuffled), unknown, size)


@for_each("path", ["gpus.temperature_c", "gpus.uuid", "host.environment[SLURM_JOB_ID]", "measured.rates", "no.fact"])
def test_what_differs_by_nature_is_never_odd(path: str) -> None:
    assert judge(path, {"a": 99, "b": 1}, 0, 100) == ()


def test_a_fact_that_follows_from_another_one_goes_into_its_line() -> None:
    three, two = frozenset({1, 2, 3}), frozenset({1, 2})
    assert without_repeats([("driver.libcuda_version", three), (DRIVER, three)]) == {
        DRIVER: ("driver.libcuda_version",)
    }
    assert without_repeats([("gpus.gsp_firmware", two), (DRIVER, three)]) == {DRIVER: ("gpus.gsp_firmware",)}
    assert without_repeats([("driver.libcuda_version", three), (DRIVER, two)]) == {
        "driver.libcuda_version": (),
        DRIVER: (),
    }
    assert without_repeats([("driver.libcuda_version", three)]) == {"driver.libcuda_version": ()}
    assert without_repeats([(DRIVER, two), ("host.kernel", two)]) == {DRIVER: (), "host.kernel": ()}


def test_a_chain_is_followed_to_its_beginning() -> None:
    one = frozenset({7})
    start = "driver.kernel_version"
    found = without_repeats([("driver.cu_init", one), ("driver.nvml_init", one), (start, one)])
    assert found == {start: ("driver.cu_init", "driver.nvml_init")}
    assert without_repeats([("driver.cu_init", one), (start, one)]) == {start: ("driver.cu_init",)}


def fields(path: str, kind: Any) -> Iterator[str]:
    """Every field that a Snapshot can hold, by path; the types say so."""
    if isinstance(kind, inspect.UnionType):
        for one in kind.types:
            if not (isinstance(one, inspect.StructType) and one.cls is Missing):
                yield from fields(path, one)
    elif isinstance(kind, inspect.StructType):
        for field in kind.fields:
            yield from fields(f"{path}.{field.encode_name}".lstrip("."), field.type)
    elif isinstance(kind, (inspect.VarTupleType, inspect.ListType)):
        yield from fields(path, kind.item_type)
    elif not isinstance(kind, inspect.NoneType):
        yield path


def above(path: str) -> list[str]:
    parts = path.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]


def test_each_field_of_a_snapshot_is_compared_or_named_with_a_reason() -> None:
    table = facts()
    every = set(fields("", inspect.type_info(Snapshot)))
    assert len(every) > 300
    for path in sorted(every):
        named = [one for one in above(path) if one in table.by_nature or one in table.covered]
        whole = [path] if path in table.compared else []
        assert len(named) + len(whole) == 1, f"{path}: {named + whole or 'neither compared nor named in facts.json'}"
    known = {one for path in every for one in above(path)}
    for path in (*table.compared, *table.by_nature, *table.covered):
        assert path in known, f"{path} of facts.json is no field of a Snapshot"


def test_each_row_of_the_table_has_a_name_and_what_it_repeats_is_compared() -> None:
    table = facts()
    for path, row in table.compared.items():
        assert row.label, path
        assert not row.same_as or compared(row.same_as), path
        assert row.same_as != path
    assert all(table.by_nature.values())
    assert all(table.covered.values())
    labels = [row.label for row in table.compared.values()]
    assert len(set(labels)) == len(labels)


@for_each(
    "path, field, key, words",
    [
        ("driver.kernel_version", "driver.kernel_version", "", "driver"),
        ("host.environment[CC]", "host.environment", "CC", "variable CC"),
        ("python.distributions[nvidia-cudnn-cu12].version", "python.distributions.version", "nvidia-cudnn-cu12",
         "package nvidia-cudnn-cu12"),
        ("driver.pcie_paths[0000:18:00.0].iommu", "driver.pcie_paths.iommu", "0000:18:00.0",
         "IOMMU of PCI device 0000:18:00.0"),
        ("no.fact", "no.fact", "", "no.fact"),
    ],
)  # fmt: skip
def test_a_path_may_name_an_item_of_a_list(path: str, field: str, key: str, words: str) -> None:
    assert (field_of(path), key_of(path), label(path)) == (field, key, words)


@for_each(
    "path, natural, is_compared",
    [
        ("gpus.uuid", True, False),
        ("gpus.processes[1].pid", True, False),
        ("host.environment[CC]", False, True),
        ("host.environment[SLURM_JOB_ID]", True, False),
        ("host.environment[CUDA_VISIBLE_DEVICES]", True, False),
        ("driver.nvml_init_text", False, False),
        ("driver.kernel_version", False, True),
        ("python.distributions[numpy].version", False, True),
    ],
)
def test_natural_covered_or_compared(path: str, natural: bool, is_compared: bool) -> None:
    assert (differs_by_nature(path), compared(path) is not None) == (natural, is_compared)
