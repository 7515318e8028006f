"""`fleet run --on ssh`: the real OpenSSH and its server under many names; nodes that talk, hang, die or have no Python."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..cli.command import COMMAND
from ..reaction import HANG_S
from . import fleets
from .canned import H100, recorded
from .ssh_nodes import Nodes, left_over, ssh_nodes

pytestmark = [pytest.mark.sshd, pytest.mark.slow]
NOISE = """i=0; while [ $i -lt 300 ]; do echo "Welcome to $NODE! $i {\\"node\\": 1}"; i=$((i+1)); done
printf '@gpudoctor1 \\377\\n@gpudoctor1 abc 00 1/1 0 0 0 ;\\n'; echo "motd: maintenance at noon" >&2
"""
UNANSWERED = "the run ended before this node answered"
"""Of a report that is read while the run goes on."""
DIES_ONCE = "test -e {0} || {{ touch {0}; kill -9 $$; }}\n"


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    with ssh_nodes(tmp_path / "ssh", 8) as made:
        made.canned(recorded(H100, time.time()))
        yield made


def run(nodes: Nodes, database: Path, *more: str, names: str = "n[001-008]") -> subprocess.CompletedProcess[str]:
    words = [COMMAND, "fleet", "run", "--on", "ssh", "--nodes", names, "-o", database, *more]
    return subprocess.run(words, env=nodes.env, capture_output=True, text=True, timeout=HANG_S, check=False)


def begun(nodes: Nodes, database: Path, *more: str, names: str = "n[001-008]") -> subprocess.Popen[str]:
    words = [COMMAND, "fleet", "run", "--on", "ssh", "--nodes", names, "-o", database, *more]
    pipe = subprocess.PIPE
    return subprocess.Popen(words, env=nodes.env, stdout=pipe, stderr=pipe, text=True)


def reasons(found: dict[str, Any]) -> dict[str, str]:
    return {one["node"]: one["reason"] for one in found["not_examined"]}


def until(child: subprocess.Popen[str], database: Path, answered: int) -> dict[str, Any]:
    """The report once so many nodes have answered; it is read while the run goes on."""
    end = time.monotonic() + HANG_S
    while time.monotonic() < end:
        assert child.poll() is None, child.communicate()
        if database.exists() and (found := fleets.report(database)[0])["answered"] >= answered:
            return found
        time.sleep(0.2)
    raise TimeoutError(database)


def gone(folder: Path) -> None:
    end = time.monotonic() + HANG_S
    while (left := left_over(folder)) and time.monotonic() < end:
        time.sleep(0.2)
    assert not left


def test_each_node_has_an_answer_or_its_reason(nodes: Nodes, tmp_path: Path) -> None:
    folder = nodes.folder
    nodes.instead("n002", NOISE + nodes.own)
    nodes.instead("n003", "exec sleep 60")
    nodes.instead("n004", "kill -9 $$")
    nodes.instead("n005", DIES_ONCE.format(folder / "died") + nodes.own)
    nodes.instead("n006", 'PATH=/nonexistent; export PATH; exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"')
    nodes.instead("n007", f"{nodes.own.replace('exec ', '', 1)} | head -c 3000")
    done = run(nodes, tmp_path / "now.db", "--timeout", "20", names="n[001-008],unknown-key,no-login,closed")
    found, _ = fleets.report(tmp_path / "now.db")
    assert done.returncode == 3, done
    assert found["source"] == "ssh" and found["requested"] == 11
    assert found["answered"] == 4 and found["counts"]["fail"] == 0, found["counts"]
    why = reasons(found)
    assert set(why) == {"n003", "n004", "n006", "n007", "unknown-key", "no-login", "closed"}
    assert why["n003"] == "no answer in 20 s"
    assert "exited with code" in why["n004"] or "cannot reach" in why["n004"]
    assert why["n006"] == "python3 is required there but not installed"
    assert "truncated" in why["n007"]
    assert why["unknown-key"] == "its host key is not known on this machine: connect once with ssh and accept the key"
    assert why["no-login"] == "OpenSSH has no key that the host accepts (passwords are not supported)"
    assert why["closed"] == "OpenSSH cannot reach it"
    assert not found["refused"] and not found["clocks"]
    assert "n003" in done.stdout and "UNKNOWN  exit 3" in done.stdout and not done.stderr
    assert (folder / "died").exists(), "n005 was asked again"
    assert not [line for line in left_over(folder) if "sleep" not in line]


def test_the_page_s_commands(nodes: Nodes, tmp_path: Path) -> None:
    """A group of ClusterShell's, and a file of nodesets."""
    (tmp_path / "groups.conf").write_text("[Main]\ndefault: local\n[local]\nmap: echo 'n[001-003]'\n")
    (tmp_path / "nodes.txt").write_text("# the fleet\nn[001-004]\nn[004-005] # one twice\n")
    page = (Path(__file__).parents[2] / "docs" / "fleet.md").read_text("utf-8")
    (block,) = re.findall(r"<!-- ssh -->\n```sh\n(.*?)```", page, re.S)
    env = {**nodes.env, "CLUSTERSHELL_CFGDIR": str(tmp_path), "PATH": f"{COMMAND.parent}:{nodes.env['PATH']}"}
    for command, answered in zip(block.splitlines(), (5, 5), strict=True):
        subprocess.run(["sh", "-c", command], env=env, cwd=tmp_path, check=True, capture_output=True, timeout=HANG_S)
        found, _ = fleets.report(tmp_path / "now.db")
        assert found["answered"] == found["requested"] == answered and found["verdict"] == "pass"


