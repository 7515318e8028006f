"""FIFOs, sockets and devices for every parameter that names something to read, alone and inside folders."""

from __future__ import annotations

import os
import socket
from functools import partial

from tests.cli.test_named_paths import line, paths

from .engine import Attack
from .ground import Ground

_NAMES = (
    "fifo",
    "fifo.json",
    "socket.json",
    "to-fifo",
    "here/../fifo",
    "/dev/zero",
    "/dev/full",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/fd/../zero",
    "/proc/self/fd/../../../dev/random",
)
_WITHIN = (
    ("image", "./folder", "index.json"),
    ("image", "./folder", "manifest.json"),
    ("fit --gpus T4", "folder", "config.json"),
    ("fit --gpus T4", "folder", "a.safetensors"),
    ("check --matrix", "folder", "meta.json"),
    ("check --replay", "folder", "manifest.json"),
    ("dockerfile", "folder/Dockerfile", "Dockerfile"),
    ("dockerfile", "compose.yml", "Dockerfile"),
    ("check --from", "folder/a.json", "a.json"),
    ("healthcheck --config", "folder/gpudoctor.toml", "gpudoctor.toml"),
)


def attacks(ground: Ground) -> list[Attack]:
    """Each parameter with names drawn by the seed, and each kind of folder with a FIFO in it."""
    draw = ground.random("paths")
    found = []
    for command, one in paths():
        for name in draw.sample(_NAMES, 3):
            found.append(_attack(line(command, one, name), name, frozenset({1 if command == "healthcheck" else 2})))
    for command, given, name in _WITHIN:
        setup = partial(_kinds, within=name)
        codes = frozenset({0, 1, 2, 3}) if given == "compose.yml" else frozenset({1 if "health" in command else 2})
        found.append(Attack(f"{command}: a FIFO {name}", [*command.split(), given], setup, codes=codes, report=None))
    return found


def _attack(words: list[str], name: str, codes: frozenset[int]) -> Attack:
    return Attack(f"{' '.join(words)[:80]}: {name}", words, _kinds, codes=codes, report=None)


def _kinds(attack: Attack, within: str = "") -> None:
    folder = attack.folder
    for name in ("fifo", "fifo.json"):
        os.mkfifo(folder / name)
    (folder / "to-fifo").symlink_to("fifo")
    (folder / "here").mkdir()
    (folder / "Dockerfile").write_text("FROM ubuntu:24.04\n")
    (folder / "compose.yml").write_text("services: {a: {build: folder}}\n")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "socket.json"))
    if within:
        (folder / "folder").mkdir()
        os.mkfifo(folder / "folder" / within)
