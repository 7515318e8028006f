"""The named index that torch comes from after the edit: one in the file, moved or added."""

from __future__ import annotations

import re

from msgspec import Struct

from ..instead import OWN, Answered
from .by_platform import markers, others
from .lines import RequirementFile, Source, Span

_NAMED = ("uv", "pdm", "poetry", "pipenv")


class Chosen(Struct, frozen=True, kw_only=True):
    """label: its name ('' if torch needs none); url: its address; words: texts in the file to change, with what to
    write; add: tables to add; index: addresses still to add."""

    label: str = ""
    url: str = ""
    words: tuple[tuple[Span, str], ...] = ()
    add: str = ""
    index: str = ""


def choose_source(file: RequirementFile, answered: Answered, tag: str) -> Chosen:
    """The index that already has the tag, else the one that torch came from with a new address, else a new one. A name
    that contains the old tag is changed wherever it appears."""
    urls = answered.index.split()
    if not urls or not tag or file.kind not in (*_NAMED, "pixi"):
        return Chosen(index=answered.index)
    url = next((one for one in urls if one.rstrip("/").endswith(f"/{tag}")), urls[0])
    left = " ".join(one for one in urls if one != url)
    if file.kind == "pixi":
        return Chosen(
            url=url, index=left if all(one.entry for one in file.lines if one.name in OWN) else answered.index
        )
    own = [one for one in file.lines if one.name in OWN]
    old = next((one.local for one in sorted(own, key=lambda one: one.name != "torch") if one.local), "")
    there = next((one for one in file.sources if one.tag == tag), None)
    moved = None if there else next((one for one in file.sources if old and one.tag == old), None)
    if moved and any(word.elsewhere for word in moved.words):
        moved = None  # the other platform's packages need not be on the new index
    names = {one.name for one in file.sources}
    words: list[tuple[Span, str]] = []
    if there:
        label = there.name
    elif moved:
        label = moved.name.replace(old, tag)
        label = moved.name if label in names else label
        words.append((moved.url, _moved(moved, tag, url)))
        words += [(word.span, _renamed(word.span, moved.name, label)) for word in moved.words if label != moved.name]
    else:
        label = next(name for name in (f"pytorch-{tag}", f"torch-{tag}", f"gpudoctor-{tag}") if name not in names)
    for source in file.sources:
        if source.name != label and source is not moved and source.tag and source.tag == old:
            words += [
                (w.span, _renamed(w.span, source.name, label))
                for w in source.words
                if w.package in OWN and not w.elsewhere
            ]
    packages = list(dict.fromkeys(["torch", *(one.name for one in own)]))
    have = {word.package for source in file.sources for word in source.words}
    missing = [name for name in packages if name not in have and not any(one.entry and one.name == name for one in own)]
    here = {word.package for source in file.sources for word in source.words if not word.elsewhere}
    other = {w.package: w.elsewhere for source in file.sources for w in source.words if w.elsewhere}
    marker = f"sys_platform == '{file.platform}'"
    for name in packages:
        if name in other and name not in here and file.kind == "uv":
            words.append((other[name], _one_more(other[name], f'{{ index = "{label}", marker = "{marker}" }}')))
    if file.kind == "poetry" and any(one.entry for one in own):
        missing = [name for name in missing if any(one.name == name for one in own)]  # a new one is an entry
    rows = _references(file.kind, missing, label, _marker(file))
    if not there and not moved:
        rows += ([""] if rows else []) + _table(file.kind, label, url, packages)
    return Chosen(label=label, url=url, words=tuple(words), add="\n".join([*rows, ""]) if rows else "", index=left)


def _marker(file: RequirementFile) -> str:
    """The marker for what must come from the index: torch's own, or one for the platforms without another torch."""
    words = [word for source in file.sources for word in source.words if word.package in OWN and not word.elsewhere]
    own = next((word.marker for word in words if word.package == "torch"), "")
    out = others(file)
    return own if own and "extra" not in own else markers(out)[0] if out else ""


def _references(kind: str, missing: list[str], label: str, marker: str) -> list[str]:
    """Lines that say that the packages come from the index, if no entry of theirs does."""
    if kind == "uv" and missing:
        tail = f', marker = "{marker}"' if marker else ""
        return ["[tool.uv.sources]", *(f'{name} = {{ index = "{label}"{tail} }}' for name in missing)]
    if kind == "poetry" and missing:
        tail = f', markers = "{marker}"' if marker else ""
        return ["[tool.poetry.dependencies]", *(f'{name} = {{ source = "{label}"{tail} }}' for name in missing)]
    return []


def _table(kind: str, label: str, url: str, packages: list[str]) -> list[str]:
    rows = [f'name = "{label}"', f'url = "{url}"']
    if kind == "uv":
        return ["[[tool.uv.index]]", *rows, "explicit = true"]
    if kind == "pdm":
        quoted = ", ".join(f'"{name}"' for name in packages)
        return ["[[tool.pdm.source]]", *rows, f"include_packages = [{quoted}]"]
    if kind == "poetry":
        return ["[[tool.poetry.source]]", *rows, 'priority = "explicit"']
    return ["[[source]]", *rows, "verify_ssl = true"]


def _moved(source: Source, tag: str, url: str) -> str:
    """The new address: on the same mirror if the old one ends with its tag."""
    old = source.url.text.rstrip("/")
    if old.endswith(f"/{source.tag}") and "/nightly/" not in old:
        return re.sub(rf"/{re.escape(source.tag)}$", f"/{tag}", old)
    return url


def _one_more(entry: Span, item: str) -> str:
    """`torch = [{ index = "mac", marker = "..." }]` with one more element."""
    left, equals, value = entry.text.partition("=")
    inner = value.strip()
    if inner.startswith("["):
        inner = inner[1:-1].strip().rstrip(",")
    return f"{left}{equals} [{inner}, {item}]"


def _renamed(span: Span, old: str, new: str) -> str:
    """`index = "pytorch-cu128"` with a different name."""
    before, _, after = span.text.rpartition(old)
    return f"{before}{new}{after}"
