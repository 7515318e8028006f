"""When things go wrong in `fleet load`: one line for what is no answer, and the old file intact where none is made."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import random
import resource
import socket
import sqlite3
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.cli import run
from doctor.fleet.names import is_name, unfold
from doctor.guard import Refusal
from doctor.report.clean import visible

from ..cli.command import gpudoctor, one_line
from ..rows import Faults, for_each
from .spool import envelope, load, machine, measured, report, rows

HOSTILE = (
    "gpu\x1b[2J", "a'; drop table node; --", "<script>alert(1)</script>", "=cmd|'/c calc'!A1", "../../etc/passwd", "a/b",
    "x" * 10_000, "-rf", "gpu 1", "\u202egpu", "a..b", ".hidden", "gpu\n1", "@gpu", "+1", "n\x00",
)  # fmt: skip


def loaded(*words: str | Path, before: Callable[[], None] | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gpudoctor", "fleet", "load", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, preexec_fn=before)


def refusals(folder: Path, spool: Path) -> dict[str, str]:
    """File's name and line to the reason, beside one sound report."""
    (folder / "sound.jsonl").write_bytes(envelope("sound", report(machine())))
    code, db = load(spool, folder / "sound.jsonl", to=folder / "now.db")
    assert code == 0 and rows(db, "select node from node") == [("sound",)]
    found = rows(db, "select file, line, reason from refused")
    for file, _, reason in found:
        assert file == visible(file) and reason == visible(reason) and len(reason) < 500 and "\n" not in reason + file
    return {f"{Path(file).name}:{line}": reason for file, line, reason in found}


@for_each("name", HOSTILE, ids=ascii)
def test_a_hostile_name_is_refused(tmp_path: Path, name: str) -> None:
    assert not is_name(name)
    spool = tmp_path / "spool.jsonl"
    spool.write_bytes(envelope(name, report(machine(1))))
    assert "is not a valid node name" in refusals(tmp_path, spool)["spool.jsonl:1"]


