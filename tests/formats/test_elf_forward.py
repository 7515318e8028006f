"""A library that comes by once gives the same facts as one that can be read anywhere."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.formats.elf import ElfError, parse_elf
from doctor.formats.elf_dynamic import read_dynamic
from doctor.formats.elf_forward import Library, read_library
from doctor.formats.fatbin_summary import FatbinSummary, summarize
from doctor.formats.notes import forward_compatibility
from tests.readers import bytes_reader, forward

from ..drawn import drawn
from ..fixtures.fatbins import synthetic
from ..rows import for_each
from .test_fatbin import FATBINS

ELF = Path(__file__).parent.parent / "fuzz" / "seeds" / "elf"
MAGIC = b"P\xedU\xba"


def read(data: bytes, piece: int = 1000) -> Library:
    return read_library(forward(data, piece), (b"NVIDIA Corporation\0",))


def code(library: Library) -> FatbinSummary:
    return library.containers.summary(library.kept.pread, library.size)


@for_each("path", [*sorted(FATBINS.glob("*.so")), *sorted(ELF.glob("*.so"))], ids=lambda path: path.name)
@pytest.mark.parametrize("piece", [977, 1 << 18])
def test_the_same_as_by_reading_anywhere(path: Path, piece: int) -> None:
    data = path.read_bytes()
    library, anywhere = read(data, piece), parse_elf(bytes_reader(data))
    headers = parse_elf(library.kept.pread)
    assert code(library) == summarize(bytes_reader(data))
    assert (headers.sections, headers.segments) == (anywhere.sections, anywhere.segments)
    assert read_dynamic(headers) == read_dynamic(anywhere)
    assert forward_compatibility(headers) == forward_compatibility(anywhere)


def test_the_bytes_of_a_container_are_not_taken_for_one() -> None:
    inner = synthetic.container([synthetic.entry("sm_70")])
    outer = synthetic.entry("sm_90", size=len(inner))[: -len(inner)] + inner
    library = read(synthetic.library({".rodata": MAGIC * 9 + b"x", ".nv_fatbin": synthetic.container([outer])}))
    assert [count.target.name for count in code(library).sections[0].targets] == ["sm_90"]


def test_a_container_outside_of_the_sections_does_not_count() -> None:
    library = read(
        synthetic.library(
            {
                ".data": synthetic.container([synthetic.entry("sm_70")]),
                ".nv_fatbin": synthetic.container([synthetic.entry("sm_90")]),
            }
        )
    )
    assert [(s.name, [c.target.name for c in s.targets]) for s in code(library).sections] == [(".nv_fatbin", ["sm_90"])]


def test_two_sections_side_by_side_are_told_apart() -> None:
    boxes = {name: synthetic.container([synthetic.entry(arch)]) for name, arch in
             ((".nv_fatbin", "sm_80"), ("__nv_relfatbin", "sm_90"))}  # fmt: skip
    data = synthetic.library(boxes)
    assert code(read(data)) == summarize(bytes_reader(data))


def test_damage_in_a_section_is_told() -> None:
    boxes = [synthetic.container([synthetic.entry("sm_80")])] * 3
    broken = boxes[0] + b"\xff" * len(boxes[1]) + boxes[2]
    summary = code(read(synthetic.library({".nv_fatbin": broken})))
    assert summary.kernel_containers == 2
    assert summary.problem == f"no container at byte {len(boxes[0])} of the section"


def test_what_is_no_library() -> None:
    for data, words in ((b"", "not an ELF file"), (b"#!/bin/sh\n", "not an ELF file"), (b"\x7fELF\2\1", "cut off")):
        with pytest.raises(ElfError, match=words):
            read(data)


@drawn(200)
@given(st.data())
def test_cut_or_damaged_it_ends_in_one_line(draw: st.DataObject) -> None:
    data = bytearray((FATBINS / "multi_arch.so").read_bytes())
    del data[draw.draw(st.integers(0, len(data))) :]
    for at in draw.draw(st.lists(st.integers(0, max(len(data) - 1, 0)), max_size=8)) if data else []:
        data[at] = draw.draw(st.integers(0, 255))
    try:
        library = read(bytes(data), draw.draw(st.sampled_from([977, 1 << 18])))
        summary = code(library)
        read_dynamic(parse_elf(library.kept.pread))
    except ElfError as error:
        assert "\n" not in str(error)
    else:
        assert summary.kernel_containers <= 64


def patched(strings: bytes, gap: int) -> bytes:
    """As patchelf leaves a library: its strings in a segment of their own behind all others, `gap` bytes from the start."""
    rows = [(1, 0, 0, 0x1000), (1, gap, gap, 0x1000), (2, gap, gap, 64), (1, gap + 0x1000, gap + 0x1000, len(strings))]
    header = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)
    header += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, len(rows), 64, 0, 0)
    header += b"".join(struct.pack("<IIQQQQQQ", kind, 6, at, to, to, size, size, 8) for kind, at, to, size in rows)
    dynamic = struct.pack("<qQqQqQqQ", 1, 1, 15, strings.index(b"$"), 5, gap + 0x1000, 0, 0)
    return header.ljust(gap, b"\0") + dynamic.ljust(0x1000, b"\0") + strings


@pytest.mark.slow
def test_strings_that_were_moved_to_the_end_are_found() -> None:
    data = patched(b"\0libcudart.so.12\0$ORIGIN/../../nvidia/cublas/lib\0", 70 << 20)
    found = read_dynamic(parse_elf(read(data, 1 << 18).kept.pread))
    assert found == read_dynamic(parse_elf(bytes_reader(data)))
    assert found is not None and (found.needed, found.rpath) == (
        ("libcudart.so.12",),
        ("$ORIGIN/../../nvidia/cublas/lib",),
    )


@pytest.mark.slow
def test_many_small_containers_do_not_pile_up() -> None:
    data = synthetic.fatbin_library([["sm_80", "sm_90"]] * 20_000)
    source, most = forward(data, 1 << 16), 0
    take = source._more

    def more() -> bytes:
        nonlocal most
        most = max(most, len(source.data))
        return take()

    source._more = more
    library = read_library(source)
    assert code(library).kernel_containers == 20_000
    assert most < 1 << 18 < len(data)
