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
from uuid import UUID

LIMIT_S = 5.0
"""Wall time of a text of any kind, on a busy machine."""
Row = Callable[[Random, int], str]
_WORDS = ("driver", "cuda", "the", "torch", "version", "error", "step", "gpu", "memory", "library", "failed", "loaded",
          "device", "node", "is", "not", "of", "model", "layer", "kernel", "runtime", "found", "with")  # fmt: skip


class Ended(NamedTuple):
    """One run of the command."""

    cpu_s: float
    wall_s: float
    peak_mib: float
    code: int
    out: str
    err: str


def _word(draw: Random, length: int = 10) -> str:
    return "".join(draw.choices("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", k=length))


def _prose(draw: Random, words: int = 12) -> str:
    return " ".join(draw.choice(_WORDS) for _ in range(words))


def _clock(n: int) -> str:
    return f"2026-11-{n // 86400 % 28 + 1:02}T{n // 3600 % 24:02}:{n // 60 % 60:02}:{n % 60:02}"


def _address(draw: Random) -> str:
    return ".".join(str(draw.randrange(256)) for _ in range(4))


def _mac(draw: Random) -> str:
    return ":".join(f"{draw.randrange(256):02x}" for _ in range(6))


ROWS: dict[str, Row] = {
    "training log": lambda d, n: (
        f"{_clock(n)} INFO [trainer.py:{n % 900}] step {n} loss {d.random():.6f} lr {d.random() * 1e-4:.3e}"
        f" tokens/s {d.randint(1000, 9000)}"
    ),
    "log of many words": lambda d, n: f"{_clock(n)} {_word(d)} {_prose(d)} {_word(d, 6)}={_word(d, 12)}",
    "pip list": lambda d, n: (
        f"{_word(d, 8).lower()}-{_word(d, 4).lower()}{'':12}{d.randrange(20)}.{d.randrange(30)}.{n}"
    ),
    "pip freeze of nvidia": lambda d, n: f"nvidia-{_word(d, 6).lower()}-cu12=={d.randrange(20)}.{d.randrange(30)}.{n}",
    "GPU lines": lambda d, n: f"GPU {n}: NVIDIA A100-SXM4-80GB (UUID: GPU-{UUID(int=d.getrandbits(128))})",
    "nvidia-smi rows": lambda d, n: (
        f"|{n % 100:4}  NVIDIA H100 80GB HBM3          On  | 00000000:{n % 256:02X}:00.0 Off |{d.randrange(9):21} |\n"
        f"| N/A   {d.randrange(90)}C    P0    {d.randrange(700)}W / 700W |  {d.randrange(81559):6}MiB / 81559MiB |     "
        f"{d.randrange(99)}%      Default |"
    ),
    "nvidia-smi tables": lambda d, n: (
        f"{_clock(n)}\n| NVIDIA-SMI {d.randrange(600)}.{n % 100}.01   Driver Version: {d.randrange(600)}.{n % 100}.01"
        f"   CUDA Version: 12.{n % 9} |\n|===============================+======================|"
    ),
    "Xid lines": lambda d, n: (
        f"[{n}.{d.randrange(10**6):06}] NVRM: Xid (PCI:0000:{n % 256:02x}:00): {d.randrange(1, 160)}, pid={n},"
        f" name={_word(d, 6)}, Ch {d.randrange(99):08x}"
    ),
    "NVRM messages": lambda d, n: f"[{n}.{n % 997:06}] NVRM: {_prose(d, 9)} {_word(d, 6)}",
    "tracebacks": lambda d, n: (
        f'Traceback (most recent call last):\n  File "/opt/{_word(d, 6)}/train.py", line {n}, in <module>\n'
        f"    model.to('cuda')\n  File \"/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py\", line {n},"
        f" in to\n    return self._apply(convert)\nRuntimeError: CUDA error: {_prose(d, 6)} {_word(d, 5)}"
    ),
    "errors of words": lambda d, n: f"ERROR: {_word(d, 6)}: {_prose(d, 8)} CUDA error: {_prose(d, 4)}",
    "KEY=VALUE": lambda d, n: f"{_word(d, 6).upper()}_{n}={_word(d, 20)}",
    "tokens and keys": lambda d, n: f"{d.choice(('API_KEY', 'token', 'password', 'secret'))}_{n}: {_word(d, 24)}",
    "users and hosts": lambda d, n: f"user{n}_{_word(d, 5)}@host{n}:~/runs$ ssh {_word(d, 6)}@node{n}.cluster.local",
    "homes": lambda d, n: f'  File "/home/{_word(d, 8)}/project/a.py", line {n}',
    "logins": lambda d, n: f"docker login -u {_word(d, 6)} -p {_word(d, 16)} registry-{n}",
    "YAML": lambda d, n: f"{'  ' * (n % 12)}{_word(d, 8)}:{'' if n % 3 else ' ' + _word(d, 12)}",
    "Kubernetes manifests": lambda d, n: (
        f"---\nkind: Secret\nmetadata:\n  name: {_word(d, 8)}\ndata:\n  {_word(d, 6)}: {_word(d, 40)}"
    ),
    "Markdown table": lambda d, n: f"| {_word(d, 8)} | {_word(d, 12)} | {n} |",
    "HTML": lambda d, n: f"<tr><td>{_word(d, 8)}</td><td>{_word(d, 8)} &amp; {n}</td></tr>",
    "CSV": lambda d, n: (
        f"{n}, NVIDIA A100-SXM4-40GB, {d.randrange(400, 600)}.{n % 99}.02, {d.randrange(40960)} MiB, {_word(d, 6)}"
    ),
    "URLs": lambda d, n: f"https://{_word(d, 8)}.example.com/{_word(d, 8)}?id={_word(d, 12)}&token={_word(d, 20)}",
    "UUIDs": lambda d, n: str(UUID(int=d.getrandbits(128))),
    "addresses": lambda d, n: f"{_address(d)} {_mac(d)} 2001:{d.randrange(65536):x}::{n % 65536:x}",
    "mail addresses": lambda d, n: f"{_word(d, 8)}@{_word(d, 8)}.example.org",
    "hashes": lambda d, n: f"{d.getrandbits(256):064x}",
    "ls -l": lambda d, n: f"-rw-r--r-- 1 {_word(d, 6).lower()} {_word(d, 6).lower()} {n} Nov 22 10:00 {_word(d, 12)}",
    "syslog": lambda d, n: (
        f"Nov 22 10:{n // 60 % 60:02}:{n % 60:02} {_word(d, 6).lower()} {_word(d, 6)}[{n}]: {_prose(d, 6)}"
    ),
    "modinfo": lambda d, n: (
        f"filename: /lib/modules/{n}/nvidia.ko\nversion: {d.randrange(600)}.{n % 99}\nlicense: {_word(d, 6)}"
    ),
    "lspci": lambda d, n: f"{n % 256:02x}:00.0 3D controller: NVIDIA Corporation GA100 [A100 SXM4 {n}GB] (rev a1)",
    "dpkg -l": lambda d, n: f"ii  nvidia-driver-{n}  {d.randrange(600)}.{n % 99}.01-0ubuntu1  amd64  {_prose(d, 4)}",
    "fleet of logs": lambda d, n: f"node-{n}: {_word(d, 6)}: RuntimeError: NCCL error: {_prose(d, 5)} ({n})",
    "progress bars": lambda d, n: (
        f"\r {n % 100:3}%|{'#' * (n % 20):20}| {n}/90000 [{n % 60:02}:00<00:41, {d.random():.2f}it/s]"
    ),
    "people's words": lambda d, n: f"{_prose(d, 14)}. {_prose(d, 10)}, {_word(d, 5)}?",
    "Chinese": lambda d, n: "".join(chr(d.randrange(0x4E00, 0x9FA5)) for _ in range(40)),
    "emoji and odd blanks": lambda d, n: (
        "\u00a0\u201c" + "".join(chr(d.randrange(0x1F300, 0x1F600)) for _ in range(20))
    ),
    "coloured": lambda d, n: f"\x1b[3{n % 8}m{_prose(d, 6)}\x1b[0m {_word(d, 6)}",
    "two letters a line": lambda d, n: _word(d, 2),
}
"""Rows of a text, by its kind: (source of chance, number of the row)."""
SIGNS = {
    "blanks": " ", "line ends": "\n", "carriage returns": "\r", "tabs": "\t", "@": "@", "/": "/", "\\": "\\", ":": ":",
    "=": "=", "-": "-", ".": ".", "<": "<", "&": "&", "*": "*", "_": "_", "|": "|", "$": "$", "~": "~", "quotes": '"',
    "ESC": "\x1b", "ESC [": "\x1b[", "ESC ]": "\x1b]", "a": "a", "0": "0", "://": "://", "a@": "a@", "a:": "a:",
    "a=": "a=", "key ": "key ", "id=": "id=", "user ": "user ", "[": "[", "{": "{", '{"a":': '{"a":', "()": "()",
    "<td>": "<td>", "</td> <td>": "</td> <td>", "/home/": "/home/", "a-": "a-", "1.": "1.", "$1$": "$1$",
    "-----BEGIN PRIVATE KEY-----": "-----BEGIN PRIVATE KEY-----", "login ": "login ", "\\n": "\\n", "**": "**",
    "> ": "> ", "NVRM: ": "NVRM: ", "Xid ": "Xid ", "error ": "error ", "CUDA error: ": "CUDA error: ",
    "GPU 0: ": "GPU 0: ", "kind: Secret ": "kind: Secret ", "AAAA": "AAAA ", "&amp;": "&amp;", "zero bytes": "\0",
}  # fmt: skip
"""Texts of one sign or word, over and over, on a single line."""


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
    one = {f"k{n}": {_word(draw, 6): _word(draw, 12), "version": n} for n in range(size // 75)}
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
    "random letters in one line": lambda draw, size: _word(draw, size).encode(),
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
