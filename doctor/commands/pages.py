"""Manual pages: for a check, a CUDA or NVML error code, a message in the error catalog."""

from __future__ import annotations

import re
from pkgutil import get_data
from typing import Any

from ..findings.renamed import current
from .assess import known_ids, load_known
from .suggest import did_you_mean

WRITTEN = ("power",)
"""Subjects that have a page but no check."""


def page(text: str) -> str | None:
    """The page for an id or an error's number or name; None if there is none."""
    word = current(text.strip().lower().replace("_", "-"))
    if word in known_ids():
        return _check(word)
    if word in WRITTEN:
        return (get_data("doctor.text", f"manual/{word}.txt") or b"").decode()
    return _xid(word) or _message(word) or _error(text.strip())


def suggestions(word: str) -> str:
    """`; did you mean ...?` over everything that has a page, except rows that only mark a topic."""
    from ..text.messages import catalogue

    names = (message.id for message in catalogue() if not message.mention)
    return did_you_mean(word, [*known_ids(), *WRITTEN, *names])


def _check(name: str) -> str:
    check = load_known(name)
    about = check.about
    lines = [f"{check.id} - {about.title}", "", check.manual, "", f"Severity: {about.severity}    Layer: {about.layer}"]
    if about.tags:
        lines.append(f"Tags: {', '.join(about.tags)}")
    if about.downstream_of:
        lines.append(f"Reported under its cause if one of these is found: {', '.join(about.downstream_of)}")
    if about.needs_gpu:
        lines.append("Not judged with --expect none.")
    lines += [
        "",
        "What to do: print the steps on the affected machine, or diagnose a file with that machine's output:",
        f"  gpudoctor fix {check.id}",
        "  gpudoctor explain FILE",
    ]
    return "\n".join(lines) + "\n"


def _message(name: str) -> str | None:
    from ..text.messages import catalogue

    found = next((message for message in catalogue() if message.id == name), None)
    if found is None:
        return None
    always = not found.decides or any(not when for _, when in found.decides)
    means = found.means if always else f"if one of the conditions below holds: {found.means}"
    lines = [f"{found.id} - {means}", "", f"Found by: {' | '.join(found.find)}"]
    for path, value in found.proves.items():
        taken = isinstance(value, str) and value.startswith("$")
        lines.append(f"Proves: {path} is {'the value in the message' if taken else _value(value)}")
    for check, when in found.decides:
        more = "; ".join(condition(key, value) for key, value in when.items())
        lines.append(f"Decides: {check}{f' ({more})' if more else ''}")
    if found.suggests:
        lines.append(f"Allows: {', '.join(found.suggests)}")
    lines += [f"Source: {found.source}", ""]
    if not found.fix:
        return "\n".join([*lines, *_to_decide(found.suggests)]) + "\n"
    lines += [f"What to do{'' if always or not found.decides else ' if one of these conditions holds'}: {found.fix}"]
    lines += [f"  {found.command}"] if found.command else []
    if not found.decides and not found.suggests:
        return "\n".join(lines) + "\n"
    checks = dict.fromkeys(check for check, _ in found.decides)
    lines += ["To get the fix for your environment, pass the whole output:", "  gpudoctor explain FILE"]
    lines += ["Why and how:", *(f"  gpudoctor explain {check}" for check in checks)]
    if not always:
        lines += _to_decide(found.suggests, "if none of these conditions holds, more output is needed")
    return "\n".join(lines) + "\n"


def _to_decide(suggests: tuple[str, ...], alone: str = "this message alone does not show the cause") -> list[str]:
    """For a message that decides nothing by itself: the commands whose output would."""
    from ..text.suspects import needs

    rows = [f"What to do: {alone}. Pass the whole output (gpudoctor explain FILE), together with the output of:"]
    return rows + [f"  {need.command}\n      {need.why}" for need in needs(suggests)]


