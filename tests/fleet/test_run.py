"""`fleet run`: what it refuses, the collector with an engine that follows a script, and a database that grows."""

from __future__ import annotations

import random
import re
import shlex
import shutil
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import doctor.fleet.engines
from doctor.commands.fleet import ENGINES
from doctor.fleet.answer import lines
from doctor.fleet.collect import collect
from doctor.fleet.gather import Event, Limits, Probe, Roster, Wish
from doctor.fleet.store.read import open_store
from doctor.guard import Refusal

from ..cli.command import gpudoctor, one_line
from ..drawn import drawn
from ..rows import for_each
from . import spool

ENGINE_FILES = Path(doctor.fleet.engines.__file__).parent
RUN = "abc"
ANSWER = random.Random(1).randbytes(600)


class Script:
    """An engine that says what it is given, for each attempt at a node, in turns; each event is a line's bytes, an end,
    or an interrupt."""

    def __init__(self, said: dict[str, list[list[Event | str]]]) -> None:
        self.said, self.attempts, self.stopped = said, Counter[str](), 0
        self.starts, self.refuses_at = 0, -1
        """The start, counted from 0, that is refused."""
        self.running: dict[str, list[Event | str]] = {}

    def nodes(self, wish: Wish) -> Roster:
        return Roster(tuple(self.said), {}, "script")

    def start(self, roster: Roster, names: Collection[str], probe: Probe) -> object:
        if self.refuses_at == self.starts:
            raise Refusal("no quota")
        self.starts += 1
        for name in names:
            turns = self.said[name]
            self.running[name] = list(turns[min(self.attempts[name], len(turns) - 1)])
            self.attempts[name] += 1
        return self.running

    def answers(self, job: object, wait_s: float) -> Iterator[Event]:
        for node, events in list(self.running.items()):
            if events and events[0] == "interrupt":
                raise KeyboardInterrupt
            if events:
                event = events.pop(0)
                assert isinstance(event, Event)
                yield event._replace(node=node)

    def stop(self, job: object, names: Collection[str] | None = None) -> str:
        for name in list(self.running) if names is None else names:
            self.running.pop(name, None)
        self.stopped += names is None
        return "" if names else "a pod"


class Kept:
    """What the collector hands on."""

    def __init__(self) -> None:
        self.answered: dict[str, bytes] = {}
        self.words: list[str] = []
        self.reasons: dict[str, str] = {}

    def answer(self, node: str, data: bytes, received: float) -> str:
        assert node not in self.answered and received > 1e9
        self.answered[node] = data
        return ""

    def failed(self, node: str, reason: str) -> None:
        assert node not in self.reasons and reason
        self.reasons[node] = reason

    def left(self, words: str) -> None:
        self.words.append(words)

    def store(self) -> None:
        """Nothing."""

    def say(self, words: str) -> None:
        assert "nodes" in words


BEGAN = Event("", "began")
LOST = Event("", "ended", reason="the connection broke", lost=True)
REFUSED = Event("", "ended", reason="no key")
GIVEN = [Event("", "line", line) for line in lines(ANSWER, RUN, 100)]
NO_PYTHON = [BEGAN, Event("", "line", b"@gpudoctor1-no abc"), Event("", "ended", reason="exit 127", lost=True)]
CUT = [BEGAN, *[event._replace(data=event.data[:90]) for event in GIVEN], Event("", "ended")]


def gathered(said: dict[str, list[list[Event | str]]], limits: Limits = Limits(60, None, 1)) -> tuple[Script, Kept]:  # noqa: B008
    engine, kept = Script(said), Kept()
    collect(engine, engine.nodes(Wish()), Probe(RUN, "", b"", 60), limits, kept)
    assert engine.stopped and not engine.running, "whatever happens, the engine is stopped"
    assert kept.answered.keys() | kept.reasons.keys() == said.keys() and not kept.answered.keys() & kept.reasons.keys()
    return engine, kept


def test_each_node_has_one_answer_or_one_reason() -> None:
    engine, kept = gathered({
        "good": [[BEGAN, *GIVEN, Event("", "ended")]],
        "again": [[BEGAN, *GIVEN[:2], LOST], [BEGAN, *GIVEN]],
        "lost": [[BEGAN, LOST]],
        "refused": [[BEGAN, REFUSED]],
        "cut": [CUT],
        "none": [NO_PYTHON],
        "old": [[BEGAN, Event("", "line", b"@gpudoctor1-no abc 3.6"), Event("", "ended")]],
        "other": [[BEGAN, Event("", "line", b"@gpudoctor1-no xyz 3.6"), *GIVEN]],
    })  # fmt: skip
    assert set(kept.answered) == {"good", "again", "other"} and set(kept.answered.values()) == {ANSWER}
    assert kept.reasons["lost"] == "the connection broke" and kept.reasons["refused"] == "no key"
    assert "truncated" in kept.reasons["cut"]
    assert kept.reasons["none"] == "python3 is required there but not installed"
    assert kept.reasons["old"] == "its python3 is 3.6, but 3.8 or newer is required"
    assert {name for name, count in engine.attempts.items() if count == 2} == {"again", "lost", "cut"}


