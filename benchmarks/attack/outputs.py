"""Outputs that are full, closed, cut short, not there or somebody else's: whole, or one line that says why not."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from functools import partial

from .engine import Attack
from .ground import Ground

_OLD = "what was there before"
_WRITERS = (
    ["check", "--from", "report.json"], ["check", "--format", "json", "--from", "report.json"],
    ["check", "--format", "markdown", "--from", "report.json"], ["explain", "804"], ["list-checks"], ["schema"],
    ["matrix", "show"], ["fix", "--from", "report.json"], ["healthcheck", "--from", "report.json"], ["--help"],
)  # fmt: skip
_STREAMS = {
    "a full disk": "{it} > /dev/full",
    "a full disk, unbuffered": "PYTHONUNBUFFERED=1 {it} > /dev/full",
    "stdout closed": "{it} >&-",
    "stdin and stdout closed": "{it} <&- >&-",
    "stderr closed": "{it} 2>&-",
    "all closed": "{it} <&- >&- 2>&-",
    "stderr full": "{it} 2> /dev/full",
    "a reader that leaves at once": "set -o pipefail; {it} | true",
    "a reader that leaves after a line": "set -o pipefail; {it} | head -n 1 > /dev/null",
    "a slow reader": "set -o pipefail; {it} | { sleep 0.5; cat; }",
    "stdout opened for reading": "{it} > /dev/null 1< /dev/null",
    "a file of at most 0 blocks": "trap '' XFSZ; ulimit -f 0; {it} > limited",
    "a file of at most 1 block": "trap '' XFSZ; ulimit -f 1; {it} > limited",
}
_TOLD = ("a full disk", "a full disk, unbuffered", "stdout closed", "stdout opened for reading")
"""Where nothing can have been written, only an error is right."""


def attacks(ground: Ground) -> list[Attack]:
    """Streams of every writing command, then targets of -o."""
    setup, found = partial(_folder, ground), []
    for words in _WRITERS:
        one = words[0] == "healthcheck"
        for how, shell in _STREAMS.items():
            ended = {0, 1} if one else {0, 1, 2, 141}
            if how in _TOLD and not one:
                ended = {2}
            codes, name = frozenset(ended), f"{' '.join(words)}: {how}"
            found.append(Attack(name, words, setup, shell=shell, codes=codes, report=None))
    for name, target, good in _targets():
        for flag in (["--format", "json"], ["--format", "markdown"], []):
            words = ["check", *flag, "--from", "report.json", "-o", target]
            codes = frozenset({0, 1} if good else {2})
            found.append(Attack(f"-o {name}", words, setup, codes=codes, report=None, after=partial(_kept, good)))
    for name, target, good in _targets():
        if not good and name not in ("no name", "a folder", "a folder that is missing"):
            words = ["record", f"{target}/out", "--no-import"]
            found.append(Attack(f"record into {name}", words, setup, codes=frozenset({2}), report=None))
    return found + _mounts(setup)


def _folder(ground: Ground, attack: Attack) -> None:
    folder = attack.folder
    (folder / "report.json").write_bytes(ground.report)
    (folder / "old").write_text(_OLD)
    (folder / "folder").mkdir()
    os.mkfifo(folder / "fifo")
    (folder / "loop").symlink_to("loop")
    (folder / "link").symlink_to("target")
    (folder / "target").write_text(_OLD)
    (folder / "dangling").symlink_to("not-yet")
    (folder / "full").symlink_to("/dev/full")


def _targets() -> list[tuple[str, str, bool]]:
    """(name, path, whether the report can be there afterwards)."""
    return [
        ("an old file", "old", True),
        ("a link to a file", "link", True),
        ("a dangling link", "dangling", True),
        ("/dev/null", "/dev/null", True),
        ("/dev/full", "/dev/full", False),
        ("a link to /dev/full", "full", False),
        ("a FIFO that nobody reads", "fifo", False),
        ("a folder", "folder", False),
        ("a link to itself", "loop", False),
        ("a folder that is missing", "nowhere/x", False),
        ("a file as a folder", "old/x", False),
        ("a long name", "x" * 300, False),
        ("no name", "", False),
        ("/proc", "/proc/x", False),
        ("/sys", "/sys/x", False),
        ("an odd name", "a\nb\x1b[31m\u202e", True),
    ]


def _kept(good: bool, attack: Attack) -> str:
    """What became of the old files."""
    for name in ("old", "target"):
        text = (attack.folder / name).read_text("utf-8")
        if text != _OLD and (not good or len(text) < 500):
            return f"{name} was {_OLD!r} and is {text[:60]!r}"
    names = {path.name for path in attack.folder.iterdir()}
    extra = [name for name in names if name.startswith((".", "old.", "tmp")) or name.endswith((".tmp", "~"))]
    return f"left behind: {extra}" if extra else ""


_MEEK = "setpriv --bounding-set -dac_override,-dac_read_search"
"""Root without the right to write everywhere."""
_FULL = "mount -t tmpfs -o size=8k t folder; echo precious > folder/x; echo > folder/y"
_PRECIOUS = "grep -q precious folder/x || exit 99; exit $code"


def _mounts(setup: Callable[[Attack], object]) -> list[Attack]:
    """What only root can make: read-only folders, full file systems, a file bound over another."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        return []
    found = []
    script = {
        "a read-only folder": ("mount -t tmpfs -o ro t folder; {it}", "folder/x", {2}),
        "a file system without room": ("mount -t tmpfs -o size=4k t folder; echo > folder/y; {it}", "folder/x", {2}),
        "a file system without room, over an old file": (f"{_FULL}; {{it}}; code=$?; {_PRECIOUS}", "folder/x", {2}),
        "a folder that may not be written": (f"chmod 555 folder; {_MEEK} {{it}}", "folder/x", {2}),
        "an old file in a folder that may not be written": (f"chmod 555 .; {_MEEK} {{it}}", "old", {0, 1}),
        "an old file that may not be written": (f"chmod 444 old; chmod 555 .; {_MEEK} {{it}}", "old", {2}),
        "a file bound over another": ("mount --bind target old; {it}", "old", {0, 1}),
        "a folder without inodes": ("mount -t tmpfs -o nr_inodes=1 t folder; {it}", "folder/x", {2}),
    }  # fmt: skip
    for name, (shell, target, codes) in script.items():
        for words in (["check", "--format", "json"], ["check"]):
            words = [*words, "--from", "report.json", "-o", target]
            line = "unshare -m bash -c " + "'" + shell.replace("{it}", '"$0" "$@"') + "' {it}"
            found.append(Attack(f"-o {name}", words, setup, shell=line, codes=frozenset(codes), report=None))
    return found
