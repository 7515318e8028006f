"""What is read from one file as it passes by, depending on what is needed from it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ...formats.elf import ElfError, parse_elf
from ...formats.elf_forward import read_library
from ...formats.forward import Forward
from ...formats.pytorch import ARCH_MARKS, longest_list
from ...formats.tar_stream import TarStream
from ...probes.tools import GLIBC_BYTES, code_line, elf_line, glibc_version, note_line
from .unpack import PIECE
from .wanted import ARCH_LIST, CACHE, GLIBC, HEADER, LIBRARY, PACKAGES_FILE

_TEXT_BYTES = 1 << 20
_CACHE_BYTES = 4 << 20
_STATUS_BYTES = 16 << 20
_NOTE_OWNER = (b"NVIDIA Corporation\0",)
_PACKAGE = re.compile(rb"(libc6|cuda-compat-[0-9-]+)$")


class Content:
    """`data`: for a text or cache; the others are the lines that the file gatherer's tools produce."""

    __slots__ = ("archs", "code", "data", "elf", "glibc", "note", "packages")

    def __init__(self) -> None:
        self.data = b""
        self.elf: dict[str, Any] | None = None
        self.code: dict[str, Any] | None = None
        self.note: dict[str, Any] | None = None
        self.archs: list[str] | None = None
        self.glibc: str | None = None
        self.packages: dict[str, str] = {}

    def cost(self) -> int:
        """Number of characters kept, roughly."""
        lines = (self.elf, self.code, self.note, self.archs)
        return len(self.data) + sum(len(repr(line)) for line in lines if line) + 512


def read_content(tar: TarStream, size: int, what: str) -> Content:
    """Read what is needed from the archive's current file. Raises TarError, ImageError."""
    content = Content()
    if what in (LIBRARY, ARCH_LIST):
        _library(content, tar, size, what == ARCH_LIST)
    elif what == GLIBC:
        content.glibc = glibc_version(_start(tar, GLIBC_BYTES))
    elif what == PACKAGES_FILE:
        content.packages = dict(_packages(_start(tar, _STATUS_BYTES)))
    elif what == CACHE:
        content.data = _start(tar, _CACHE_BYTES)
    else:
        content.data = _start(tar, _TEXT_BYTES)
        if what == HEADER:
            content.data = content.data.replace(b"\r\n", b"\n").partition(b"\n\n")[0] + b"\n\n"
    return content


def _library(content: Content, tar: TarStream, size: int, python: bool) -> None:
    source = Forward(lambda: tar.piece(PIECE), tar.skip, size)
    try:
        library = read_library(source, ARCH_MARKS if python else _NOTE_OWNER)
        read = library.kept.pread
        content.elf = elf_line(read)
        content.code = code_line(library.containers.summary(read, size))
        if python:
            rodata = [(s.offset, s.offset + s.size) for s in parse_elf(read).sections if s.name.startswith(".rodata")]
            lists = [longest_list(d) for at, d in library.marked if any(a <= at < b for a, b in rodata)]
            content.archs = max(lists, key=len, default=b"").decode("ascii").split() or None
        else:
            content.note = note_line(read)
    except ElfError as error:
        content.elf = content.elf or {"problem": str(error)}
        content.code = content.code or {"sections": [], "problem": str(error)}


def _packages(status: bytes) -> Iterator[tuple[str, str]]:
    """(package, version) of the few relevant installed packages, from dpkg's list."""
    for paragraph in status.split(b"\n\n"):
        if not paragraph.startswith(b"Package: "):
            continue
        name = paragraph[9 : paragraph.find(b"\n")]
        if _PACKAGE.match(name) and b"\nStatus: install ok installed" in paragraph:
            version = re.search(rb"^Version: (\S{1,80})", paragraph, re.M)
            if version:
                yield name.decode("ascii"), version.group(1).decode("utf-8", "replace")


def _start(tar: TarStream, most: int) -> bytes:
    parts = []
    while most and (data := tar.piece(min(PIECE, most))):
        parts.append(data)
        most -= len(data)
    return b"".join(parts)