def test_a_hostile_file_name_is_refused(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    for name in ("<img src=x>", "a\x1b[31mb", "=1+1", "caf\udce9", "two\nlines"):
        (spool / f"{name}.json").write_bytes(report(machine(1)))
    found = refusals(tmp_path, spool)
    assert len(found) == 5 and all("is not a valid node name" in reason for reason in found.values())


def test_what_is_no_report_is_refused_and_the_rest_goes_on(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    good = report(measured(machine(1)))
    newer = json.loads(good)
    newer["schema_version"] = 99
    text = json.loads(good)
    text["target"]["kind"] = "text"
    wrong = {
        "cut.json": good[: len(good) // 2],
        "empty.json": b"",
        "blank.json": b" \n",
        "none.json": b"null",
        "list.json": b"[1, 2]",
        "words.json": b"hello",
        "other.json": b'{"a": 1}',
        "newer.json": json.dumps(newer).encode(),
        "text.json": json.dumps(text).encode(),
        "nan.json": good.replace(b"700.25", b"NaN"),
        "huge.json": good.replace(b"700.25", b"1e999"),
        "dots.json": good.replace(b"700.25", b"7.0.2"),
        "typed.json": good.replace(b'"driver": {', b'"driver": {"cu_init": "x", "', 1).replace(b'"", "', b'"'),
        "deep.json": b'{"snapshot":' + b"[" * 100_000,
        "gone.json.gz": gzip.compress(good)[:-30],
        "plain.json.gz": good,
        "half.json.tmp": good,
        "utf16.json": good.decode().encode("utf-16")[:-3],
        "latin.json": good.replace(b"H100", b"H\xe9100"),
        "surrogate.jsonl": b'{"node": "\\ud800", "report": {}}\n',
        "lines.jsonl": b"not json\n{}\n" + envelope("late", b"{}", received=1e300) + b'{"node": "a", "repeat": 0}\n',
    }  # fmt: skip
    for name, data in wrong.items():
        (spool / name).write_bytes(data)
    found = refusals(tmp_path, spool)
    assert {name.partition(":")[0] for name in found} == set(wrong)
    assert {name for name in found if name.startswith("lines")} == {f"lines.jsonl:{n}" for n in (1, 2, 3, 4)}
    assert "newer than this gpudoctor can read" in found["newer.json:0"]
    assert "on pasted text" in found["text.json:0"]
    assert found["half.json.tmp:0"] == "half-written (.tmp)"


def test_what_cannot_be_opened_in_a_folder_is_refused(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    os.mkfifo(spool / "fifo.json")
    (spool / "gone.json").symlink_to(spool / "nothing")
    (spool / "device.json").symlink_to("/dev/zero")
    (spool / "loop").symlink_to(spool)
    (spool / "itself.json").symlink_to(spool / "itself.json")
    (spool / "folder.json").mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(spool / "socket.jsonl"))
        found = refusals(tmp_path, spool)
    names = ("fifo.json", "gone.json", "device.json", "socket.jsonl", "loop", "itself.json")
    assert set(found) == {f"{name}:0" for name in names}
    assert found["gone.json:0"] == "cannot be read: No such file or directory"
    assert found["itself.json:0"] == "cannot be read: Too many levels of symbolic links"
    assert found["loop:0"] == "is a link to a folder: it was not followed"


def test_a_file_that_is_too_large_is_refused_unread(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    with (spool / "sparse.json").open("wb") as file:
        file.truncate(1 << 36)
    assert refusals(tmp_path, spool) == {"sparse.json:0": "is over 64 MiB: too large for a report (65536 MiB)"}


@pytest.mark.slow
def test_what_is_too_large_is_refused_in_bounded_memory(tmp_path: Path) -> None:
    """A line without an end, a compressed bomb of one line, and one of many lines."""
    spool = tmp_path / "spool"
    spool.mkdir()
    with (spool / "line.jsonl").open("wb") as file:
        file.truncate(70 << 20)
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + envelope("after", report(machine(2))))
    with gzip.open(spool / "bomb.json.gz", "wb", 9) as file:
        for _ in range(100):
            file.write(bytes(1 << 20))
    with gzip.open(spool / "lines.jsonl.gz", "wb", 9) as file:
        for _ in range(100):
            file.write(b"\n" * (1 << 20))
    limit = 700 << 20
    done = loaded(
        spool, "-o", tmp_path / "now.db", before=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    )
    assert done.returncode == 0, done
    db = sqlite3.connect(tmp_path / "now.db")
    assert rows(db, "select node from node") == [("after",)]
    assert {Path(file).name for (file,) in rows(db, "select file from refused")} == {
        "line.jsonl", "bomb.json.gz", "lines.jsonl.gz",
    }  # fmt: skip


def refused(done: subprocess.CompletedProcess[str]) -> str:
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.count("\n") == 1, done
    return done.stderr


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    (tmp_path / "gpu-1.json").write_bytes(report(machine()))
    return tmp_path / "gpu-1.json"


def test_a_file_of_another_kind_is_not_replaced(tmp_path: Path, spool: Path) -> None:
    notes = b"my notes, never saved elsewhere" * 10
    (tmp_path / "text.db").write_bytes(notes)
    kinds = ("text.db", "other.db", "newer.db", "gpu-1.json")
    with sqlite3.connect(tmp_path / "other.db") as db:
        db.execute("create table mine (a)")
    load(spool, to=tmp_path / "newer.db")
    with sqlite3.connect(tmp_path / "newer.db") as db:
        db.execute("pragma user_version = 99")
    db.close()
    for name in kinds:
        before = (tmp_path / name).read_bytes()
        told = refused(loaded(spool, "-o", tmp_path / name))
        assert "fleet" in told and (tmp_path / name).read_bytes() == before
    (tmp_path / "folder").mkdir()
    assert "not a regular file" in refused(loaded(spool, "-o", tmp_path / "folder"))
    assert "not a regular file" in refused(loaded(spool, "-o", "/dev/null"))
    assert not list(tmp_path.glob("*.part"))


def foreign_files(folder: Path) -> dict[str, bytes]:
    """Files of many lines that hold no report, by what one line must say of each."""
    with sqlite3.connect(folder / "mine.db") as db:
        db.execute("create table mine (a)")
        db.executemany("insert into mine values (?)", [("line\n" * 50,)] * 50)
    db.close()
    with zipfile.ZipFile(folder / "x.zip", "w") as packed:
        packed.writestr("a.json", b"{}\n" * 5000)
    with tarfile.open(folder / "x.tar", "w") as tar:
        tar.add(folder / "mine.db")
    return {
        "an SQLite database, not a report": (folder / "mine.db").read_bytes(),
        "a zip archive: unpack it": (folder / "x.zip").read_bytes(),
        "a tar archive: unpack it": (folder / "x.tar").read_bytes(),
        "packed with xz: unpack it": lzma.compress(random.Random(1).randbytes(50_000)),
        "packed with bzip2: unpack it": bz2.compress(random.Random(2).randbytes(50_000)),
        "packed with gzip twice": gzip.compress(gzip.compress(random.Random(3).randbytes(50_000))),
        "a PDF, not a report": b"%PDF-1.7\n" + b"1 0 obj\n" * 1000,
        "a picture, not a report": b"\x89PNG\r\n\x1a\n" + random.Random(4).randbytes(50_000),
        "a program or library": Path(sys.executable).read_bytes()[:100_000],
    }


def test_a_file_of_another_kind_is_one_refused_line(tmp_path: Path) -> None:
    """Whatever its name, given by itself or in a folder, and with the rest read."""
    good = tmp_path / "gpu-1.json"
    good.write_bytes(report(machine(1)))
    with Faults() as faults:
        for words, data in foreign_files(tmp_path).items():
            for number, name in enumerate(("x.json", "x.jsonl", "x", "x.log", "x.json.gz")):
                folder = tmp_path / f"spool-{number}"
                folder.mkdir(exist_ok=True)
                (folder / name).write_bytes(
                    gzip.compress(data) if name.endswith("gz") and data[:2] != b"\x1f\x8b" else data
                )
                for path in (folder / name, folder):
                    code, db = load(good, path, to=tmp_path / "now.db")
                    with faults.of(f"{words} {name} {path.name}"):
                        assert (code, rows(db, "select node from node")) == (0, [("gpu-1",)])
                        ((line, reason),) = rows(db, "select line, reason from refused")
                        assert line == 0 and words in reason
                    db.close()


def test_a_fleet_database_is_no_input(tmp_path: Path, spool: Path) -> None:
    load(spool, to=tmp_path / "last.db")
    (tmp_path / "copy.json").write_bytes((tmp_path / "last.db").read_bytes())
    (tmp_path / "packed.gz").write_bytes(gzip.compress((tmp_path / "last.db").read_bytes()))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "last").write_bytes((tmp_path / "last.db").read_bytes())
    for given in ("last.db", "copy.json"):
        for to in ("now.db", "last.db"):
            told = refused(loaded(spool, tmp_path / given, "-o", tmp_path / to))
            assert "is a fleet load database, not a report: read it with gpudoctor fleet report" in told
    assert not (tmp_path / "now.db").exists() and sqlite3.connect(tmp_path / "last.db").execute("select 1 from node")
    for given in ("packed.gz", "folder"):
        done = loaded(spool, tmp_path / given, "-o", tmp_path / "now.db")
        assert done.returncode == 0 and done.stderr.count("\n") == 1, done
        assert "is a fleet load database, not a report" in done.stderr


def test_a_run_replaces_the_database_of_an_earlier_one_whole(tmp_path: Path, spool: Path) -> None:
    to = tmp_path / "now.db"
    load(spool, to=to)
    to.chmod(0o640)
    (tmp_path / "gpu-2.json").write_bytes(report(machine(2)))
    _, db = load(tmp_path / "gpu-2.json", to=to)
    assert rows(db, "select node from node") == [("gpu-2",)] and to.stat().st_mode & 0o777 == 0o640
    assert not list(tmp_path.glob("*.part"))


def test_where_nothing_is_read_nothing_is_written(tmp_path: Path, spool: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "nothing was written" in refused(loaded(tmp_path / "empty", "-o", tmp_path / "now.db"))
    assert "No such file" in refused(loaded(tmp_path / "gone", "-o", tmp_path / "now.db"))
    assert "needs -o FILE" in refused(loaded(spool))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "gpu-1.json"]


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, spool: Path) -> None:
    """A limit of file sizes, as of a full disk: SQLite hears of both as of a write that fails."""
    import signal

    to = tmp_path / "now.db"
    load(spool, to=to)
    before = to.read_bytes()

    def limits() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))

    assert "cannot write" in refused(loaded(spool, "-o", to, before=limits))
    assert to.read_bytes() == before and not list(tmp_path.glob("*.part"))


