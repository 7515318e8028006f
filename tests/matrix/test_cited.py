"""Every verdict names the rows of the matrix that it stands on."""

from __future__ import annotations

import json

import pytest

from compat_matrix import Matrix
from compat_matrix.tables import TABLES, row_name
from doctor.cli import run

TEXT = "torch 2.11.0+cu130, RTX 2080 Ti, driver 535.129.03"


def test_rows_behind_a_finding(capsys: pytest.CaptureFixture[str], m: Matrix) -> None:
    assert run(["explain", TEXT, "--format", "json"]) == 1
    checks = {check["id"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    rows = checks["driver-too-old-for-cuda-build"]["rows"]
    assert [(row["table"], row["row"]) for row in rows[:3]] == [
        ("toolkits", "13.0.0"), ("drivers", "535"), ("torch_builds", "2.11.0 cu130 linux_x86_64"),
    ]  # fmt: skip
    assert rows[1]["source"] == m.source(next(row.source for row in m.drivers if row.branch == 535))
    assert checks["user-site-shadows-packages"]["rows"] == []
    for check in checks.values():  # no check reaches past the table that it is shown
        assert all(row["table"] in TABLES and row["source"] and row["confidence"] for row in check["rows"]), check["id"]
    for words in (["-v"], ["--format", "markdown"]):
        run(["explain", TEXT, *words])
        assert "drivers 535" in capsys.readouterr().out
    run(["explain", TEXT])
    assert "drivers 535" not in capsys.readouterr().out


def test_names_tell_the_rows_of_a_table_apart(m: Matrix) -> None:
    for table in ("torch_builds", "drivers", "gpus", "companions", "cudnn", "conda", "index_urls", "forward_compat"):
        names = [row_name(row) for row in m.rows(table)]
        assert {name for name, _ in names} == {table} and len(set(names)) == len(names), table
