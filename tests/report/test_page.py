"""The page: one file that needs nothing, tells all, and holds no markup but its own. And the tables of Markdown."""

from __future__ import annotations

import random
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from doctor.commands.assess import about, assess
from doctor.judge.report import Report
from doctor.report.markdown import render_markdown
from doctor.report.measured_sheets import sheets
from doctor.report.page import render_html
from doctor.snapshot import Missing
from doctor.text import excerpt, read

from ..drawn import drawn
from ..healthy import healthy
from ..judging import POLICY, matrix, report
from ..rows import for_each
from .measured_mutants import by_an_enemy, with_holes
from .measured_samples import cpu_measured, full_measured, machine, no_gpu_path, told, two_gpus, watched
from .samples import COMMAND, HOSTILE, LAYERS, finding, hostile, sick

CORPUS = Path(__file__).parents[1] / "fuzz" / "corpus"
VOID = {"meta", "br", "hr", "img", "link", "input"}
TAGS = {
    "html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "h3", "p", "span", "div", "b", "ol", "ul", "li", "pre",
    "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "footer", "svg", "g", "rect", "line", "polyline", "polygon",
    "circle", "text", "clippath", "header", "button", "blockquote", "script", "input",
}  # fmt: skip
SAMPLES = {"full": full_measured, "two": two_gpus, "cpu": cpu_measured, "none": no_gpu_path, "watched": watched}