_WORDS = {
    "all": "together with {}", "any": "together with one of {}", "none": "without {}",
    "gpu-below": "all GPUs have a compute capability below {}",
    "gpu-above": "all GPUs have a compute capability above {}", "set": "{} is set", "names": "a GPU is named {}",
    "versions-differ": "{} differ", "code": "torch was built for {} GPUs than these",
    "memory-held": "much of one GPU's memory is in use",
    "group-above": "the number in the message is above {}", "group-at-most": "the version in the message is at most {}",
    "group-not-start-of": "the version in the message does not match {}",
}  # fmt: skip
_HOW = {"not": "{} is not {}", "not-now": "{} is not {}", "<": "{} is below {}", ">=": "{} is {} or newer"}


def condition(key: str, value: Any) -> str:
    """A condition from the catalog as text: `{"host.wsl": 2}` is `host.wsl is 2`."""
    values = value if isinstance(value, list) else [value]
    text = (" and " if key in ("all", "versions-differ") else " or ").join(map(_value, values))
    if key in ("container", "jetson"):
        return f"{'' if value else 'not '}{'in a container' if key == 'container' else 'on a Jetson'}"
    if key in _WORDS:
        return _WORDS[key].format(text)
    path, _, how = key.partition(" ")
    if how in ("known", "conflict"):
        decided_how = "known" if how == "known" else "given two conflicting values"
        return f"{path} is {'' if value else 'not '}{decided_how}"
    return _HOW[how].format(path, text) if how in _HOW else f"{path} is {text}"


def _value(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _xid(word: str) -> str | None:
    """`xid-79`, `xid 79`, `nvrm: xid 79`: what the kernel module's error code means, and who must act."""
    from ..text import read
    from ..text.xids import xid

    found = re.fullmatch(r"(?:nvrm:?[ -]?)?xid[ :#-]{0,3}(\d{1,3})", word)
    row = xid(int(found[1])) if found else None
    if found is None or row is None:
        return None
    lines = [f"Xid {found[1]} - {row.meaning}", "", f"Severity: {row.severity}",
             "In the kernel log: NVRM: Xid (PCI:ADDRESS): CODE, pid=..., name=...",
             "Source: NVIDIA's catalog of Xid errors (docs.nvidia.com/deploy/xid-errors)", "",
             f"Who must act: {row.who}", f"What to do: {row.do}"]  # fmt: skip
    found_xids = read(f"NVRM: Xid (PCI:0000:01:00): {found[1]}, pid=1, name=python").symptoms
    checks = dict.fromkeys(check for x in found_xids for check in ([x.decides] if x.decides else x.suggests[:1]))
    lines += ["Why and how:", *(f"  gpudoctor explain {check}" for check in checks)] if checks else []
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
            title = f"CUDA error {row.code} - {names}: {row.message}"
            checks = _checks_of("torch_run.first_call_code", row.code, names)
            pages.append(_error_page(title, row, m.source(row.source), checks))
    if not found or (found[1] or "").lower() == "nvml" or (not found[1] and not pages):
        other = m.nvml_error(key)
        if other:
            title = f"NVML error {other.code} - {other.name}: {other.message}"
            checks = _checks_of("driver.nvml_init", other.code, other.name)
            pages.append(_error_page(title, other, m.source(other.source), checks))
    return "\n".join(pages) or None


def _error_page(title: str, row: Any, source: str, checks: list[str]) -> str:
    lines = [title, ""]
    lines += ["Usual causes:", *(f"  - {cause}" for cause in row.causes.split("; "))] if row.causes else []
    lines += [f"Source: {source}", ""]
    lines += [f"What to do first: {row.first_fix}"] if row.first_fix else []
    lines += ["To find out which cause it is:" if row.first_fix else "What to do: find the cause:", "  gpudoctor check"]
    if checks:
        lines += ["Why and how:", *(f"  gpudoctor explain {check}" for check in checks)]
    return "\n".join(lines) + "\n"


def _checks_of(fact: str, code: int | None, names: str) -> list[str]:
    """Checks that messages with this code or name decide or allow, likeliest first."""
    from ..text.messages import catalogue

    words = [name.lower() for name in names.split(" / ") if name]
    found: dict[str, None] = {}
    for message in catalogue():
        if message.proves.get(fact) == code or any(word in message.find for word in words):
            found.update(dict.fromkeys([check for check, _ in message.decides]))
            found.update(dict.fromkeys(message.suggests))
    return list(found)[:5]
