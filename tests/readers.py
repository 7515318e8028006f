"""Readers of binary formats over bytes in memory and whole files."""

from __future__ import annotations

from io import BytesIO

from doctor.formats.fatbin_summary import FatbinSummary, summarize
from doctor.formats.forward import Forward
from doctor.formats.reader import FileReader, Pread


def bytes_reader(data: bytes) -> Pread:
    """A reader over bytes in memory."""

    def pread(offset: int, size: int) -> bytes:
        return data[offset : offset + size] if offset >= 0 and size > 0 else b""

    return pread


def summarize_file(path: str) -> FatbinSummary:
    """Count the fat binaries of the library at `path`. Raises ElfError, OSError."""
    with FileReader(path) as reader:
        return summarize(reader.pread)


def forward(data: bytes, piece: int) -> Forward:
    """A reader over bytes that come once, `piece` of them at a time."""
    file = BytesIO(data)

    def skip(count: int) -> None:
        file.seek(count, 1)

    return Forward(lambda: file.read(piece), skip, len(data))
