"""Rows of the texts that `text_kinds.py` draws: by kind, from a source of chance."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from uuid import UUID

Row = Callable[[Random, int], str]
_WORDS = ("driver", "cuda", "the", "torch", "version", "error", "step", "gpu", "memory", "library", "failed", "loaded",
          "device", "node", "is", "not", "of", "model", "layer", "kernel", "runtime", "found", "with")  # fmt: skip


def word(draw: Random, length: int = 10) -> str:
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
    "log of many words": lambda d, n: f"{_clock(n)} {word(d)} {_prose(d)} {word(d, 6)}={word(d, 12)}",
    "pip list": lambda d, n: f"{word(d, 8).lower()}-{word(d, 4).lower()}{'':12}{d.randrange(20)}.{d.randrange(30)}.{n}",
    "pip freeze of nvidia": lambda d, n: f"nvidia-{word(d, 6).lower()}-cu12=={d.randrange(20)}.{d.randrange(30)}.{n}",
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
        f" name={word(d, 6)}, Ch {d.randrange(99):08x}"
    ),
    "NVRM messages": lambda d, n: f"[{n}.{n % 997:06}] NVRM: {_prose(d, 9)} {word(d, 6)}",
    "tracebacks": lambda d, n: (
        f'Traceback (most recent call last):\n  File "/opt/{word(d, 6)}/train.py", line {n}, in <module>\n'
        f"    model.to('cuda')\n  File \"/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py\", line {n},"
        f" in to\n    return self._apply(convert)\nRuntimeError: CUDA error: {_prose(d, 6)} {word(d, 5)}"
    ),
    "errors of words": lambda d, n: f"ERROR: {word(d, 6)}: {_prose(d, 8)} CUDA error: {_prose(d, 4)}",
    "KEY=VALUE": lambda d, n: f"{word(d, 6).upper()}_{n}={word(d, 20)}",
    "tokens and keys": lambda d, n: f"{d.choice(('API_KEY', 'token', 'password', 'secret'))}_{n}: {word(d, 24)}",
    "users and hosts": lambda d, n: f"user{n}_{word(d, 5)}@host{n}:~/runs$ ssh {word(d, 6)}@node{n}.cluster.local",
    "homes": lambda d, n: f'  File "/home/{word(d, 8)}/project/a.py", line {n}',
    "logins": lambda d, n: f"docker login -u {word(d, 6)} -p {word(d, 16)} registry-{n}",
    "YAML": lambda d, n: f"{'  ' * (n % 12)}{word(d, 8)}:{'' if n % 3 else ' ' + word(d, 12)}",
    "Kubernetes manifests": lambda d, n: (
        f"---\nkind: Secret\nmetadata:\n  name: {word(d, 8)}\ndata:\n  {word(d, 6)}: {word(d, 40)}"
    ),
    "Markdown table": lambda d, n: f"| {word(d, 8)} | {word(d, 12)} | {n} |",
    "HTML": lambda d, n: f"<tr><td>{word(d, 8)}</td><td>{word(d, 8)} &amp; {n}</td></tr>",
    "CSV": lambda d, n: (
        f"{n}, NVIDIA A100-SXM4-40GB, {d.randrange(400, 600)}.{n % 99}.02, {d.randrange(40960)} MiB, {word(d, 6)}"
    ),
    "URLs": lambda d, n: f"https://{word(d, 8)}.example.com/{word(d, 8)}?id={word(d, 12)}&token={word(d, 20)}",
    "UUIDs": lambda d, n: str(UUID(int=d.getrandbits(128))),
    "addresses": lambda d, n: f"{_address(d)} {_mac(d)} 2001:{d.randrange(65536):x}::{n % 65536:x}",
    "mail addresses": lambda d, n: f"{word(d, 8)}@{word(d, 8)}.example.org",
    "hashes": lambda d, n: f"{d.getrandbits(256):064x}",
    "ls -l": lambda d, n: f"-rw-r--r-- 1 {word(d, 6).lower()} {word(d, 6).lower()} {n} Nov 22 10:00 {word(d, 12)}",
    "syslog": lambda d, n: (
        f"Nov 22 10:{n // 60 % 60:02}:{n % 60:02} {word(d, 6).lower()} {word(d, 6)}[{n}]: {_prose(d, 6)}"
    ),
    "modinfo": lambda d, n: (
        f"filename: /lib/modules/{n}/nvidia.ko\nversion: {d.randrange(600)}.{n % 99}\nlicense: {word(d, 6)}"
    ),
    "lspci": lambda d, n: f"{n % 256:02x}:00.0 3D controller: NVIDIA Corporation GA100 [A100 SXM4 {n}GB] (rev a1)",
    "dpkg -l": lambda d, n: f"ii  nvidia-driver-{n}  {d.randrange(600)}.{n % 99}.01-0ubuntu1  amd64  {_prose(d, 4)}",
    "fleet of logs": lambda d, n: f"node-{n}: {word(d, 6)}: RuntimeError: NCCL error: {_prose(d, 5)} ({n})",
    "progress bars": lambda d, n: (
        f"\r {n % 100:3}%|{'#' * (n % 20):20}| {n}/90000 [{n % 60:02}:00<00:41, {d.random():.2f}it/s]"
    ),
    "people's words": lambda d, n: f"{_prose(d, 14)}. {_prose(d, 10)}, {word(d, 5)}?",
    "Chinese": lambda d, n: "".join(chr(d.randrange(0x4E00, 0x9FA5)) for _ in range(40)),
    "emoji and odd blanks": lambda d, n: (
        "\u00a0\u201c" + "".join(chr(d.randrange(0x1F300, 0x1F600)) for _ in range(20))
    ),
    "coloured": lambda d, n: f"\x1b[3{n % 8}m{_prose(d, 6)}\x1b[0m {word(d, 6)}",
    "two letters a line": lambda d, n: word(d, 2),
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
