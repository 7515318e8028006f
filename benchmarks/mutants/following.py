"""Follow a test through all of its processes: which lines it runs, by coverage.py.

`prepare` puts this file into the environment of a copy, as `follow_tests`. There it is a plugin of pytest and says
which test runs now; and each Python calls `start` at once, from a .pth file, or from a statement that `prepare` adds to
the first line of each agent, since agents leave those files out (`-S`). A child finds its test by its parents' numbers:
what it has of the environment does not matter.
"""

from __future__ import annotations

import ast
import os
from pathlib import Path
from time import perf_counter
from typing import Any

RC = """[run]
data_file = {folder}/data/coverage
parallel = true
include = {include},{agents}*
patch = _exit
disable_warnings = already-imported,cant-combine,couldnt-parse,dynamic-conflict,fork,include-ignored,no-data-collected
    module-not-imported,module-not-measured,module-not-python,trace-changed
"""
AGENTS = "/gpudoctor_agents/"
"""The folder of agents that are sent as one text (doctor/targets/assembled.py)."""
FOLDER = "MUTATION_CONTEXTS"
"""The variable that names the folder of the records; in a child it is written into what starts `start`."""


def prepare(copy: Path, folder: Path, rooms: tuple[str, ...], packages: str) -> None:
    """Let each Python of the copy's environment note its lines in `folder`. `packages`: where coverage.py is."""
    for name in ("data", "now", "seconds"):
        (folder / name).mkdir(parents=True)
    include = ",".join(f"{copy}/{room}/*" for room in rooms)
    (folder / "coveragerc").write_text(RC.format(folder=folder, include=include, agents=AGENTS), "utf-8")
    call = f"import follow_tests; follow_tests.start({str(folder)!r})"
    own = next((copy / ".venv" / "lib").glob("python*/site-packages"))
    (own / "follow_tests.py").write_bytes(Path(__file__).read_bytes())
    (own / "zz_follow.pth").write_text(f"{call}\n", "utf-8")
    more = f"import sys as _s; _s.path[:0] = {[str(own), packages]!r}; {call}; del _s.path[:2]"
    for agent in sorted((copy / "doctor" / "patient").glob("*.py")):
        text = agent.read_text("utf-8")
        simple = [node for node in ast.parse(text).body if isinstance(node, ast.Import | ast.ImportFrom)]
        if simple:
            future = [node for node in simple if getattr(node, "module", "") == "__future__"]
            at = (future or simple)[0]
            lines = text.splitlines(keepends=True)
            line = lines[(at.end_lineno or 1) - 1]
            lines[(at.end_lineno or 1) - 1] = f"{line[: at.end_col_offset]}; {more}{line[at.end_col_offset :]}"
            agent.write_text("".join(lines), "utf-8")


def start(folder: str) -> None:
    """Note the lines of this process under the test that runs in the nearest parent that is a test's; never raises."""
    try:
        import coverage

        if coverage.Coverage.current() is None:
            measured = coverage.Coverage(config_file=f"{folder}/coveragerc", context=_test_of_parents(folder))
            measured._auto_save = True  # as process_startup does it
            for quiet in ("_warn_no_data", "_warn_unimported_source", "_warn_preimported_source"):
                setattr(measured, quiet, False)
            measured.start()
    except Exception:
        return


def _test_of_parents(folder: str) -> str:
    number = os.getppid()
    while number > 1:
        try:
            with open(f"{folder}/now/{number}", encoding="utf-8") as file:
                return file.read()
        except OSError:
            with open(f"/proc/{number}/stat", encoding="utf-8", errors="replace") as file:
                number = int(file.read().rpartition(")")[2].split()[1])
    return ""


_begun: dict[str, float] = {}
_outcomes: dict[str, str] = {}


def pytest_runtest_logstart(nodeid: str) -> None:
    """Put this test's name on the lines of this process and, by a file, on those of its children."""
    _switch(nodeid)
    _begun[nodeid] = perf_counter()


def pytest_runtest_logreport(report: Any) -> None:
    """Note what did not pass: it cannot judge a change."""
    if report.outcome != "passed":
        _outcomes[report.nodeid] = report.outcome


def pytest_runtest_logfinish(nodeid: str) -> None:
    """The seconds of the test, and how it ended."""
    if _switch(""):
        with open(Path(os.environ[FOLDER]) / "seconds" / str(os.getpid()), "a", encoding="utf-8") as file:
            file.write(f"{perf_counter() - _begun[nodeid]:.3f} {_outcomes.get(nodeid, 'passed')} {nodeid}\n")


def _switch(nodeid: str) -> bool:
    """False in the process that only hands the tests out to others."""
    import coverage

    current, now = coverage.Coverage.current(), Path(os.environ[FOLDER]) / "now" / str(os.getpid())
    if current is None or "PYTEST_XDIST_WORKER" not in os.environ:
        return False
    current.switch_context(nodeid)
    if nodeid:
        now.write_text(nodeid, "utf-8")
    else:
        now.unlink()
    return True
