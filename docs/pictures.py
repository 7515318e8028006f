"""Draw the pictures of README and start page: `python docs/pictures.py [--page]`. --page needs Chromium and selenium.

The reports are what the commands print, of a scenario machine (tests/scenarios; it holds no measured figure) and of the
recording of a real H100 (tests/fixtures/h100): no figure in them is made up.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]

PICTURES = ROOT / "docs" / "pictures"
SCENARIO = "rtx5090-cu124"
H100 = ROOT / "tests" / "fixtures" / "h100" / "recording"
_COLUMNS = 80
_WEB_FONT = re.compile(r"@font-face \{.*?\}\s*", re.S)


def terminal(folder: Path) -> dict[str, str]:
    """`gpudoctor check` of a machine with a torch that has no code for its GPU, on a light and a dark terminal."""
    from tests.fakes import build_fakes
    from tests.scenarios import take
    from tests.scenarios.torch_build import Workshop

    scenario = take.load(SCENARIO)
    recording = take.record(scenario, folder / SCENARIO, build_fakes(folder / "fakes"), Workshop(folder / "workshop"))
    printed = _run("check", "--replay", str(recording), *scenario.check)
    return {f"check-{name}.svg": _drawn(printed, "gpudoctor check", name) for name in ("light", "dark")}


def roofline() -> str:
    """The plots of `gpudoctor prove`."""
    return _run("prove", "--replay", str(H100), "--format", "svg")


def page(folder: Path) -> bytes:
    """The top of the HTML report, as Chromium draws it: PNG."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    report = folder / "report.html"
    _run("prove", "--replay", str(H100), "--format", "html", "-o", str(report))
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for flag in ("--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=960,1000"):
        options.add_argument(flag)
    browser = webdriver.Chrome(options, Service("/usr/bin/chromedriver"))
    try:
        browser.get(report.as_uri())
        return browser.get_screenshot_as_png()
    finally:
        browser.quit()


def drawings() -> dict[str, str]:
    """File name to SVG; the same each time."""
    with tempfile.TemporaryDirectory() as folder:
        return {**terminal(Path(folder)), "prove.svg": roofline()}


def _run(*words: str) -> str:
    """What gpudoctor prints, in color."""
    env = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "LINES")}
    env |= {"FORCE_COLOR": "1", "COLUMNS": f"{_COLUMNS}"}
    command = [sys.executable, "-m", "gpudoctor", *words]
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in (0, 1, 3):
        raise SystemExit(f"{' '.join(words)}: exit {done.returncode}")
    return done.stdout


def _drawn(printed: str, title: str, shade: str) -> str:
    """Terminal output as SVG, which loads nothing."""
    from rich.console import Console
    from rich.terminal_theme import DEFAULT_TERMINAL_THEME, SVG_EXPORT_THEME
    from rich.text import Text

    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=_COLUMNS, file=nowhere, color_system="standard", force_terminal=True)
        console.print(Text.from_ansi(printed.rstrip("\n")))
    theme = DEFAULT_TERMINAL_THEME if shade == "light" else SVG_EXPORT_THEME
    return _WEB_FONT.sub("", console.export_svg(title=title, theme=theme, unique_id=f"check-{shade}"))


def rewrite() -> list[str]:
    """Rewrite the drawings. Returns the names of those that changed."""
    made = drawings()
    changed = [name for name, text in made.items() if text != (PICTURES / name).read_text("utf-8")]
    for name in changed:
        (PICTURES / name).write_text(made[name], "utf-8")
    return changed


def main() -> int:
    """Write them all."""
    rewrite()
    if "--page" in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            (PICTURES / "page.png").write_bytes(page(Path(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
