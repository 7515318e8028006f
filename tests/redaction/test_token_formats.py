"""The data file of token formats: as new as the pinned detect-secrets, with its notice, and never its author's code."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILE = ROOT / "doctor" / "snapshot" / "token_formats.json"


def test_the_file_is_as_new_as_the_pinned_version() -> None:
    pinned = re.search(r"detect-secrets==([\d.]+)", (ROOT / "pyproject.toml").read_text("utf-8"))
    assert pinned, "the extra [train] pins it"
    written_with = json.loads(FILE.read_text("utf-8"))["detect_secrets"]
    assert written_with == pinned[1], "run: pip install '.[train]' && python training/token_formats.py"


@pytest.mark.skipif(importlib.util.find_spec("detect_secrets") is None, reason="the extra [train] is not installed")
def test_the_file_is_what_the_script_writes() -> None:
    assert subprocess.run([sys.executable, str(ROOT / "training" / "token_formats.py"), "--check"]).returncode == 0


def test_our_own_prefixes_are_in_the_file() -> None:
    own = json.loads((ROOT / "training" / "vendor_prefixes.json").read_text("utf-8"))
    there = {row["id"]: row for row in json.loads(FILE.read_text("utf-8"))["formats"]}
    for row in own:
        assert there[row["id"]]["source"] == row["source"] and there[row["id"]].get("prefixes") == row.get(
            "prefixes"
        ), row


def test_every_row_has_its_source_a_pattern_and_a_text_that_leads_to_it() -> None:
    for row in json.loads(FILE.read_text("utf-8"))["formats"]:
        assert row["source"].startswith("https://"), row
        assert row.get("prefixes") or row.get("find"), row
        assert all(re.fullmatch(r"[\w.-]{2,}", prefix) for prefix in row.get("prefixes", ())), row
        assert all(re.search(r"[\w.-]", part) and len(part) > 2 for part in row.get("find", ())), row
        re.compile(row["pattern"])


def test_the_notice_is_shipped_beside_the_file_and_among_the_licences() -> None:
    notice = FILE.with_suffix(".NOTICE").read_text("utf-8")
    assert "Yelp" in notice and "Apache License, Version 2.0" in notice and "detect-secrets" in notice
    assert "doctor/snapshot/token_formats.NOTICE" in (ROOT / "pyproject.toml").read_text("utf-8")


def test_detect_secrets_is_not_imported_nor_the_file_read_before_there_is_a_text() -> None:
    code = (
        "import sys, re\n"
        "compiled = []\n"
        "whole, re.compile = re.compile, lambda *a: compiled.append(a) or whole(*a)\n"
        "from doctor.snapshot import redact, mask_tokens\n"
        "assert not mask_tokens._formats.cache_info().currsize\n"
        "assert redact.redact('token ghp_' + '0aB1' * 9) == 'token ***'\n"
        "assert mask_tokens._formats.cache_info().currsize\n"
        "print('detect_secrets' in sys.modules, 'training' in sys.modules)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert said.stdout.split() == ["False", "False"], said.stderr
