"""Write docs/checks.md from the checks and the thresholds: `python docs/generate.py`; with --check only compare."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from doctor.findings import LAYERS  # noqa: E402
from doctor.findings.thresholds import THRESHOLDS  # noqa: E402
from doctor.judge import Registered, load_all  # noqa: E402
from doctor.text.cause_pages import load_causes  # noqa: E402

PAGE = HERE / "checks.md"
LAYER_NAMES = {
    "hardware": "Hardware", "driver": "Kernel driver", "container": "Container", "libraries": "CUDA libraries",
    "python": "Python and torch", "extension": "Extensions", "speed": "Limits and speed",
}  # fmt: skip
COMMAND = "python docs/generate.py"
INTRODUCTION = """\
{} checks, in the order of the layers that depend on each other. `gpudoctor explain ID` prints the page of one check;
`gpudoctor check --only ID` and `--skip ID` pick some. {} more causes can only be seen in a text: `gpudoctor explain
FILE`."""
HEAD = ("| check | what it finds | severity |", "| --- | --- | --- |")


def page(checks: list[Registered], causes: tuple[Registered, ...]) -> str:
    """The whole page; deterministic, so that it can be compared."""
    parts = [
        f"<!-- Made by `{COMMAND}` from doctor/checks/*.py and doctor/text/causes/*.txt: change the pages there. -->",
        "# Checks",
        INTRODUCTION.format(len(checks), len(causes)),
    ]
    for layer in LAYERS:
        inside = [check for check in checks if check.about.layer == layer]
        if inside:
            parts += [f"## {LAYER_NAMES[layer]}", _table(inside)]
    parts += ["## Only in a text", _table(causes), "## Manual pages"]
    parts += [_manual(check) for check in sorted([*checks, *causes], key=lambda check: check.id)]
    rows = [f"| `{name}` | {_cell(words)} |" for name, words in THRESHOLDS.items()]
    parts += [
        "## Thresholds",
        "What `[thresholds]` in `gpudoctor.toml` may set; behind the colon the default.",
        "\n".join(["| name | meaning |", "| --- | --- |", *rows]),
    ]
    return "\n\n".join(parts) + "\n"


def _table(checks: Iterable[Registered]) -> str:
    return "\n".join([*HEAD, *(f"| [{c.id}](#{c.id}) | {_cell(c.about.title)} | {c.about.severity} |" for c in checks)])


def _manual(check: Registered) -> str:
    about = check.about
    facts = [f"Severity: {about.severity}", f"layer: {LAYER_NAMES[about.layer].lower()}"]
    if about.tags:
        facts.append(f"tags: {', '.join(about.tags)}")
    lines = [f"### {check.id}", f"**{_plain(about.title)}.** {'; '.join(facts)}."]
    if about.downstream_of:
        causes = ", ".join(f"[{cause}](#{cause})" for cause in about.downstream_of)
        lines.append(f"Told under its cause where one of these is found: {causes}.")
    if about.needs_gpu:
        lines.append("Not judged under `--expect none`.")
    first, _, rest = check.manual.partition("\n")
    text = rest if first.strip().rstrip(".") == about.title.rstrip(".") else check.manual
    lines.append(_plain(text.strip()))
    return "\n\n".join(line for line in lines if line)


def _plain(text: str) -> str:
    """Text as it stands: what Markdown would read as tags or emphasis is escaped, code in backticks is left alone."""
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(piece if piece[:1] == "`" else re.sub(r"([<*]|__)", r"\\\1", piece) for piece in pieces)


def _cell(text: str) -> str:
    return _plain(text).replace("|", "\\|")


def main() -> int:
    text = page(load_all(), load_causes())
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.read_text(encoding="utf-8") == text:
        return 0
    print(f"{PAGE.name} is not what the checks say: {COMMAND}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
