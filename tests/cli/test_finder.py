"""Our own modules are found by a finder of ours: the same modules as without it, from the same files."""

from __future__ import annotations

import os
import py_compile
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
_SAY = """
from importlib.machinery import SourceFileLoader
import doctor.judge.rank as rank, doctor.judge as package, compat_matrix.versions as versions
for module in (rank, package, versions):
    spec = module.__spec__
    print(spec.name, spec.origin, spec.cached, spec.parent, isinstance(spec.loader, SourceFileLoader), module.__file__)
    print(spec.has_location, module.__cached__, [f.__code__.co_filename for f in vars(module).values()
                                                 if getattr(f, "__module__", "") == spec.name and hasattr(f, "__code__")])
for name in ("doctor.no_such_module", "doctor.checks.no_such_check", "doctor.no_such_room.file", "doctor.judge.rank.x"):
    try:
        __import__(name)
    except ModuleNotFoundError as error:
        print(error)
"""


def _run(code: str, path: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(path)!r})\n{code}"],
        capture_output=True, text=True, check=True, cwd="/", env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},
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


def _copy(folder: Path) -> tuple[Path, str, str]:
    """The product there, the source of its guard, and code that prints what a line at the end of that sets."""
    shutil.copytree(ROOT / "doctor", folder / "doctor", ignore=shutil.ignore_patterns("__pycache__"))
    guard = folder / "doctor" / "guard.py"
    code = "from doctor.finder import find_our_modules as f; f(); import doctor.guard as g; print(g.MARK)"
    return guard, guard.read_text("utf-8"), code


def test_a_file_that_changed_is_read_anew(tmp_path):
    guard, whole, code = _copy(tmp_path)
    for mark in ("first", "another one"):
        guard.write_text(f"{whole}\nMARK = {mark!r}\n", "utf-8")
        assert _run(code, tmp_path).strip() == mark


def test_byte_code_that_is_damaged_or_of_another_kind_is_not_taken(tmp_path):
    guard, whole, code = _copy(tmp_path)
    guard.write_text(f"{whole}\nMARK = 'right'\n", "utf-8")
    assert _run(code, tmp_path).strip() == "right"
    byte_code = next((guard.parent / "__pycache__").glob("guard.*.pyc"))
    good = byte_code.read_bytes()
    for data in (b"", good[:8], good[:15], b"\0\0\0\0" + good[4:]):
        byte_code.write_bytes(data)
        assert _run(code, tmp_path).strip() == "right"
    byte_code.write_bytes(good)
    py_compile.compile(str(guard), str(byte_code), invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)
    assert _run(code, tmp_path).strip() == "right"
