"""What a torch installation says of itself in its files, read as text: nothing is imported or run."""

from __future__ import annotations

import re
from typing import Dict, NamedTuple, Optional, Tuple

from .elf import SHT_NOBITS, parse_elf
from .lazy import lazy
from .reader import FileReader, Pread

_MAX_VERSION_FILE = 1 << 16
_CHUNK = 1 << 20
_OVERLAP = 4096
_MAX_SCAN = 64 << 20
_ASSIGNMENT = (  # compiled where there is a torch: that takes milliseconds
    r"^(__version__|cuda|hip|rocm|xpu|git_version|debug)[ \t]*(?::[^=\n]*)?="
    r"[ \t]*(None|True|False|'[^'\\\n]*'|\"[^\"\\\n]*\")[ \t]*(?:\#.*)?\r?$"
)
ARCH_MARKS = (b"\0sm_", b"\0compute_", b"\0gfx")
"""One of these begins such a list."""
_SM, _GFX = rb"(?:sm_|compute_)\d{2,3}[af]?", rb"gfx[0-9a-f]{3,5}"
_ARCH_LIST = lazy(rb"(?<=\0)(%b(?: %b)*|%b(?: %b)*)(?=\0)" % (_SM, _SM, _GFX, _GFX))


class TorchVersionFile(NamedTuple):
    """torch/version.py. ``cuda``, ``hip``, ``xpu`` None: not built with it. All None of them: a CPU build."""

    version: Optional[str]
    cuda: Optional[str]
    hip: Optional[str]
    xpu: Optional[str]
    git_version: Optional[str]
    debug: Optional[bool]

    @property
    def build(self) -> str:
        """``cuda``, ``rocm``, ``xpu`` or ``cpu``."""
        return "cuda" if self.cuda else "rocm" if self.hip else "xpu" if self.xpu else "cpu"


def parse_version_file(text: str) -> Optional[TorchVersionFile]:
    """Read the assignments of torch/version.py; None where it assigns no ``__version__``."""
    values: Dict[str, str] = {}
    for match in re.finditer(_ASSIGNMENT, text[:_MAX_VERSION_FILE], re.MULTILINE):
        values[match.group(1)] = match.group(2)
    if "__version__" not in values:
        return None

    def text_of(key: str) -> Optional[str]:
        value = values.get(key, "None")
        return value[1:-1] or None if value[0] in "'\"" else None

    debug = values.get("debug")
    return TorchVersionFile(
        text_of("__version__"),
        text_of("cuda"),
        text_of("hip") or text_of("rocm"),
        text_of("xpu"),
        text_of("git_version"),
        {"True": True, "False": False}.get(debug) if debug else None,
    )


def compiled_arch_list(path: str) -> Optional[Tuple[str, ...]]:
    """The list that torch.cuda.get_arch_list() gives, from ``torch/lib/libtorch_python.so``: ("sm_75", ...).

    None where the library carries none (a CPU build). Raises ElfError, OSError.
    """
    with FileReader(path) as reader:
        return find_arch_list(reader.pread)


def find_arch_list(read: Pread) -> Optional[Tuple[str, ...]]:
    """The longest list of targets that stands as one string in ``.rodata``. Raises ElfError; OSError from ``read``."""
    best: bytes = b""
    for section in parse_elf(read).sections:
        if not section.name.startswith(".rodata") or section.type == SHT_NOBITS:
            continue
        tail = b"\0"
        for start in range(0, min(section.size, _MAX_SCAN), _CHUNK):
            piece = read(section.offset + start, min(_CHUNK, section.size - start))
            best = max(best, longest_list(tail + piece), key=len)
            if not piece:
                break
            tail = (tail + piece)[-_OVERLAP:]
    return tuple(best.decode("ascii").split()) or None


def longest_list(data: bytes) -> bytes:
    """The longest list of targets between two zeros, b"" where there is none."""
    return max((match.group(1) for match in _ARCH_LIST.finditer(data)), key=len, default=b"")
