"""The walker reads what nvcc and fatbinary were told to put in, and nothing else."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from doctor.formats.elf import parse_elf
from doctor.formats.fatbin import Entry, Target, decode, walk
from doctor.formats.fatbin_summary import summarize
from doctor.formats.reader import FileReader, Pread
from tests.readers import bytes_reader, summarize_file

from ..fixtures.fatbins import generate, synthetic
from ..fixtures.fatbins.recipes import NVCC_LIBRARIES, RECIPES
from ..rows import for_each

FATBINS = Path(generate.__file__).parent


def target_of(name: str) -> Target:
    kind, number = name.split("_")
    arch = number.rstrip("af")
    return Target("SASS" if kind == "sm" else "PTX", f"{arch[:-1]}.{arch[-1]}", number[len(arch) :])


def containers_of(path: Path) -> list[list[str]]:
    with FileReader(str(path)) as reader:
        section = parse_elf(reader.pread).section(".nv_fatbin")
        assert section is not None
        return [
            [Target(e.kind, e.arch, e.variant).name for e in entries]
            for entries in entries_of(reader.pread, section.offset, section.size)
        ]


def entries_of(read: Pread, offset: int, size: int) -> list[list[Entry]]:
    return [[decode(header) for header in container.headers] for container in walk(read, offset, size)]


def check_folder(folder: Path) -> None:
    for name, recipe in RECIPES.items():
        assert containers_of(folder / f"{name}.so") == [list(box.targets) for box in recipe.boxes], name
        (section,) = summarize_file(str(folder / f"{name}.so")).sections
        with_kernels = [box for box in recipe.boxes if box.kernel]
        assert (section.containers, section.kernel_containers) == (len(recipe.boxes), len(with_kernels)), name
        assert not section.truncated and not section.other_kinds
        entries = Counter(target_of(t) for box in recipe.boxes for t in box.targets)
        holding = Counter(target_of(t) for box in with_kernels for t in box.targets)
        assert {c.target: (c.entries, c.containers) for c in section.targets} == {
            target: (count, holding[target]) for target, count in entries.items()
        }, name
        patterns = Counter(frozenset(map(target_of, box.targets)) for box in with_kernels)
        assert {p.targets: p.containers for p in section.patterns} == patterns, name
    for name, expected in NVCC_LIBRARIES.items():
        summary = summarize_file(str(folder / f"{name}.so"))
        assert {s.name for s in summary.sections} == set(expected), name
        for section in summary.sections:
            total, kernels, targets = expected[section.name]
            assert (section.containers, section.kernel_containers) == (total, kernels), name
            assert {c.target.name: (c.entries, c.containers) for c in section.targets} == dict.fromkeys(
                targets, (total, kernels)
            ), name


def test_committed_libraries_hold_what_their_recipes_say() -> None:
    check_folder(FATBINS)


@pytest.mark.nvcc
def test_libraries_made_now_hold_the_same(tmp_path: Path) -> None:
    generate.generate(tmp_path)
    check_folder(tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == {p.name for p in FATBINS.glob("*.so")}


@for_each(("name", "packed"), [("uncompressed", False), ("old_packing", True), ("multi_arch", True)])
def test_packed_entries_are_told_from_plain_ones(name: str, packed: bool) -> None:
    with FileReader(str(FATBINS / f"{name}.so")) as reader:
        section = parse_elf(reader.pread).section(".nv_fatbin")
        assert section is not None
        entries = [e for box in entries_of(reader.pread, section.offset, section.size) for e in box]
    assert {e.compressed for e in entries} == {packed}
    assert all((e.unpacked > e.size) == packed for e in entries)


def counting(read: Pread) -> tuple[Pread, list[int]]:
    sizes: list[int] = []

    def counted(offset: int, size: int) -> bytes:
        data = read(offset, size)
        sizes.append(len(data))
        return data

    return counted, sizes


def test_payloads_are_not_read(tmp_path: Path) -> None:
    payload = 64 << 20
    head = synthetic.entry("sm_90", size=0)
    sized = head[:8] + payload.to_bytes(8, "little") + head[16:]
    size = 16 + 8 * (64 + payload)
    path = tmp_path / "half_a_gigabyte.bin"
    with path.open("wb") as file:  # sparse: takes no room on the disk
        file.write(synthetic.container([])[:8] + (size - 16).to_bytes(8, "little"))
        for index in range(8):
            file.seek(16 + index * (64 + payload))
            file.write(sized)
        file.truncate(size)
    with FileReader(str(path)) as reader:
        read, sizes = counting(reader.pread)
        (entries,) = entries_of(read, 0, size)
    assert [e.size for e in entries] == [payload] * 8
    assert sum(sizes) < 8192


def test_small_containers_share_reads() -> None:
    data = synthetic.fatbin_library([["sm_80", "sm_90"]] * 2000)
    read, sizes = counting(bytes_reader(data))
    assert summarize(read).kernel_containers == 2000
    assert len(sizes) < 60


def test_unknown_kinds_are_counted_apart() -> None:
    odd = b"\x08\x00" + synthetic.entry("sm_80")[2:]
    data = synthetic.library({".nv_fatbin": synthetic.container([synthetic.entry("sm_80"), odd])})
    (section,) = summarize(bytes_reader(data)).sections
    assert section.other_kinds == {"kind-8": 1}
    assert [c.target.name for c in section.targets] == ["sm_80"]
    assert section.entries == 2


def kernels_by_size(*entries: tuple[str, int]) -> dict[str, int]:
    """One container of packed entries with these sizes before packing: how many containers hold kernels of each."""
    packed = synthetic.container(synthetic.entry(target, unpacked=size) for target, size in entries)
    (section,) = summarize(bytes_reader(synthetic.library({".nv_fatbin": packed}))).sections
    return {count.target.name: count.containers for count in section.targets}


def test_units_whose_sizes_do_not_tell_are_what_the_rest_of_their_container_is() -> None:
    alike = kernels_by_size(("sm_50", 1792), ("sm_80", 1848), ("sm_86", 1848), ("sm_90", 1808))  # torch 2.6, empty
    assert set(alike.values()) == {0}
    named = kernels_by_size(("sm_75", 6360), ("sm_80", 6360), ("sm_90", 6856), ("sm_100", 8984))  # torch 2.14, empty
    assert len(set(named.values())) == 1
    guarded = kernels_by_size(("sm_75", 5456), ("sm_80", 147232), ("sm_90", 158496))  # torch 2.14
    assert guarded["sm_80"] == guarded["sm_90"] == 1
    left_out = kernels_by_size(("sm_75", 1240), ("sm_80", 3112), ("sm_90", 20000))
    assert left_out == {"sm_75": 0, "sm_80": 1, "sm_90": 1}
