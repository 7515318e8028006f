"""How `gpudoctor explain FILE` takes large texts of every kind: processor and wall time, peak memory, and its answer.

    python benchmarks/text_kinds.py [--size MB] [--seed N] [--kinds WORD,WORD] [--keep DIR]

Texts at the input limit that cost a reader most: logs, lists, one line of megabytes, bytes that are no text, signs that
patterns stumble over. All are drawn from the seed, which is printed. gpudoctor is the one beside the Python that runs
this script. CPU is user plus system time, memory the peak resident set (wait4 of the kernel). Prints a Markdown table,
and fails where a text took longer than 5 s, ended with a traceback or with another exit code than 0, 1, 2 or 3.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

from text_rows import ROWS, SIGNS, word

LIMIT_S = 5.0
"""Wall time of a text of any kind, on a busy machine."""


class Ended(NamedTuple):
    """One run of the command."""

    cpu_s: float
    wall_s: float
    peak_mib: float
    code: int
    out: str
    err: str


def rows(kind: str, draw: Random, size: int) -> Iterator[str]:
    """Rows of a kind, of about `size` characters together."""
    made = n = 0
    while made < size:
        row = ROWS[kind](draw, n)
        yield row
        made += len(row) + 1
        n += 1


def made(kind: str, seed: int, size: int) -> bytes:
    """The text of one kind, at most `size` bytes."""
    draw = Random(f"{seed} {kind}")
    if kind in ROWS:
        return _cut("\n".join(rows(kind, draw, size)).encode(), size)
    if kind in OTHERS:
        return _cut(OTHERS[kind](draw, size), size)
    if kind.endswith(" by lines"):
        sign = SIGNS[kind.removesuffix(" by lines")]
        return _cut((sign + "\n").encode() * (size // (len(sign) + 1) + 1), size)
    return _cut(SIGNS[kind].encode() * (size // len(SIGNS[kind]) + 1), size)


def _cut(data: bytes, size: int) -> bytes:
    return data[:size].decode("utf-8", "ignore").encode() if data[:1000].isascii() else data[:size]


def _json_line(draw: Random, size: int) -> bytes:
    one = {
        f"layer{n}": {"name": f"model.layers.{n}.self_attn.q_proj", "norm": draw.random()} for n in range(size // 75)
    }
    return json.dumps(one).encode()


def _json_lines(draw: Random, size: int) -> bytes:
    one = {f"k{n}": {word(draw, 6): word(draw, 12), "version": n} for n in range(size // 75)}
    return json.dumps(one, indent=2).encode()


def _one_line(draw: Random, size: int) -> bytes:
    return " ".join(rows("log of many words", draw, size)).encode()


def _mixed(draw: Random, size: int) -> bytes:
    """Rows of all kinds, one after the other."""
    kinds = list(ROWS)
    made: list[str] = []
    total = n = 0
    while total < size:
        made.append(ROWS[kinds[n % len(kinds)]](draw, n))
        total += len(made[-1]) + 1
        n += 1
    return "\n".join(made).encode()


OTHERS: dict[str, Callable[[Random, int], bytes]] = {
    "random bytes": lambda draw, size: draw.randbytes(size),
    "random letters in one line": lambda draw, size: word(draw, size).encode(),
    "random printable signs": lambda draw, size: bytes(draw.choices(range(32, 127), k=size)),
    "random printable lines": lambda draw, size: bytes(draw.choices([10, *range(32, 127)], k=size)),
    "base64 in one line": lambda draw, size: base64.b64encode(draw.randbytes(size * 3 // 4)),
    "base64 by lines": lambda draw, size: base64.encodebytes(draw.randbytes(size * 3 // 4)),
    "JSON on one line": _json_line,
    "JSON by lines": _json_lines,
    "a log on one line": _one_line,
    "rows of all kinds": _mixed,
    "UTF-16": lambda draw, size: "\n".join(rows("log of many words", draw, size // 2)).encode("utf-16"),
    "half text, half bytes": lambda draw, size: (
        "\n".join(rows("training log", draw, size // 2)).encode() + draw.randbytes(size // 2)
    ),
    "an ELF library": lambda draw, size: b"\x7fELF\x02\x01\x01" + draw.randbytes(size // 2) + bytes(size // 2),
}
"""Texts that are no rows: (source of chance, bytes)."""
KINDS = (*OTHERS, *ROWS, *SIGNS, *(f"{kind} by lines" for kind in SIGNS))


def explained(path: Path, out: Path, limit_s: float = 120.0) -> Ended:
    """Run `gpudoctor explain` on a file; its report goes to the file `out`."""
    command = [str(Path(sys.executable).with_name("gpudoctor")), "explain", str(path), "--no-color"]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with out.open("wb") as stdout, out.with_suffix(".err").open("wb") as stderr:
        began = time.perf_counter()
        child = subprocess.Popen(
            ["timeout", "-s", "KILL", str(limit_s), *command],
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            env=env,
        )
        _, status, usage = os.wait4(child.pid, 0)
        wall_s = time.perf_counter() - began
    child.returncode = os.waitstatus_to_exitcode(status)
    said, err = out.read_text("utf-8", "replace"), out.with_suffix(".err").read_text("utf-8", "replace")
    return Ended(usage.ru_utime + usage.ru_stime, wall_s, usage.ru_maxrss / 1024, child.returncode, said, err)


def answer(ended: Ended) -> str:
    """The line of a report that says most, in short."""
    lines = [line.strip() for line in (ended.out or ended.err).splitlines() if line.strip()]
    found = next((line[2:] for line in lines if line[2:].startswith(("FAIL ", "WARN ", "UNKNOWN "))), None)
    said = found or (lines[0] if lines else "")
    return (said if len(said) < 80 else f"{said[:77]}...").replace("|", "/")


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Time, memory and answers of `gpudoctor explain` on large texts.")
    parser.add_argument("--size", type=float, default=10.0, help="MB of each text (default: 10)")
    parser.add_argument("--seed", type=int, default=20261122)
    parser.add_argument("--kinds", help="only kinds with one of these words in their names, or '=NAME'")
    parser.add_argument("--keep", type=Path, help="leave the texts in this folder")
    parser.add_argument("--make", nargs=2, metavar=("KIND", "PATH"), help="only write the text of this kind there")
    given = parser.parse_args()
    if given.make:
        Path(given.make[1]).write_bytes(made(given.make[0], given.seed, int(given.size * 1e6)))
        return 0
    wanted = [
        kind
        for kind in KINDS
        if not given.kinds
        or any(kind == word[1:] if word[:1] == "=" else word in kind for word in given.kinds.split(","))
    ]
    print(f"seed {given.seed}, {given.size:g} MB each, limit {LIMIT_S:g} s\n")
    print("| kind | CPU s | wall s | peak MiB | exit | answer |")
    print("| --- | ---: | ---: | ---: | ---: | --- |")
    bad = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for kind in wanted:
            path = folder / f"kind-{KINDS.index(kind)}.txt"
            # In a process of its own: the kernel counts the memory of who starts a command as the command's.
            same = ["--seed", str(given.seed), "--size", str(given.size)]
            subprocess.run([sys.executable, __file__, *same, "--make", kind, str(path)], check=True)
            ended = explained(path, Path(temporary, "report.txt"))
            if not given.keep:
                path.unlink()
            name = kind.replace("|", "\\|")
            print(
                f"| {name} | {ended.cpu_s:.2f} | {ended.wall_s:.2f} | {ended.peak_mib:.0f} | {ended.code} |"
                f" {answer(ended)} |",
                flush=True,
            )
            if ended.wall_s > LIMIT_S or ended.code not in (0, 1, 2, 3) or "Traceback" in ended.err:
                bad.append(kind)
    print(f"\n{len(wanted)} kinds, {len(bad)} failed{': ' if bad else ''}{', '.join(bad)}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