def test_a_folder_that_is_not_there_or_not_writable(tmp_path: Path, spool: Path) -> None:
    assert "No such file" in refused(loaded(spool, "-o", tmp_path / "gone" / "now.db"))
    assert "cannot write /proc/now.db" in refused(loaded(spool, "-o", "/proc/now.db"))


def test_a_second_run_is_refused_and_a_leftover_of_a_killed_one_is_not(tmp_path: Path, spool: Path) -> None:
    part = tmp_path / "now.db.part"
    reading, writing = os.pipe()
    words = [sys.executable, "-m", "gpudoctor", "fleet", "load", "-", "-o", str(tmp_path / "now.db")]
    with subprocess.Popen(words, stdin=reading) as running:
        os.close(reading)
        os.write(writing, b"\n")
        while not (part.exists() and part.stat().st_size):
            assert running.poll() is None
        assert "another run of gpudoctor fleet is writing it" in refused(loaded(spool, "-o", tmp_path / "now.db"))
        running.kill()
    os.close(writing)
    assert part.stat().st_size and not (tmp_path / "now.db").exists()
    assert loaded(spool, "-o", tmp_path / "now.db").returncode == 0
    assert not part.exists()


@for_each("kind", ["notes", "database", "fleet", "link"])
def test_somebodys_file_beside_the_database_stays(tmp_path: Path, spool: Path, kind: str) -> None:
    part = tmp_path / "now.db.part"
    if kind == "notes":
        part.write_bytes(b"half a database")
    elif kind == "database":
        with sqlite3.connect(part) as db:
            db.execute("create table mine (a)")
    elif kind == "fleet":
        load(spool, to=tmp_path / "other.db")
        (tmp_path / "other.db").rename(part)
    else:
        part.symlink_to(spool)
    before = part.read_bytes()
    assert "cannot write" in refused(loaded(spool, "-o", tmp_path / "now.db"))
    assert part.read_bytes() == before and not (tmp_path / "now.db").exists()


