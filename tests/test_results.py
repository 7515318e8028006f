"""Figures of the benchmarks: files as the script writes them, a table that is made of them, and a run that is recorded."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import results

from .rows import for_each

ROOT = Path(__file__).parent.parent
PRINTED = """\
Started.
| command | ms |
| --- | ---: |
| `a \\| b` | 3.5 |
| c |  |

| only a head |
done
"""


def command(*words: str, text: str = "", script: Path = ROOT / "benchmarks" / "results.py") -> tuple[int, str, str]:
    done = subprocess.run([sys.executable, script, *words], input=text, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """The script in a folder of its own, with a page and no results."""
    copy = tmp_path / "results.py"
    copy.write_bytes((ROOT / "benchmarks" / "results.py").read_bytes())
    (tmp_path / "README.md").write_text(f"# Page\n\n{results.BEGIN}{results.END}\nEnd.\n", "utf-8")
    return copy


def test_the_table_of_the_page_is_made_of_the_newest_runs() -> None:
    page = results.README.read_text("utf-8")
    assert results.with_table(page) == page, "python benchmarks/results.py table"
    assert len(results.names()) > 30


@for_each("name", results.names())
def test_every_run_has_its_day_commit_and_machine_and_the_file_is_as_the_script_writes_it(name: str) -> None:
    result = results.read(name)
    assert result.title and result.runs
    for run in result.runs:
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", run.date) and re.fullmatch(r"[0-9a-f]{7,12}\+?", run.commit)
        assert run.machine and run.command and run.says
        assert all(len(row) == len(table.columns) for table in run.tables for row in table.rows)
    assert [run.date for run in result.runs] == sorted(run.date for run in result.runs)
    assert results.text(result) == (results.FOLDER / f"{name}.json").read_text("utf-8")


def test_every_script_of_the_folder_is_named_on_the_page() -> None:
    page = results.README.read_text("utf-8")
    told = page + "".join(run.command for name in results.names() for run in results.read(name).runs)
    scripts = [path.name for path in (ROOT / "benchmarks").glob("*.py") if '"__main__"' in path.read_text("utf-8")]
    missing = [name for name in scripts if name not in told and f"benchmarks.{name[:-3]}" not in told]
    assert len(scripts) > 25 and missing == []


def test_what_a_script_printed_is_recorded_and_shown(script: Path) -> None:
    words = (
        "record",
        "speed",
        "--command",
        "python speed.py",
        "--commit",
        "0123abcd",
        "--load",
        "idle",
        "--note",
        "cold",
    )
    code, _, error = command(
        *words, "--says", "3.5 ms | warm", "--title", "time", "--goal", "4 ms", text=PRINTED, script=script
    )
    assert (code, error) == (0, "")
    [run] = json.loads(script.with_name("results").joinpath("speed.json").read_text("utf-8"))["runs"]
    assert run["tables"] == [{"columns": ["command", "ms"], "rows": [["`a \\| b`", "3.5"], ["c", ""]]}]
    assert run["lines"] == ["Started.", "done"] and run["notes"] == ["cold"]
    assert run["machine"].endswith("; idle") and re.search(r"\d+ cores of .*Python 3\.\d+", run["machine"])
    row = f"| [speed](results/speed.json) | time | 3.5 ms \\| warm | 4 ms | {run['date']}, 0123abcd |"
    assert row in script.with_name("README.md").read_text("utf-8").splitlines()
    code, shown, _ = command("show", "speed", script=script)
    assert code == 0 and "| `a \\| b` | 3.5 |" in shown and "Goal: 4 ms" in shown and "cold" in shown


def test_the_newest_run_is_shown_and_older_ones_are_kept(script: Path) -> None:
    for says in ("first", "second"):
        words = ("record", "speed", "--command", "c", "--commit", "0123abcd", "--says", says, "--title", "time")
        assert command(*words, script=script)[0] == 0
    assert [run.says for run in _read(script).runs] == ["first", "second"]
    page = script.with_name("README.md").read_text("utf-8")
    assert "second" in page and "first" not in page and page.startswith("# Page\n") and page.endswith("\nEnd.\n")


def _read(script: Path) -> results.Result:
    import msgspec

    return msgspec.json.decode(script.with_name("results").joinpath("speed.json").read_bytes(), type=results.Result)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("show", "nothing"), "results/nothing.json: "),
        (("record", "../up", "--command", "c", "--says", "s", "--commit", "0123abcd"), "../up is not a name"),
        (("record", "new", "--command", "c", "--says", "s", "--commit", "0123abcd"), "--title says what is measured"),
        (("record", "new", "--command", "c", "--says", "s", "--title", "t"), "this is not a git checkout"),
    ],
)
def test_what_is_wrong_is_one_line(script: Path, words: tuple[str, ...], said: str) -> None:
    code, shown, error = command(*words, script=script)
    assert (code, shown, error.count("\n")) == (2, "", 1) and said in error
    assert not list(script.parent.glob("results/*"))
