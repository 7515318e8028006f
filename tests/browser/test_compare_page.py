"""The HTML page of `compare` in headless Chromium: it asks for nothing, and its command can be copied."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ..cli.command import gpudoctor, save
from ..compare.machines import upgraded
from .test_page import browser  # noqa: F401 (a fixture)

pytestmark = pytest.mark.chromium


def test_a_page_with_its_cause_and_a_command_to_copy(browser: Any, tmp_path: Path) -> None:  # noqa: F811
    old, new = (save(tmp_path, s, name=f"{at}.json") for at, s in enumerate(upgraded()))
    page = tmp_path / "compare.html"
    assert gpudoctor("compare", old, new, "-f", "html", "-o", page).returncode == 1
    browser.get(page.as_uri())
    text = browser.find_element("tag name", "main").text
    parts = ("New failure: Driver 550.163.01", "Why: package torch: 2.6.0+cu124 -> 2.11.0+cu130", "kernel")
    assert [part for part in parts if part not in text] == []
    assert text.index(parts[0]) < text.index(parts[1]) < text.index(parts[2])
    commands = browser.find_elements("css selector", "pre")
    assert any("torch==2.6.0" in command.text for command in commands)
    button = browser.find_elements("tag name", "button")[0]
    button.click()
    assert button.text == "Copied"
    assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    browser.set_window_size(400, 900)
    assert browser.execute_script("return document.documentElement.scrollWidth <= Math.max(innerWidth, 500)")
    assert [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")] == []
