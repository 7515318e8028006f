"""The documentation: made pages are what they are made from, every link leads somewhere, the site builds.

On a code host a link to a check leads to its file; on the site, whose pages of checks and commands are no files, to its
page (`docs/hook.py`).
"""

from __future__ import annotations

import functools
import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any

import pytest

from doctor.cli import COMMANDS
from doctor.judge import load_all
from doctor.text.cause_pages import load_causes

from .cli.command import gpudoctor
from .rows import Faults

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
_TARGET = re.compile(r"\]\(((?!https?:)[^)#]+)")
_FENCE = re.compile(r"^```.*?^```$", re.M | re.S)


@functools.cache
def hook() -> Any:
    """The file that mkdocs loads, which needs no mkdocs by itself."""
    spec = importlib.util.spec_from_file_location("site_hook", DOCS / "hook.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@functools.cache
def site() -> dict[str, str]:
    """Every page of the site as its build gets it: path to Markdown."""
    written, made = (
        {str(path.relative_to(DOCS)): path.read_text("utf-8") for path in DOCS.rglob("*.md")},
        hook().pages(),
    )
    assert written.keys().isdisjoint(made)
    names = hook().checks.names()
    return {path: hook().links.for_site(text, path, names) for path, text in (written | made).items()}


def targets(markdown: str) -> list[str]:
    """Where its links lead, without those to other sites."""
    return _TARGET.findall(_FENCE.sub("", markdown))


def test_the_pages_are_up_to_date() -> None:
    command = [sys.executable, DOCS / "generate.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_check_has_its_manual_page_and_a_row() -> None:
    index = site()["checks/index.md"]
    for check in (*load_all(), *load_causes()):
        page = site()[f"checks/{check.id}.md"]
        assert f"| [{check.id}]({check.id}.md) |" in index
        title, name, symptoms, *_ = page.split("\n\n")
        assert title.startswith("# ") and name == f"`{check.id}`" and symptoms.startswith("Symptoms:")
        assert all(word in page for word in re.findall(r"[A-Za-z]{4,}", check.manual))


def test_every_command_has_its_page() -> None:
    for name in COMMANDS:
        page = site()[f"commands/{name}.md"]
        assert f"# gpudoctor {name}\n" in page and "Usage: gpudoctor" in page


def test_the_table_of_options_has_what_each_command_takes() -> None:
    """Held against each command's own help."""
    found: dict[str, set[str]] = {}
    columns: list[str] = []
    for row in site()["commands/options.md"].splitlines():
        cells = [cell.strip() for cell in row.strip("| ").split(" | ")] if row.startswith("| ") else []
        named = re.findall(r"`([^`]+)`", row)
        if cells[:1] == ["command"]:
            columns = named
        elif row.startswith("| [`"):
            dots = [cell.strip() for cell in row.split("|")[2:-1]]
            found.setdefault(named[0], set()).update(name for name, dot in zip(columns, dots, strict=True) if dot)
        elif row.startswith("| `"):
            for command in named[1:]:
                found.setdefault(command, set()).add(named[0])
    assert len(found) > 20
    with Faults() as faults:
        for command, options in found.items():
            with faults.of(command):
                text = gpudoctor(*command.split(" "), "--help").stdout.decode()
                lists = text[text.rindex("\n\n", 0, re.search(r"^  -", text, re.M).start()) :]  # type: ignore[union-attr]
                taken = {
                    re.findall(r"-[\w-]+", names)[-1]
                    for names in re.findall(r"^  (-[^\s,]+(?:, -[^\s,]+)*)", lists, re.M)
                }
                assert taken - {"--help"} == options


def test_on_a_code_host_every_link_of_every_page_leads_to_a_file_or_folder() -> None:
    found = 0
    listed = subprocess.run(["git", "ls-files", "-z", "*.md"], cwd=ROOT, capture_output=True, text=True, check=False)
    pages = [ROOT / name for name in listed.stdout.split("\0") if name] or [*DOCS.rglob("*.md"), *ROOT.glob("*.md")]
    with Faults() as faults:
        for path in pages:
            for target in targets(path.read_text("utf-8")):
                found += 1
                with faults.of(f"{path.relative_to(ROOT)}: {target}"):
                    assert (path.parent / target).exists()
    assert found > 500


def test_on_the_site_every_link_leads_to_a_page_of_it() -> None:
    found = 0
    with Faults() as faults:
        for path, text in site().items():
            for target in targets(text):
                found += 1
                with faults.of(f"{path}: {target}"):
                    leads_to = normpath(join(dirname(path), target))
                    assert leads_to in site() or (leads_to.startswith("pictures/") and (DOCS / leads_to).is_file())
    assert found > 1000


def test_links_and_names_of_checks_become_links_to_pages_of_the_site() -> None:
    names = {"cpu-only-torch", "gpu-lost", "firmware-bar-settings"}
    for page, text, shown in (
        ("a.md", "[a](../doctor/checks/cpu_only_torch.py).", "[a](checks/cpu-only-torch.md)."),
        ("places/a.md", "[a](../../doctor/checks/cpu_only_torch.py)", "[a](../checks/cpu-only-torch.md)"),
        ("a.md", "([a](../doctor/text/causes/firmware-bar-settings.txt))", "([a](checks/firmware-bar-settings.md))"),
        ("a.md", "[all](../doctor/checks), `gpu-lost`", "[all](checks/index.md), [`gpu-lost`](checks/gpu-lost.md)"),
        ("questions/a.md", "[t](../../doctor/findings/thresholds.py)", "[t](../checks/index.md#thresholds)"),
        ("checks/gpu-lost.md", "`gpu-lost`, `cpu-only-torch`", "`gpu-lost`, [`cpu-only-torch`](cpu-only-torch.md)"),
        ("a.md", "# `gpu-lost`\n```sh\n`gpu-lost`\n```\n`gpu`", "# `gpu-lost`\n```sh\n`gpu-lost`\n```\n`gpu`"),
        (
            "a.md",
            "[a](../doctor/cli.py) [b](b.md) [`gpu-lost`](c.md)",
            "[a](../doctor/cli.py) [b](b.md) [`gpu-lost`](c.md)",
        ),
    ):
        assert hook().links.for_site(text, page, names) == shown


def test_every_page_is_reached_from_the_start() -> None:
    """By links and the site's own menu: nothing is hard to find."""
    menu = re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M)
    seen: set[str] = set()
    todo = [*menu]
    while todo:
        path = normpath(todo.pop())
        if path not in seen:
            seen.add(path)
            todo += [join(dirname(path), target) for target in targets(site()[path]) if target.endswith(".md")]
    assert site().keys() == seen


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


@pytest.mark.slow
def test_pictures_show_what_the_commands_print_and_load_nothing() -> None:
    """`python docs/pictures.py` draws them."""
    spec = importlib.util.spec_from_file_location("site_pictures", DOCS / "pictures.py")
    assert spec and spec.loader
    pictures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pictures)
    drawn = pictures.drawings()
    assert drawn.keys() == {path.name for path in (DOCS / "pictures").glob("*.svg")}
    for name, text in drawn.items():
        assert text == (DOCS / "pictures" / name).read_text("utf-8"), name
        assert not re.search(r"(href|src)=|@import|url\([^#]*://", text), name


@pytest.mark.site
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site"), "-q"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    page = (tmp_path / "site" / "checks" / "gpu-fell-off-bus" / "index.html").read_text("utf-8")
    assert "A GPU no longer responds" in page and "fonts.googleapis" not in page
    errors = (tmp_path / "site" / "errors" / "index.html").read_text("utf-8")
    assert 'href="../checks/torch-lacks-new-gpu-sm/"' in errors and "doctor/checks" not in errors
    assert not list((tmp_path / "site").rglob("*.py"))
    listed = dict(re.findall(r"^- \[(.+?)\]\((\S+?)\)", (tmp_path / "site" / "llms.txt").read_text("utf-8"), re.M))
    assert set(listed.values()) == site().keys()
    for title, path in listed.items():
        assert f"# {title}\n" in (tmp_path / "site" / path).read_text("utf-8")


def test_words_for_the_search_belong_to_pages() -> None:
    assert hook().SEARCH_WORDS.keys() <= site().keys()


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
