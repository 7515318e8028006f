"""The page of checks is the one that the checks make."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from doctor.judge import load_all
from doctor.text.cause_pages import load_causes

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "checks.md").read_text("utf-8")


def test_the_page_is_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "generate.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_every_check_has_its_manual_page_and_a_row() -> None:
    for check in (*load_all(), *load_causes()):
        assert f"\n### {check.id}\n" in PAGE
        assert f"| [{check.id}](#{check.id}) |" in PAGE
        words = re.findall(r"[A-Za-z]{4,}", check.manual)
        assert all(word in PAGE for word in words)


def test_every_link_leads_somewhere() -> None:
    assert set(re.findall(r"\]\(#([\w-]+)\)", PAGE)) <= set(re.findall(r"^### ([\w-]+)$", PAGE, re.MULTILINE))


def test_rules_of_recipes_name_pages_that_there_are() -> None:
    page = (ROOT / "docs" / "dockerfile.md").read_text("utf-8")
    named = set(re.findall(r"\]\(checks\.md#([\w-]+)\)", page))
    assert named and named <= {check.id for check in (*load_all(), *load_causes())}


def test_the_page_of_prove_names_checks_and_products_that_there_are() -> None:
    page = (ROOT / "docs" / "prove.md").read_text("utf-8")
    known = {check.id for check in load_all()}
    rows = [row.split("|") for row in page.splitlines() if row.startswith("| ")][2:]
    named = {name for row in rows for name in re.findall(r"`([a-z][a-z0-9-]+-[a-z0-9-]+)`", row[3])}
    assert len(rows) > 5 and named and named <= known
