"""Damaged libraries: what was readable is kept, the rest is one line, and nothing hangs or grows."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from doctor.formats.elf import ElfError
from doctor.formats.fatbin_summary import FatbinSummary, summarize, summarize_section
from tests.readers import bytes_reader

from ..drawn import drawn
from ..fixtures.fatbins import synthetic
from ..rows import for_each
from .test_fatbin import FATBINS, counting

MULTI_ARCH = (FATBINS / "multi_arch.so").read_bytes()
RELOCATABLE = (FATBINS / "nvcc_relocatable.so").read_bytes()


def summary_or_error(data: bytes) -> FatbinSummary | None:
    """Summarize; what is read may not exceed a few times the data."""
    read, sizes = counting(bytes_reader(data))
    try:
        summary = summarize(read)
    except ElfError as error:
        assert "\n" not in str(error)
        summary = None
    assert sum(sizes) < 64 * len(data) + (1 << 20)
    return summary


@for_each("path", sorted(FATBINS.glob("*.so")), ids=lambda path: path.stem)
def test_every_cut_is_survived(path: Path) -> None:
    data = path.read_bytes()
    whole = summarize(bytes_reader(data))
    assert not whole.truncated
    for size in range(0, len(data), 64):
        cut = summary_or_error(data[:size])
        assert cut is None or cut.kernel_containers <= whole.kernel_containers


def test_a_cut_section_keeps_what_came_before() -> None:
    boxes = [synthetic.container(map(synthetic.entry, ("sm_80", "sm_90")))] * 3
    data = b"".join(boxes)[: len(boxes[0]) * 2 + 60]
    section = summarize_section(bytes_reader(data), ".nv_fatbin", 0, len(boxes[0]) * 3)
    assert (section.containers, section.kernel_containers) == (3, 2)
    assert section.truncated and "ends" in section.problem


def test_a_cut_inside_the_last_payload_is_seen() -> None:
    data = synthetic.container([synthetic.entry("sm_80")])
    section = summarize_section(bytes_reader(data[:-8]), ".nv_fatbin", 0, len(data))
    assert (section.kernel_containers, section.problem) == (1, "file ends inside the section")


@for_each(
    ("content", "containers", "problem"),
    [
        (b"\xff" * 64, 0, "no container"),
        (synthetic.container([synthetic.entry("sm_80")]) + b"garbage!" * 4, 1, "no container"),
        (synthetic.container([synthetic.entry("sm_80")[:40]]), 1, ""),
        (synthetic.container([b"\x02\x00\x01\x01" + bytes(60)]), 1, "entry header"),
        (synthetic.container([synthetic.entry("sm_80")])[:8] + b"\xff" * 8 + synthetic.entry("sm_80"), 1, "longer"),
        (synthetic.container([]) * 150_000, 100_000, "more containers"),
    ],
)
def test_damage_is_named(content: bytes, containers: int, problem: str) -> None:
    (section,) = summarize(bytes_reader(synthetic.library({".nv_fatbin": content}))).sections
    assert section.containers == containers
    assert problem in section.problem
    assert section.truncated == bool(problem)


def test_a_sea_of_zeros_ends_the_walk() -> None:
    read, sizes = counting(lambda _offset, size: bytes(size))
    section = summarize_section(read, ".nv_fatbin", 0, 1 << 40)
    assert "zeros" in section.problem
    assert sum(sizes) < 64 << 20


def test_a_section_without_bytes_in_the_file_is_no_fat_binary() -> None:
    data = bytearray(synthetic.fatbin_library([["sm_80"]]))
    table = int.from_bytes(data[40:48], "little")
    data[table + 64 + 4] = 8  # SHT_NOBITS, as in a file of debug symbols
    assert summarize(bytes_reader(bytes(data))).sections == ()


@drawn(300)
@given(st.data())
def test_flipped_bytes_are_survived(data: st.DataObject) -> None:
    original = data.draw(st.sampled_from([MULTI_ARCH, RELOCATABLE]))
    changed = bytearray(original)
    headers = len(original) - 64 * 16
    for _ in range(data.draw(st.integers(1, 8))):
        place = st.one_of(
            st.integers(0, 63), st.integers(headers, len(original) - 1), st.integers(0, len(original) - 1)
        )
        changed[data.draw(place)] = data.draw(st.integers(0, 255))
    summary_or_error(bytes(changed))


TARGETS = st.sampled_from(["sm_52", "sm_80", "sm_90", "sm_90a", "sm_100f", "sm_120", "compute_75", "compute_120f"])


@given(st.lists(st.lists(TARGETS, min_size=1, max_size=4, unique=True), max_size=6))
def test_what_was_written_is_read(containers: list[list[str]]) -> None:
    summary = summarize(bytes_reader(synthetic.fatbin_library(containers)))
    found = {p.targets: p.containers for s in summary.sections for p in s.patterns}
    assert sum(found.values()) == len(containers)
    for targets in containers:
        names = [{t.name for t in pattern} for pattern in found]
        assert set(targets) in names
