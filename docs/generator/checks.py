"""A page for each check and each cause that only a text can show, and their list."""

from __future__ import annotations

from collections.abc import Iterable

from doctor.findings import LAYERS
from doctor.findings.thresholds import THRESHOLDS
from doctor.judge import Registered, load_all
from doctor.text.cause_pages import load_causes

from .words import LAYER_NAMES, cell, plain

INTRODUCTION = """\
{} checks, in the order of the layers that depend on each other. `gpudoctor explain ID` prints the page of one check;
`gpudoctor check --only ID` and `--skip ID` pick some. {} more causes can only be seen in a text: `gpudoctor explain
FILE`."""
HEAD = ("| check | what it finds | severity |", "| --- | --- | --- |")


def pages() -> dict[str, str]:
    """Path to text."""
    checks, causes = load_all(), load_causes()
    made = {f"checks/{one.id}.md": _page(one) for one in (*checks, *causes)}
    return {"checks/index.md": _index(checks, causes), **made}


def names() -> set[str]:
    """The ids that have a page."""
    return {one.id for one in (*load_all(), *load_causes())}


def _index(checks: list[Registered], causes: tuple[Registered, ...]) -> str:
    parts = ["# Checks", INTRODUCTION.format(len(checks), len(causes))]
    for layer in LAYERS:
        inside = [check for check in checks if check.about.layer == layer]
        if inside:
            parts += [f"## {LAYER_NAMES[layer]}", _table(inside)]
    parts += ["## Only in a text", _table(causes)]
    rows = [f"| `{name}` | {cell(words)} |" for name, words in THRESHOLDS.items()]
    parts += [
        "## Thresholds",
        "What `[thresholds]` in `gpudoctor.toml` may set; behind the colon the default.",
        "\n".join(["| name | meaning |", "| --- | --- |", *rows]),
    ]
    return "\n\n".join(parts) + "\n"


def _table(checks: Iterable[Registered]) -> str:
    rows = (f"| [{one.id}]({one.id}.md) | {cell(one.about.title)} | {one.about.severity} |" for one in checks)
    return "\n".join([*HEAD, *rows])


def _page(check: Registered) -> str:
    """What is wrong and how it shows come first; what it is filed under, and what else reports it, last."""
    about = check.about
    first, _, rest = check.manual.partition("\n")
    text = rest if first.strip().rstrip(".") == about.title.rstrip(".") else check.manual
    paragraphs = sorted(text.strip().split("\n\n"), key=lambda one: not one.startswith("Symptoms:"))
    facts = [f"Severity: {about.severity}", f"layer: {LAYER_NAMES[about.layer].lower()}"]
    if about.tags:
        facts.append(f"tags: {', '.join(about.tags)}")
    lines = [f"# {plain(about.title)}", f"`{check.id}`", *map(plain, paragraphs), f"{'; '.join(facts)}."]
    if about.needs_gpu:
        lines.append("Not judged under `--expect none`.")
    if about.downstream_of:
        causes = ", ".join(f"[{cause}]({cause}.md)" for cause in about.downstream_of)
        lines.append(f"Reported under its cause if one of these is found: {causes}.")
    return "\n\n".join([*lines, "[All checks](index.md)"]) + "\n"
