"""`check --target`: one text to another Python's standard input, by the real ssh and docker, and by stand-ins."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doctor.targets.far import check_version

from ..cli.command import COMMAND, gpudoctor
from ..images.engines import dockerd
from ..rows import for_each
from ..shared import debian_base
from .servers import command, sshd

HELLO = "echo '{\"hello\": [3, 11, 0]}'"
TORCH = """import subprocess, sys
from . import _one
subprocess.run([sys.executable, "-c", "import torch_child"], check=True)
__version__ = "2.6.0"
"""
LOCAL = 'shift 2; [ "$1" = "--" ] && shift; exec "$@"'


def asked(target: str, env: dict[str, str], *more: str) -> subprocess.CompletedProcess[str]:
    """The command with `--target`."""
    arguments = [COMMAND, "check", "--target", target, "--format", "json", "--no-redact", *more]
    return subprocess.run(arguments, env=env, capture_output=True, text=True, timeout=120, check=False)


def facts(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The Snapshot of a report."""
    assert done.returncode in (0, 1, 3) and done.stdout, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)["snapshot"]
    return found


def refused(done: subprocess.CompletedProcess[str], code: int) -> str:
    """The one line of a refusal."""
    assert done.returncode == code and not done.stdout, (done.returncode, done.stdout[:300], done.stderr)
    (line,) = done.stderr.splitlines()
    return line


def kubectl(folder: Path, then: str) -> dict[str, str]:
    """A stand-in that checks its arguments and runs the rest here."""
    check = 'case "$*" in "exec -i -n team pod-1 -- python"*) ;; *) echo "arguments: $*" >&2; exit 64 ;; esac'
    command(folder / "bin" / "kubectl", f"{check}\nshift 6\n{then}")
    return {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}"}


def test_a_pod_is_asked_by_kubectl_s_exec(tmp_path: Path) -> None:
    found = facts(asked("kubectl:team/pod-1", kubectl(tmp_path, 'exec "$@"')))
    assert (found["target"]["kind"], found["target"]["name"]) == ("kubectl", "team/pod-1")
    assert found["host"]["system"] == "linux" and found["host"]["kernel"] == os.uname().release
    assert found["python"]["patient"]["version"]


def test_what_is_there_is_what_a_look_on_the_spot_finds(tmp_path: Path) -> None:
    far = facts(asked("kubectl:team/pod-1", kubectl(tmp_path, 'exec "$@"'), "--no-import"))
    here = [COMMAND, "check", "--format", "json", "--no-redact", "--no-import"]
    near = facts(subprocess.run(here, capture_output=True, text=True, timeout=60, check=False))
    for section in ("host", "driver"):
        for key in ("kernel", "libc", "os_id", "architecture", "cpu_model", "pci_devices", "device_nodes", "modules"):
            assert far[section].get(key) == near[section].get(key), (section, key)
    assert (far["host"]["kernel"], far["host"]["architecture"]) == (platform.release(), platform.machine())
    assert "os_id" not in far["host"] or far["host"]["os_id"] == platform.freedesktop_os_release()["ID"]


def test_nothing_is_left_or_written_there(tmp_path: Path) -> None:
    then = f'cd {tmp_path}/there && TMPDIR={tmp_path}/there HOME={tmp_path}/there exec "$@"'
    (tmp_path / "there").mkdir()
    facts(asked("kubectl:team/pod-1", kubectl(tmp_path, then)))
    assert not list((tmp_path / "there").rglob("*"))


def test_no_compiled_form_is_left_of_the_torch_there(tmp_path: Path) -> None:
    """uv installs packages without them; a look as root would leave some that the owner cannot replace."""
    own = tmp_path / "own"
    venv.create(own, symlinks=True, with_pip=False)
    (package,) = own.glob("lib/python3*/site-packages")
    for path, text in (
        ("torch/__init__.py", TORCH),
        ("torch/_one.py", ""),
        ("torch_child.py", ""),
        ("torch-2.6.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: torch\nVersion: 2.6.0\n"),
    ):
        (package / path).parent.mkdir(exist_ok=True)
        (package / path).write_text(text)
    compiled = tmp_path / "compiled"
    then = f'unset PYTHONDONTWRITEBYTECODE; export PYTHONPYCACHEPREFIX={compiled} VIRTUAL_ENV={own}; exec "$@"'
    found = facts(asked("kubectl:team/pod-1", kubectl(tmp_path, then)))
    assert found["torch_run"]["imported"] is True
    assert not list(compiled.rglob("*.pyc"))


