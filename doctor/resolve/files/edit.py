"""Apply changes to a file; every byte outside the changes stays, including comments and line endings."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..instead import Answered, Instead
from .lines import At, IndexLine, Other, Pinned, RequirementFile
from .toml_spans import Path, Spans

Change = tuple[int, int, str]
"""Start and end of what is replaced, and the new text."""


class Unwritable(ValueError):
    """The message says in one line which change cannot be made in the file."""


def edited(text: str, file: RequirementFile, answered: Answered) -> str:
    """The whole file. Raises Unwritable."""
    eol = "\r\n" if "\r\n" in text else "\n"
    spans = _spans(file)
    changes: list[Change] = []
    if answered.unwritable:
        raise Unwritable(answered.unwritable)
    if file.kind == "pep621" and answered.index and any(one.indexes for one in file.lines):
        raise Unwritable("its index is set in Hatch's env-vars")
    for one in answered.instead:
        if not one.number:
            continue
        several = spans.get((one.number, one.text))
        if not several or (not one.write and _OWN_TABLE.match(one.text)):
            raise Unwritable(f"line {one.number}: {one.text} cannot be changed separately")
        at = several.pop(0)
        changes.append((*at, _new_text(text, at, one, eol)) if one.write else (*_without(text, *at), ""))
    changes += _new(text, file, answered, eol)
    changed = _applied(text, changes)
    if file.pip and any(not one.write for one in answered.instead):
        changed = _EMPTY_PIP.sub("", changed)
    return _with_tables(changed, answered.add, eol)


_OWN_TABLE = re.compile(r"(?:[\w.\"'-]+\.)?(?:version|url)\s*=")
"""The first row of `[tool.poetry.dependencies.triton]`; deleting it alone would not remove the entry."""
_EMPTY_PIP = re.compile(
    r"^([ \t]*)-[ \t]*pip[ \t]*:[ \t]*(?:#[^\n]*)?\r?\n(?!(?:[ \t]*(?:#[^\n]*)?\r?\n)*\1[ \t]+-)", re.M
)
"""The pip section of a conda environment with no items left."""


def _spans(file: RequirementFile) -> dict[tuple[int, str], list[At]]:
    """(line, text) -> positions of that text."""
    found: dict[tuple[int, str], list[At]] = {}
    for part in (file, file.pip):
        if part:
            named = [word for source in part.sources for word in source.words]
            words = [one for word in named for one in (word.span, word.elsewhere) if one]
            several = [*part.lines, *part.others, *part.indexes, *words, *(source.url for source in part.sources)]
            for one in (*several, *((part.requires,) if part.requires else ())):
                if one.at != (0, 0) and one.at not in (have := found.setdefault((one.number, one.text), [])):
                    have.append(one.at)
    return found


def _applied(text: str, changes: list[Change]) -> str:
    parts, done = [], 0
    for start, end, new in sorted(changes, key=lambda one: one[:2]):
        if start < done:
            raise Unwritable("two changes overlap")
        parts += [text[done:start], new]
        done = end
    return "".join([*parts, text[done:]])


def _new_text(text: str, at: At, one: Instead, eol: str) -> str:
    """The new text with the old one's quotes, or as a plain YAML scalar if it was one; several rows become several
    items."""
    old, before = text[slice(*at)], _before(text, at[0])
    rows = one.write.splitlines()
    quoted = old[:1] in ("'", '"') and old[:1] != one.text[:1]
    in_flow = before.rstrip().endswith(("[", ",")) and old == one.text
    if quoted:
        rows = [_quoted(row, old[0]) for row in rows]
    elif in_flow:
        rows = [_in_flow(row) for row in rows]
    if before.strip() == "-":
        return f"{eol}{before}".join(rows)
    if not before.strip():
        return f"{',' if quoted else ''}{eol}{before}".join(rows)
    if quoted or in_flow:
        return ", ".join(rows)
    if len(rows) > 1:  # one line of setup.cfg
        return "".join(f"{eol}    {row}" for row in rows)
    return one.write


def _in_flow(write: str) -> str:
    """A text in YAML's `[a, b]`; a TOML element is an inline table, which stays as it is."""
    return _quoted(write, '"') if re.search(r"[,\[\]{}]|: | #", write) and not write.startswith("{") else write


def _quoted(write: str, quote: str) -> str:
    return quote + write.replace(quote, "'" if quote == '"' else '"') + quote


def _before(text: str, at: int) -> str:
    """The text before this on its row."""
    return text[text.rfind("\n", 0, at) + 1 : at]


