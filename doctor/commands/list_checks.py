"""`gpudoctor list-checks`: the list of all checks."""

from __future__ import annotations

from typing import Any

import click

from .click_flags import Command, options
from .flags import answer_flags


@click.command(cls=Command)
@options(answer_flags("text", "json"))
def list_checks(**flags: Any) -> int:
    """List every check with its id, severity and what it looks for."""
    from ..judge.registry import load_all
    from ..text.cause_pages import load_causes
    from .write import answer

    checks, causes = load_all(), load_causes()
    if flags["format_"] == "json":
        import msgspec

        rows = [
            {
                "id": c.id,
                "title": c.about.title,
                "severity": c.about.severity,
                "layer": c.about.layer,
                "tags": c.about.tags,
                "downstream_of": c.about.downstream_of,
                "judges": "facts" if c in checks else "text",
            }
            for c in sorted([*checks, *causes], key=lambda c: c.id)
        ]
        answer(msgspec.json.format(msgspec.json.encode(rows), indent=2).decode() + "\n", flags)
        return 0
    wide = max(len(c.id) for c in (*checks, *causes))
    lists = [[f"{c.id:<{wide}}  {c.about.severity:<8}  {c.about.title}" for c in some] for some in (checks, causes)]
    lines = [*lists[0], "", "Causes recognized only in pasted text (gpudoctor explain FILE):", *lists[1]]
    lines += [
        "",
        f"{len(checks)} checks, {len(causes)} causes recognized only in pasted text. Manual page: gpudoctor explain ID",
    ]
    answer("\n".join(lines) + "\n", flags)
    return 0