def test_nor_of_the_standard_library_there() -> None:
    text = check_version("0") + "print(sys.dont_write_bytecode)"
    done = subprocess.run([sys.executable, "-I", "-S", "-"], input=text, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


@pytest.mark.slow
def test_a_far_side_that_hangs_is_cut_off_and_leaves_no_child(tmp_path: Path) -> None:
    began = time.monotonic()
    env = kubectl(tmp_path, f"echo $$ > {tmp_path}/pid; exec sleep 600")
    line = refused(asked("kubectl:team/pod-1", env, "--timeout", "0.5"), 3)
    assert "no response in time" in line and time.monotonic() - began < 60
    pid = int((tmp_path / "pid").read_text())
    assert not Path(f"/proc/{pid}").exists()


def test_what_was_said_before_a_cut_is_kept(tmp_path: Path) -> None:
    then = '"$@" | head -c 6000; sleep 0.1'
    found = facts(asked("kubectl:team/pod-1", kubectl(tmp_path, then)))
    assert found["target"]["kind"] == "kubectl"


@for_each(
    ("then", "code", "words"),
    [
        (
            "echo 'Error from server (NotFound): pods \"pod-1\" not found' >&2; exit 1",
            2,
            "kubectl:team/pod-1: no such pod",
        ),
        ("echo 'sh: python3: command not found' >&2; exit 127", 3, "python3 is required there but not installed"),
        ('echo \'{"old": "3.6"}\'', 3, "its python3 is 3.6, but 3.8 or newer is required"),
        ("echo 'error: You must be logged in to the server' >&2; exit 1", 3, "You must be logged in"),
        ("head -c 300 /dev/urandom; exit 0", 3, "kubectl:team/pod-1: kubectl sent no answer that gpudoctor can read"),
        ("yes '{\"x\": 1}' | head -c 3000000", 3, "kubectl:team/pod-1: kubectl sent no answer that gpudoctor can read"),
        ("exit 4", 3, "kubectl:team/pod-1: kubectl exited with code 4"),
        ('yes \'{"agent": "nvml", "line": {}}\'', 3, "sent over 32 MiB of data that is not an answer"),
        ("printf '{\"hello\": ['; yes '[],' | head -n 1000000 | tr -d '\\n'", 3, "sent over 1000000 values"),
        (f'{HELLO}; echo \'{{"agent": "nvml", "end": 0, "seconds": "x"}}\'', 3, "`$.seconds`"),
        (f"{HELLO}; echo '{{\"agent\": 7}}'", 3, "a line that is not an answer: Expected `str`, got `int`"),
        (f"{HELLO}; echo '{{\"file\": []}}'", 3, "a line that is not an answer: Expected `object | null`"),
    ],
    quick=3,
)
def test_why_a_pod_cannot_be_asked(tmp_path: Path, then: str, code: int, words: str) -> None:
    assert words in refused(asked("kubectl:team/pod-1", kubectl(tmp_path, then)), code)


@pytest.mark.slow
@for_each(
    ("target", "words"),
    [
        ("docker:-x", "not a valid name for"), ("docker:a b", "not a valid name for"), ("docker:a;reboot", "not a valid name for"),
        ("ssh:-oProxyCommand=x", "not a valid name for"), ("ssh:a$(id)", "not a valid name for"), ("ssh:", "not a valid name for"),
        ("kubectl:pod", "not a valid name for"), ("kubectl:a/-n", "not a valid name for"), ("podman:../x", "not a valid name for"),
        ("rsh:host", "one of docker:NAME"), ("host", "one of docker:NAME"),
    ],
)  # fmt: skip
def test_names_that_would_be_options_or_shell_start_nothing(tmp_path: Path, target: str, words: str) -> None:
    for tool in ("docker", "podman", "ssh", "kubectl"):
        command(tmp_path / tool, f"touch {tmp_path}/started; exit 1")
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    assert words in refused(asked(target, env), 2)
    assert not (tmp_path / "started").exists()


def test_a_tool_that_is_not_there_and_flags_that_exclude_each_other(tmp_path: Path) -> None:
    bare = {**os.environ, "PATH": str(tmp_path)}
    assert "the command kubectl is not on PATH" in refused(asked("kubectl:a/b", bare), 2)
    assert "--root cannot be used with --target" in refused(asked("kubectl:a/b", dict(os.environ), "--root", "/"), 2)
    assert "--python cannot be used with --target" in refused(
        asked("kubectl:a/b", dict(os.environ), "--python", "/usr"), 2
    )


@pytest.fixture(scope="module")
def over_ssh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with sshd(tmp_path_factory.mktemp("ssh") / "server") as env:
        yield env


@pytest.mark.sshd
def test_another_machine_over_ssh(over_ssh: dict[str, str]) -> None:
    found = facts(asked("ssh:there", over_ssh))
    assert (found["target"]["kind"], found["target"]["name"]) == ("ssh", "there")
    assert found["host"]["kernel"] == os.uname().release


@pytest.mark.sshd
def test_why_ssh_cannot_ask(over_ssh: dict[str, str]) -> None:
    for alias, code, words in (
        ("unknown-key", 3, "its host key is not known on this machine"),
        ("no-login", 3, "ssh has no key that the host accepts"),
        ("closed", 3, "ssh cannot reach it"),
        ("no.such.host.invalid", 2, "there is no host with this name"),
    ):
        assert words in refused(asked(f"ssh:{alias}", over_ssh), code), alias


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """An engine with a running container `app`, one without Python, and one that has ended."""
    with dockerd(tmp_path_factory.mktemp("engine") / "docker") as address:
        env = {**os.environ, "DOCKER_HOST": address}

        def docker(*words: str) -> str:
            done = subprocess.run(["docker", *words], env=env, capture_output=True, text=True, timeout=180, check=False)
            assert done.returncode == 0, done.stderr
            return done.stdout

        docker("import", str(debian_base()), "base:1")
        run = ["run", "-d", "--init", "--network", "none", "-e", "NVIDIA_VISIBLE_DEVICES=all"]
        docker(*run, "--name", "app", "base:1", "sleep", "600")
        docker(*run, "--name", "bare", "base:1", "sleep", "600")
        docker("exec", "bare", "sh", "-c", "rm -f /usr/bin/python3* /usr/local/bin/python*")
        docker("run", "--network", "none", "--name", "ended", "base:1", "true")
        yield env
        subprocess.run(["docker", "rm", "-f", "app", "bare", "ended"], env=env, capture_output=True, check=False)


@pytest.mark.docker
def test_into_a_running_container(engine: dict[str, str]) -> None:
    found = facts(asked("docker:app", engine))
    assert found["target"] == {**found["target"], "kind": "docker", "name": "app"}
    assert found["host"]["os_id"] == "debian" and found["container"]["kind"] == "docker"
    assert found["container"]["visible_devices"] == "all"
    left = subprocess.run(["docker", "top", "app"], env=engine, capture_output=True, text=True, check=True).stdout
    assert "python" not in left and len(left.splitlines()) <= 3, left


@pytest.mark.docker
def test_its_host_stands_beside_it_in_the_report_and_in_a_recording(engine: dict[str, str], tmp_path: Path) -> None:
    host = facts(asked("docker:app", engine))["outside"]
    assert host["kernel_version"]["missing"] == "absent", "no driver here"
    text = " ".join(gpudoctor("check", "--target", "docker:app", "--timeout", "8", env=engine).stdout.decode().split())
    assert "on the host in the container driver none none" in text
    folder = tmp_path / "recorded"
    done = gpudoctor("record", folder, "--target", "docker:bare", "--timeout", "8", env=engine)
    assert done.returncode == 0, done.stderr
    replayed = json.loads(gpudoctor("check", "--replay", folder, "--format", "json").stdout)
    assert replayed["snapshot"]["outside"]["kernel_version"]["missing"] == "absent"
    assert (replayed["target"]["kind"], replayed["target"]["name"]) == ("docker", "bare")


@pytest.mark.docker
def test_a_container_without_python_is_read_through_its_root_folder(engine: dict[str, str]) -> None:
    found = facts(asked("docker:bare", engine))
    assert (found["target"]["kind"], found["target"]["name"]) == ("docker", "bare")
    assert found["host"]["os_id"] == "debian"


def test_a_connection_that_the_engine_resets_is_a_container_without_python(tmp_path: Path) -> None:
    """What a real dockerd said now and then, before its own words about python3 came."""
    words = "read unix @->/var/run/docker.sock: read: connection reset by peer"
    then = f'case "$1" in inspect) echo {os.getpid()} ;; *) echo "{words}" >&2; exit 1 ;; esac'
    command(tmp_path / "bin" / "docker", then)
    found = facts(asked("docker:bare", {**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}))
    assert (found["target"]["kind"], found["target"]["name"]) == ("docker", "bare") and found["host"]["os_id"]


@pytest.mark.docker
def test_why_a_container_cannot_be_asked(engine: dict[str, str]) -> None:
    assert "no such container" in refused(asked("docker:nobody", engine), 2)
    assert "the container is not running" in refused(asked("docker:ended", engine), 2)
    nowhere = {**engine, "DOCKER_HOST": "unix:///nowhere/docker.sock"}
    assert "the engine is not responding" in refused(asked("docker:app", nowhere), 3)


def docker(folder: Path, inspect: str) -> dict[str, str]:
    """A stand-in whose containers have no Python."""
    here = f'case "$1" in inspect) {inspect} ;; esac\necho "sh: python3: not found" >&2\nexit 127'
    command(folder / "bin" / "docker", here)
    return {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}"}


@pytest.mark.slow
@for_each("inspect", ["printf '\\377\\376'; exit 0", "yes 1", "echo ٣; exit 0", "exec sleep 0.1", "exit 1"])
def test_whatever_inspect_says_is_one_line(tmp_path: Path, inspect: str) -> None:
    line = refused(asked("docker:web", docker(tmp_path, inspect), "--timeout", "1"), 3)
    assert "python3 is required there but not installed" in line


@pytest.mark.slow
def test_neither_a_hanging_inspect_nor_an_endless_stderr_is_waited_for(tmp_path: Path) -> None:
    line = refused(asked("docker:web", docker(tmp_path, "exec sleep 600"), "--timeout", "0.5"), 3)
    assert "python3 is required there but not installed" in line
    line = refused(asked("kubectl:team/pod-1", kubectl(tmp_path, "exec yes x >&2"), "--timeout", "0.5"), 3)
    assert "no response in time" in line