def test_deadlines_of_a_node_and_of_the_run() -> None:
    _, kept = gathered({"hangs": [[BEGAN]], "good": [[BEGAN, *GIVEN]]}, Limits(0.3, None, 1))
    assert kept.reasons == {"hangs": "no answer in 0 s"}
    said: dict[str, list[list[Event | str]]] = {"hangs": [[BEGAN]], "waits": [[]], "good": [[*GIVEN]]}
    _, kept = gathered(said, Limits(60, 0.5, 1))
    assert kept.reasons["hangs"] == "the run's deadline came before it answered"
    assert set(kept.answered) == {"good"} and kept.reasons["waits"] == "the run's deadline came before its turn"


def test_an_interrupt_keeps_what_arrived() -> None:
    engine, kept = Script({"good": [[BEGAN, *GIVEN]], "hangs": [[BEGAN, *[BEGAN] * len(GIVEN), "interrupt"]]}), Kept()
    with pytest.raises(KeyboardInterrupt):
        collect(engine, engine.nodes(Wish()), Probe(RUN, "", b"", 60), Limits(60, None, 1), kept)
    assert set(kept.answered) == {"good"} and engine.stopped
    assert kept.reasons == {"hangs": "the run was stopped before this node answered"}


def test_what_came_is_kept_though_no_other_attempt_can_start() -> None:
    """Of a first start that is refused, nothing is kept: there is nothing."""
    engine, kept = Script({"good": [[BEGAN, *GIVEN]], "lost": [[BEGAN, LOST]]}), Kept()
    engine.refuses_at = 1
    collect(engine, engine.nodes(Wish()), Probe(RUN, "", b"", 60), Limits(60, None, 1), kept)
    assert set(kept.answered) == {"good"} and kept.reasons == {"lost": "the connection broke"}
    assert kept.words == ["a pod", "no quota"]
    engine.refuses_at = engine.starts
    with pytest.raises(Refusal, match="no quota"):
        collect(engine, engine.nodes(Wish()), Probe(RUN, "", b"", 60), Limits(60, None, 1), Kept())


EVENTS = st.lists(st.sampled_from([BEGAN, LOST, REFUSED, *GIVEN, *CUT, *NO_PYTHON]), max_size=40)


@drawn(100)
@given(st.dictionaries(st.sampled_from("abcdef"), st.lists(EVENTS, min_size=1, max_size=3), min_size=1))
def test_whatever_an_engine_says(said: dict[str, list[list[Event | str]]]) -> None:
    """Lines that are lost, damaged, mixed or repeated: an answer is whole, and no node is without an end."""
    for turns in said.values():
        for events in turns:
            events.append(REFUSED)
    engine, kept = gathered(said)
    assert set(kept.answered.values()) <= {ANSWER} and max(engine.attempts.values()) <= 2


def test_an_engine_is_one_file_with_four_functions() -> None:
    """None imports another, and what `--on` offers is there."""
    engines = {path.stem: path.read_text("utf-8") for path in ENGINE_FILES.glob("[a-z]*.py")}
    assert set(engines) == set(ENGINES)
    for name, text in engines.items():
        assert not re.search(r"^\s*(from \.[a-z_ ]|from \. )", text, re.M), name
        assert {"nodes", "start", "answers", "stop"} <= set(re.findall(r"^def ([a-z]+)\(", text, re.M)), name
        assert "report" not in re.findall(r"^from [.a-z_]*?([a-z_]+) import", text, re.M), name


