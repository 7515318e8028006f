"""No command holds a mask, on any machine and in any output; on the user's own terminal each shows its true names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from compat_matrix import Matrix
from doctor.commands.outcomes import render_report
from doctor.commands.pictures import picture
from doctor.findings import Policy
from doctor.judge.plan import plan
from doctor.judge.report import Report
from doctor.report.blocks import families
from doctor.report.brief import render_brief
from doctor.report.json import render_json
from doctor.report.markdown import render_markdown
from doctor.report.steps import plan_text
from doctor.report.terminal import Display, render_terminal
from doctor.snapshot import EnvVar, Snapshot, known
from doctor.snapshot.mask_secrets import mask_secrets
from doctor.snapshot.masks import holds_mask
from doctor.snapshot.redact import LocalNames, Redactor, redact
from doctor.snapshot.redact_secrets import with_own_names, without_secrets

from ..judging import report
from .contradictions import LAYERS

NAMES = LocalNames("zaphod", "heartofgold", "/home/zaphod")
PASSWORD = "improbability42"
INDEX = f"https://zaphod:{PASSWORD}@pypi.heartofgold.example/simple"
FOLDERS = (
    ("/home/zaphod/venv", "VIRTUAL_ENV is set to /home/zaphod/venv"),
    ("/scratch/zaphod/venv", "VIRTUAL_ENV is set to /scratch/zaphod/venv"),
    ("/scratch/zaphod/my venv", "CONDA_PREFIX is set to /scratch/zaphod/my venv"),
    ("/data/users/zaphod/venv", "python3 on PATH"),
    ("/data/users/zaphod/my venv", "--python /data/users/zaphod/my venv"),
    ("/home/trillian/venv", "--python /home/trillian/venv"),
)
"""Where the examined environment may be, and why it is examined."""
_TYPED = re.compile(
    r"(?:sudo|export|unset|uv|pip|conda|mamba|python3?|gpudoctor|docker|podman|kubectl|nvidia-smi|sed|rm|mv|ln|chmod|RUN|ENV)"
    r"\s|\S+/bin/\w+ -|[A-Z_]{3,}=\S+ (?:uv|pip|conda|python|\S+/bin/)"
)
"""How a line begins that somebody copies."""


def of_somebody(s: Snapshot, number: int) -> Snapshot:
    """The machine with its environment in a folder that names its user, and credentials in the addresses of its index.

    number: chooses the folder.
    """
    folder, because = FOLDERS[number % len(FOLDERS)]
    text = msgspec.json.encode(s).decode().replace("/opt/venv", folder).replace("/home/user", "/home/zaphod")
    s = msgspec.json.decode(text.encode(), type=Snapshot, strict=False)
    variable = because.partition(" is set")[0] if " is set" in because else ""
    variables = [v for v in known(s.host.environment) or () if v.name not in ("VIRTUAL_ENV", "CONDA_PREFIX")]
    variables += [EnvVar(variable, folder)] if variable else []
    variables += [EnvVar("PIP_INDEX_URL", INDEX), EnvVar("PIP_EXTRA_INDEX_URL", f"{INDEX}/whl/cpu")]
    return s.replace({"host.environment": tuple(variables), "python.chosen_because": because})


def faults(s: Snapshot, policy: Policy) -> list[str]:
    """Each command with a mask or a credential, and each that a terminal does not show as it is."""
    true = report(s, policy)
    piped = redact(true, NAMES)
    shown = with_own_names(redact(true, NAMES), true, NAMES)
    steps = plan(s, Matrix.load(), policy)
    masks = Redactor(NAMES)
    masks.type_for(s)
    masks.learn(s)
    found = [f"{where}: {words}" for where, words in _commands(piped) if _wrong(words)]
    found += [f"fix: {where}: {words}" for where, words in _commands(masks.value(steps)) if _wrong(words)]
    own_steps = without_secrets(steps, s, NAMES)
    for name, before, after in (("terminal", true, shown), ("fix on a terminal", steps, own_steps)):
        found += _differs(name, before, after)
    texts = {
        **_written(piped),
        "fix": plan_text(masks.value(steps), Display()),
        "fix --format json": msgspec.json.encode(masks.value(steps)).decode(),
    }
    for kind, text in texts.items():
        rows = [row.strip(" `>\"',") for row in text.splitlines()]
        found += [f"{kind}: {row[:200]}" for row in rows if _TYPED.match(row) and holds_mask(row)]
        found += [f"{kind}: {row[:200]}" for row in rows if "gpudoctor fix --python" in row and holds_mask(row)]
    own = {"terminal": _terminal(shown), "fix on a terminal": plan_text(own_steps, Display())}
    for kind, text in {**texts, **own, "no-redact": _terminal(without_secrets(true, s))}.items():
        found += [f"{kind}: a password"] if PASSWORD in text else []
    found += [f"terminal: does not show {words}" for words in _first(true) if words not in own["terminal"]]
    return found


def _wrong(words: str) -> bool:
    return holds_mask(words) or PASSWORD in words


def _differs(name: str, before: Any, after: Any) -> list[str]:
    """Commands without a secret that are shown otherwise than they are."""
    pairs = zip(_commands(before), _commands(after), strict=True)
    return [f"{name}: {a[1]} as {b[1]}" for a, b in pairs if mask_secrets(a[1]) == a[1] != b[1]]


def _first(true: Report) -> list[str]:
    """The lines of the first command of each root cause, by its first finding: the others are one line each."""
    steps = [root.fixes[0].steps[0] for root, _ in families(true.findings) if root.fixes]
    words = [step.command for step in steps if mask_secrets(step.command) == step.command]
    return [row.strip() for command in words for row in command.splitlines() if row.isprintable()]


def _commands(value: Any, where: str = "") -> Iterator[tuple[str, str]]:
    """Every command of a report or plan; those in a fix's note too."""
    if isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            inner = getattr(value, name)
            if name == "command" and inner:
                yield where, inner
            elif name == "note" and isinstance(inner, str):
                yield from ((f"{where}.note", row) for row in inner.split("\n") if row.startswith("  "))
            elif name not in ("changes", "snapshot"):
                yield from _commands(inner, f"{where}.{getattr(value, 'id', '')}{name}")
    elif isinstance(value, tuple):
        for number, item in enumerate(value):
            yield from _commands(item, f"{where}[{number}]")


def _terminal(found: Report) -> str:
    return render_terminal(found, LAYERS, Display(verbose=1))


def _written(found: Report) -> dict[str, str]:
    """All that can be written of a report in files and pipes."""
    titles: dict[str, str] = {}
    texts = {
        "text": render_terminal(found, LAYERS, Display()),
        "text -vv": render_terminal(found, LAYERS, Display(verbose=2, width=110)),
        "json": render_json(found).decode(),
        "markdown": render_markdown(found, LAYERS, titles),
        "brief": render_brief(found, titles),
        "html": picture(found, "html").decode(),
    }
    return {**texts, **{kind: render_report(found, kind).decode() for kind in ("sarif", "junit", "github")}}
