"""The answer in a file's own syntax: Poetry's entries, PEP 621's strings with the index in their tool's table."""

from __future__ import annotations

import re

from msgspec.structs import replace

from ..instead import OWN, Answered, Instead
from .by_platform import by_platform
from .lines import Entry, Other, Pinned, RequirementFile
from .new_source import Chosen, choose_source

ENTRIES = ("poetry", "pipenv", "pixi")
"""Kinds with `name = "version"`."""
TOML = (*ENTRIES, "uv", "pdm", "pep621")
_NO_INDEX = ("pep621", "cfg")
"""Kinds that cannot name an index: a range would choose the build on PyPI."""


def spelled(file: RequirementFile, answered: Answered) -> Answered:
    """The written lines in the syntax of this kind of file."""
    return by_platform(file, _spelled(file, answered))


def _spelled(file: RequirementFile, answered: Answered) -> Answered:
    """With a separate index, torch needs no local version."""
    if file.kind == "pixi-conda":
        return replace(answered, instead=tuple(_pixi(one) for one in answered.instead))
    if file.kind in _NO_INDEX and answered.index:
        exact = [_exact(file, one, answered.gives) for one in answered.instead]
        answered = replace(answered, instead=tuple(exact))
    if file.kind not in TOML:
        return answered
    tag = answered.gives.partition("+")[2]
    chosen = choose_source(file, answered, tag)
    several: list[Pinned | Other] = [*file.lines, *file.others]
    lines = {(one.number, one.text): one for one in several}
    changed, done = [], set()
    for one in answered.instead:
        line = lines.get((one.number, one.text)) if one.number else _beside(file)
        done.add((one.number, one.text))
        written = replace(one, write=_written(file, one, line, chosen, tag)) if one.write else one
        changed += [written] if not one.number or written.write != one.text else []
    for line in file.lines if chosen.label or (file.kind == "pixi" and answered.index) else ():
        if line.entry and line.name in OWN and (line.number, line.text) not in done:
            write = _entry(line, line.entry, "", _source_key(file, line.name, chosen, tag, answered.index))
            reason = f"from the index for torch {tag}"
            changed += [Instead(line.number, write, reason, line.text)] if write != line.text else []
    spots = [lines[key].at for one in changed if (key := (one.number, one.text)) in lines]
    changed += [
        Instead(span.number, write, f"the index for torch {tag}", span.text)
        for span, write in chosen.words
        if not any(start <= span.at[0] and span.at[1] <= end for start, end in spots)
    ]
    return replace(answered, instead=tuple(changed), index=chosen.index, add=chosen.add)


def _exact(file: RequirementFile, one: Instead, gives: str) -> Instead:
    line = next((line for line in file.lines if (line.number, line.text) == (one.number, one.text)), None)
    if line is None or line.name != "torch" or "+" in one.write:
        return one
    return replace(one, write=f"torch{line.extras}=={gives}{line.tail}")


def _beside(file: RequirementFile) -> Pinned | Other | None:
    """How a new line is written: like the one it is for."""
    line = next(iter(file.lines), None)
    if line is None or line.entry is None:
        return None
    return replace(line, text="", name="torch", local="", entry=Entry(left="torch = "))


def _written(file: RequirementFile, one: Instead, line: Pinned | Other | None, chosen: Chosen, tag: str) -> str:
    if file.requires and (one.number, one.text) == (file.requires.number, file.requires.text):
        return one.write
    no_index = file.kind == "pep621" or (file.kind == "pixi" and not (line and line.entry))
    write = one.write.replace(f"+{tag}", "") if tag and not no_index else one.write
    if line and line.entry:
        return _entry(line, line.entry, write, _source_key(file, line.name, chosen, tag, chosen.url))
    return write.replace('"', "'")


def _source_key(file: RequirementFile, name: str, chosen: Chosen, tag: str, url: str) -> str | None:
    """`source = "pytorch-cu128"` for an entry; None: unchanged."""
    if name not in OWN:
        return None
    if file.kind == "pixi":
        return f'index = "{url}"' if url else ""
    word = "source" if file.kind == "poetry" else "index"
    return f'{word} = "{chosen.label}"' if chosen.label else ""


def _entry(line: Pinned | Other, entry: Entry, write: str, source: str | None) -> str:
    """`torch = { version = "==2.7.1", source = "pytorch-cu128" }` from a requirement ('': its own version); a table's
    other keys stay. source: '' for none, None for unchanged; a separate table has its source in another row."""
    found = re.match(r"([\w.-]+)(\[[^\]]*\])?\s*(@?)\s*([^;]*)", write)
    keys = dict(entry.keys)
    have = next((keys[key] for key in ("source", "index") if key in keys), "")
    if found:
        what = f'{"url" if found[3] else "version"} = "{found[4].strip()}"'
        value = f'"{found[4].strip()}"' if not found[3] else ""
    else:
        what = next((keys[key] for key in ("version", "url", "file") if key in keys), "")
        value = line.text[len(entry.left) :] if not keys else ""
        what = what or f"version = {value}"
    if entry.rows:
        rows = [entry.left + what.rpartition(entry.left)[2]] if entry.left else [what]
        return "\n".join([*rows, *([entry.left + source] if source and not have else [])])
    source = have if source is None else source
    if not source and isinstance(line, Pinned) and not line.local:
        source = have
    rest = [text for key, text in entry.keys if key not in ("version", "url", "file", "source", "index")]
    extras = _names(found[2]) if found and found[2] else []
    if extras and extras != _names(keys.get("extras", "")):
        rest = [text for text in rest if text != keys.get("extras")]
        quoted = ", ".join(f'"{name}"' for name in extras)
        rest.append(f"extras = [{quoted}]")
    if not rest and not source and value:
        return f"{entry.left}{value}" if entry.left else f"{{ {what} }}"
    return f"{entry.left}{{ {', '.join(filter(None, (what, source, *rest)))} }}"


def _names(extras: str) -> list[str]:
    """['cuda', 'cudnn'] of `[cuda,cudnn]` or `extras = ["cuda", "cudnn"]`."""
    return re.findall(r"[\w.-]+", extras.rpartition("[")[2])


def _pixi(one: Instead) -> Instead:
    """A conda specification as pixi writes it; the key stays."""
    found = re.fullmatch(r"(?:([\w-]+)::)?([\w-]+)(?:=([\w.]+))?(?:=([\w.*]+))?", one.write)
    if not found:
        return one
    left = re.match(r"[\"']?[\w.-]+[\"']?\s*=\s*", one.text)
    version = f"{found[3]}.*" if found[2] == "python" and found[3] else found[3] or "*"
    keys = [f'version = "{version}"']
    keys += [f'build = "{found[4]}"'] if found[4] else []
    keys += [f'channel = "{found[1]}"'] if found[1] else []
    own_table = re.match(r"(?:\S+\.)?version\s*=", one.text)
    value = f'"{version}"' if len(keys) == 1 or own_table else f"{{ {', '.join(keys)} }}"
    return replace(one, write=f"{left[0] if left else f'{found[2]} = '}{value}")