REFUSALS = {
    "--on ssh -o now.db": "--on ssh needs --nodes or --hostfile",
    "--on ssh --nodes n1": "needs -o FILE",
    "--on ssh --nodes n[1 -o now.db": "--nodes",
    "--on ssh --nodes @none -o now.db": "--nodes",
    "--on ssh --nodes -oProxyCommand=x -o now.db": "--nodes",
    "--on ssh --hostfile hosts -o now.db": "hosts, line 2",
    "--on ssh --hostfile none -o now.db": "none",
    "--on ssh --nodes n1 --partition gpu -o now.db": "--partition needs --on slurm",
    "--on slurm --hostfile hosts -o now.db": "--hostfile needs --on ssh",
    "--on ssh --nodes n1 --timeout 10x -o now.db": "must be a duration",
    "--on ssh --nodes n1 --expect 8xNothing! -o now.db": "8xNothing!",
    "--on ssh --nodes n1 --python venv -o now.db": "must be an absolute path",
    "--on flux -o now.db": "'flux'",
    "--on ssh --nodes n1 --address 10.0.0.1:6379 -o now.db": "--address needs --on ray",
    "--on ray --hostfile hosts -o now.db": "--hostfile needs --on ssh",
    "--on ray --nodes n[1 -o now.db": "--nodes",
    "--on ray --address ray://10.0.0.1:10001 -o now.db": "must be HOST:PORT of the cluster's head node",
    "--on ray --address 127.0.0.1:1 -o now.db": "no Ray cluster answers at 127.0.0.1:1: Connection refused",
    "--on kubernetes": "needs -o FILE",
    "--on kubernetes --hostfile hosts -o now.db": "--hostfile needs --on ssh",
    "--on kubernetes --drain -o now.db": "--drain needs --on slurm",
    "--on ssh --nodes n1 --runtime-class nvidia -o now.db": "--runtime-class needs --on kubernetes",
    "--on ssh --nodes n1 --links --command gpudoctor -o now.db": "--links needs --on slurm",
    "--on kubernetes --links --image x --command gpudoctor -o now.db": "prove --links --nodes HOST,HOST on both",
    "--on slurm --links -o now.db": "--links needs --command",
    "--on slurm --print": "--print needs --on kubernetes",
    "--on ssh --nodes n1 --expect foo -o now.db": "no GPU named foo is in the matrix; for a newer GPU, update gpudoctor",
    "--on slurm --expect 8xH1000 -o now.db": "did you mean 8xH100",
    "--on kubernetes --expect H100:8 -o now.db": "must be gpu, any, none, a count such as 8",
    "--on ray --spec gpus.toml -o now.db": "no GPU named foo is in the matrix",
    "--on slurm --spec none.toml -o now.db": "none.toml",
    "--on slurm --spec many.toml -o now.db": "many.toml",
    "--on slurm --nodes '' -o now.db": "--nodes is empty",
    "--on slurm --partition ' ' -o now.db": "--partition is empty",
    "--on kubernetes --selector '' -o now.db": "--selector is empty",
    "--on kubernetes --runtime-class '' -o now.db": "--runtime-class is empty",
    "--on ssh --nodes n1 --python '' -o now.db": "--python is empty",
    "--on ssh --nodes n1 --spec '' -o now.db": "--spec is empty",
    "--on ray --address '' -o now.db": "--address is empty",
    "--on slurm --nodes n[1-2 --drain -o now.db": "--nodes",
    "--on kubernetes --namespace A_B -o now.db": "--namespace 'A_B' is not a valid name",
    "--on kubernetes --image 'a b' -o now.db": "--image 'a b' is not a valid name",
    "--on kubernetes --runtime-class Nvidia -o now.db": "--runtime-class 'Nvidia' is not a valid name",
    "--on slurm --wait soon -o now.db": "must be a duration",
    "--on slurm --deadline 0 -o now.db": "must be a duration",
    "--on slurm --retry 99 -o now.db": "--retry",
}


@for_each("words", REFUSALS)
def test_what_is_refused_in_one_line(words: str, tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("n1\nn1;reboot\n")
    (tmp_path / "gpus.toml").write_text('gpu = "8xfoo"\n')
    (tmp_path / "many.toml").write_text('driver = "about 570"\n')
    before = sorted(path.name for path in tmp_path.iterdir())
    done = gpudoctor("fleet", "run", *shlex.split(words), cwd=tmp_path)
    assert REFUSALS[words] in one_line(done), done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_namespace_is_of_kubernetes() -> None:
    done = gpudoctor("fleet", "clean", "--on", "slurm", "--namespace", "team")
    assert one_line(done) == "gpudoctor: --namespace needs --on kubernetes\n"


def test_a_half_written_transaction_is_undone(tmp_path: Path) -> None:
    """A killed run leaves the journal of its last transaction: a real one, made by SQLite."""
    (tmp_path / "n1.json").write_bytes(spool.report(spool.machine()))
    database, copy = tmp_path / "now.db", tmp_path / "copy" / "now.db"
    assert gpudoctor("fleet", "load", tmp_path / "n1.json", "-o", database).returncode == 0
    copy.parent.mkdir()
    with closing(sqlite3.connect(database, isolation_level=None)) as db:
        db.execute("pragma cache_size = 1")
        db.execute("begin")
        db.execute("update node set node = 'half'")
        db.executemany("insert into refused values (?, 1, 'x')", [("y" * 500,) for _ in range(2000)])
        shutil.copy(database, copy)
        shutil.copy(f"{database}-journal", f"{copy}-journal")
        assert (tmp_path / "copy" / "now.db-journal").stat().st_size
    with closing(open_store(str(copy))) as store:
        assert [node.name for node in store.nodes()] == ["n1"] and not store.refused()
    assert not (tmp_path / "copy" / "now.db-journal").exists()
