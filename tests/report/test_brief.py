"""`--brief`, and Markdown that an issue tracker takes."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from doctor.commands.assess import about, assess
from doctor.judge.report import Report
from doctor.report.brief import render_brief
from doctor.report.markdown import render_markdown
from doctor.snapshot import Distribution
from doctor.text import excerpt, read

from ..cli.command import gpudoctor, one_line, save
from ..healthy import healthy
from ..judging import POLICY, matrix, report
from ..rows import Faults
from .samples import hostile, sick


def brief(made: Report) -> str:
    return render_brief(made, about(made)[1])


def test_cause_proof_fix_and_versions_in_forty_lines() -> None:
    text = brief(sick())
    for words in (
        "FAIL (exit 1)",
        "title of driver-not-loaded",
        "No module.",
        "Fix: Install a build",
        "Also:",
        "torch",
    ):
        assert words in text
    torn = hostile()
    with Faults() as faults:
        for made in (sick(), torn, report(healthy()), report(healthy().replace({"gpus": ()}))):
            with faults.of(made.verdict):
                text = brief(made)
                assert text.count("\n") <= 40 and (made is torn or text.count("```") % 2 == 0)


def test_what_changed_counts_among_the_forty_lines() -> None:
    """`what-if` puts a line for each finding of before and after there."""
    preface = ["With driver 390", *(f"New: title {n} (id-{n})" for n in range(30))]
    for made in (sick(), report(healthy())):
        rows = render_brief(made, about(made)[1], preface).splitlines()
        assert len(rows) <= 40 and rows[0] == "## With driver 390" and "- New: title 7 (id-7)" in rows
        assert "- and 22 more: `--format markdown` lists all" in rows and rows[-1].startswith("<sub>gpudoctor ")
        assert any(row.startswith("### gpudoctor: ") for row in rows)


def test_a_text_that_decides_nothing_says_what_would() -> None:
    data = b"RuntimeError: CUDA error: invalid device function"
    text = brief(assess(read(excerpt(data), "text"), matrix(), POLICY))
    assert "Most likely, but not proven:" in text and "python -m torch.utils.collect_env" in text
    assert text.count("\n") <= 40


def test_it_is_markdown_and_nothing_else(tmp_path: Path) -> None:
    saved = save(tmp_path, healthy())
    for flags in (["--brief"], ["--brief", "--format", "markdown"]):
        done = gpudoctor("check", "--from", saved, *flags)
        assert done.returncode == 0 and done.stdout.startswith(b"### gpudoctor: PASS")
    words = one_line(gpudoctor("check", "--from", saved, "--brief", "--format", "json"))
    assert "--brief prints Markdown: it cannot be used with --format json" in words
    assert "--brief prints Markdown: it cannot be used with --format sarif" in one_line(
        gpudoctor("explain", "a text of words", "--brief", "--format", "sarif")
    )


def test_an_issue_tracker_takes_eight_gpus_and_many_packages() -> None:
    for count in (300, 5000):
        needs = tuple(f"dependency-{n}>=1.0,<2; python_version >= '3.9'" for n in range(8))
        packages = tuple(
            Distribution(name=f"some-longer-package-{n}", version="1.2.3.post4", location="/venvs/x", requires=needs)
            for n in range(count)
        )
        made = report(healthy(*["h100"] * 8, container=False).replace({"python.distributions": packages}))
        text = render_markdown(made, *about(made))
        assert len(text) < 60_000 and text.count("<details>") == text.count("</details>")
        assert ("some-longer-package-299 1.2.3.post4" in text) == (count == 300)
        assert "more (--format json lists them)" in text
    assert "masked" in render_markdown(replace(made, redacted=True), *about(made))
