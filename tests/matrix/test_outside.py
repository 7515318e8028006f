"""A matrix from outside: written by `matrix export`, changed, and judged by with --matrix."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from compat_matrix import Matrix
from compat_matrix.outside import load_outside
from doctor.cli import run
from doctor.commands.read import read_matrix

Capture = pytest.CaptureFixture[str]
Content = dict[str, Any]


@pytest.fixture
def other(tmp_path: Path) -> Callable[..., Path]:
    """An exported matrix that went through an edit of its content."""

    def write(edit: Callable[[Content], object] = lambda content: None) -> Path:
        path = tmp_path / "newer.json"
        assert run(["matrix", "export", str(path)]) == 0
        content = json.loads(path.read_text("utf-8"))
        edit(content)
        path.write_text(json.dumps(content), "utf-8")
        return path

    return write


def _newer(content: Content) -> None:
    """A new driver branch, a changed one, a column and a table that this program does not know."""
    content["meta"].update(version="2027.02.01", schema_minor=7)
    drivers = content["tables"]["drivers"]
    drivers.append({**drivers[-1], "branch": 640, "cuda": "13.9", "first_release": "", "latest_seen": "", "colour": 1})
    drivers[0]["note"] = "changed"
    content["tables"]["weather"] = [{"sun": True}]
    content["sources"]["spare"] = "used by nobody"


def test_what_was_exported_is_the_same_matrix(other: Callable[..., Path], m: Matrix) -> None:
    matrix = load_outside(str(other()), read_matrix)
    assert matrix.differs.endswith("no row differs")
    assert matrix.rows("gpus") == m.rows("gpus") and matrix.source(m.gpus[0].source) == m.source(m.gpus[0].source)
    assert matrix.driver_for_cuda("535.129.03", "12.8").grade == "minor-version"


def test_a_newer_matrix_knows_more_and_says_what_differs(other: Callable[..., Path], m: Matrix) -> None:
    matrix = load_outside(str(other(_newer)), read_matrix)
    assert m.driver_branch("640.10").status == "newer-than-matrix" and matrix.driver_branch("640.10").row is not None
    assert "newer.json from 2027.02.01, instead of the built-in" in matrix.differs
    assert (
        "2 rows differ (drivers 2)" in matrix.differs
        and "columns unknown to this gpudoctor are ignored" in matrix.differs
    )


def test_a_folder_may_hold_some_tables_only(tmp_path: Path, m: Matrix) -> None:
    rows = json.loads(Path(m.directory, "nccl.json").read_text("utf-8"))
    (tmp_path / "nccl.json").write_text(json.dumps(rows[1:]), "utf-8")
    (tmp_path / "meta.json").write_text('{"schema_version": 1, "version": "2026.05.01"}', "utf-8")
    matrix = load_outside(str(tmp_path), read_matrix)
    assert "from 2026.05.01, older than the built-in" in matrix.differs and "1 row differs (nccl 1)" in matrix.differs
    assert matrix.drivers == m.drivers


def _lies(content: Content) -> None:
    for row in content["tables"]["torch_builds"]:
        row["pypi_default"] = not row.get("pypi_default", False)


def _no_source(content: Content) -> None:
    content["tables"]["nccl"][0]["source"] = "somebody-told-me"


def _no_type(content: Content) -> None:
    content["tables"]["drivers"][3]["branch"] = "many"


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (_lies, "the release names a different PyPI default"),
        (_no_source, "'somebody-told-me' is not in sources"),
        (_no_type, "table drivers: Expected `int`"),
        (lambda c: c["meta"].update(schema_version=2), "matrix schema 2 is newer than this program (1)"),
        (lambda c: c["meta"].update(version="tomorrow"), "version 'tomorrow' is not a date"),
        (lambda c: c.pop("meta"), "not a matrix (no 'meta'"),
        (lambda c: c.update(tables=[]), "newer.json: Expected `object`"),
    ],
)
def test_what_cannot_be_judged_by_is_refused_in_one_line(
    other: Callable[..., Path], capsys: Capture, edit: Callable[[Content], object], words: str
) -> None:
    assert run(["check", "--no-import", "--matrix", str(other(edit))]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and words in printed.err and printed.err.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "truncated"),
        (b"\xff\xfe\x00", "newer.json: "),
        (b"[]", "Expected `object`"),
        (b"[" * 100_000, "newer.json: "),
        (None, "newer.json: No such file"),
    ],
)
def test_no_matrix_at_all(tmp_path: Path, capsys: Capture, content: bytes | None, words: str) -> None:
    path = tmp_path / "newer.json"
    if content is not None:
        path.write_bytes(content)
    assert run(["healthcheck", "--matrix", str(path)]) in (1, 2)
    assert run(["check", "--matrix", str(path)]) == 2
    printed = capsys.readouterr()
    assert words in printed.err and "Traceback" not in printed.err


def test_a_truncated_export(other: Callable[..., Path], capsys: Capture) -> None:
    path = other()
    path.write_bytes(path.read_bytes()[:-1000])
    assert run(["matrix", "show", "drivers", "--matrix", str(path)]) == 2
    assert "newer.json: Input data was truncated" in capsys.readouterr().err


def test_lint_lists_all_that_is_wrong_with_it(other: Callable[..., Path], capsys: Capture) -> None:
    assert run(["matrix", "lint", "--matrix", str(other(_lies))]) == 1
    assert capsys.readouterr().out.count("a different PyPI default") > 10


def test_the_configuration_may_name_one(
    other: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    other(_newer)
    (tmp_path / "gpudoctor.toml").write_text('matrix = "newer.json"\n', "utf-8")
    monkeypatch.chdir(tmp_path)
    own = ["check", "--no-import", "--config", "gpudoctor.toml"]
    run([*own, "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    assert report["matrix"]["version"] == "2027.02.01" and "2 rows differ" in report["matrix"]["notes"][0]
    for format_ in ("text", "markdown"):
        run([*own, "--format", format_])
        assert "2 rows" in capsys.readouterr().out
    run(["check", "--no-import", "--format", "json"])
    assert json.loads(capsys.readouterr().out)["matrix"]["notes"] == [], "a file that was only found chooses none"
    (tmp_path / "gpudoctor.toml").write_text("matrix = 3\n", "utf-8")
    assert run(own) == 2
    assert "matrix must be the path of a file or folder" in capsys.readouterr().err


def test_an_old_matrix_is_told(tmp_path: Path, m: Matrix) -> None:
    from doctor.findings import Policy
    from doctor.judge import judge
    from doctor.snapshot import Snapshot

    day = m.version.replace(".", "-")
    assert judge(Snapshot(), m, Policy(judged_on=day)).matrix.notes == ()
    year, rest = day.split("-", 1)
    (note,) = judge(Snapshot(), m, Policy(judged_on=f"{int(year) + 1}-{rest}")).matrix.notes
    assert note.startswith(("The matrix is 365 days old", "The matrix is 366 days old"))
    assert "(gpudoctor matrix age): " in note and "torch_releases" in note and "--matrix" in note


def test_tables_due_for_newer_releases_are_told_of_once(m: Matrix) -> None:
    """By the function of `matrix age`: only to who asks for more, or where the verdict rests on one of them."""
    from compat_matrix.age import ages
    from doctor.findings import Policy
    from doctor.report.terminal import Display, render_terminal

    from ..healthy import healthy
    from ..judging import report
    from ..report.samples import LAYERS
    from ..torches import not_asked, with_torch

    own = date.fromisoformat(m.version.replace(".", "-"))
    sound, sick = healthy(), not_asked(with_torch(healthy("rtx5090"), "2.6.0", "cu124"))
    seen = set()
    for days in (0, 10, 20, 60, 89):
        day = own + timedelta(days=days)
        old = [one.name for one in ages(m, day) if one.is_old]
        policy = Policy(judged_on=day.isoformat())
        calm, ill = report(sound, policy), report(sick, policy)
        assert calm.verdict == "pass" and calm.matrix.notes == ()
        assert bool(calm.matrix.overdue) == bool(old) and (not old or old[0] in calm.matrix.overdue)
        used = [row for one in ill.checks if one.id in {f.id for f in ill.findings} for row in one.rows]
        words = [{row.table, *row.row.split()} for row in used]
        rests = [name for name in old if any(set(name.split()) <= row for row in words)]
        assert len(ill.matrix.notes) == bool(rests) and not (ill.matrix.notes and ill.matrix.overdue)
        assert all(rests[0] in note and "matrix age" in note for note in ill.matrix.notes)
        for one in (calm, ill):
            plain, more = (render_terminal(one, LAYERS, Display(width=400, verbose=level)) for level in (0, 1))
            told = [text.count("due for an update") for text in (plain, more)]
            assert told == [bool(one.matrix.notes), bool(one.matrix.notes or one.matrix.overdue)], (days, told)
        seen |= {(bool(old), bool(rests))}
    assert {(False, False), (True, False), (True, True)} <= seen, seen
