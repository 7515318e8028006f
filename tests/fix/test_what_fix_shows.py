"""`fix` shows no secret anywhere, no name in files and pipes, and commands that can be typed; one at a time changes."""

from __future__ import annotations

import json
import os
import pty
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.commands.fix_apply import commands_of
from doctor.commands.fix_lock import locked
from doctor.findings import Step
from doctor.guard import Refusal
from doctor.snapshot import EnvVar, Snapshot

from ..cli.command import COMMAND, gpudoctor, save
from ..redaction.planted import CREDENTIALS, NAMES, SECRETS, planted
from ..redaction.test_planted import leaks

HOME = {"LOGNAME": NAMES.user, "USER": NAMES.user, "HOME": NAMES.home}


def machine() -> Snapshot:
    """A machine with every secret, and with logins in the addresses of its indexes."""
    found = planted()
    indexes = (
        EnvVar("PIP_INDEX_URL", f"https://{SECRETS['url user']}@pypi.example/simple"),
        EnvVar("PIP_EXTRA_INDEX_URL", f"https://{SECRETS['url user']}@download.example/whl/cpu"),
        EnvVar("UV_INDEX_URL", f"https://{SECRETS['url user']}@pypi.example/simple"),
        EnvVar("UV_DEFAULT_INDEX", f"https://{SECRETS['url user']}@pypi.example/whl/cpu"),
    )
    return found.replace({"host.environment": (*found.host.environment, *indexes)})  # type: ignore[misc]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("planted"), machine())


@pytest.mark.parametrize("options", [["--format", "json"], ["--format", "text"]])
def test_nothing_leaves_in_a_pipe(options: list[str], report: Path) -> None:
    said = gpudoctor("fix", "--from", report, *options, env=HOME).stdout.decode()
    assert len(said) > 300
    assert [kind for kind, secret in SECRETS.items() if leaks(secret, said)] == []


def test_no_redact_shows_names_and_no_credential(report: Path) -> None:
    said = gpudoctor("fix", "--from", report, "--format", "json", "--no-redact", env=HOME).stdout.decode()
    assert "/home/zaphod" in said
    assert [kind for kind, secret in CREDENTIALS.items() if leaks(secret, said)] == []


def test_a_terminal_shows_names_and_no_credential(report: Path) -> None:
    main, side = pty.openpty()
    env = {name: value for name, value in os.environ.items() if name != "CI"}  # nobody sits before CI's terminal
    child = subprocess.Popen([str(COMMAND), "fix", "--from", str(report)], stdout=side, env={**env, **HOME})
    os.close(side)
    said = b""
    try:
        while part := os.read(main, 65536):
            said += part
    except OSError:  # the other end is closed
        pass
    child.wait(60)
    os.close(main)
    text = re.sub(r"\x1b\[[0-9;]*m", "", said.decode())
    assert "/home/zaphod/venv/bin/python" in text
    assert [kind for kind, secret in CREDENTIALS.items() if leaks(secret, text)] == []


@pytest.mark.parametrize("env", [HOME, {"HOME": "/home/ford", "LOGNAME": "ford", "USER": "ford"}])
def test_no_command_holds_a_mask(env: dict[str, str], report: Path) -> None:
    """Neither that of one's own machine nor that of a saved report from another's."""
    found = json.loads(gpudoctor("fix", "--from", report, "--format", "json", env=env).stdout)
    steps = [step for planned in found["fixes"] for step in planned["fix"]["steps"]]
    commands = [step["command"] for step in steps] + [other["command"] for s in steps for other in s["alternatives"]]
    assert any("~/venv/bin/python" in command for command in commands), commands
    assert [c for c in commands if re.search(r"\*\*\*|\b(?:user|host|id|serial|mail)-\d+\b|192\.0\.2\.", c)] == []


def test_an_environment_beside_the_homes_is_named_by_its_variable(tmp_path: Path) -> None:
    prefix = "/data/users/trillianm/venv"
    found = machine()
    python = found.python.patient.with_(prefix=prefix, executable=f"{prefix}/bin/python")
    variables = (*found.host.environment, EnvVar("VIRTUAL_ENV", prefix))  # type: ignore[misc]
    path = save(tmp_path, found.replace({"python.patient": python, "host.environment": variables}))
    said = gpudoctor("fix", "--from", path, "--format", "json", env=HOME).stdout.decode()
    assert "trillianm" not in said
    commands = re.findall(r'"command": (".*")', said)
    assert any(json.loads(command).find('"${VIRTUAL_ENV:?}"/bin/python') > 0 for command in commands), commands


def test_a_path_with_two_ampersands_is_one_word() -> None:
    python = "/opt/a && b/bin/python"
    step = Step(text="", where="environment", command=f"'{python}' -m pip uninstall -y x && '{python}' -m pip list")
    assert commands_of(step) == [[python, "-m", "pip", "uninstall", "-y", "x"], [python, "-m", "pip", "list"]]
    piped = Step(text="", where="environment", command="curl https://a.example/uv | sh && uv pip list 'a|b'")
    assert ["|" in words for words in commands_of(piped)] == [True, False]


@pytest.mark.skipif(sys.platform != "linux", reason="/proc/locks")
def test_the_second_who_changes_an_environment_is_told_who_holds_it(tmp_path: Path) -> None:
    program = f"from doctor.commands.fix_lock import locked\nwith locked({str(tmp_path)!r}): print('held', flush=True); input()"
    first = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert first.stdout is not None and first.stdin is not None
    assert first.stdout.readline() == b"held\n"
    with pytest.raises(Refusal, match=rf"process {first.pid}\b.*is changing {tmp_path}"), locked(str(tmp_path)):
        pass
    first.communicate(b"\n", timeout=30)
    with locked(str(tmp_path)):
        assert list(tmp_path.iterdir()) == [], "no file is left in the environment"
    with locked(str(tmp_path / "nowhere")):
        pass


def test_the_restore_file_is_its_owners_alone(tmp_path: Path) -> None:
    from doctor.commands.fix_apply import _write_restore

    path = tmp_path / "before.txt"
    _write_restore(str(path), machine(), "/usr/bin/python3", [f"x @ https://{SECRETS['url user']}@host.example/x.whl"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
