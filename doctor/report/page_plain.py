"""Pages of answers that are not reports of a machine: links of GPUs, an image against hosts, text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..judge.preflight_answer import Preflight
from ..topo.costs import Answer
from .blocks import families
from .image_text import RUNS, details, how, spec_lines, spec_words, summary
from .measured_sheets import Sheet
from .page import cause, markup, rendered
from .plain_markdown import plain_markdown
from .plot_topo import render_topo
from .topo import topo_tables

_WORD = {"fail": "FAIL", "warn": "WARN", "unknown": "UNKNOWN", "pass": "PASS"}


def topo_page(found: Answer) -> str:
    """What lies between GPUs: the verdict, the picture, the matrix, and each way with its bytes."""
    matrix, facts, question, ways = topo_tables(found)
    parts = [
        part(pictures=[markup(render_topo(found).strip())]),
        part("Matrix", sheets=[Sheet("", tuple(matrix[0]), [tuple(row) for row in matrix[1:]])], texts=facts),
    ]
    if ways:
        head = ("way", "sent", "time", "")
        parts.append(
            part("Ways to split the model", [question], [Sheet("", head, [tuple(row) for row in ways], (1, 2))])
        )
    if found.missing:
        parts.append(part("Unknown", list(found.missing)))
    return rendered("gpudoctor topo", plain=plain("Links between devices", found.verdict, parts))


def image_page(answer: Preflight) -> str:
    """An image against hosts: what is in it, where it runs, and why not."""
    image = answer.image
    head = ("", "Host", "Runs", "How", "Why")
    rows = [
        (
            _WORD[one.verdict],
            one.host,
            RUNS[one.verdict][0],
            how(one),
            "; ".join(filter(None, (one.why, one.label_words))),
        )
        for one in answer.hosts
    ]
    parts = [part("Hosts", sheets=[Sheet("", head, rows)])] if rows else []
    for one in answer.hosts:
        found = [cause(root, under) for root, under in families(one.findings)]
        parts += [part(one.host, causes=found)] if found else []
    if answer.spec:
        words, lines = spec_words(answer.spec, answer.image)
        parts.append(part(words, spec_lines(lines)))
    parts.append(part("The image", sheets=[Sheet("", ("", ""), details(image))]))
    title = f"gpudoctor image: {image.name}"
    return rendered(title, plain=plain(image.name, " · ".join(summary(image)), parts))


def text_document(heading: str, verdict: str, commands: Sequence[str], text: str) -> dict[str, Any]:
    """Commands to copy, and below them the whole answer as the terminal has it."""
    parts = [part("To copy and paste", commands=list(commands))] if commands else []
    return plain(heading, verdict, [*parts, part("Full report", pre=text)])


def written(title: str, document: dict[str, Any], form: str) -> str:
    """A document as "html" or "markdown"."""
    return plain_markdown(document) if form == "markdown" else rendered(title, plain=document)


def plain(heading: str, verdict: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    """A page of sections."""
    return {"heading": heading, "verdict": verdict, "parts": parts}


def part(title: str = "", texts: Sequence[str] = (), sheets: Sequence[Sheet] = (), **more: Any) -> dict[str, Any]:
    """A section: sentences, tables, and by name `commands`, `pictures`, `causes`, `pre`, and `filter`, the words in
    a box that filters the rows of its tables."""
    empty: dict[str, Any] = {"commands": (), "pictures": (), "causes": (), "pre": "", "filter": ""}
    return {"title": title, "texts": texts, "sheets": sheets, **empty, **more}