def _without(text: str, start: int, end: int) -> At:
    """What to delete for an item: its rows if they contain nothing else but a comment, else the item and one comma."""
    before = _before(text, start)
    comma = re.compile(r"[ \t]*[,;]?").match(text, end)
    after = comma.end() if comma else end
    row_end = text.find("\n", after)
    rest = text[after : row_end if row_end >= 0 else len(text)]
    if before.strip() in ("", "-") and re.fullmatch(r"\s*(#.*)?", rest):
        return start - len(before), row_end + 1 if row_end >= 0 else len(text)
    if comma and comma[0].endswith(","):
        spaces = re.compile(r"[ \t]*").match(text, after)
        return start, spaces.end() if spaces else after
    lead = re.search(r",\s*$", text[:start][-200:])
    return (start - len(lead[0]) if lead else start), end


def _new(text: str, file: RequirementFile, answered: Answered, eol: str) -> Iterator[Change]:
    """Indexes and packages that have no line yet."""
    news = [one.write for one in answered.instead if not one.number and one.write]
    urls = [f"--extra-index-url {url}" for url in answered.index.split()]
    if file.kind == "requirements":
        first = re.search(r"^(?![ \t]*(?:#|\r?$))", text, re.M)
        at = first.start() if first else len(text)
        ends = "" if text.endswith("\n") or not text else eol
        yield from [(at, at, "".join(f"{url}{eol}" for url in urls))] if urls else []
        yield from [(len(text), len(text), ends + "".join(f"{one}{eol}" for one in news))] if news else []
        return
    part = file.pip if file.kind in ("conda", "pixi-conda") and file.pip else file  # what is new is pip's
    found: list[Pinned | Other | IndexLine] = [*part.lines, *part.others, *part.indexes]
    items = [one for one in found if one.at != (0, 0)]
    wanted = [*(urls if file.kind == "conda" else ()), *news]
    if wanted and not items:
        raise Unwritable(f"the file has no dependency list to add {wanted[0]} to")
    for url in urls if file.kind == "conda" else ():
        yield _item_before(text, min(one.at for one in items), url, eol)
    for one in news:
        yield _item_before(text, items[0].at, one, eol)


def _item_before(text: str, at: At, new: str, eol: str) -> Change:
    """A new item in the list, or a new row in the table, that contains another one."""
    before, quote = _before(text, at[0]), text[at[0]]
    string = quote in ("'", '"') and not re.match(r"[\"'][\w.-]+[\"']\s*=", text[slice(*at)])
    item = _quoted(new, quote) if string else new
    if before.strip() in ("", "-"):
        comma = "," if string and not before.strip() else ""
        start = at[0] - len(before)
        return start, start, f"{before}{item}{comma}{eol}"
    if before.rstrip().endswith(("=", ":")) and not string:  # one line of setup.cfg
        return at[0] - len(before) + len(before.rstrip()), at[0], f"{eol}    {item}{eol}    "
    return at[0], at[0], f"{item if string else _in_flow(item)}, "


def _with_tables(text: str, add: str, eol: str) -> str:
    """`add`: TOML tables. Entries go under an existing header, elements into an existing array, everything else at the
    end."""
    if not add:
        return text
    spans, new = Spans(text), Spans(add)
    changes, rest = [], []
    for path, header in new.headers.items():
        own = [add[new.keys[key] : new.values[key][1]] for key in new.keys if key[:-1] == path]
        there = spans.values.get(tuple(part for part in path if isinstance(part, str)))
        if path in spans.headers and isinstance(path[-1], str):
            at = text.find("\n", spans.headers[path][1]) + 1
            rows = "".join(f"{row}\n" for row in own).replace("\n", eol)
            changes.append((at, at, rows) if at else (len(text), len(text), f"{eol}{rows}"))
        elif there and isinstance(path[-1], str):
            changes.append((there[0] + 1, there[0] + 1, "".join(f" {row}," for row in own)))
        elif there:
            changes.append(_last_of(text, there, f"{{ {', '.join(own)} }}", spans, path[:-1], eol))
        else:
            rest.append(eol.join((add[slice(*header)], *own)))
    text = _applied(text, changes)
    ends = "" if text.endswith("\n") else eol
    return text + "".join(f"{ends if not n else ''}{eol}{one}{eol}" for n, one in enumerate(rest))


def _last_of(text: str, array: At, item: str, spans: Spans, path: Path, eol: str) -> Change:
    """A new last element for an array written as one value."""
    count = sum(1 for one in spans.values if one[:-1] == path)
    if not count:
        return array[0] + 1, array[0] + 1, item
    own = (*path, count - 1)
    last = spans.values[own]
    before = _before(text, last[0])
    gap = f",{eol}{before}" if not before.strip() else ", "
    return last[1], last[1], f"{gap}{item}"


def note(one: Instead) -> str:
    """`    # line 3: matches torch 2.7.1`."""
    where = f"line {one.number}" if one.number else "new"
    return f"    # {where}: {one.reason}" if one.reason else f"    # {where}"
