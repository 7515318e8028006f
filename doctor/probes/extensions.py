"""Libraries with GPU code, torch's and those of other packages, judged by what nearly all their kernels hold."""

from __future__ import annotations

from typing import Any

from ..snapshot import CodeEntry, CodeLibrary, CodeSection, Missing
from .raw import Raw, number, string, strings

_NEEDED = ("libcu", "libnv", "libnccl", "libtorch", "libc10")


def code_libraries(raw: Raw, torch: bool) -> tuple[CodeLibrary, ...]:
    """Those of torch, or those of all other packages, in gathered order."""
    elfs = {string(row.get("path")): row for row in raw.rows("elf")}
    return tuple(
        _library(row, elfs.get(string(row.get("path")), {}))
        for row in raw.rows("code")
        if (row.get("package") == "torch") is torch
    )


def parse_extensions(raw: Raw) -> tuple[CodeLibrary, ...] | Missing:
    """Libraries with GPU code of packages other than torch."""
    if not any(row.get("role") == "patient" for row in raw.rows("python")):
        return raw.unasked
    if not raw.rows("scanned"):
        return raw.unasked
    return code_libraries(raw, torch=False)


def _library(row: dict[str, Any], elf: dict[str, Any]) -> CodeLibrary:
    from ..formats.fatbin import PTX, SASS
    from ..formats.fatbin_support import supported
    from .code_lines import summary_of

    summary = summary_of(row)
    targets = supported(summary)
    full = {t for t in targets if t.kind == SASS}
    sections = []
    special: dict[str, None] = {}
    for section in summary.sections:
        entries = []
        for count in section.targets:
            arch = count.target.arch + count.target.variant
            kind = count.target.kind.lower()
            entries.append(CodeEntry(arch=arch, kind=kind, entries=count.entries, containers=count.containers))
            if count.target.kind == SASS and count.containers and count.target not in full:
                special[arch] = None
        sections.append(CodeSection(section=section.name, containers=section.kernel_containers, archs=tuple(entries)))
    return CodeLibrary(
        path=string(row.get("path")),
        package=string(row.get("package")),
        size=max(number(row.get("size")) or 0, 0),
        sections=tuple(sections),
        sass=tuple(t.arch + t.variant for t in targets if t.kind == SASS),
        ptx=tuple(t.arch + t.variant for t in targets if t.kind == PTX),
        special_sass=tuple(special),
        needed=tuple(name for name in strings(elf.get("needed")) if name.startswith(_NEEDED)),
        problem=string(row.get("problem")) or summary.problem,
    )
