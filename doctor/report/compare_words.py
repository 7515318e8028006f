"""What `compare` found, in sentences and rows of cells: what text, Markdown and HTML share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from ..compare.answer import Comparison, FactChange, FindingChange, PackageChange, PutBack, RateChange, Side, Way
from ..fleet.facts import GROUPS, compared, field_of, is_answer
from ..fleet.store.flatten import ABSENT
from ..snapshot.redact import NO_COMMAND
from .amounts import number, several
from .measured_sheets import Sheet

_FACT_HEAD = ("", "OLD", "NEW")
_RATE_HEAD = ("GPU", "rate", "OLD", "NEW", "speed")
_ALONE = 4
"""From this many on, packages that were only installed or removed are one sentence."""
_LISTED = 12
_MOST_WAYS = 5
_MODES = ("driver.device_file_mode", "driver.device_nodes.mode")
"""Permissions of files, which people write in octal."""
_WORDS = {"fail": "failure", "warn": "warning"}


class Block(NamedTuple):
    """A part of the answer: a heading, sentences, facts or another table, and commands to copy."""

    title: str
    status: str = ""
    """fail, warn or pass, of a finding; empty elsewhere."""
    texts: Sequence[str] = ()
    facts: Sequence[FactChange] = ()
    sheet: Sheet | None = None
    commands: Sequence[PutBack] = ()


def head(name: str, side: Side) -> str:
    """`OLD  yesterday.json, 2026-11-27 10:00 UTC, FAIL`."""
    words = [
        side.name,
        side.gathered_at.replace("T", " ")[:16] + " UTC" if side.gathered_at else "",
        side.verdict.upper(),
    ]
    return f"{name}  {', '.join(filter(None, words))}"


def blocks(found: Comparison) -> Iterator[Block]:
    """In the order of reading: findings with what explains them, other changes, rates, notes."""
    for one in found.appeared:
        yield _finding(one, f"New {_WORDS.get(one.status, one.status)}", one.status)
    for one in found.cured:
        words = "Only a warning now" if one.other_status == "warn" else "Cured"
        yield _finding(one, words, "pass")
    rest = [f"{one.title} [{one.id}]" for one in found.undecided]
    if rest:
        yield Block("Found in OLD, unknown in NEW", texts=rest)
    stays = [f"{one.title} [{one.id}]" for one in found.stays if one.status == "fail" and not one.cause]
    if stays:
        yield Block("Fails in both", texts=list(dict.fromkeys(stays)))
    other = "Other changes" if found.appeared or found.cured else "Changes"
    for group in GROUPS:
        facts = _pairs_together([fact for fact in found.facts if fact.group == group])
        if group == "Python packages" and found.packages:
            shown = {name for one in found.appeared for back in one.put_back for name in back.packages}
            commands = [back for back in found.put_back if back.command and not shown.issuperset(back.packages)]
            texts = _packages(found.packages)
            if not all(back.command for back in found.put_back):
                texts.append(f"{NO_COMMAND}; a terminal on that machine or --no-redact shows it.")
            yield Block(f"{other}: {group}", texts=texts, facts=facts, commands=commands)
        elif facts:
            yield Block(f"{other}: {group}", facts=facts)
    if found.unread:
        yield Block("Known in only one of the two", facts=_pairs_together(found.unread))
    if found.rates:
        yield Block("Rates that changed (their ranges do not overlap)", sheet=_rates(found))
    if notes := _notes(found):
        yield Block("Notes", texts=notes)


def _pairs_together(facts: Sequence[FactChange]) -> list[FactChange]:
    """Pairs of GPUs on which the same fact changed alike are one line, under the first of them."""
    found: dict[object, list[FactChange]] = {}
    for fact in facts:
        alike = (
            (field_of(fact.path), fact.kind, fact.before, fact.after) if fact.path.startswith("gpu_pairs[") else fact
        )
        found.setdefault(alike, []).append(fact)
    return [
        replace(some[0], label=f"{some[0].label} (and {several(len(some) - 1, 'other pair')})")
        if len(some) > 1
        else some[0]
        for some in found.values()
    ]


def verdict(found: Comparison) -> tuple[str, str]:
    """(status, sentence) for the last line, with the exit code."""
    return _status(found), f"{_verdict(found)} (exit {found.exit_code})."


def fact_text(fact: FactChange) -> str:
    """`driver: 570.86.10 -> 580.82.07`, `variable CC: not set -> clang`."""
    before, after = values(fact)
    return f"{_name(fact)}: {before} -> {after}"


def values(fact: FactChange) -> tuple[str, str]:
    """What to show of a fact in OLD and in NEW."""
    gone = "not set" if fact.group == "environment variables" else "not there"
    before = {"appeared": gone, "known": "unknown"}.get(fact.kind) or _value(fact.before, fact)
    after = {"gone": gone, "unknown": "unknown"}.get(fact.kind) or _value(fact.after, fact)
    return before, after


_DRIVER_OF = "kernel driver of "


def _is_device(fact: FactChange) -> bool:
    """Whether a PCI device, which is named with its driver, came or went itself."""
    return fact.kind in ("appeared", "gone") and fact.label.startswith(_DRIVER_OF)


def _value(text: str, fact: FactChange) -> str:
    if text in ("", ABSENT):
        return '""' if fact.group == "environment variables" else "none"
    if _is_device(fact):
        return f"driver {text}"
    if field_of(fact.path) in _MODES and text.isdecimal():
        return f"{int(text):04o}"
    if fact.unit and text == "-1":  # of a limit
        return "unlimited"
    row = compared(fact.path)
    items = [row.words.get(item, item) if row else item for item in text.split(", ")]
    text = ", ".join(items)
    if len(items) > 2 and len(set(items)) == 1:  # the same of every GPU
        text = f"{items[0]} ({len(items)} times)"
    return f"{text} {fact.unit}".rstrip()


def fact_sheet(facts: Sequence[FactChange]) -> Sheet:
    """The same as a table."""
    return Sheet("", _FACT_HEAD, [(_name(fact), *values(fact)) for fact in facts])


def _finding(one: FindingChange, words: str, status: str) -> Block:
    more = f" (and {len(one.titles) - 1} similar)" if len(one.titles) > 1 else ""
    texts = list(_reasons(one))
    if one.consequences:
        texts.append(f"It also causes {several(len(one.consequences), 'other finding')}.")
    if one.undecided and status != "pass":
        texts.append("OLD could not be checked for it.")
    if one.other_status == "warn" and status == "fail":
        texts.append("It was a warning in OLD.")
    if one.fix:
        texts.append(f"Another fix: {one.fix}." if one.explained == "facts" else f"Fix: {one.fix}.")
    commands = [back for back in one.put_back if back.command]
    return Block(f"{words}: {one.titles[0]}{more} [{one.id}]", status, texts, commands=commands)


def _reasons(one: FindingChange) -> Iterator[str]:
    if one.explained == "measurements":
        yield "Why: it was measured; only measuring again can show which change causes it."
    elif one.explained == "not-explained":
        yield "Why: no changed fact explains it."
    elif len(one.ways) == 1 and len(one.ways[0].facts) == 1:
        yield f"Why: {_way(one.ways[0])}"
    elif len(one.ways) == 1:
        yield "Why: these together, and none of them alone:"
        yield from (f"- {_fact(fact)}" for fact in one.ways[0].facts)
    else:
        yield "Why: putting back any one of these is enough:"
        yield from (f"- {_way(way)}" for way in one.ways[:_MOST_WAYS])
        if len(one.ways) > _MOST_WAYS:
            yield f"- or one of {len(one.ways) - _MOST_WAYS} others (--json lists them)"
    if one.explained == "readings":
        yield "Such a value naturally differs from moment to moment or from board to board."


def _way(way: Way) -> str:
    facts, leads = " and ".join(map(_fact, way.facts)), "; ".join(map(fact_text, way.follows))
    if not leads:
        return facts
    if any(is_answer(fact.path) for fact in way.facts):  # it may have another cause
        return f"{facts} ({leads} changed too)"
    same = {(lead.before, lead.after) for lead in way.follows}
    if all((fact.before, fact.after) in same for fact in way.facts):  # torch's version is that of its package
        return leads
    return f"{leads} ({facts})"


def _fact(fact: FactChange) -> str:
    return fact_text(fact) + (f" (along with {several(len(fact.also), 'other fact')})" if fact.also else "")


def _packages(found: Sequence[PackageChange]) -> list[str]:
    """A sentence each; those that were installed or removed alone in one."""
    alone = [one for one in found if not (one.before and one.after) and not one.followed]
    rows = [f"{one.words}." for one in found if one not in alone or len(alone) < _ALONE]
    for verb, some in (("installed", [one for one in alone if one.after]), ("removed", [o for o in alone if o.before])):
        if some and len(alone) >= _ALONE:
            listed = ", ".join(f"{one.name} {one.after or one.before}" for one in some[:_LISTED])
            listed += f" and {len(some) - _LISTED} more (--json lists them)" if len(some) > _LISTED else ""
            rows.append(f"{several(len(some), 'package')} {'was' if len(some) == 1 else 'were'} {verb}: {listed}.")
    return rows


def _name(fact: FactChange) -> str:
    """`power limit of GPUs 0-7`."""
    label = fact.label.removeprefix(_DRIVER_OF) if _is_device(fact) else fact.label
    return f"{'model' if fact.path == 'gpus.name' else label}{_on(fact)}"


def _on(fact: FactChange) -> str:
    """` of GPUs 0-7`."""
    return f" of {_numbers(fact.gpus)}" if fact.gpus else ""


def _numbers(gpus: Sequence[int]) -> str:
    """`GPU 3`, `GPUs 0, 2`, `GPUs 0-7`."""
    first, last = gpus[0], gpus[-1]
    if last - first + 1 == len(gpus) and len(gpus) > 2:
        return f"GPUs {first}-{last}"
    return f"GPU{'s' * (len(gpus) > 1)} {', '.join(map(str, gpus))}"


def _rates(found: Comparison) -> Sheet:
    """A row per rate, with all GPUs on which it changed."""
    groups: dict[tuple[str, str, str], list[RateChange]] = {}
    for one in found.rates:
        groups.setdefault((one.gpu, one.name, one.unit), []).append(one)
    rows = []
    for (gpu, name, unit), some in groups.items():
        numbers = sorted({one.number for one in some if one.number >= 0})
        words = f"{gpu} ({_numbers(numbers)})" if numbers else f"{gpu}{f', {len(some)} pairs' if len(some) > 1 else ''}"
        before, after = (_span(values) for values in ([one.before for one in some], [one.after for one in some]))
        speeds = sorted({f"{one.percent:+.0f} %" for one in some}, key=lambda text: float(text.split()[0]))
        speed = " to ".join(dict.fromkeys((speeds[0], speeds[-1])))
        rows.append((words, name, f"{before} {unit}", f"{after} {unit}", speed))
    return Sheet("", _RATE_HEAD, rows, (2, 3, 4))


def _span(values: Sequence[float]) -> str:
    """`742`, `698 to 742`."""
    return " to ".join(dict.fromkeys((number(min(values)), number(max(values)))))


def _notes(found: Comparison) -> list[str]:
    notes = [f"{note}." for note in found.notes]
    if found.rates_compared and not found.rates:
        notes.append(f"{several(found.rates_compared, 'rate')} compared: all ranges (median and spread) overlap.")
    if found.varying:
        notes.append(f"Also different, as in any two jobs: {', '.join(found.varying)}.")
    if found.exit_code == 0 and _fewer_gpus(found):
        notes.append(
            "Fewer GPUs is not a failure, because no count is expected: set one with --expect, or gpu in a spec."
        )
    if found.ignored:
        notes.append(f"{several(found.ignored, 'changed fact')} left out (--ignore).")
    return notes


def _status(found: Comparison) -> str:
    if found.exit_code == 1:
        return "fail"
    return "unknown" if found.exit_code == 3 else "warn" if found.appeared or _fewer_gpus(found) else "pass"


def _verdict(found: Comparison) -> str:
    counts = {status: sum(one.status == status for one in found.appeared) for status in _WORDS}
    new = [several(count, f"new {_WORDS[status]}") for status, count in counts.items() if count]
    new += [f"{len(found.cured)} cured"] if found.cured else []
    new += _fewer_gpus(found)
    if found.exit_code != 3:
        return ", ".join(new) if new else f"Nothing that matters changed{_what(found)}"
    sides = [name for name, side in (("OLD", found.old), ("NEW", found.new)) if side.unknown]
    titles = [one.title for side in (found.new, found.old) for one in side.unknown]
    return f"{', '.join(new or ['No new finding'])}. In {' and '.join(sides)}: {titles[0]}"


def _fewer_gpus(found: Comparison) -> list[str]:
    """`6 GPUs instead of 8`: no check fails for that unless a count was expected, but it matters."""
    count = next((one for one in found.facts if one.path == "gpus"), None)
    if count is None or not (count.before.isdigit() and count.after.isdigit()):
        return []
    fewer = int(count.after) < int(count.before)
    return [f"{several(int(count.after), 'GPU')} instead of {count.before}"] if fewer else []


def _what(found: Comparison) -> str:
    """`, only 3 facts and 2 packages`."""
    counts = ((len(found.facts), "fact"), (sum(1 + len(one.followed) for one in found.packages), "package"))
    words = [several(count, name) for count, name in counts if count]
    return f", only {' and '.join(words)}" if words else ""
