"""Write the pages of checks and of the rules of recipes: `python docs/generate.py`; with --check only compare."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from doctor.findings import LAYERS  # noqa: E402
from doctor.findings.thresholds import THRESHOLDS  # noqa: E402
from doctor.images.recipes import rules  # noqa: E402
from doctor.judge import Registered, load_all  # noqa: E402
from doctor.text.cause_pages import load_causes  # noqa: E402

PAGE, RECIPES = HERE / "checks.md", HERE / "dockerfile.md"
LAYER_NAMES = {
    "hardware": "Hardware", "driver": "Kernel driver", "container": "Container", "libraries": "CUDA libraries",
    "python": "Python and torch", "extension": "Extensions", "speed": "Limits and speed",
}  # fmt: skip
COMMAND = "python docs/generate.py"
INTRODUCTION = """\
{} checks, in the order of the layers that depend on each other. `gpudoctor explain ID` prints the page of one check;
`gpudoctor check --only ID` and `--skip ID` pick some. {} more causes can only be seen in a text: `gpudoctor explain
FILE`."""
OF_RECIPES = """\
`gpudoctor dockerfile FILE...` finds these in Dockerfiles, compose files and Kubernetes manifests, with the line, before
anything is built; nothing is pulled. Dockerfiles are read by BuildKit's own parser where `gpudoctor[dockerfile]` is
installed, else by dockerfile-parse, and a file with heredocs is then refused (exit 3). Stages, `ARG` and `--build-arg`
are followed, and requirement files that lie in the build context. The stage that is built is judged: the last, or
`--target`. What only the base image could say is not guessed: `gpudoctor image` looks into it. `fail` exits 1; `warn`
does with `--fail-on warn`; `info` is a remark. With `--driver` and `--gpu` the rule `image-on-host` says whether the
image would run there.

In a pre-commit configuration: `repo:` this repository, `id: gpudoctor-dockerfile`."""
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


def recipes() -> str:
    """The page of the rules of Dockerfiles, compose files and manifests."""
    rows = [
        f"| `{rule.id}` | {rule.status} | {_cell(rule.title)} | {_cell(rule.fix)} | "
        + (f"[{rule.check}](checks.md#{rule.check})" if rule.check else "")
        + f" | {_cell(rule.source)} |"
        for rule in rules().values()
    ]
    head = ("| rule | | what it finds | what to do | more | source |", "| --- | --- | --- | --- | --- | --- |")
    mark = f"<!-- Made by `{COMMAND}` from doctor/images/recipes/rules.json: change the rules there. -->"
    return "\n\n".join([mark, "# Dockerfiles, compose files, manifests", OF_RECIPES, "\n".join([*head, *rows])]) + "\n"


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
    for path, text in ((PAGE, page(load_all(), load_causes())), (RECIPES, recipes())):
        if "--check" not in sys.argv[1:]:
            path.write_text(text, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != text:
            print(f"{path.name} is not what it is made from: {COMMAND}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
