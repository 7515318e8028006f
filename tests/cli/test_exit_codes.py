"""DESIGN rule 9: what each exit code means, for the whole command."""

from __future__ import annotations

import json
from pathlib import Path

from doctor.snapshot import Missing, Snapshot

from ..checks.test_no_nvidia_gpu import without_gpu
from ..healthy import healthy
from ..rows import for_each
from .command import gpudoctor, one_line, save


def test_nothing_failed_is_0(tmp_path: Path) -> None:
    done = gpudoctor("check", "--from", save(tmp_path, healthy()))
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"PASS" in done.stdout


@for_each("form", ["text", "json", "markdown"])
def test_a_failure_is_1_in_every_format(tmp_path: Path, form: str) -> None:
    done = gpudoctor("check", "--from", save(tmp_path, without_gpu(healthy())), "--format", form)
    assert (done.returncode, done.stderr) == (1, b"")
    assert b"no-nvidia-gpu" in done.stdout


@for_each("what", ["image", "topo", "compare"])
def test_two_schemas_at_once_are_2(what: str) -> None:
    done = gpudoctor("schema", "--fleet", what)
    assert (done.returncode, done.stdout, done.stderr) == (
        2,
        b"",
        f"gpudoctor: --fleet cannot be used with {what}\n".encode(),
    )


def test_the_exit_code_of_the_process_is_the_one_in_the_report(tmp_path: Path) -> None:
    for snapshot in (healthy(), without_gpu(healthy())):
        done = gpudoctor("check", "--from", save(tmp_path, snapshot), "--format", "json")
        assert json.loads(done.stdout)["exit_code"] == done.returncode


def test_something_required_is_unknown_is_3_and_fail_on_makes_it_1(tmp_path: Path) -> None:
    path = save(tmp_path, healthy().replace({"driver.cu_init": Missing("timeout")}))
    for form in ("text", "json", "markdown"):
        assert gpudoctor("check", "--from", path, "--format", form).returncode == 3
    for status in ("unknown", "warn"):
        assert gpudoctor("check", "--from", path, "--fail-on", status).returncode == 1
    assert gpudoctor("check", "--from", path, "--fail-on", "fail").returncode == 3


def test_an_empty_snapshot_is_not_well(tmp_path: Path) -> None:
    assert gpudoctor("check", "--from", save(tmp_path, Snapshot())).returncode == 3


def test_expect_any_turns_the_missing_gpu_into_a_remark(tmp_path: Path) -> None:
    done = gpudoctor("check", "--from", save(tmp_path, without_gpu(healthy())), "--expect", "any", "--format", "json")
    found = json.loads(done.stdout)
    assert done.returncode == 0
    assert [remark["id"] for remark in found["remarks"]].count("no-nvidia-gpu") == 1


def test_a_skipped_check_does_not_fail_and_is_not_sound_either(tmp_path: Path) -> None:
    sick = save(tmp_path, without_gpu(healthy()))
    done = gpudoctor("check", "--from", sick, "--only", "no-nvidia-gpu", "--skip", "no_nvidia_gpu", "--format", "json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["verdict"]) == (3, "unknown"), "nothing was examined"
    assert {check["status"] for check in found["checks"]} == {"skipped"}


@for_each(
    ("arguments", "says"),
    [
        (["chek"], "did you mean check"),
        (["check", "--form", "json"], "--format"),
        (["check", "--format", "yaml"], "yaml"),
        (["check", "--expect", "0xH100"], "--expect"),
        (["check", "--skip", "no-nvidia-gpus"], "did you mean no-nvidia-gpu"),
        (["check", "--only", "x" * 5000], "no such check"),
        (["check", "--require", "not a package!"], "--require"),
        (["check", "--timeout", "0"], "--timeout"),
        (["check", "--from", "a", "--replay", "b"], "--from cannot be used with --replay"),
        (["check", "extra"], "extra"),
        (["check", "--replay", "/nonexistent"], "/nonexistent"),
        (["check", "--root", "/nonexistent"], "/nonexistent"),
        (["check", "--python", "/nonexistent/bin/python"], "/nonexistent"),
        (["explain", "no-nvidia-gpus"], "did you mean no-nvidia-gpu"),
        (["explain"], "ID"),
        (["record"], "DIR"),
    ],
)
def test_wrong_usage_is_2_and_one_line(arguments: list[str], says: str) -> None:
    assert says in one_line(gpudoctor(*arguments))


def test_the_error_line_carries_no_control_characters(tmp_path: Path) -> None:
    assert "\x1b" not in one_line(gpudoctor("check", "--from", "/tmp/\x1b[31m\nred"))


def test_help_is_0_and_names_every_subcommand() -> None:
    done = gpudoctor("--help")
    assert done.returncode == 0
    for name in (b"check", b"healthcheck", b"record", b"list-checks", b"explain", b"schema", b"matrix"):
        assert name in done.stdout
