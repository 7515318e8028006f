"""The HTML report of a fleet in headless Chromium: its filter box shows the rows of the node that is typed."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from ..cli.command import gpudoctor
from ..fleet import fleets
from ..rows import Faults
from .test_page import browser  # noqa: F401 (a fixture)

pytestmark = pytest.mark.chromium


def shown(page: Any, typed: str) -> list[str]:
    """The rows that are visible in the table below the filter box, each as its cells' text."""
    from selenium.webdriver.common.by import By

    box = page.find_element(By.CSS_SELECTOR, "input.filter")
    box.clear()
    box.send_keys(typed)
    page.execute_script("arguments[0].dispatchEvent(new Event('input'))", box)
    rows = page.execute_script(
        "return [...arguments[0].parentElement.nextElementSibling.querySelectorAll('tbody tr')]", box
    )
    return [
        " | ".join(cell.text for cell in row.find_elements(By.TAG_NAME, "td")) for row in rows if row.is_displayed()
    ]


def test_typing_a_node_leaves_its_rows(browser: Any, tmp_path: Path) -> None:  # noqa: F811
    database = fleets.loaded(fleets.planted(24, 1, ("fail", "clock", "half a link")), tmp_path)
    page = tmp_path / "fleet.html"
    gpudoctor("fleet", "report", database, "--format", "html", "-o", page)
    table = gpudoctor("fleet", "report", database, "--format", "csv").stdout.decode().splitlines()
    states = {row["node"]: row["state"] for row in csv.DictReader(table)}
    assert {"healthy", "fail", "slow", "odd"} <= set(states.values())
    browser.get(page.as_uri())
    everything = shown(browser, "")
    assert len(everything) > 5
    with Faults() as faults:
        for node, state in states.items():
            with faults.of(f"{node}, {state}"):
                (row,) = shown(browser, node)
                assert row.split(" | ")[1] == state
                assert state == "healthy" or row.startswith(f"{node} | ")
    assert {row.split(" | ")[1] for row in shown(browser, "slow")} == {"slow"}
    assert not shown(browser, "gpu-999") and not shown(browser, "gpu-025")
    assert shown(browser, "") == everything
    assert [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")] == []