def test_the_agent_gathers_on_the_real_machine_and_leaves_nothing(nodes: Nodes, tmp_path: Path) -> None:
    nodes.instead("n001", 'exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"')
    python = f"{sys.prefix}/bin/python"
    done = run(nodes, tmp_path / "now.db", "--expect", "any", "--python", python, names="n001")
    assert done.returncode == 0, done
    one = json.loads(
        subprocess.run(
            [COMMAND, "fleet", "report", tmp_path / "now.db", "--node", "n001", "--json"],
            capture_output=True,
            check=True,
        ).stdout
    )
    assert one["target"] == {**one["target"], "kind": "ssh", "name": "n001"}
    assert one["snapshot"]["host"]["system"] == "linux" and one["snapshot"]["python"]["patient"]["version"]
    assert one["snapshot"]["python"]["chosen_because"].startswith("--python")
    gone(nodes.folder)


def test_a_node_without_the_python_that_was_named_is_not_healthy(nodes: Nodes, tmp_path: Path) -> None:
    """A mistyped path leaves every check of torch unknown: no problem was found, because nothing was examined."""
    nodes.instead("n001", 'exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"')
    done = run(nodes, tmp_path / "now.db", "--expect", "any", "--python", "/opt/typo/bin/python", names="n001")
    found, _ = fleets.report(tmp_path / "now.db")
    assert done.returncode == 3 and found["verdict"] == "unknown" and not found["answered"], done
    (one,) = found["not_examined"]
    assert one["reason"] == "--python /opt/typo/bin/python: no Python environment found"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_everything_and_what_came_is_kept(nodes: Nodes, tmp_path: Path, number: signal.Signals) -> None:
    """Four nodes run the real agent, which waits for a Python that hangs."""
    hanging = nodes.folder / "hanging" / "bin" / "python"
    hanging.parent.mkdir(parents=True)
    hanging.write_text("#!/bin/sh\nsleep 1000 & wait\n")
    hanging.chmod(0o755)
    (hanging.parent.parent / "pyvenv.cfg").write_text("home = /nowhere\n")
    for name in nodes.names[4:8]:
        nodes.instead(name, f'export VIRTUAL_ENV={hanging.parents[1]}; exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"')
    database = tmp_path / "now.db"
    child = begun(nodes, database)
    until(child, database, 4)
    end = time.monotonic() + HANG_S
    while not any("sleep 1000" in line for line in left_over(nodes.folder)) and time.monotonic() < end:
        time.sleep(0.2)
    child.send_signal(number)
    out, err = child.communicate(timeout=HANG_S)
    assert child.returncode == (130 if number == signal.SIGINT else -number), (out, err)
    found, _ = fleets.report(database)
    assert found["answered"] == 4
    assert set(reasons(found).values()) == {"the run was stopped before this node answered"}
    assert ("4 answered" in out) == (number == signal.SIGINT)
    gone(nodes.folder)


