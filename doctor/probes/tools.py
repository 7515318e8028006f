"""The readers of binary formats that the file gatherer is given: each returns JSON-able values, or None.

Each imports its reader when it is called: a machine without CUDA libraries needs none of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..formats.fatbin_summary import FatbinSummary
    from ..formats.reader import Pread

GLIBC_BYTES = 4 << 20


def elf(path: str) -> dict[str, Any] | None:
    """{machine, soname, needed, rpath, runpath}, or {problem}."""
    from ..formats.reader import FileReader

    try:
        with FileReader(path) as reader:
            return elf_line(reader.pread)
    except OSError as error:
        return {"problem": str(error)}


def elf_line(read: Pread) -> dict[str, Any]:
    """The line of `elf` for what `read` reads."""
    from ..formats.elf import ElfError, parse_elf
    from ..formats.elf_dynamic import read_dynamic

    try:
        headers = parse_elf(read)
        dynamic = read_dynamic(headers)
    except (ElfError, OSError) as error:
        return {"problem": str(error)}
    if dynamic is None:
        return {"machine": headers.machine, "needed": []}
    return {
        "machine": headers.machine,
        "soname": dynamic.soname,
        "needed": list(dynamic.needed),
        "rpath": list(dynamic.rpath),
        "runpath": list(dynamic.runpath),
    }


def torch_calls(path: str, torch: list[str], beside: list[str]) -> dict[str, Any] | None:
    """{symbols, missing}: how many C++ names of torch a library needs, and which of them nothing defines.

    `torch`: torch's own libraries; `beside`: the others of its package. None if one of torch's cannot be read.
    """
    from contextlib import ExitStack

    from ..formats.elf import ElfError, parse_elf
    from ..formats.elf_symbols import Symbols, unresolved
    from ..formats.reader import FileReader

    with ExitStack() as opened:

        def symbols(name: str) -> Symbols | None:
            try:
                return Symbols(parse_elf(opened.enter_context(FileReader(name)).pread))
            except (ElfError, OSError):
                return None

        try:
            own = symbols(path)
            wanted = own.undefined(re.compile(rb"_ZNK?(?:3c10|2at|5torch|6caffe2)")) if own else ()
            if not wanted:
                return {"symbols": 0, "missing": []}
            defining = [symbols(name) for name in torch]
            if None in defining:
                return None
            others = [found for name in beside if (found := symbols(name))]
            lost = unresolved(wanted, [found for found in defining if found] + others)
        except (ElfError, OSError):
            return {"symbols": 0, "missing": []}
        return {"symbols": len(wanted), "missing": list(lost)}


def headers(path: str) -> dict[str, Any] | None:
    """{machine, end}: bytes that its headers speak of; or {problem}. None if it cannot be opened."""
    from ..formats.elf import ElfError, parse_start
    from ..formats.reader import FileReader

    try:
        with FileReader(path) as reader:
            start = parse_start(reader.pread, 1)
    except ElfError as error:
        return {"problem": str(error)}
    except OSError:
        return None
    return {"machine": start.machine, "end": start.end}


def code(path: str) -> dict[str, Any] | None:
    """{sections: [...]} with counts and patterns (see `code_lines.py`), or {sections: [], problem}."""
    from ..formats.elf import ElfError
    from ..formats.fatbin_summary import summarize
    from ..formats.reader import FileReader

    try:
        with FileReader(path) as reader:
            return code_line(summarize(reader.pread))
    except (ElfError, OSError) as error:
        return {"sections": [], "problem": str(error)}


def code_line(summary: FatbinSummary) -> dict[str, Any]:
    """The line of `code` for what was counted."""
    sections = []
    for section in summary.sections:
        index = {count.target: at for at, count in enumerate(section.targets)}
        sections.append(
            {
                "name": section.name,
                "size": section.size,
                "containers": section.containers,
                "kernel_containers": section.kernel_containers,
                "entries": section.entries,
                "problem": section.problem,
                "targets": [[*count.target, count.entries, count.containers] for count in section.targets],
                "patterns": [[sorted(index[t] for t in p.targets), p.containers] for p in section.patterns],
                "other": section.other_kinds,
            }
        )
    return {"sections": sections}


def ldcache(path: str, machine: str) -> dict[str, list[str]] | None:
    """File name -> paths, in the loader's order; None if the cache cannot be read."""
    from ..formats.ldcache import read_ldcache

    try:
        cache = read_ldcache(path, machine)
    except OSError:
        return None
    if cache.problem and not cache.libraries:
        return None
    return {name: list(paths) for name, paths in cache.libraries.items()}


def note(path: str) -> dict[str, Any] | None:
    """The forward-compatibility note of a compat libcuda, None if it has none."""
    from ..formats.reader import FileReader

    try:
        with FileReader(path) as reader:
            return note_line(reader.pread)
    except OSError as error:
        return {"problem": str(error)}


def note_line(read: Pread) -> dict[str, Any] | None:
    """The line of `note` for what `read` reads."""
    from ..formats.elf import ElfError, parse_elf
    from ..formats.notes import NoteError, forward_compatibility

    try:
        found = forward_compatibility(parse_elf(read))
    except (ElfError, OSError, NoteError) as error:
        return {"problem": str(error)}
    if found is None:
        return None
    return {
        "cuda": found.cuda_version,
        "drivers": None if found.host_driver_majors is None else list(found.host_driver_majors),
        "brands": None if found.brand_ids is None else list(found.brand_ids),
    }


def archs(path: str) -> list[str] | None:
    """torch's own list of targets as it stands in libtorch_python.so."""
    from ..formats.elf import ElfError
    from ..formats.pytorch import compiled_arch_list

    try:
        found = compiled_arch_list(path)
    except (ElfError, OSError):
        return None
    return None if found is None else list(found)


def libc(path: str) -> str | None:
    """`2.36` of a glibc that is not this process's, from the words inside libc.so.6."""
    from ..formats.reader import FileReader

    try:
        with FileReader(path) as reader:
            return glibc_version(reader.pread(0, GLIBC_BYTES))
    except OSError:
        return None


def glibc_version(data: bytes) -> str | None:
    """The version in the words of libc.so.6, None if there are no such words."""
    marks = b"stable release version "
    at = data.find(marks)
    text = data[at + len(marks) : at + len(marks) + 8].decode("ascii", "replace") if at >= 0 else ""
    version = text.split(".")
    if len(version) < 2 or not version[0].isdecimal():
        return None
    minor = "".join(c for c in version[1] if c.isdecimal())
    return f"{version[0]}.{minor}" if minor else None
