"""ELF notes, and the forward-compatibility note inside the libcuda of newer cuda-compat packages.

A note is name size, description size and type (three u32), then both padded to the section's alignment. NVIDIA's lies
in section ``.note.cuda.fwd_compatibility`` under the name ``NVIDIA Corporation``; its description is JSON: ``format``,
``CUDA version``, and, except on Jetson, ``driver`` (host branches) and ``device`` (brand ids).
Source: NVIDIA/nvidia-container-toolkit, cmd/nvidia-cdi-hook/cudacompat and testdata/compat.
"""

from __future__ import annotations

import struct
from typing import Iterator, NamedTuple, Optional, Tuple

from .elf import PT_NOTE, SHT_NOTE, Elf

FORWARD_COMPATIBILITY_SECTION = ".note.cuda.fwd_compatibility"
FORWARD_COMPATIBILITY_NAME = "NVIDIA Corporation"
_MAX_NOTE_BYTES = 1 << 16
_MAX_NOTES = 256
_MAX_LIST = 1024


class Note(NamedTuple):
    """One note; ``section`` is empty for a note found by segment only."""

    section: str
    name: str
    type: int
    description: bytes


class ForwardCompatibility(NamedTuple):
    """What a compat libcuda says of itself. None: the note does not name it (not: nothing allowed)."""

    format: Optional[int]
    cuda_version: Optional[str]
    host_driver_majors: Optional[Tuple[int, ...]]
    brand_ids: Optional[Tuple[int, ...]]


class NoteError(Exception):
    """The note is there and cannot be understood; the message is one line."""


def iter_notes(elf: Elf, only_section: str = "") -> Iterator[Note]:
    """The first 256 notes: of the sections, or of the segments where no section table is. OSError from the reader."""
    areas = [
        (s.name, s.offset, s.size, s.align) for s in elf.sections if s.type == SHT_NOTE and only_section in ("", s.name)
    ]
    if not elf.sections:
        areas = [("", s.offset, s.size, s.align) for s in elf.segments if s.type == PT_NOTE]
    left = _MAX_NOTES
    for name, offset, size, align in areas:
        for note in _split(name, elf.read(offset, min(size, _MAX_NOTE_BYTES)), 8 if align == 8 else 4):
            if not left:
                return
            left -= 1
            yield note


def forward_compatibility(elf: Elf) -> Optional[ForwardCompatibility]:
    """The allow list of a compat libcuda, or None where the library carries none. Raises NoteError."""
    for note in iter_notes(elf, FORWARD_COMPATIBILITY_SECTION):
        if note.name == FORWARD_COMPATIBILITY_NAME:
            return parse_forward_compatibility(note.description)
    return None


def parse_forward_compatibility(description: bytes) -> ForwardCompatibility:
    """Read the JSON of the note; keys in any case, as the container toolkit does. Raises NoteError."""
    import json  # few machines have such a note

    try:
        data = json.loads(description.rstrip(b"\0").decode("utf-8"))
    except (ValueError, RecursionError):
        raise NoteError("forward-compatibility note is not JSON") from None
    if not isinstance(data, dict):
        raise NoteError("forward-compatibility note is not a JSON object")
    keys = {str(key).lower(): value for key, value in data.items()}
    form, version = keys.get("format"), keys.get("cuda version")
    return ForwardCompatibility(
        form if isinstance(form, int) else None,
        version if isinstance(version, str) else None,
        _numbers(keys.get("driver")),
        _numbers(keys.get("device")),
    )


def _numbers(value: object) -> Optional[Tuple[int, ...]]:
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(item, int) for item in value):
        raise NoteError("forward-compatibility note has a list that is not numbers")
    return tuple(value[:_MAX_LIST])


def _split(section: str, data: bytes, align: int) -> Iterator[Note]:
    """Notes in ``data``; a last description that is shorter than it says is kept (Jetson's compat libcuda has one)."""
    position = 0
    while position + 12 <= len(data):
        name_size, size, kind = struct.unpack_from("<III", data, position)
        start = position + 12
        description = start + (name_size + align - 1) // align * align
        if description > len(data):
            return
        name = data[start : start + name_size].split(b"\0", 1)[0].decode("utf-8", "replace")
        yield Note(section, name, kind, data[description : description + size])
        position = description + (size + align - 1) // align * align
