"""Our own modules are found by a finder of ours: the same modules as without it, from the same files."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
_SAY = """
import doctor.judge.rank as rank, doctor.judge as package, compat_matrix.versions as versions
for module in (rank, package, versions):
    spec = module.__spec__
    print(spec.name, spec.origin, spec.cached, spec.parent, type(spec.loader).__name__, module.__file__)
for name in ("doctor.no_such_module", "doctor.checks.no_such_check", "doctor.no_such_room.file", "doctor.judge.rank.x"):
    try:
        __import__(name)
    except ModuleNotFoundError as error:
        print(error)
"""


def _run(code: str, path: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(path)!r})\n{code}"],
        capture_output=True, text=True, check=True, cwd="/",
    )  # fmt: skip
    return done.stdout


def test_modules_are_the_same_with_it_and_without_it():
    with_it = _run("from doctor.finder import find_our_modules; find_our_modules()" + _SAY, ROOT)
    assert with_it == _run(_SAY, ROOT)
    assert "No module named 'doctor.checks.no_such_check'" in with_it


def test_a_package_in_an_archive_is_left_to_the_usual_finders(tmp_path):
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for file in sorted((ROOT / "doctor").rglob("*.py")):
            archive.write(file, file.relative_to(ROOT))
    code = "from doctor.finder import find_our_modules as f; f(); import doctor.findings as x; print(x.__file__)"
    assert _run(code, tmp_path / "all.zip").strip().endswith("all.zip/doctor/findings/__init__.py")


def test_a_file_that_changed_is_read_anew(tmp_path):
    shutil.copytree(ROOT / "doctor", tmp_path / "doctor", ignore=shutil.ignore_patterns("__pycache__"))
    code = "from doctor.finder import find_our_modules as f; f(); import doctor.guard as g; print(g.MARK)"
    guard = tmp_path / "doctor" / "guard.py"
    whole = guard.read_text("utf-8")
    for mark in ("first", "another one"):
        guard.write_text(f"{whole}\nMARK = {mark!r}\n", "utf-8")
        assert _run(code, tmp_path).strip() == mark
