"""Only what is needed is imported (DESIGN rule 8)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from doctor import __version__

from ..healthy import healthy
from ..rows import for_each
from .command import COMMAND, gpudoctor, save

_TELL = """
import sys
from doctor.__main__ import dispatch
dispatch(sys.argv[1:])
print("imported", *sys.modules, file=sys.stderr)
"""


def imported(*arguments: str | Path) -> set[str]:
    """Names of all modules that a run of the command has in memory at its end."""
    done = subprocess.run(
        [sys.executable, "-c", _TELL, *map(str, arguments)],
        capture_output=True,
        timeout=60,
        check=False,
        env={k: v for k, v in os.environ.items() if k != "FORCE_COLOR"},
    )
    first, *names = done.stderr.decode().splitlines()[-1].split()
    assert first == "imported", done.stderr
    return set(names)


def heavy(names: set[str]) -> set[str]:
    """Those that no fast path may import."""
    roots = {name.partition(".")[0] for name in names}
    return roots & {
        "rich",
        "requests",
        "docker",
        "pynvml",
        "torch",
        "jsonschema",
        "numpy",
        "importlib_metadata",
        "asyncio",
    }


@for_each("flag", ["--version", "-V"])
def test_the_version_is_answered_before_click_is_imported(flag: str) -> None:
    assert not {"click", "msgspec", "doctor.cli"} & imported(flag)
    assert gpudoctor(flag).stdout.decode() == f"gpudoctor {__version__}\n"


def test_check_in_json_imports_nothing_heavy() -> None:
    names = imported("check", "--no-import", "--format", "json")
    assert "doctor.judge" in names
    assert not heavy(names)
    assert not {"doctor.report.terminal", "doctor.report.markdown", "doctor.text.ranker"} & names


def test_what_msgspec_takes_along_is_left_for_later_and_is_there_then() -> None:
    unused = {"platform", "msgspec.inspect", "msgspec._json_schema", "typing_extensions"}
    assert not unused & imported("check", "--no-import", "--format", "json")
    code = """
import json, sys
from doctor.fast import _light_msgspec
_light_msgspec()
import msgspec, platform, uuid
class Point(msgspec.Struct):
    x: int
    id: uuid.UUID
print(json.dumps(msgspec.json.schema(Point)["$defs"]["Point"]["required"]))
print(msgspec.convert({"x": 1, "id": str(uuid.UUID(int=5))}, Point).id.int, bool(platform.machine()))
import msgspec.inspect
print(msgspec.inspect.type_info(Point).cls.__name__)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ['["x",', '"id"]', "5", "True", "Point"]


def test_check_in_text_imports_rich_only_for_colour(tmp_path: Path) -> None:
    assert not heavy(imported("check", "--no-import"))


def test_healthcheck_imports_nothing_heavy(tmp_path: Path) -> None:
    names = imported("healthcheck", "--from", save(tmp_path, healthy()))
    assert "doctor.report.healthline" in names
    assert not heavy(names)


def test_without_measurements_nothing_is_imported_that_judges_them(tmp_path: Path) -> None:
    """All checks are asked in every start; those about measurements have nothing to say of a machine that was read."""
    for names in (imported("check", "--from", save(tmp_path, healthy())), imported("check", "--no-import")):
        judging = {name for name in names if name.startswith(("doctor.findings.measured_", "doctor.findings.watched"))}
        assert not judging | ({"statistics", "doctor.fixes.speed"} & names)


def test_plain_command_lines_are_read_without_click_and_others_with_it(tmp_path: Path) -> None:
    report = save(tmp_path, healthy())
    for arguments in (
        ["-vv", "--expect", "1xH100", "--require=torch"],
        ["--format=json", "--timeout", "20", "-o", tmp_path / "o"],
    ):
        assert "click" not in imported("check", "--from", report, *arguments)
    for arguments in (["--help"], ["--timeout", "0.5"], ["--format", "yaml"], ["--nope"], ["--expect"]):
        assert "click" in imported("check", *arguments)


def test_a_subcommand_is_imported_only_when_it_is_called() -> None:
    names = imported("list-checks")
    assert "doctor.commands.list_checks" in names
    assert not {"doctor.commands.check", "doctor.commands.matrix", "doctor.probes.collect"} & names


def test_it_runs_from_any_folder_and_as_a_module(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise SystemExit('shadowed')")
    (tmp_path / "torch.py").write_text("raise SystemExit('shadowed')")
    assert gpudoctor("list-checks", cwd=tmp_path).returncode == 0
    assert COMMAND.exists()
