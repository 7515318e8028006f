"""The documentation: made pages are what they are made from, every link leads somewhere, the site builds."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.cli import COMMANDS
from doctor.judge import load_all
from doctor.text.cause_pages import load_causes

from .rows import Faults

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))


def test_the_pages_are_up_to_date() -> None:
    command = [sys.executable, DOCS / "generate.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_check_has_its_manual_page_and_a_row() -> None:
    index = (DOCS / "checks" / "index.md").read_text("utf-8")
    for check in (*load_all(), *load_causes()):
        page = (DOCS / "checks" / f"{check.id}.md").read_text("utf-8")
        assert f"| [{check.id}]({check.id}.md) |" in index and f"\n# {check.id}\n" in page
        assert all(word in page for word in re.findall(r"[A-Za-z]{4,}", check.manual))


def test_every_command_has_its_page() -> None:
    for name in COMMANDS:
        page = (DOCS / "commands" / f"{name}.md").read_text("utf-8")
        assert f"# gpudoctor {name}\n" in page and "Usage: gpudoctor" in page


def test_every_link_leads_to_a_file() -> None:
    found = 0
    with Faults() as faults:
        for path in PAGES:
            for target in re.findall(r"\]\(((?!http)[^)#]+)", path.read_text("utf-8")):
                found += 1
                with faults.of(f"{path.name}: {target}"):
                    assert (path.parent / target).resolve().is_file()
    assert found > 1000


def test_every_page_is_reached_from_the_start() -> None:
    """By links and the site's own menu: nothing is hard to find."""
    menu = re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M)
    seen: set[Path] = set()
    todo = [DOCS / name for name in menu]
    while todo:
        path = todo.pop().resolve()
        if path not in seen:
            seen.add(path)
            targets = re.findall(r"\]\(((?!http)[^)#]+\.md)", path.read_text("utf-8"))
            todo += [path.parent / target for target in targets]
    assert {path.resolve() for path in PAGES} == seen


def test_errors_are_found_by_their_text() -> None:
    page = (DOCS / "errors.md").read_text("utf-8")
    assert page.count("\n| `") > 300
    for text, cause in (
        ("no kernel image is available", "torch-lacks-new-gpu-sm"),
        ("Driver/library version mismatch", "driver-library-version-mismatch"),
        ("Torch not compiled with CUDA enabled", "cpu-only-torch"),
    ):
        assert any(cause in row for row in page.splitlines() if text in row), text


def test_the_page_of_prove_names_checks_and_products_that_there_are() -> None:
    page = (DOCS / "prove.md").read_text("utf-8")
    known = {check.id for check in load_all()}
    rows = [row.split("|") for row in page.splitlines() if row.startswith("| ")][2:]
    named = {name for row in rows for name in re.findall(r"`([a-z][a-z0-9-]+-[a-z0-9-]+)`", row[3])}
    assert len(rows) > 5 and named and named <= known


@pytest.mark.site
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site"), "-q"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    page = (tmp_path / "site" / "checks" / "gpu-fell-off-bus" / "index.html").read_text("utf-8")
    assert "A GPU no longer answers" in page and "fonts.googleapis" not in page
    assert not list((tmp_path / "site").rglob("*.py"))


@pytest.mark.network
def test_one_file_runs_under_a_bare_python(tmp_path: Path) -> None:
    """No packages (-S), no HOME that can be written; and again from what the first start unpacked."""
    made = tmp_path / "gpudoctor.pyz"
    subprocess.run([sys.executable, ROOT / "scripts" / "make_pyz.py", made], check=True, capture_output=True)
    for cache in (tmp_path / "cache", Path("/proc/nowhere")):
        env = {"HOME": "/proc/nowhere", "PATH": "/usr/bin:/bin", "XDG_CACHE_HOME": str(cache), "TMPDIR": str(tmp_path)}
        for _ in range(2):
            command = ["python3", "-S", str(made), "check", "--expect", "any", "--no-import"]
            done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
            assert done.returncode in (0, 1, 3) and "gpudoctor 0." in done.stdout and done.stderr == "", done
    assert len(list((tmp_path / "cache" / "gpudoctor").iterdir())) == 1
