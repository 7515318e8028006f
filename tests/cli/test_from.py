"""`--from`: a saved report is judged again; whatever is no report is refused in one line, without a report."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from doctor.findings import Expect, Policy

from ..checks.test_no_nvidia_gpu import without_gpu
from ..healthy import healthy
from ..rows import for_each
from .command import COMMAND, gpudoctor, one_line, save


def changed(path: Path, **values: object) -> Path:
    """The report at `path` with top-level keys changed; a value of None takes the key away."""
    report = {**json.loads(path.read_bytes()), **values}
    path.write_text(json.dumps({k: v for k, v in report.items() if v is not None}))
    return path


def test_stdin_and_file_give_the_same_findings(tmp_path: Path) -> None:
    path = save(tmp_path, without_gpu(healthy()))
    by_file = json.loads(gpudoctor("check", "--from", path, "--format", "json").stdout)
    by_pipe = json.loads(gpudoctor("check", "--from", "-", "--format", "json", data=path.read_bytes()).stdout)
    assert by_file["findings"] == by_pipe["findings"] != []


def test_conclusions_are_drawn_again_and_not_copied(tmp_path: Path) -> None:
    path = changed(save(tmp_path, without_gpu(healthy())), findings=[], verdict="pass", exit_code=0)
    assert gpudoctor("check", "--from", path).returncode == 1


def test_a_report_judged_again_is_a_report(tmp_path: Path) -> None:
    again = tmp_path / "again.json"
    path = save(tmp_path, without_gpu(healthy()))
    assert gpudoctor("check", "--from", path, "--format", "json", "-o", again).returncode == 1
    first, second = (json.loads(gpudoctor("check", "--from", p, "--format", "json").stdout) for p in (path, again))
    assert first["findings"] == second["findings"]
    assert first["snapshot"] == second["snapshot"]


def test_the_saved_expectation_holds_unless_a_flag_says_otherwise(tmp_path: Path) -> None:
    path = save(tmp_path, without_gpu(healthy()), Policy(expect=Expect(kind="any")))
    assert gpudoctor("check", "--from", path).returncode == 0
    assert gpudoctor("check", "--from", path, "--expect", "gpu").returncode == 1


def test_fields_of_a_newer_minor_version_are_ignored(tmp_path: Path) -> None:
    path = changed(save(tmp_path, healthy()), something_new={"a": [1]})
    assert gpudoctor("check", "--from", path).returncode == 0


@for_each("encoding", ["utf-8-sig", "utf-16"])
def test_what_powershell_writes_is_read(tmp_path: Path, encoding: str) -> None:
    path = save(tmp_path, healthy())
    path.write_bytes(path.read_bytes().decode().encode(encoding))
    assert gpudoctor("check", "--from", path).returncode == 0


@pytest.mark.slow
@for_each(
    "content",
    [
        b"",
        b" \n",
        b"{",
        b"[]",
        b"{}",
        b"null",
        b"42",
        b'"report"',
        b"\x00" * 4096,
        b"\xff\xfe",
        b"PK\x03\x04zip",
        b'{"schema_version": 1}',
        b'{"schema_version": "1", "snapshot": {}}',
        b'{"schema_version": 1, "snapshot": 7}',
        b'{"schema_version": 0, "snapshot": {}}',
        b'{"schema_version": 1, "snapshot": {}}',
        b'{"schema_version":1,"tool":{"name":"x","version":"1"},"snapshot":{"gpus":[{"key":3}]}}',
        b"[" * 200_000,
        b'{"a":' * 100_000,
        b'{"schema_version":1,"snapshot":{"\xff":1}}',
    ],
)
@for_each("by_pipe", [False, True])
def test_what_is_no_report_is_refused(tmp_path: Path, content: bytes, by_pipe: bool) -> None:
    path = tmp_path / "other"
    path.write_bytes(content)
    one_line(gpudoctor("check", "--from", "-", data=content) if by_pipe else gpudoctor("check", "--from", path))


def test_every_truncation_is_refused(tmp_path: Path) -> None:
    whole = save(tmp_path, healthy()).read_bytes()
    for part in (1, 2, 100, len(whole) // 2, len(whole) - 3):
        one_line(gpudoctor("check", "--from", "-", data=whole[:part]))


def test_a_newer_schema_says_update(tmp_path: Path) -> None:
    path = changed(save(tmp_path, healthy()), schema_version=2, snapshot={"other": "shape"})
    assert "update gpudoctor" in one_line(gpudoctor("check", "--from", path))


def test_200_mib_of_something_else_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "big"
    with open(path, "wb") as file:
        file.truncate(200 << 20)
    assert "200 MiB" in one_line(gpudoctor("check", "--from", path))


def test_an_endless_stream_is_refused() -> None:
    with open("/dev/zero", "rb") as zeros:
        done = subprocess.run(
            [str(COMMAND), "check", "--from", "-"], stdin=zeros, capture_output=True, timeout=60, check=False
        )
    assert "64 MiB" in one_line(done)


def test_folders_and_missing_files_are_refused(tmp_path: Path) -> None:
    assert "directory" in one_line(gpudoctor("check", "--from", tmp_path))
    assert "No such file" in one_line(gpudoctor("check", "--from", tmp_path / "none"))
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    one_line(gpudoctor("check", "--from", loop))


@pytest.mark.skipif(os.geteuid() == 0 and not Path("/proc/kmsg").exists(), reason="root reads everything here")
def test_a_file_without_permission_is_refused(tmp_path: Path) -> None:
    path = save(tmp_path, healthy())
    path.chmod(0)
    # root reads every file by these capabilities; another user might not reach this Python
    without = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    command = [*without, str(COMMAND), "check", "--from", str(path)]
    done = subprocess.run(command, capture_output=True, timeout=60, check=False, stdin=subprocess.DEVNULL)
    if b"setpriv" in done.stderr:
        pytest.skip("this machine does not let root give up its capabilities")
    assert "ermission denied" in one_line(done)
