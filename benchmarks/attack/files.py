"""Files of every kind given to --from, explain, --config, fix and healthcheck."""

from __future__ import annotations

import gzip
import json
import os
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path

from .engine import Attack
from .ground import Ground

_READERS = (
    ["check", "--from"], ["check", "--format", "json", "--from"], ["explain"], ["healthcheck", "--from"],
    ["fix", "--from"], ["check", "--no-import", "--expect", "any", "--config"],
)  # fmt: skip
_VERSIONS = (0, 2, -1, 10**30, 1.5, "1", None, True, [], {})


def attacks(ground: Ground) -> list[Attack]:
    """Contents and kinds of files, each given to one of the commands that read files."""
    found = []
    for at, (name, data) in enumerate(_contents(ground)):
        for reader in (_READERS[at % len(_READERS)], _READERS[(at + 1) % len(_READERS)]):
            found.append(_attack(name, [*reader, "given"], partial(_given, data)))
            if reader[0] != "fix" and "--config" not in reader and at % 4 == 0:
                found.append(_attack(f"{name}, by stdin", [*reader, "-"], _nothing, data))
    for path in _PATHS:
        found += [_attack(f"path {path[:40]!r}", [*reader, path], _kinds) for reader in _READERS]
    return found


def _attack(name: str, words: list[str], setup: Callable[[Attack], object], data: bytes = b"") -> Attack:
    one = words[0] == "healthcheck"
    codes = frozenset({0, 1}) if one else frozenset({0, 1, 2, 3})
    return Attack(f"{' '.join(words)[:60]}: {name}", words, setup, data=data, codes=codes, report=not one)


def _given(data: bytes, attack: Attack) -> None:
    (attack.folder / "given").write_bytes(data)


def _nothing(attack: Attack) -> None:
    pass


def _contents(ground: Ground) -> list[tuple[str, bytes]]:
    draw, report = ground.random("files"), ground.report
    found = [(f"cut at {at}", report[:at]) for at in sorted(draw.sample(range(len(report)), 24))]
    for _ in range(12):
        data = bytearray(report)
        for _ in range(draw.randrange(1, 40)):
            data[draw.randrange(len(data))] = draw.randrange(256)
        found.append(("bytes changed", bytes(data)))
    whole = json.loads(report)
    for version in _VERSIONS:
        found.append((f"schema_version {version!r}", json.dumps({**whole, "schema_version": version}).encode()))
    found += [
        ("empty", b""),
        ("blanks", b" \n\t\r\n" * 1000),
        ("NUL bytes", b"\0" * 65536),
        ("random bytes", draw.randbytes(65536)),
        ("random bytes after a brace", b"{" + draw.randbytes(4096)),
        ("a zip's head", b"PK\x03\x04" + draw.randbytes(512)),
        ("gzip", gzip.compress(report)),
        ("a picture's head", b"\x89PNG\r\n\x1a\n" + draw.randbytes(512)),
        ("a program", Path("/bin/true").read_bytes()),
        ("a UTF-16 mark alone", b"\xff\xfe"),
        ("UTF-16 of odd length", report.decode().encode("utf-16")[:-1]),
        ("UTF-32", report.decode().encode("utf-32")),
        ("invalid UTF-8", report.replace(b"H100", b"\xc3\x28\xff")),
        ("lone surrogates", report.replace(b"H100", b"\\ud800")),
        ("NUL in a string", report.replace(b"H100", b"\\u0000")),
        ("deep lists", b"[" * 200_000),
        ("deep objects", b'{"a":' * 200_000),
        ("deep in the snapshot", b'{"schema_version": 1, "tool": {}, "snapshot": {"gpus":' + b"[" * 100_000),
        ("a long number", b'{"schema_version": ' + b"9" * 200_000 + b"}"),
        ("NaN and Infinity", b'{"schema_version": NaN, "snapshot": -Infinity}'),
        ("many keys", b"{" + b",".join(b'"k%d":%d' % (i, i) for i in range(200_000)) + b"}"),
        ("the same key again and again", b"{" + b'"schema_version":1,' * 100_000 + b'"snapshot":{}}'),
        ("over 64 MiB", b"{" + b" " * (65 << 20)),
        ("one line of 20 MB", b"CUDA error: " * 1_700_000),
        ("a million lines", b"RuntimeError: CUDA error\n" * 1_000_000),
        ("carriage returns alone", report.replace(b"\n", b"\r")),
        ("escape sequences", b"\x1b[2J\x1b]0;x\x07" * 5000 + b"RuntimeError: CUDA error: out of memory\n"),
        ("bidirectional text", ("\u202eRuntimeError: CUDA error 804\u2066\n" * 500).encode()),
        ("a blank line of 5 MB", b" " * 5_000_000 + b"x"),
        ("TOML that never ends", b"[tool.gpudoctor]\nskip = [" + b'"a",' * 100_000),
        ("deep TOML", b"[tool.gpudoctor]\nskip = " + b"[" * 100_000),
        ("TOML of wrong types", b"skip = 7\nexpect = []\nthresholds = 'x'\n"),
        ("TOML with hostile words", b'expect = "8x$(touch $TRAP)\\u202e"\nskip = ["\\u001b[31m"]\n'),
        ("TOML of huge numbers", b"[thresholds]\nstale_memory_mib = 1e999\nshm_mib = " + b"9" * 5000 + b"\n"),
    ]
    return found


_STRANGE = ("new\nline", "esc\x1b[31m", "bidi\u202e", "-dash", "$(touch $TRAP)", "\udcff\udcfe")
_PATHS = (
    "fifo", "folder", "loop", "dangling", "to-zero", "sparse", "socket", "chain0", "missing", "", ".", "/",
    "/dev/zero",
    "/dev/full", "/dev/random", "/dev/tty", "/dev/ptmx", "/proc/self/mem", "/proc/self/environ", "/proc/kmsg",
    "x" * 300,
    "a/" * 1500, "./-dash", *(name for name in _STRANGE if name != "-dash"), "folder/../fifo",
)  # fmt: skip


def _kinds(attack: Attack) -> None:
    """What is there and is no plain file, and files with odd names."""
    folder = attack.folder
    os.mkfifo(folder / "fifo")
    (folder / "folder").mkdir()
    (folder / "loop").symlink_to("loop")
    (folder / "dangling").symlink_to("nowhere")
    (folder / "to-zero").symlink_to("/dev/zero")
    (folder / "sparse").touch()
    os.truncate(folder / "sparse", 1 << 40)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "socket"))
    for at in range(60):
        (folder / f"chain{at}").symlink_to(f"chain{at + 1}")
    for name in _STRANGE:
        (folder / name).write_bytes(b"{}")
