"""The site's own search, in headless Chromium: a question that people ask leads to the page that answers it."""

from __future__ import annotations

import functools
import http.server
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from ..reaction import HANG_S
from ..rows import Faults
from .test_page import FLAGS

pytestmark = [pytest.mark.chromium, pytest.mark.site, pytest.mark.slow]
ROOT = Path(__file__).parents[2]
SEARCHES = Path(__file__).with_name("searches.txt")
_FOUND = "return [...document.querySelectorAll('.md-search-result__item > a')].map(a => a.getAttribute('href'))"


class _Silent(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """The address of the built site."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site"), "-q"]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    handler = functools.partial(_Silent, directory=str(tmp_path / "site"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Any]:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for flag in (*FLAGS, f"--user-data-dir={tmp_path / 'profile'}"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options, Service("/usr/bin/chromedriver"))
    try:
        yield driver
    finally:
        driver.quit()


def results(browser: Any, site: str, question: str) -> list[str]:
    """Paths of the pages that the search lists, each once, in its order."""
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get(f"{site}?q={quote(question)}")
    links: list[str] = WebDriverWait(browser, HANG_S).until(lambda page: page.execute_script(_FOUND))
    return list(dict.fromkeys(urlsplit(link).path.strip("/") for link in links))


def test_a_question_finds_its_page_among_the_first_three(browser: Any, site: str) -> None:
    rows = [re.split(r"  +", line) for line in SEARCHES.read_text("utf-8").splitlines() if not line.startswith("#")]
    assert len(rows) >= 30
    with Faults() as faults:
        for question, page in rows:
            with faults.of(question):
                assert page in results(browser, site, question)[:3]
