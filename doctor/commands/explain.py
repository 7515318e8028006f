"""`gpudoctor explain ID`: a check's manual page."""

from __future__ import annotations

import click


@click.command()
@click.argument("check_id", metavar="ID")
def explain(check_id: str) -> int:
    """Print the manual page of one check: what is wrong, how it shows, why, how to fix it."""
    from ..judge.registry import check_ids, load
    from .suggest import did_you_mean
    from .write import write

    word = check_id.strip().lower().replace("_", "-")
    ids = check_ids()
    if word not in ids:
        raise click.UsageError(f"no such check: {check_id!r}{did_you_mean(word, ids)} (see gpudoctor list-checks)")
    check = load(word)
    about = check.about
    lines = [f"{check.id} - {about.title}", "", check.manual, "", f"Severity: {about.severity}    Layer: {about.layer}"]
    if about.tags:
        lines.append(f"Tags: {', '.join(about.tags)}")
    if about.downstream_of:
        lines.append(f"Told under its cause where one of these is found: {', '.join(about.downstream_of)}")
    if about.needs_gpu:
        lines.append("Not judged under --expect none.")
    write(("\n".join(lines) + "\n").encode("utf-8", "backslashreplace"), None)
    return 0
