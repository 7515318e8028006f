"""The HTML report in headless Chromium: it asks for nothing, complains of nothing, and serves keyboard, phone, printer."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doctor.report.page import render_fragment, render_html

from ..cli.command import gpudoctor
from ..report.measured_samples import two_gpus
from ..report.samples import COMMAND, LAYERS
from ..report.test_page import sick_with
from ..samples import RECORDING

pytestmark = pytest.mark.chromium
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
         "--disable-background-networking", "--disable-component-update", "--window-size=1100,1000")  # fmt: skip


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Any]:
    """A new Chromium with the page of a sick, measured machine open, its log and its requests kept."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    page = tmp_path / "report.html"
    page.write_text(render_html(sick_with(two_gpus()), LAYERS), "utf-8")
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for flag in (*FLAGS, f"--user-data-dir={tmp_path / 'profile'}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, Service("/usr/bin/chromedriver"))
    try:
        driver.get(page.as_uri())
        yield driver
    finally:
        driver.quit()


def test_nothing_is_asked_for_and_nothing_complains(browser: Any) -> None:
    assert "gpudoctor: FAIL" in browser.title
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
    of_page = [request["request"]["url"] for request in sent if request["documentURL"].startswith("file:")]
    assert of_page == [browser.current_url]  # Chromium's own first tab asks for its own
    assert [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")] == []


def test_a_notebooks_own_style_stays_as_it_is(browser: Any, tmp_path: Path) -> None:
    """The fragment's rules reach nothing outside of it."""
    page = tmp_path / "notebook.html"
    shown = render_fragment(sick_with(two_gpus()), LAYERS)
    page.write_text(f"<body><h1 id=own>x</h1><pre id=code>y</pre>{shown}</body>", "utf-8")
    browser.get(page.as_uri())
    style = "const s = getComputedStyle(document.querySelector(arguments[0])); return [s.fontSize, s.backgroundColor]"
    assert browser.execute_script(style, "#own")[0] == "32px"
    assert browser.execute_script(style, "#code")[1] == "rgba(0, 0, 0, 0)"
    assert browser.execute_script(style, "body")[1] == "rgba(0, 0, 0, 0)"
    assert browser.execute_script(style, ".gpudoctor")[1] in ("rgb(244, 246, 248)", "rgb(17, 21, 26)")
    assert browser.execute_script(style, ".gpudoctor h1")[0] == "24px"


def test_the_keyboard_alone_reaches_copies_and_folds(browser: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    reached, opened = [], 0
    for _ in range(200):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        here = browser.switch_to.active_element
        reached.append(here.tag_name)
        if here.tag_name == "summary":
            here.send_keys(Keys.ENTER)
            opened += 1
        if here.tag_name == "button" and "Copied" not in [here.text]:
            here.send_keys(Keys.SPACE)
            assert here.text == "Copied"
        if opened == 2:
            break
    assert reached.count("button") >= 5 and opened == 2
    assert browser.execute_script("return document.querySelectorAll('details[open]').length") == 2
    selected = browser.execute_script("return getSelection().toString()")
    assert selected and selected in COMMAND + browser.find_element("tag name", "main").text


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_sees_it_without_scrolling_sideways(browser: Any, scheme: str) -> None:
    metrics = {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    feature = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", feature)
    wide = browser.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
    assert wide[0] <= wide[1] == 360
    tables = browser.execute_script("return [...document.querySelectorAll('table')].map(t => t.scrollWidth)")
    assert len(tables) > 5 and max(tables) <= 360
    colour = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert colour == {"light": "rgb(244, 246, 248)", "dark": "rgb(17, 21, 26)"}[scheme]


def test_what_is_folded_stays_folded_on_paper(browser: Any, tmp_path: Path) -> None:
    printed = base64.b64decode(browser.print_page())
    assert printed.startswith(b"%PDF") and len(printed) > 20_000 and _sheets(printed) >= 2
    assert browser.execute_script("return document.querySelectorAll('details').length") >= 2
    assert browser.execute_script("return document.querySelectorAll('details[open]').length") == 0


def test_a_small_machine_takes_two_sheets_of_paper(browser: Any, tmp_path: Path) -> None:
    """One without a GPU: the recording of README's sample."""
    page = tmp_path / "small.html"
    done = gpudoctor("check", "--replay", RECORDING, "--format", "html", "-o", page)
    assert done.returncode == 1, done.stderr
    browser.get(page.as_uri())
    assert _sheets(base64.b64decode(browser.print_page())) == 2


def _sheets(pdf: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b", pdf))