class Page(HTMLParser):
    """What a browser sees: elements, attributes, text; and whether every element is closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, (tag, self.open[-3:])
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("style", "script"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def page(measured_report: Report) -> Page:
    return Page(render_html(measured_report, LAYERS))


def sick_with(measured: object) -> Report:
    """Findings of every kind beside these measurements."""
    told_one = told(measured)  # type: ignore[arg-type]
    return replace(sick(), snapshot=told_one.snapshot, measured=told_one.measured)


def test_the_page_tells_verdict_findings_fixes_pictures_figures_and_what_did_not_run() -> None:
    seen = page(sick_with(two_gpus()))
    places = [
        seen.text.index(words)
        for words in (
            "FAIL exit 1",
            "title of driver-not-loaded",
            "Fix: Install a build that fits",
            COMMAND,
            "Or: Use another card",
            "This also causes",
            "title of cpu-only-torch",
            "Also found",
            "title of torch-not-installed",
            "A remark",
            "full run on cuda",
            "match float64",
            "What would help",
            "Roofline",
            "Batch sweep",
            "Figures",
            "matmul bf16",
            "CUDA graph, ms",
            "wrong data",
            "Not measured, or not as planned",
            "no answer, stopped (killed after 20 s)",
            "Checks",
            "not masked",
        )
    ]
    assert places == sorted(places)
    assert seen.tags.count("svg") == 3  # one of all GPUs, one of each that was measured


@for_each("name", SAMPLES)
def test_the_page_needs_nothing_from_outside_and_runs_nothing(name: str) -> None:
    text = render_html(told(SAMPLES[name]()), LAYERS)
    seen = Page(text)
    assert not seen.open and set(seen.tags) <= TAGS
    assert not [a for a in seen.attributes if a[0] in ("src", "href", "srcset", "action") or a[0].startswith("on")]
    assert "@import" not in text and not re.search(r"url\((?!#clip-)", text)
    ids = [value for key, value in seen.attributes if key == "id"]
    assert len(ids) == len(set(ids))
    for svg in re.findall(r"<svg.*?</svg>", text, re.S):
        ElementTree.fromstring(svg)


def test_words_of_facts_and_findings_are_no_markup() -> None:
    planted = "<script>alert(1)</script>"
    enemy = by_an_enemy(two_gpus())
    assert not isinstance(enemy.torch, Missing)
    snapshot = machine(replace(enemy, torch=tuple(replace(p, name=f"NVIDIA {planted}") for p in enemy.torch)))
    gpus = snapshot.fact("gpus")
    snapshot = snapshot.replace(
        {"gpus": (replace(gpus[0], name=f"NVIDIA {planted}"),), "host.os_name": HOSTILE, "torch.version": HOSTILE}
    )
    bad = finding(
        "cpu-only-torch",
        title=f"{planted} {HOSTILE}",
        detail=HOSTILE,
        subject=HOSTILE,
        facts={"f": [HOSTILE]},
        fixes=hostile().findings[0].fixes,
    )
    text = render_html(replace(report(snapshot), findings=(bad, bad), remarks=(bad,)), LAYERS)
    seen = Page(text)
    assert set(seen.tags) <= TAGS and text.count("<script") == 1
    assert planted in seen.text
    assert not [c for c in text if not c.isprintable() and c != "\n"]


@pytest.mark.slow
@for_each("path", sorted((CORPUS / "text").iterdir())[:12], ids=lambda path: path.name)
def test_texts_of_the_fuzz_corpus_add_no_tag(path: Path) -> None:
    """The page of a hostile text has the tags of the same page whose every character of markup is another one."""
    data = path.read_bytes()[:4000] + b"\n<script>alert(1)</script></details></style><img src=x onerror=y>\n"
    tame = data.translate(bytes.maketrans(b"<>&\"'", b"[]+,,"))
    hostile_page, tame_page = explained(data), explained(tame)
    assert set(hostile_page.tags) <= set(tame_page.tags) | TAGS and not hostile_page.open
    assert hostile_page.tags.count("script") == 1 and "img" not in hostile_page.tags
    assert not [name for name, _ in hostile_page.attributes if name.startswith("on")]


def explained(data: bytes) -> Page:
    """The page of a pasted text."""
    made = assess(read(excerpt(data), "text"), matrix(), POLICY)
    return Page(render_html(made, *about(made)))


def test_without_measurements_there_is_a_page_without_pictures() -> None:
    seen = page(report(healthy()))
    assert "svg" not in seen.tags and "Figures" not in seen.text and "PASS exit 0" in seen.text
    assert "1x NVIDIA H100 80GB HBM3" in seen.text


def test_a_watched_run_has_its_table() -> None:
    text = page(told(watched())).text
    for words in (
        "What was watched",
        "python, 118 s, exit code 0",
        "GPU busy 15 % (by this process)",
        "The CPU sets the pace",
    ):
        assert words in text
    assert "(exit" not in text and "exit 0;" not in text  # the command's own exit code is the process's
    assert sheets(told(watched()))[0].rows[0][0] == "python"


@for_each("name", SAMPLES)
def test_tables_are_whole(name: str) -> None:
    found = sheets(told(SAMPLES[name]()))
    assert found and found[0].title == "GPU path"
    for sheet in found:
        assert all(len(row) == len(sheet.header) for row in sheet.rows), sheet.title
        assert all(index < len(sheet.header) for index in sheet.numeric)


def test_every_figure_is_in_a_table() -> None:
    measured = two_gpus()
    cells = {cell for sheet in sheets(told(measured)) for row in sheet.rows for cell in row}
    for what in (
        "matmul bf16",
        "memory triad",
        "copy h2d-pageable",
        "launch graph",
        "pass backward",
        "residual-add",
        "16,384",
        "4,771 MiB",
        "20.5 GiB",
        "19,800",
        "62,100",
        "AMD EPYC 9654",
        "data correct, 371 GB/s, peer access",
    ):
        assert what in cells


@for_each("name", SAMPLES)
def test_markdown_has_the_measurements_as_tables(name: str) -> None:
    text = render_markdown(sick_with(SAMPLES[name]()), LAYERS)
    assert text.count("<details>") == text.count("</details>")
    assert text.index("#### Measurements") > text.index("title of driver-not-loaded")
    part = text[text.index("#### Measurements") : text.index("<summary>Checks")]
    rows = [row for row in part.split("\n") if row.startswith("| ")]
    assert len(rows) > 2
    for before, row in pairwise(part.split("\n")):
        if before.startswith("|") and row.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", before)) == len(re.findall(r"(?<!\\)\|", row)), row


def test_markdown_of_measurements_is_no_markup_of_an_enemy() -> None:
    text = render_markdown(told(by_an_enemy(two_gpus())), LAYERS)
    part = text[text.index("#### Measurements") : text.index("<summary>Checks")]
    assert "<script" not in part and "@everyone" not in part and not re.search(r"(?<!\\)\]\(", part)


@pytest.mark.slow
@drawn(25)
@given(st.sampled_from(sorted(SAMPLES)), st.integers(0, 10**6), st.sampled_from([0.05, 0.3, 0.8]))
def test_holes_are_stepped_around(name: str, seed: int, share: float) -> None:
    holed = with_holes(SAMPLES[name](), random.Random(seed), share)
    base = replace(BASE, snapshot=BASE.snapshot.replace({"measured": holed}), checks=(), findings=(), remarks=())
    seen = page(base)
    assert not seen.open and not re.search(r"\b(None|Missing|nan|inf)\b", seen.text)
    assert "#### Measurements" in render_markdown(base, LAYERS)


BASE = told(full_measured())
