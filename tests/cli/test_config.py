"""`gpudoctor.toml` and `[tool.gpudoctor]`: what is found, what it changes, and how every mistake in it is one line."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from doctor.findings.thresholds import THRESHOLDS

from ..checks.test_no_nvidia_gpu import without_gpu
from ..healthy import healthy
from ..rows import quickly
from .command import gpudoctor, one_line, save

ROOT = Path(__file__).parent.parent.parent
FULL = """
skip = ["driver-branch-ended", "no_nvidia_gpu"]
only = ["gpu-too-hot", "no-nvidia-gpu"]
expect = "8xH100"
require = ["Flash_Attn"]
fail-on = "warn"
building = true

[thresholds]
temperature_warn_c = 70
shm_warn_mib = 0.5
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a folder inside."""
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "src" / "deep").mkdir(parents=True)
    return tmp_path / "repo"


def policy(folder: Path, *arguments: str | Path, home: Path | None = None) -> dict[str, Any]:
    """The policy that a check of an empty root folder, run in this folder, was judged by."""
    (folder / "root" / "etc").mkdir(parents=True, exist_ok=True)
    env = {"HOME": str(home or folder / "nobody")}
    done = gpudoctor("check", "--root", folder / "root", "--format", "json", *arguments, cwd=folder, env=env)
    assert done.stdout, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)["policy"]
    return found


def test_every_key_reaches_the_policy_of_the_report(project: Path) -> None:
    (project / "gpudoctor.toml").write_text(FULL)
    found = policy(project)
    assert found["skip"] == ["driver-branch-ended", "no-nvidia-gpu"]
    assert found["only"] == ["gpu-too-hot", "no-nvidia-gpu"]
    assert found["expect"] == {"kind": "gpu", "count": 8, "model": "H100"}
    assert (found["require"], found["fail_on"], found["building"]) == (["flash-attn"], "warn", True)
    assert found["thresholds"] == {"temperature_warn_c": 70.0, "shm_warn_mib": 0.5}


def test_flags_win_over_the_file_key_by_key(project: Path) -> None:
    (project / "gpudoctor.toml").write_text(FULL)
    found = policy(project, "--expect", "any", "--skip", "gpu-too-hot", "--fail-on", "unknown", "--require", "torch")
    assert (found["skip"], found["require"], found["fail_on"]) == (["gpu-too-hot"], ["torch"], "unknown")
    assert found["expect"]["kind"] == "any" and found["expect"]["count"] == 0
    assert found["only"] == ["gpu-too-hot", "no-nvidia-gpu"] and found["building"] is True


def test_it_changes_the_verdict_of_check_and_healthcheck(project: Path) -> None:
    (project / "own.toml").write_text('expect = "any"\n')
    own = ("--config", "own.toml")
    for command in (["check", "--no-import"], ["healthcheck"]):
        assert gpudoctor(*command, *own, cwd=project).returncode == 0
    without = gpudoctor("healthcheck", cwd=project), gpudoctor("healthcheck", *own, cwd=project)
    assert without[0].stdout != without[1].stdout


def test_fix_takes_it_too(project: Path) -> None:
    report = save(project, without_gpu(healthy()))
    (project / "own.toml").write_text('skip = ["no-nvidia-gpu"]\n')
    assert gpudoctor("fix", "--from", report, cwd=project).returncode == 1
    done = gpudoctor("fix", "--from", report, "--config", "own.toml", cwd=project)
    assert done.returncode == 0, done.stdout


def test_a_threshold_moves_a_finding(project: Path) -> None:
    (project / "gpudoctor.toml").write_text("[thresholds]\ntemperature_margin_warn_c = 500\n")
    report = save(project, healthy().replace({"gpus": tuple(g.with_(temperature_margin_c=40) for g in healthy().gpus)}))  # type: ignore[union-attr]
    hot = gpudoctor("check", "--from", report, "--config", "gpudoctor.toml", "--format", "json", cwd=project)
    assert "gpu-too-hot" in [finding["id"] for finding in json.loads(hot.stdout)["findings"]]
    assert json.loads(hot.stdout)["policy"]["thresholds"] == {"temperature_margin_warn_c": 500.0}


def test_the_first_file_upwards_wins_and_the_repository_ends_the_search(project: Path) -> None:
    deep = project / "src" / "deep"
    (project.parent / "gpudoctor.toml").write_text('expect = "3"\n')
    assert policy(deep)["expect"]["count"] == 0, "above the repository"
    (project / "gpudoctor.toml").write_text('expect = "4"\n')
    assert policy(deep)["expect"]["count"] == 4
    (project / "src" / "pyproject.toml").write_text('[project]\nname = "gpudoctor-user"\n')
    assert policy(deep)["expect"]["count"] == 4, "a pyproject.toml without our table is passed by"
    (project / "src" / "pyproject.toml").write_text("[tool.gpudoctor]\nexpect = 5\n")
    assert policy(deep)["expect"]["count"] == 5
    (project / "src" / "gpudoctor.toml").write_text("expect = 6\n")
    assert policy(deep)["expect"]["count"] == 6
    assert policy(deep, "--config", project / "gpudoctor.toml")["expect"]["count"] == 4
    assert policy(deep, "--no-config")["expect"]["count"] == 0


def test_the_home_folder_ends_the_search(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "work").mkdir(parents=True)
    (tmp_path / "gpudoctor.toml").write_text("expect = 3\n")
    assert policy(home / "work", home=home)["expect"]["count"] == 0
    (home / "gpudoctor.toml").write_text("expect = 2\n")
    assert policy(home / "work", home=home)["expect"]["count"] == 2


def test_a_folder_that_everybody_may_write_to_is_not_searched_from_below(tmp_path: Path) -> None:
    (tmp_path / "open" / "mine").mkdir(parents=True)
    (tmp_path / "open" / "gpudoctor.toml").write_text("expect = 3\n")
    assert policy(tmp_path / "open" / "mine")["expect"]["count"] == 3
    os.chmod(tmp_path / "open", 0o1777)
    assert policy(tmp_path / "open" / "mine")["expect"]["count"] == 0


@pytest.mark.parametrize(
    "text",
    [
        "[tool.gpudoctor]\nexpect = 5",
        "tool.gpudoctor.expect = 5",
        "[tool]\ngpudoctor = {expect = 5}",
        "tool = {gpudoctor = {expect = 5}}",
        '[ tool . "gpudoctor" ]\nexpect = 5',
        "\ufeff[tool.gpudoctor]\nexpect = 5",
    ],
)
def test_every_way_to_write_our_table(project: Path, text: str) -> None:
    (project / "pyproject.toml").write_text(text)
    assert policy(project)["expect"]["count"] == 5


@pytest.mark.parametrize(
    "content",
    [
        b"[tool.other]\nx = [",
        b"\xff\xfe gpudoctor",
        b"[project]\nname = gpudoctor",
        b"a=" * 600_000,
        b"[tool.gpudoctors]\nx = [",
    ],
)
def test_a_broken_pyproject_of_somebody_else_is_passed_by(project: Path, content: bytes) -> None:
    (project / "pyproject.toml").write_bytes(content)
    assert policy(project)["expect"]["kind"] == "gpu"


@pytest.mark.parametrize(
    ("content", "words"),
    quickly(
        [
            ("skp = []", ["unknown key 'skp'", "did you mean skip"]),
            ("fail_on = 'warn'", ["did you mean fail-on"]),
            ("skip = ['no-nvidia-gpus']", ["skip 'no-nvidia-gpus'", "did you mean no-nvidia-gpu"]),
            ("skip = 'x'", ["list of strings"]),
            ("only = [1]", ["list of strings"]),
            ("expect = true", ["expect"]),
            ("expect = '0xH100'", ["0xH100"]),
            ("require = ['!']", ["not a valid package name"]),
            ("fail-on = 'never'", ["fail, unknown or warn"]),
            ("building = 'yes'", ["building"]),
            ("thresholds = 3", ["thresholds"]),
            ("[thresholds]\ntemperatur_warn_c = 70", ["did you mean temperature_warn_c"]),
            ("[thresholds]\nshm_warn_mib = '1'", ["shm_warn_mib"]),
            ("[thresholds]\nshm_warn_mib = nan", ["shm_warn_mib"]),
            ("skip = [", ["not valid TOML"]),
            ("[" * 5000, ["not valid TOML"]),
            ("x = " + "[" * 5000, ["TOML"]),
            ("\x00", ["not valid TOML"]),
            ("#" * (2 << 20), ["over 1 MiB"]),
        ],
        4,
    ),
)
def test_a_mistake_in_our_own_file_is_one_line(project: Path, content: str, words: list[str]) -> None:
    (project / "gpudoctor.toml").write_text(content)
    said = one_line(gpudoctor("check", "--no-import", cwd=project))
    assert "gpudoctor.toml" in said
    for word in words:
        assert word in said
    assert one_line(gpudoctor("healthcheck", cwd=project), code=1) == said
    (project / "pyproject.toml").write_text("[tool.gpudoctor]\nexpect = 'any'\n")
    assert gpudoctor("healthcheck", "--config", "pyproject.toml", cwd=project).returncode == 0


def test_a_broken_table_of_ours_in_pyproject_is_one_line(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.gpudoctor]\nskip = [\n")
    assert "pyproject.toml is not valid TOML" in one_line(gpudoctor("check", "--no-import", cwd=project))


@pytest.mark.parametrize("name", ["nothing.toml", ".", "pyproject.toml", "pipe"])
def test_a_file_that_was_named_must_be_one(project: Path, name: str) -> None:
    os.mkfifo(project / "pipe")
    (project / "pyproject.toml").write_text("[tool.other]\n")
    assert name in one_line(gpudoctor("check", "--no-import", "--config", name, cwd=project))
    assert "--config cannot be used with --no-config" in one_line(
        gpudoctor("check", "--no-import", "--config", name, "--no-config", cwd=project)
    )


def test_a_saved_report_brings_its_own_policy(project: Path) -> None:
    report = save(project, without_gpu(healthy()))
    (project / "gpudoctor.toml").write_text('skip = ["no-nvidia-gpu"]\n')
    assert gpudoctor("check", "--from", report, cwd=project).returncode == 1
    assert gpudoctor("check", "--from", report, "--config", "gpudoctor.toml", cwd=project).returncode == 0


def test_the_thresholds_are_those_that_the_checks_read() -> None:
    read = set()
    for path in (ROOT / "doctor" / "checks").glob("*.py"):
        read.update(re.findall(r'(?:limit\(\s*p,\s*|thresholds(?:\[|\.get\())"(\w+)"', path.read_text("utf-8")))
    assert read == THRESHOLDS.keys(), "doctor/findings/thresholds.py lists what a user may set"
