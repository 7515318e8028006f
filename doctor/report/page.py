"""A report as one HTML file: the cause and its fix first, pictures, every figure; facts folded. Nothing from outside,
and no script is needed to read it: the one there is copies commands and unfolds for the printer."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ..findings import Finding, Layer
from ..judge.report import Report
from ..snapshot import known
from . import facts, pasted, pasted_ending
from .blocks import SIGNS, alike, families, marks, seen, show
from .clean import printable
from .everything import walk
from .groups import MARK, counted, exit_words, groups, in_words, remark_texts, tally
from .matrix_rows import rows_behind
from .measured_sheets import Sheet, sheets
from .measured_words import about
from .own_error import own_error
from .page_pictures import pictures
from .terminal import SMI_NOTE

if TYPE_CHECKING:
    from jinja2 import Template

OPEN = ("GPU path", "What would help", "What was watched")
"""Tables that stand before the pictures."""


def render_html(
    report: Report,
    layers: Mapping[str, Layer],
    titles: Mapping[str, str] | None = None,
    preface: Sequence[str] = (),
) -> str:
    """The whole report; `layers` and `titles` are the catalogue's check id to layer, and to title. `preface`: a head
    and sentences that stand before the causes."""
    title = f"gpudoctor: {report.verdict.upper()}, {facts.gpus(report.snapshot)}"
    return rendered(title, page={**_page(report, layers, titles or {}), "preface": preface})


def render_fragment(report: Report, layers: Mapping[str, Layer], titles: Mapping[str, str] | None = None) -> str:
    """The same as one element with its own style, for a notebook."""
    inner = _text("page.css").replace(":root {", "& {").replace("body {", "& {")
    style = f".gpudoctor {{\n{inner}}}"  # nested: the page around it keeps its own style
    return _template().render(page=_page(report, layers, titles or {}), style=markup(style), fragment=True)


def rendered(title: str, **parts: Any) -> str:
    """A whole page: `page`, what a report says, or `plain`, sections of another answer."""
    script = _text("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    return _template().render(
        title=title, policy=policy, style=markup(_text("page.css")), script=markup(script), **parts
    )


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")


def markup(text: str) -> Any:
    """Text that is markup of our own making."""
    from markupsafe import Markup

    return Markup(text)


@lru_cache(maxsize=1)
def _template() -> Template:
    from jinja2 import Environment
    from markupsafe import Markup

    def clean(value: Any) -> Any:
        """No control character of a fact reaches the page."""
        return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    def lines(text: str) -> Any:
        kept = printable(text, keep_lines=True).strip("\n").split("\n")
        return Markup("\n").join(kept)

    made = Environment(autoescape=True, finalize=clean, trim_blocks=False, keep_trailing_newline=True)
    made.filters.update(lines=lines, marks=marks, any=any)
    return made.from_string(_text("page.html.j2"))


def _page(report: Report, layers: Mapping[str, Layer], titles: Mapping[str, str]) -> dict[str, Any]:
    s = report.snapshot
    code = exit_words(report)
    measured = known(s.measured.level) is not None
    found = sheets(report) if measured else []
    first = pasted.suspect(report) if report.text else None
    shown = pasted.worth_telling(report) if report.text else report.findings
    highest = facts.cuda(s)
    name = " · ".join(pasted.origin(report)) if report.text else facts.gpus(s)
    words = [facts.system_name(s), facts.driver(s), facts.torch(s), facts.python(s)]
    return {
        "heading": name,
        "about": " · ".join(pasted.named(s) if report.text else words),
        "verdict": report.verdict,
        "verdict_word": report.verdict.upper(),
        "counted": f"{f'{code}; ' if code else ''}{pasted_ending.counted(report) if report.text else tally(report)}",
        "answers": report.text.answers if report.text else (),
        "open": pasted.open_page(report, titles),
        "suspect": _cause(first, [], report) if first else None,
        "causes": [_cause(root, under, report) for root, under in families(shown)],
        "remarks": [*(f"{note}." for note in report.notes), *remark_texts(report)],
        "outside": _outside(report),
        "measured": about(s.measured) if measured else "",
        "first_sheets": [sheet for sheet in found if sheet.title in OPEN],
        "sheets": [sheet for sheet in found if sheet.title not in OPEN],
        "pictures": [markup(picture) for picture in pictures(report)] if measured else [],
        "similar": report.text.similar if report.text else (),
        "machine": facts.table(s, bool(report.text)),
        "smi_note": SMI_NOTE if highest else "",
        "checks_counted": counted(report.checks),
        "checks": _checks(report, layers),
        "rows": rows_behind(report, [finding.id for finding in report.findings]),
        "facts": [(path, show(value, 500)) for path, value in walk(s) if value not in ((), {}, "")],
        "made": f"gpudoctor {report.tool.version}, matrix {report.matrix.version}, {report.generated_at}",
        "masked": "masked by gpudoctor" if report.redacted else "not masked",
    }


def cause(root: Finding, under: list[Finding], error: str = "", quotes: Sequence[str] = ()) -> dict[str, Any]:
    """One cause with what it rests on, and what else it shows as."""
    parts = [f"about {root.subject}"] if root.subject else []
    parts += [f"{name} = {text}" for name, text in seen(root)]
    return {
        "finding": root,
        "word": SIGNS[root.status][0].split()[1] if root.status in SIGNS else root.status.upper(),
        "error": error,
        "quotes": quotes,
        "seen": "; ".join(parts),
        "under": [f"{other.title} [{other.id}]{times}" for other, times in alike(root, under)],
    }


def _cause(root: Finding, under: list[Finding], report: Report) -> dict[str, Any]:
    if report.text:
        return cause(root, under, quotes=pasted.lines_of(root))
    return cause(root, under, own_error(root, under, report.snapshot))


def _outside(report: Report) -> Sheet | None:
    if report.snapshot.outside is None:
        return None
    from . import outside

    return Sheet("", ("", "on the host", "in the container"), outside.rows(report.snapshot))


def _checks(report: Report, layers: Mapping[str, Layer]) -> Sequence[dict[str, str]]:
    return [
        {
            "kind": "muted" if check.status == "skipped" else check.status,
            "sign": MARK[check.status][0],
            "status": check.status,
            "layer": group.layer,
            "words": in_words(check),
            "id": check.id,
        }
        for group in groups(report, layers)
        for check in group.checks
    ]