def test_a_link_is_followed_and_stays(tmp_path: Path, spool: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "now.db").symlink_to(tmp_path / "there" / "real.db")
    assert loaded(spool, "-o", tmp_path / "now.db").returncode == 0
    assert (tmp_path / "now.db").is_symlink() and (tmp_path / "there" / "real.db").stat().st_size


@for_each(
    ("nodeset", "names"),
    [
        ("a", ["a"]),
        ("a, b c\nd", ["a", "b", "c", "d"]),
        ("gpu-[001-003]", ["gpu-001", "gpu-002", "gpu-003"]),
        ("r[1-2]n[1-2],login", ["login", "r1n1", "r1n2", "r2n1", "r2n2"]),
        ("gpu-[1-9/4]", ["gpu-1", "gpu-5", "gpu-9"]),
    ],
)
def test_nodesets(nodeset: str, names: list[str]) -> None:
    pytest.importorskip("ClusterShell")
    assert sorted(unfold(nodeset)) == names


@for_each(
    "nodeset",
    [
        "",
        ",",
        "gpu-[1-",
        "gpu-[1-9999999999]",
        "a[1-1000]b[1-1000]c[1-1000]",
        "@all",
        "$(id)",
        "gpu-[x]",
        "../a",
        "[1-3",
        "a]",
    ],
)
def test_what_is_no_nodeset_is_refused(nodeset: str) -> None:
    pytest.importorskip("ClusterShell")
    with pytest.raises(Refusal) as refusal:
        unfold(nodeset)
    assert "--nodes" in str(refusal.value)


def test_an_unknown_option_is_wrong_usage() -> None:
    assert run(["fleet", "load"]) == 2


@for_each("words", ["-", "empty.jsonl", "broken.json", "photo.png"])
def test_a_database_is_not_replaced_by_nothing(words: str, tmp_path: Path) -> None:
    """Nothing answered, and no node was requested: most likely a pipe that broke."""
    (tmp_path / "one.json").write_bytes(report(machine(1)))
    assert gpudoctor("fleet", "load", "one.json", "-o", "now.db", cwd=tmp_path).returncode == 0
    (tmp_path / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n" * 100)
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "broken.json").write_text('{"schema_version": 1')
    before = (tmp_path / "now.db").read_bytes()
    done = gpudoctor("fleet", "load", words, "-o", "now.db", cwd=tmp_path)
    assert "now.db is unchanged" in one_line(done) and not done.stdout
    assert (tmp_path / "now.db").read_bytes() == before
    done = gpudoctor("fleet", "load", words, "-o", "now.db", "--nodes", "n1", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, b"0 nodes have answered, 1 did not\n")