def test_a_killed_run_keeps_what_came(nodes: Nodes, tmp_path: Path) -> None:
    for name in nodes.names[4:8]:
        nodes.instead(name, "exec sleep 30")
    database = tmp_path / "now.db"
    child = begun(nodes, database)
    live = until(child, database, 4)
    assert set(reasons(live).values()) == {UNANSWERED}
    second = run(nodes, database)
    assert second.returncode == 2 and "another run of gpudoctor fleet is writing it" in second.stderr
    child.kill()
    child.communicate()
    found, _ = fleets.report(database)
    assert found["answered"] == 4 and set(reasons(found)) == set(nodes.names[4:8]) and found["requested"] == 8
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith("now.db")] == ["now.db"]
    assert run(nodes, database, names="n[001-004]").returncode == 0, "the next run replaces it"
    assert fleets.report(database)[0]["counts"]["nodes"] == 4


def test_too_few_open_files_end_the_run_with_a_reason(nodes: Nodes, tmp_path: Path) -> None:
    words = f"ulimit -n 24; exec {COMMAND} fleet run --on ssh --nodes n[001-008] -o {tmp_path}/now.db"
    done = subprocess.run(
        ["sh", "-c", words], env=nodes.env, capture_output=True, text=True, timeout=HANG_S, check=False
    )
    assert done.returncode in (2, 3) and "Traceback" not in done.stderr, done
    gone(nodes.folder)


def test_the_whole_run_has_a_deadline(nodes: Nodes, tmp_path: Path) -> None:
    nodes.instead("n008", "exec sleep 30")
    done = run(nodes, tmp_path / "now.db", "--deadline", "6s")
    found, _ = fleets.report(tmp_path / "now.db")
    assert done.returncode == 3 and reasons(found)["n008"] == "the run's deadline came before it answered"


def test_two_hundred_nodes(tmp_path: Path) -> None:
    """One hangs: the others do not wait for it. No limit of time decides here, however slow this machine is."""
    with ssh_nodes(tmp_path / "ssh", 200) as nodes:
        nodes.canned(recorded(H100, time.time()))
        nodes.instead("n050", "exec sleep 400")
        nodes.instead("n100", "kill -9 $$")
        nodes.instead("n150", NOISE + nodes.own)
        nodes.instead("n200", 'PATH=/nonexistent; export PATH; exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"')
        hosts = tmp_path / "hosts"
        hosts.write_text("# the fleet\nn[001-150]\nn[140-200] # some twice\n")
        database = tmp_path / "db"
        words = [COMMAND, "fleet", "run", "--on", "ssh", "--hostfile", hosts, "--timeout", str(HANG_S), "-o", database]
        child = subprocess.Popen(words, env=nodes.env, stdout=subprocess.PIPE, text=True)
        while reasons(until(child, database, 197))["n200"] == UNANSWERED:
            time.sleep(1)
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=HANG_S)
        found, _ = fleets.report(database)
        assert child.returncode == 130 and "197 answered" in out and found["answered"] == 197
        why = reasons(found)
        assert set(why) == {"n050", "n100", "n200"}
        assert why["n050"] == "the run was stopped before this node answered"
        assert "exited with code" in why["n100"] or "cannot reach" in why["n100"]
        assert why["n200"] == "python3 is required there but not installed"
        assert not [line for line in left_over(nodes.folder) if "sleep" not in line]
