"""Where resolve's answer goes: a file of requirements holds no prose, another matrix and a dry run are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat_matrix import Matrix
from compat_matrix.outside import export
from doctor.cli import run

NOTHING = ["resolve", "--gpu", "RTX 5090", "--driver", "550"]
FITS = ["resolve", "--gpu", "RTX 4090", "--driver", "580.82.07", "--python", "3.12"]


@pytest.mark.parametrize("format_", ["requirements", "pyproject", "dockerfile", "environment-yml"])
def test_nothing_fits(tmp_path: Path, capsys: pytest.CaptureFixture[str], format_: str) -> None:
    file = tmp_path / "out"
    assert run([*NOTHING, "--format", format_, "-o", str(file)]) == 3
    assert not file.exists()
    assert run([*NOTHING, "--format", format_]) == 3
    printed = capsys.readouterr()
    assert not printed.out and "Nothing fits" in printed.err


def test_another_matrix_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "m.json"
    file.write_bytes(export(Matrix.load()).replace(b'"580.65.06"', b'"580.65.07"'))
    assert run([*FITS, "--matrix", str(file)]) == 0
    assert "rows differ" in " ".join(capsys.readouterr().out.split())
    assert run([*FITS, "--matrix", str(file), "--format", "requirements"]) == 0
    printed = capsys.readouterr()
    assert "rows differ" in printed.err and "differ" not in printed.out


@pytest.mark.parametrize(("code", "exit_code", "words"), [(0, 0, "Would install"), (1, 1, "no such torch")])
def test_verify_shows_the_answer_and_not_the_warnings(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    code: int,
    exit_code: int,
    words: str,
) -> None:
    installer = tmp_path / "uv"
    out = "echo Would install torch" if code == 0 else "true"
    err = "echo warning: an index is slow >&2" if code == 0 else "echo error: no such torch >&2"
    installer.write_text(f"#!/bin/sh\n{out}\n{err}\nexit {code}\n")
    installer.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert run([*FITS, "--verify"]) == exit_code
    printed = capsys.readouterr().err
    assert words in printed and "slow" not in printed
