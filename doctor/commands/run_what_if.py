"""What `what-if` does once its flags are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from ..findings import Policy
from ..fixes.machine import wheel_platform
from ..guard import Refusal
from ..judge.compared import Compared, Named, compared
from ..resolve.changed import in_words, with_driver, with_gpus, with_python
from ..resolve.changed_torch import build_named, no_wheel, with_torch, without_torch
from ..resolve.machine import Unclear, card, driver, python
from ..snapshot import Snapshot, known
from .assess import assess, matrix_of
from .display import styled
from .write import echo

if TYPE_CHECKING:
    from compat_matrix import Matrix

    from ..judge.report import Report

_CHANGES = ("driver", "gpus", "torch", "new_python")


def run_what_if(flags: dict[str, Any]) -> int:
    """Gather or read, judge as it is and as it would be, print both; returns the exit code after the change."""
    if not any(flags[name] for name in _CHANGES):
        raise Refusal("nothing to change: give --driver, --gpu, --torch or --python")
    before, policy, redacted = _machine(flags)
    m = matrix_of(flags)
    try:
        after, words = changed(before, m, flags)
    except Unclear as unclear:
        if not unclear.unknown:
            raise Refusal(str(unclear)) from None
        echo(f"gpudoctor: {unclear}", err=True)
        return 3
    reports = assess(after, m, policy), assess(before, m, policy)
    from ..snapshot.redact import Redactor
    from .local_names import local_names
    from .run_check import shown_to

    masks = Redactor(local_names())
    reports = shown_to(flags, reports[0], masks), shown_to(flags, reports[1], masks)
    report = msgspec.structs.replace(reports[0], redacted=redacted or not flags["no_redact"])
    undecided = frozenset(c.id for c in report.checks if c.status == "unknown")
    difference = compared(words, reports[1].findings, report.findings, undecided, bool(flags["gpus"]))
    from .write import write

    write(_rendered(difference, report, flags), flags["output"], private=flags["no_redact"], styled=styled(flags))
    return report.exit_code


def _machine(flags: dict[str, Any]) -> tuple[Snapshot, Policy, bool]:
    """The machine as it is: described, saved, recorded, or this one; and whether its names are masked."""
    from .config import base_policy, with_spec
    from .options import make_policy, of_its_day
    from .run_check import policy_flags

    spoken = bool(flags["os_"] or flags["arch"])
    given = [
        flag
        for flag, on in (
            ("--from", flags["from_"]),
            ("--replay", flags["replay"]),
            ("--os" if flags["os_"] else "--arch", spoken),
        )
        if on
    ]
    if len(given) > 1:
        raise Refusal(f"{given[0]} cannot be used with {given[1]}")
    if flags["from_"]:
        from .saved import read_report

        saved = read_report(flags["from_"])
        policy = with_spec(make_policy(saved=base_policy(flags, saved.policy), **policy_flags(flags)), flags["spec"])
        return saved.snapshot.as_report(), policy, saved.redacted
    left_out = ("torch_run",) if flags["no_import"] else ()
    policy = make_policy(saved=base_policy(flags), left_out=left_out, **policy_flags(flags))
    policy = with_spec(policy, flags["spec"])
    if spoken:
        if not flags["gpus"]:
            raise Refusal("--os and --arch describe a machine: they require --gpu")
        return in_words(flags["os_"] or "linux", flags["arch"] or "x86_64"), policy, False
    from ..report.progress import Progress
    from .sources import gather

    with Progress() as progress:
        snapshot = gather({**flags, "python_": None, "root": None}, progress)
    return snapshot, of_its_day(policy, snapshot) if flags["replay"] else policy, False


def changed(s: Snapshot, m: Matrix, flags: dict[str, Any]) -> tuple[Snapshot, list[str]]:
    """The Snapshot as it would be, and a description of what was changed. Raises Unclear."""
    words = []
    if flags["driver"]:
        system = known(s.host.system) or "linux"
        version, note = driver(m, flags["driver"], "wsl" if known(s.host.wsl) in (1, 2) else system)
        if not version:
            raise Unclear("--driver none: `gpudoctor resolve --driver none` says which one to install first")
        if version.endswith(".999"):
            raise Unclear(f"--driver {flags['driver']!r}: give the full version of a Windows driver, such as 581.29")
        words.append(f"driver {version}" + (f" (the newest in branch {flags['driver']})" if note else ""))
        s = s.replace(with_driver(s, m, version))
    if flags["gpus"]:
        cards = [card(m, text) for text in flags["gpus"]]
        if any(one.tegra for one in cards):
            raise Unclear("a Jetson's GPU cannot be changed separately: use gpudoctor resolve for a Jetson")
        words.append(", ".join((f"{one.count}x " if one.count > 1 else "") + one.name for one in cards))
        s = s.replace(with_gpus(s, m, cards))
    if flags["new_python"]:
        version = python(flags["new_python"])
        s = s.replace(with_python(s, version))
        lacks = "" if flags["torch"] else no_wheel(s, m, version)
        words.append(f"Python {version}" + (f" ({lacks})" if lacks else ", with the same packages"))
        s = s.replace(without_torch(s)) if lacks else s
    if flags["torch"]:
        if flags["torch"].strip().lower() == "none":
            return s.replace(without_torch(s)), [*words, "no torch"]
        build = build_named(m, flags["torch"], wheel_platform(s))
        s = s.replace(with_torch(s, m, build))
        lacks = no_wheel(s, m, version) if (version := known(s.python.patient.version) or "") else ""
        if lacks:
            raise Unclear(f"--torch {flags['torch']}: {lacks}", unknown=True)
        words.append(f"torch {build.torch}+{build.tag}")
    return s, words


def _rendered(difference: Compared, report: Report, flags: dict[str, Any]) -> bytes:
    """One document in its format, including the difference, which comes before the report in readable formats."""
    from .run_check import render

    preface = _preface(difference)
    body = render(report, flags, preface)
    if flags["format_"] == "json":
        whole = {"what_if": difference, "report": msgspec.Raw(body)}
        return msgspec.json.format(msgspec.json.encode(whole), indent=2) + b"\n"
    if flags["brief"]:
        return body
    if flags["format_"] == "markdown":
        return "\n".join([*_markdown(difference), "", ""]).encode("utf-8", "backslashreplace") + body
    if flags["format_"] == "text" and not flags["quiet"]:
        return _text(preface, flags["ascii_"]).encode("utf-8", "backslashreplace") + body
    return body


_HEADS = (
    ("gone", "Gone"),
    ("new", "New"),
    ("stays", "Stays"),
    ("open", "Unknown until you run gpudoctor check again after the change"),
)
_NOTHING = "Nothing was found before, and nothing would be found after the change."


def _preface(difference: Compared) -> list[str]:
    """What changes, and a sentence for each finding before and after."""
    rows = [f"{head}: {_titled(one)}" for name, head in _HEADS for one in _titles(difference, name)]
    return [f"With {' and '.join(difference.changed)}", *(rows or [_NOTHING])]


def _text(preface: list[str], ascii_: bool) -> str:
    from ..report.clean import ascii_only, printable

    rows = [f"{preface[0]}:", *(f"  {row}" for row in preface[1:]), ""]
    return "".join(f"{ascii_only(printable(row)) if ascii_ else printable(row)}\n" for row in rows)


def _markdown(difference: Compared) -> list[str]:
    from ..report.markdown import escape

    rows = [f"## With {escape(' and '.join(difference.changed))}"]
    for name, head in _HEADS:
        found = _titles(difference, name)
        rows += ["", f"**{head}**", "", *(f"- {escape(_titled(one))}" for one in found)] if found else []
    return rows if len(rows) > 1 else [*rows, "", _NOTHING]


def _titles(difference: Compared, name: str) -> list[Named]:
    """Each finding once: several GPUs may have the same."""
    return list({(one.id, one.title): one for one in getattr(difference, name)}.values())


def _titled(one: Named) -> str:
    return f"{one.title} ({one.id}{f', a consequence of {one.cause}' if one.cause else ''})"
