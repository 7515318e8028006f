"""Files of a spool as tools write them: behind names, with marks and line ends of others, and under any ending."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import sqlite3
from pathlib import Path

from doctor.commands.record import record

from ..cli.command import gpudoctor
from ..rows import for_each
from .spool import envelope, load, machine, report, rows


def indented(number: int, indent: int = 2) -> bytes:
    return json.dumps(json.loads(report(machine(number))), indent=indent).encode()


def behind(name: str, text: bytes) -> list[bytes]:
    return [name.encode() + line for line in text.splitlines()]


def compact(number: int) -> bytes:
    return json.dumps(json.loads(report(machine(number)))).encode()


def nodes(db: sqlite3.Connection) -> list[str]:
    return [node for (node,) in rows(db, "select node from node where state = 'answered' order by 1")]


@for_each("before", ["node7: ", "[node7] ", "node7:", "[node7]: "])
@for_each("end", [b"\n", b"\r\n"])
def test_a_name_before_a_line_is_the_nodes(tmp_path: Path, before: str, end: bytes) -> None:
    for text in (compact(1), indented(1), indented(1, 0)):
        (tmp_path / "all.jsonl").write_bytes(end.join(behind(before, text)) + end)
        code, db = load(tmp_path / "all.jsonl", to=tmp_path / "now.db")
        assert (code, nodes(db), rows(db, "select * from refused")) == (0, ["node7"], [])


@for_each("before", ["0: ", "[1,0]<stdout>:", "[3] ", "[prterun-head-7@1,2]<stdout>: "])
def test_the_number_of_a_task_is_no_node(tmp_path: Path, before: str) -> None:
    (tmp_path / "all.jsonl").write_bytes(
        before.encode() + compact(1) + b"\n" + before.encode() + envelope("a", report(machine(2)))
    )
    code, db = load(tmp_path / "all.jsonl", to=tmp_path / "now.db")
    assert (code, nodes(db)) == (0, ["a"])
    assert "names no node" in rows(db, "select reason from refused where line = 1")[0][0]


def test_reports_of_several_nodes_stand_between_each_other(tmp_path: Path) -> None:
    one, two = behind("n1: ", indented(1)), behind("n2: ", indented(2))
    mixed = [line for pair in zip(one, two, strict=False) for line in pair]
    cut = behind("n3: ", indented(3))[:40]
    words = [b"n4: bash: gpudoctor: command not found", b"pdsh@head: n5: ssh exited with exit code 255"]
    (tmp_path / "out.txt").write_bytes(b"\n".join([*cut, *mixed, *words, one[-1]]) + b"\n")
    code, db = load(tmp_path / "out.txt", to=tmp_path / "now.db", nodes="n1,n2,n3,n4,n5,n6")
    assert (code, nodes(db)) == (0, ["n1", "n2"])
    why = dict(rows(db, "select node, reason from node where state = 'no-answer'"))
    assert "it is truncated" in why["n3"] and "command not found" in why["n4"] and "exit code 255" in why["n5"]
    assert why["n6"] == ""


@for_each("text, found", [
    (b"\xef\xbb\xbf" + envelope("a", report(machine(1))), ["a"]),
    (envelope("a", report(machine(1))) + b"\xef\xbb\xbf" + envelope("b", report(machine(2))), ["a", "b"]),
    (envelope("a", report(machine(1))).decode().encode("utf-16"), ["a"]),
    (envelope("a", report(machine(1))).replace(b"\n", b"\r\n") * 2, ["a"]),
    (b"\xef\xbb\xbfn1: " + compact(1) + b"\r\n\xef\xbb\xbf", ["n1"]),
], ids=["bom", "two", "utf-16", "crlf", "all"])  # fmt: skip
@for_each("name", ["x.jsonl", "x.json", "x.NDJSON", "x.txt", "x", "x.log", "x.jsonl.gz", "x.GZ"])
def test_marks_and_line_ends_of_others_are_none_of_the_report(
    tmp_path: Path, text: bytes, found: list[str], name: str
) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    (spool / name).write_bytes(gzip.compress(text) if name.lower().endswith("gz") else text)
    code, db = load(spool, to=tmp_path / "now.db")
    assert (code, nodes(db)) == (0, found)
    assert not [reason for (reason,) in rows(db, "select reason from refused") if "not JSON" not in reason]


def test_each_file_of_a_spool_is_read_refused_or_told(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    read = ["a.json", "b.JSON", "c.txt", "d", "e.Json.GZ", "f.cluster.local"]
    for number, name in enumerate(read):
        text = indented(number) if number % 2 else compact(number)
        (spool / name).write_bytes(gzip.compress(text) if name.endswith("GZ") else text)
    (spool / "linked").symlink_to(tmp_path)
    refused = ["g.json.tmp", "h.json.part", "i.json.zst", "j.txt", "k", "l.json~", "m.json.bak"]
    others = ["README.md", "run.sh", "old.db", ".hidden"]
    for name in refused + others:
        (spool / name).write_bytes(b"" if name == "k" else b"something")
    done = gpudoctor("fleet", "load", spool, "-o", spool / "now.db", "--jobs", "1")
    assert done.returncode == 0, done
    db = sqlite3.connect(spool / "now.db")
    assert nodes(db) == ["a", "b", "c", "d", "e", "f.cluster.local"]
    others = [*others, "linked"]
    assert sorted(Path(file).name for (file,) in rows(db, "select file from refused")) == sorted(refused + others)
    told = done.stderr.decode()
    assert "5 files of other kinds were not read" in told and all(name in told for name in others)
    assert f"(and {len(refused) - 1} more; see the table 'refused')" in told
    again = gpudoctor("fleet", "load", spool, "-o", spool / "now.db", "--jobs", "1")
    assert again.stderr.decode() == told


def test_a_log_names_no_node_by_its_own_name(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    (spool / "slurm-12.out").write_bytes(indented(1))
    code, db = load(spool, to=tmp_path / "now.db")
    assert code == 3 and nodes(db) == [] and "names no node" in rows(db, "select reason from refused")[0][0]


@for_each("ends", [b"{", b"[", b",", b":", b'"', b"5", b"}"])
def test_documents_one_after_the_other(ends: bytes, tmp_path: Path) -> None:
    """One that is cut, wherever that is, takes none of those after it with it."""
    three = [
        json.dumps(json.loads(envelope(name, report(machine(n)))), indent=2).encode() for n, name in enumerate("abc")
    ]
    cut = three[1][: three[1].index(ends, len(three[1]) // 2) + 1]
    (tmp_path / "all.json").write_bytes(b"\n".join([three[0], cut, three[2]]) + b"\n")
    code, db = load(tmp_path / "all.json", to=tmp_path / "now.db")
    assert (code, nodes(db)) == (0, ["a", "c"])
    assert ["it is truncated" in reason for (reason,) in rows(db, "select reason from refused")] == [True]


def test_a_recording_is_judged_here_under_its_folders_name(tmp_path: Path) -> None:
    """As check --replay does; one that cannot be read is refused, and is the answer of its node."""
    spool = tmp_path / "spool"
    (spool / "gpu-2").mkdir(parents=True)
    (spool / "gpu-1.json").write_bytes(compact(1))
    assert record.main([str(spool / "gpu-2"), "--no-import", "--timeout", "5"], standalone_mode=False) == 0
    shutil.copytree(spool / "gpu-2", spool / "racks" / "gpu-3")
    (spool / "racks" / "gpu-3" / "nvml.jsonl").write_bytes(b"[]\n")
    code, db = load(spool, to=tmp_path / "now.db", nodes="gpu-1,gpu-2,gpu-3")
    assert (code, nodes(db)) == (0, ["gpu-1", "gpu-2"])
    ((judged, verdict),) = rows(db, "select judged, verdict from node where node = 'gpu-2'")
    assert (judged, verdict) == ("here", json.loads(gpudoctor(
        "check", "--replay", spool / "gpu-2", "--format", "json").stdout)["verdict"])  # fmt: skip
    ((file, line, reason),) = rows(db, "select * from refused")
    assert Path(file).name == "gpu-3" and line == 0 and "nvml.jsonl" in reason
    assert "its answer was rejected" in rows(db, "select reason from node where node = 'gpu-3'")[0][0]
    for format_ in ("json", "text"):
        again = gpudoctor("fleet", "report", tmp_path / "now.db", "--node", "gpu-2", "--format", format_)
        replayed = gpudoctor("check", "--replay", spool / "gpu-2", "--format", format_)
        assert _without_times(again.stdout) == _without_times(replayed.stdout)


def _without_times(text: bytes) -> bytes:
    return re.sub(rb'"generated_at": "[^"]*"|"duration_ms": [\d.]+', b"", text)


@for_each("name", ["-", "spool/gpu-1.json", "spool/answers.log", "spool/no-end"])
def test_a_gzip_file_is_known_by_how_it_begins(name: str, tmp_path: Path) -> None:
    """A stream has no name, and what copied the file may have changed it."""
    packed = gzip.compress(envelope("gpu-1", report(machine(1))))
    (tmp_path / "spool").mkdir()
    if name != "-":
        (tmp_path / name).write_bytes(packed)
    done = gpudoctor("fleet", "load", name, "-o", "now.db", data=packed, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"1 node has answered\n", b"")


@for_each("others", [["README.md"], ["notes.csv", ".gitignore", "key.pem"], ["a link"]])
def test_files_of_another_kind_are_listed_and_leave_nothing_unknown(others: list[str], tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    (spool / "n1.json").write_bytes(report(machine(1)))
    for name in others:
        (spool / name).symlink_to(tmp_path) if name == "a link" else (spool / name).write_text("a,b\n")
    assert gpudoctor("fleet", "load", spool, "-o", tmp_path / "now.db", "--jobs", "1").returncode == 0
    for flags in ((), ("--fail-on", "unknown"), ("--mask-nodes",)):
        done = gpudoctor("fleet", "report", tmp_path / "now.db", *flags)
        assert done.returncode == 0, done
        count = len(others)
        assert f"{count} file{'s' if count > 1 else ''} refused" in done.stdout.decode().splitlines()[0]
        assert (
            done.stdout.decode().count("is a link to a folder" if others == ["a link"] else "is not a gpudoctor report")
            == count
        )
    (spool / "n2.json").write_bytes(b"{}")
    gpudoctor("fleet", "load", spool, "-o", tmp_path / "now.db", "--jobs", "1")
    done = gpudoctor("fleet", "report", tmp_path / "now.db", "-q")
    assert done.returncode == 3 and b"but 1 file could not be read" in done.stdout, done


SECRETS = {
    "a token": "ghp_0123456789abcdefghijABCDEFGHIJ012345",
    "a variable": "export HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyzABCDEF",
    "a URL": "fetching https://bob:s3cretpw99@host.example/x",
    "a password": "sshpass: password: hunter2hunter",
    "a key": "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj",
    "a token that the cut meets": "x" * 64 + " ghp_0123456789abcdefghijABCDEFGHIJ012345",
    "a token that the cut halves": "retry of " * 7 + "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijkl",
}
TELLING = ("ghp_", "hf_a", "s3cret", "hunter2", "MIIEv", "eyJh")


@for_each("what", SECRETS)
def test_no_secret_of_a_refused_line_is_shown(what: str, tmp_path: Path) -> None:
    """Not on stderr, in no format, in no table; also where it stands in the place of a node's name or a reason."""
    secret = SECRETS[what]
    lines = [secret.encode() + b"\n"]
    lines += [json.dumps({"node": secret + " " * 40, "report": {}}).encode() + b"\n"]
    lines += [json.dumps({"node": "n7", "reason": "w" * 370 + " " + secret}).encode() + b"\n"]
    (tmp_path / "all.jsonl").write_bytes(b"".join(lines) + envelope("n1", report(machine(1))))
    told = gpudoctor(
        "fleet", "load", tmp_path / "all.jsonl", "-o", tmp_path / "now.db", "--jobs", "1", "--nodes", "n1,n7"
    )
    assert told.returncode == 0 and b"refused" in told.stderr, told
    texts = [told.stderr.decode(), (tmp_path / "now.db").read_bytes().decode("latin-1")]
    for format_ in ("text", "json", "markdown", "html", "csv"):
        texts.append(gpudoctor("fleet", "report", tmp_path / "now.db", "--format", format_, "-v").stdout.decode())
    assert not [(number, word) for number, text in enumerate(texts) for word in TELLING if word in text]
