"""`fleet run --command`: each node runs the gpudoctor that is installed there; through the real OpenSSH."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doctor.fleet.answer import Reader
from doctor.judge.report import REPORT_SCHEMA_VERSION

from ..cli.command import COMMAND, gpudoctor, one_line
from ..reaction import HANG_S
from ..rows import for_each
from . import fleets, spool
from .canned import asked, canned_gpudoctor
from .ssh_nodes import Nodes, left_over, ssh_nodes

needs_sshd = [pytest.mark.sshd, pytest.mark.slow]


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    with ssh_nodes(tmp_path / "ssh", 8) as made:
        yield made


def examined(number: int = 0, factor: float = 1.0, **more: Any) -> bytes:
    """What `fleet answer` says of a healthy node with two GPUs. factor: of the rates of its matmuls."""
    report = json.loads(spool.report(spool.measured(spool.machine(number), factor)))
    names = ("schema_version", "tool", "target", "policy", "redacted", "snapshot")
    made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return json.dumps({**{name: report[name] for name in names}, "generated_at": made, **more}).encode()


def run(nodes: Nodes, database: Path, *more: str | Path, names: str) -> subprocess.CompletedProcess[str]:
    words = [COMMAND, "fleet", "run", "--on", "ssh", "--nodes", names, "-o", database, *more]
    return subprocess.run(words, env=nodes.env, capture_output=True, text=True, timeout=HANG_S, check=False)


def reasons(found: dict[str, Any]) -> dict[str, str]:
    return {one["node"]: one["reason"] for one in found["not_examined"]}


def test_an_answer_is_a_report_without_findings() -> None:
    done = gpudoctor("fleet", "answer", "abc-1")
    assert done.returncode == 0 and not done.stderr
    reader = Reader("abc-1")
    (answer,) = [found for line in done.stdout.splitlines() for found in reader.feed(line)]
    report = json.loads(answer)
    assert report["schema_version"] == REPORT_SCHEMA_VERSION and report["redacted"] is True
    assert report["tool"]["name"] == "gpudoctor" and report["snapshot"]["host"]["system"] == "linux"
    assert report.keys() == {
        "schema_version", "tool", "generated_at", "target", "policy", "redacted", "snapshot"
    }  # fmt: skip


def test_a_run_has_a_name() -> None:
    assert "32 letters and digits" in one_line(gpudoctor("fleet", "answer", "a b"))
    assert "no Python environment found" in one_line(gpudoctor("fleet", "answer", "abc", "--python", "/nonexistent"))


def test_an_answer_ends_with_its_reader(tmp_path: Path) -> None:
    """A Python that hangs is being examined: its process ends too."""
    hanging = tmp_path / "hanging" / "bin" / "python"
    hanging.parent.mkdir(parents=True)
    hanging.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid; sleep 1000 & wait\n")
    hanging.chmod(0o755)
    (hanging.parent.parent / "pyvenv.cfg").write_text("home = /nowhere\n")
    words = [COMMAND, "fleet", "answer", "abc", "--python", hanging.parents[1], "--timeout", "3600s"]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    end = time.monotonic() + HANG_S
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
        assert child.poll() is None and time.monotonic() < end, child.communicate()
        time.sleep(0.1)
    assert child.stdout is not None
    child.stdout.close()
    assert child.wait(HANG_S) == -signal.SIGTERM
    pid = int((tmp_path / "pid").read_text())
    while Path(f"/proc/{pid}").exists() and "zombie" not in Path(f"/proc/{pid}/status").read_text():
        assert time.monotonic() < end
        time.sleep(0.1)


class TestBySsh:
    pytestmark = needs_sshd

    def test_each_node_has_its_own(self, nodes: Nodes, tmp_path: Path) -> None:
        """The real one in several words, one from its home folder, none, one that is too old, newer, broken, or hangs."""
        own = canned_gpudoctor(tmp_path / "own")
        (own.parent / "n001.json").write_bytes(examined(1))
        newer = {"schema_version": REPORT_SCHEMA_VERSION + 1, "tool": {"name": "gpudoctor", "version": "99.1"}}
        (own.parent / "n003.json").write_bytes(examined(3, **newer))
        (own.parent / "n004.json").write_bytes(b'{"schema_version": 1, "snapshot": {}}, "node": "n001"}')
        words = f"env 'WHY=a b $X' {tmp_path}/bin/gpudoctor"
        script = 'test "$WHY" = "a b \\$X" || exit 9\n'
        ways = {
            "n001": f'exec {own} "$@"',
            "n002": f'exec {COMMAND} "$@"',
            "n003": f'exec {own} "$@"',
            "n004": f'exec {own} "$@"',
            "n005": f'echo welcome; shift; exec {COMMAND} flet "$@"',
            "n006": "echo Traceback; echo \"ModuleNotFoundError: No module named 'msgspec'\" >&2; exit 1",
            "n007": "exec sleep 60",
        }
        (tmp_path / "bin").mkdir()
        for name, way in ways.items():
            home = tmp_path / "bin" / name
            home.mkdir()
            (home / "gpudoctor").write_text(f"#!/bin/sh\n{script}{way}\n")
            (home / "gpudoctor").chmod(0o755)
            nodes.instead(name, nodes.own)
        (tmp_path / "bin" / "gpudoctor").write_text(
            f'#!/bin/sh\ntest -x {tmp_path}/bin/$NODE/gpudoctor || exit 127\nexec {tmp_path}/bin/$NODE/gpudoctor "$@"\n'
        )
        (tmp_path / "bin" / "gpudoctor").chmod(0o755)
        database = tmp_path / "now.db"
        done = run(nodes, database, "--command", words, "--timeout", "30s", "--expect", "any", names="n[001-008]")
        found, _ = fleets.report(database)
        assert done.returncode == 3 and not done.stderr, done
        assert found["answered"] == 2 and found["counts"]["fail"] == 0, found
        why = reasons(found)
        assert why["n003"] == (
            f"its gpudoctor 99.1 writes report schema {REPORT_SCHEMA_VERSION + 1}, but this one reads only up to "
            f"{REPORT_SCHEMA_VERSION}: update gpudoctor here"
        )
        assert "its answer is not a gpudoctor report" in why["n004"]
        assert why["n005"] == "its gpudoctor is too old for fleet run --command: update it there"
        assert why["n006"].endswith("ended with exit code 1: ModuleNotFoundError: No module named 'msgspec'")
        assert why["n007"] == "no answer in 30 s"
        assert why["n008"].endswith(
            "was not found there: install gpudoctor on the node, or give its path with --command"
        )
        one = json.loads(gpudoctor("fleet", "report", database, "--node", "n002", "--json").stdout)
        assert one["target"]["kind"] == "ssh" and one["target"]["name"] == "n002"
        end = time.monotonic() + HANG_S
        while (left := left_over(nodes.folder)) and time.monotonic() < end:
            time.sleep(0.2)
        assert not left

    def test_a_command_that_fails_without_a_word(self, nodes: Nodes, tmp_path: Path) -> None:
        nodes.instead("n001", nodes.own)
        done = run(nodes, tmp_path / "now.db", "--command", "false", names="n001")
        found, _ = fleets.report(tmp_path / "now.db")
        assert done.returncode == 3 and reasons(found) == {"n001": "false ended with exit code 1"}

    def test_the_python_and_the_time_are_handed_on(self, nodes: Nodes, tmp_path: Path) -> None:
        own = canned_gpudoctor(tmp_path / "own")
        (own.parent / "n001.json").write_bytes(examined(1))
        nodes.instead("n001", f"export HOME={tmp_path}; {nodes.own}")
        more = ("--command", "~/own/gpudoctor", "--python", "/opt/venv/bin/python", "--timeout", "2m")
        done = run(nodes, tmp_path / "now.db", *more, names="n001")
        assert done.returncode == 0, done
        assert asked(own) == ["n001 --timeout=120 --python=/opt/venv/bin/python"]

    def test_the_page_s_commands(self, nodes: Nodes, tmp_path: Path) -> None:
        own = canned_gpudoctor(tmp_path / "own")
        page = (Path(__file__).parents[2] / "docs" / "fleet.md").read_text("utf-8")
        (block,) = re.findall(r"<!-- command -->\n```sh\n(.*?)```", page, re.S)
        for number, name in enumerate(nodes.names[:4], 1):
            (own.parent / f"{name}.json").write_bytes(examined(number))
            nodes.instead(name, nodes.own)
        env = {**nodes.env, "PATH": f"{COMMAND.parent}:{nodes.env['PATH']}"}
        for line, arguments in zip(block.splitlines(), ("--timeout=120", "--timeout=300 --prove=quick"), strict=True):
            command = line.replace("/opt/gpudoctor/bin/gpudoctor", str(own)).replace("n[1-4]", "n[001-004]")
            subprocess.run(
                ["sh", "-c", command], env=env, cwd=tmp_path, check=True, capture_output=True, timeout=HANG_S
            )
            assert fleets.report(tmp_path / "now.db")[0]["answered"] == 4
            assert asked(own)[-1].partition(" ")[2] == arguments

    def test_what_looks_slow_is_measured_twice_more(self, tmp_path: Path) -> None:
        """n003 stays slow, n005 is not slow again, n007 hangs then: only these three are asked again."""
        own = canned_gpudoctor(tmp_path / "own")
        wrapper, database = tmp_path / "gpudoctor", tmp_path / "now.db"
        again = f"test $NODE = n007 && grep -q n007 {own.parent}/asked && exec sleep 30"
        wrapper.write_text(f'#!/bin/sh\n{again}\nexec {own} "$@"\n')
        wrapper.chmod(0o755)
        names = [f"n{number:03d}" for number in range(1, 25)]
        with ssh_nodes(tmp_path / "ssh", 24) as nodes:
            for number, name in enumerate(names, 1):
                factor = 0.7 if name in ("n003", "n005", "n007") else 1.0
                (own.parent / f"{name}.json").write_bytes(examined(number, factor))
                nodes.instead(name, nodes.own)
            for repeat in (2, 3):
                (own.parent / f"n005.{repeat}.json").write_bytes(examined(5))
            more = ("--command", wrapper, "--prove", "--timeout", "25s", "--expect", "any")
            done = run(nodes, database, *more, names="n[001-024]")
        found, _ = fleets.report(database)
        assert done.returncode == 0 and found["answered"] == 24, done
        assert sorted(done.stderr.splitlines()) == [
            f"gpudoctor: n007 was not measured again ({repeat} of 3): no answer in 25 s" for repeat in (2, 3)
        ]
        assert {one["node"] for one in found["slow"]} == {"n003"} and not found["lagging"], found["slow"]
        assert {one["node"] for one in found["once"]} == {"n007"}
        calls = [line.split()[0] for line in asked(own)]
        assert sorted(calls) == sorted([*names, "n003", "n003", "n005", "n005"])
        assert {line.partition(" ")[2] for line in asked(own)} == {"--timeout=25 --prove=quick"}

    def test_a_deadline_in_a_repeated_measurement_starts_no_other(self, tmp_path: Path) -> None:
        own = canned_gpudoctor(tmp_path / "own")
        wrapper, database = tmp_path / "gpudoctor", tmp_path / "now.db"
        again = (
            f"test $NODE = n003 && grep -q n003 {own.parent}/asked && echo again >> {tmp_path}/again && exec sleep 90"
        )
        wrapper.write_text(f'#!/bin/sh\n{again}\nexec {own} "$@"\n')
        wrapper.chmod(0o755)
        with ssh_nodes(tmp_path / "ssh", 8) as nodes:
            for number, name in enumerate(nodes.names[:8], 1):
                (own.parent / f"{name}.json").write_bytes(examined(number, 0.7 if name == "n003" else 1.0))
                nodes.instead(name, nodes.own)
            more = ("--command", wrapper, "--prove", "--deadline", "20s", "--expect", "any")
            done = run(nodes, database, *more, names="n[001-008]")
        found, _ = fleets.report(database)
        assert done.returncode == 0 and found["answered"] == 8, done
        assert done.stderr == (
            "gpudoctor: n003 was not measured again (2 of 3): the run's deadline came before it answered\n"
            "gpudoctor: n003 was not measured again (3 of 3): the deadline of the run came first\n"
        )
        assert {one["node"] for one in found["once"]} == {"n003"} and not found["slow"]
        assert (tmp_path / "again").read_text() == "again\n", "the third was not even started"

    @pytest.mark.torch_wheel
    def test_figures_are_measured_on_the_node_and_stored(self, nodes: Nodes, with_torch: Path, tmp_path: Path) -> None:
        """The real gpudoctor and torch, on the CPU: this machine has no GPU."""
        wrapper = tmp_path / "gpudoctor"
        wrapper.write_text(f'#!/bin/sh\nexec {COMMAND} "$@" --device cpu\n')
        wrapper.chmod(0o755)
        for name in ("n001", "n002"):
            nodes.instead(name, nodes.own)
        database = tmp_path / "now.db"
        more = ("--command", wrapper, "--prove", "quick", "--expect", "any", "--python", with_torch)
        done = run(nodes, database, *more, names="n[001-002]")
        assert done.returncode == 0 and not done.stderr, done
        words = ("--query", "select node, figure, value, repeat from figure where figure like 'm%'", "--json")
        rows = json.loads(gpudoctor("fleet", "report", database, *words).stdout)
        assert {row["node"] for row in rows} == {"n001", "n002"} and all(row["value"] > 0 for row in rows), rows
        assert {row["repeat"] for row in rows} == {1}

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_a_signal_ends_it_on_the_node(self, nodes: Nodes, tmp_path: Path, number: signal.Signals) -> None:
        """The real gpudoctor, which examines a Python that hangs."""
        hanging = nodes.folder / "hanging" / "bin" / "python"
        hanging.parent.mkdir(parents=True)
        hanging.write_text("#!/bin/sh\nsleep 1000 & wait\n")
        hanging.chmod(0o755)
        (hanging.parent.parent / "pyvenv.cfg").write_text("home = /nowhere\n")
        nodes.instead("n001", nodes.own)
        words = [
            COMMAND,
            "fleet",
            "run",
            "--on",
            "ssh",
            "--nodes",
            "n001",
            "-o",
            tmp_path / "now.db",
            "--timeout",
            "1h",
        ]
        words += ["--command", str(COMMAND), "--python", hanging.parents[1]]
        child = subprocess.Popen(words, env=nodes.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + HANG_S
        while not any("sleep 1000" in line for line in left_over(nodes.folder)):
            assert child.poll() is None and time.monotonic() < end, child.communicate()
            time.sleep(0.2)
        child.send_signal(number)
        child.communicate(timeout=HANG_S)
        while (left := left_over(nodes.folder)) and time.monotonic() < end:
            time.sleep(0.2)
        assert not left


REFUSALS = {
    "--prove": "--prove needs --command",
    "--prove proof --command gpudoctor": "'proof' is not one of",
    "--command ''": "--command needs the command that runs gpudoctor",
    "--command 'gpudoctor \"x'": "no closing quotation",
    "--command \"it's 'a'\"": "no closing quotation",
    '--command gpudoctor --python "/x\'y"': '--python "/x\'y": its words cannot contain single quotes',
    "--command '\"it'\"'\"'s\"'": "cannot contain single quotes",
}


@for_each("words", REFUSALS)
def test_what_is_refused_in_one_line(words: str, tmp_path: Path) -> None:
    done = gpudoctor("fleet", "run", "--on", "ssh", "--nodes", "n1", "-o", "now.db", *shlex.split(words), cwd=tmp_path)
    assert REFUSALS[words] in one_line(done), done.stderr
    assert not list(tmp_path.iterdir())
