"""The forward-compatibility note, in objects that gcc assembles here with NVIDIA's layout."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from doctor.formats.elf import parse_elf
from doctor.formats.notes import ForwardCompatibility, NoteError, forward_compatibility, iter_notes
from tests.readers import bytes_reader

from ..rows import for_each

NOTE = """
.section .note.cuda.fwd_compatibility,"a",@note
.balign 4
.long 2f-1f, {size}, 0
1: .asciz "{owner}"
2: .balign 4
3: .ascii {text}
4: .balign 4
.section .note.GNU-stack,"",@progbits
"""
CUDA_12_9 = '{"format":1,"CUDA version":"12.9","driver":[535,550,560,565,570,575],"device":[1,2,7,8,9,10,11,12,13,14]}'


def library(folder: Path, text: str, owner: str = "NVIDIA Corporation", size: str = "4f-3f") -> bytes:
    quoted = '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    (folder / "note.s").write_text(NOTE.format(owner=owner, text=quoted, size=size.replace("4f-3f", str(len(text)))))
    out = folder / "libcuda.so.575.57.08"
    subprocess.run(["gcc", "-shared", "-nostdlib", "-o", out, folder / "note.s"], check=True)
    return out.read_bytes()


def read(data: bytes) -> ForwardCompatibility | None:
    return forward_compatibility(parse_elf(bytes_reader(data)))


def test_the_allow_list_of_a_compat_library(tmp_path: Path) -> None:
    assert read(library(tmp_path, CUDA_12_9)) == ForwardCompatibility(
        1, "12.9", (535, 550, 560, 565, 570, 575), (1, 2, 7, 8, 9, 10, 11, 12, 13, 14)
    )


def test_a_jetson_note_names_only_its_cuda_version_and_is_shorter_than_it_says(tmp_path: Path) -> None:
    data = library(tmp_path, '{"format":1,"CUDA version":"13.2"}', size="41")
    assert read(data) == ForwardCompatibility(1, "13.2", None, None)


def test_the_note_is_found_without_a_section_table(tmp_path: Path) -> None:
    data = bytearray(library(tmp_path, CUDA_12_9))
    data[40:48] = bytes(8)
    found = read(bytes(data))
    assert found is not None and found.cuda_version == "12.9"


def test_an_ordinary_driver_library_has_no_note(tmp_path: Path) -> None:
    assert read(library(tmp_path, CUDA_12_9, owner="Somebody Else")) is None


@for_each("text", ['{"format":1,"CUDA version":"13.2",}', "[1, 2]", '{"format":1,"driver":["535"]}', "[" * 5000])
def test_a_note_that_makes_no_sense_is_one_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(NoteError):
        read(library(tmp_path, text))


def test_build_ids_are_notes_too(tmp_path: Path) -> None:
    source = tmp_path / "a.c"
    source.write_text("int a;\n")
    out = tmp_path / "a.so"
    subprocess.run(["gcc", "-shared", "-Wl,--build-id=0x0123456789", "-o", out, source], check=True)
    notes = list(iter_notes(parse_elf(bytes_reader(out.read_bytes()))))
    build_id = next(note for note in notes if note.section == ".note.gnu.build-id")
    assert (build_id.name, build_id.type, build_id.description.hex()) == ("GNU", 3, "0123456789")
