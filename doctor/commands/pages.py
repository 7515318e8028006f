"""Manual pages: of a check, an error code of CUDA or NVML, a message of the error catalogue."""

from __future__ import annotations

import re

from ..judge.registry import check_ids, load
from .suggest import did_you_mean


def page(text: str) -> str | None:
    """The page of an id, an error's number or name; None where there is none of that name."""
    word = text.strip().lower().replace("_", "-")
    if word in check_ids():
        return _check(word)
    return _xid(word) or _message(word) or _error(text.strip())


def suggestions(word: str) -> str:
    """`; did you mean ...?` over everything that has a page."""
    from ..ingest.messages import catalogue

    return did_you_mean(word, [*check_ids(), *(message.id for message in catalogue())])


def _check(name: str) -> str:
    check = load(name)
    about = check.about
    lines = [f"{check.id} - {about.title}", "", check.manual, "", f"Severity: {about.severity}    Layer: {about.layer}"]
    if about.tags:
        lines.append(f"Tags: {', '.join(about.tags)}")
    if about.downstream_of:
        lines.append(f"Told under its cause where one of these is found: {', '.join(about.downstream_of)}")
    if about.needs_gpu:
        lines.append("Not judged under --expect none.")
    return "\n".join(lines) + "\n"


def _message(name: str) -> str | None:
    from ..ingest.messages import catalogue

    found = next((message for message in catalogue() if message.id == name), None)
    if found is None:
        return None
    lines = [f"{found.id} - {found.means}", "", f"Found by: {' | '.join(found.find)}"]
    for path, value in found.proves.items():
        lines.append(f"Proves: {path} = {value}")
    for check, when in found.decides:
        more = "; ".join(f"{key} {value}" for key, value in when.items())
        lines.append(f"Decides: {check}{f' (with {more})' if more else ''}")
    if found.suggests:
        lines.append(f"Allows: {', '.join(found.suggests)}")
    lines += [f"What to do: {found.fix}"] if found.fix else []
    lines += [f"  {found.command}"] if found.command else []
    return "\n".join([*lines, f"Source: {found.source}"]) + "\n"


def _xid(word: str) -> str | None:
    """`xid-79`, `xid 79`, `nvrm: xid 79`: what the kernel module's code means, and who must act."""
    from ..ingest.xids import xid

    found = re.fullmatch(r"(?:nvrm:?[ -]?)?xid[ :#-]{0,3}(\d{1,3})", word)
    row = xid(int(found[1])) if found else None
    if found is None or row is None:
        return None
    lines = [f"Xid {found[1]} - {row.meaning}", "", f"Severity: {row.severity}", f"Who must act: {row.who}",
             f"What to do: {row.do}", "", "In the kernel log: NVRM: Xid (PCI:ADDRESS): CODE, pid=..., name=...",
             "Source: NVIDIA's catalogue of Xid codes (docs.nvidia.com/deploy/xid-errors)"]  # fmt: skip
    return "\n".join(lines) + "\n"


def _error(text: str) -> str | None:
    """`804`, `CUDA error 804`, `cudaErrorNoKernelImageForDevice`, `NVML error 18`."""
    found = re.fullmatch(r"(?:(cuda|nvml)[ _-]?)?(?:error[ _-]?(?:code)?[ :#-]{0,3})?(\d{1,4})", text, re.I)
    name = text if re.fullmatch(r"(?:cudaError|CUDA_ERROR_|NVML_ERROR_)\w{2,60}", text) else None
    if not found and not name:
        return None
    from compat_matrix import Matrix

    m = Matrix.load()
    key: int | str = int(found[2]) if found else str(name)
    pages = []
    if not found or (found[1] or "cuda").lower() == "cuda":
        row = m.cuda_error(key)
        if row:
            names = " / ".join(n for n in (row.runtime_name, row.driver_name) if n)
            pages.append([f"CUDA error {row.code} - {names}: {row.message}", "", f"Usual causes: {row.causes}",
                          f"What to try first: {row.first_fix}", f"Source: {row.source}"])  # fmt: skip
    if not found or (found[1] or "").lower() == "nvml" or (not found[1] and not pages):
        other = m.nvml_error(key)
        if other:
            pages.append([f"NVML error {other.code} - {other.name}: {other.message}", "",
                          f"Usual causes: {other.causes}",
                          f"What to try first: {other.first_fix}", f"Source: {other.source}"])  # fmt: skip
    return "\n".join("\n".join(lines) + "\n" for lines in pages) or None
