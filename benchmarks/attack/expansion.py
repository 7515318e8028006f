"""Files of up to 1 MB that stand for much more: variables, aliases, depth, length. Each has ten seconds of CPU."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

from .engine import Attack
from .ground import Ground

_MB = 1_000_000
_BOUNDS = "ulimit -t 10; ulimit -v 1200000; exec {it}"
"""Virtual memory: what an interpreter maps without using it counts too."""
_PIECES = (
    "\n",
    " ",
    "\t",
    "\\\n",
    "$",
    "${",
    "${A:-",
    "$A",
    "A=1 ",
    "'a'",
    '\\"',
    '"',
    "a",
    ";",
    "&& \\\n",
    "--x ",
    "# x\n",
    "RUN x\n",
    "RUN pip install torch==2.6\n",
    "ENV A=$A$A\n",
    "ARG B=$A$A\n",
    "ENV A='a'\n",
    "COPY a b\n",
    "<<E\n",
    "FROM s AS s\n",
    "apt-get install x ;",
    "case linux/amd64 in esac ",
    "assert torch.",
    "x.run ",
    "nvidia-smi;",
)
_NODES = (
    "[",
    "{",
    "- ",
    "? ",
    "!!str ",
    "&a ",
    "*a ",
    "[],",
    "{},",
    "a,",
    "1_0,",
    "2001-01-01,",
    "\n",
    "# x\n",
    "---\n",
    "- a\n",
    "k: 1\n",
    "- &a [*a,*a]\n",
    "- {<<: *a}\n",
    "- 'x'\n",
    "- |\n  x\n",
    "'",
    '"',
    "\\n",
    "%",
    "@",
)


def attacks(ground: Ground) -> list[Attack]:
    """Known expansions in drawn sizes, and pieces of both languages repeated to a drawn length."""
    draw = ground.random("expansion")
    found = []
    for _ in range(40):
        name, text, suffix = draw.choice(_KNOWN)(draw)
        found.append(_attack(name, text, suffix))
    for _ in range(60):
        pieces = "".join(draw.choice(_PIECES) for _ in range(draw.choice((1, 1, 2, 3))))
        start = draw.choice(("FROM ubuntu:24.04\nENV A=aa\nRUN ", "FROM x AS s\n", "FROM ubuntu:24.04\nENV A="))
        found.append(_attack(f"{start!r} and {pieces!r}", start + _repeated(pieces, draw), "Dockerfile"))
    for _ in range(40):
        pieces = "".join(draw.choice(_NODES) for _ in range(draw.choice((1, 1, 2))))
        start = draw.choice(("services: ", "services:\n  a: &a {image: x}\nx:\n", "apiVersion: v1\nkind: Pod\nspec: "))
        found.append(_attack(f"{start!r} and {pieces!r}", start + _repeated(pieces, draw), "a.yaml"))
    return found


def _repeated(text: str, draw: random.Random) -> str:
    return text * (draw.choice((20_000, 200_000, _MB)) // len(text))


def _attack(name: str, text: str, suffix: str) -> Attack:
    setup = partial(_given, name=suffix, text=text)
    return Attack(f"dockerfile: {name[:80]}", ["dockerfile", suffix], setup, shell=_BOUNDS, deadline_s=120.0)


def _given(attack: Attack, name: str, text: str) -> None:
    (attack.folder / name).write_text(text)


def _variables(draw: random.Random) -> tuple[str, str, str]:
    word, times, lines = draw.choice(("ENV", "ARG")), draw.randrange(2, 40), draw.randrange(12, 200)
    return f"{word} {times} times, {lines} lines", f"FROM x\nENV A=a\n{word} A=a{'$A' * times}\n" + (
        f"{word} A={'$A' * times}\n" * lines
    ), "Dockerfile"  # fmt: skip


def _names(draw: random.Random) -> tuple[str, str, str]:
    word, count = draw.choice(("ENV", "ARG")), draw.randrange(1000, 60_000)
    return f"{count} {word}", "FROM x\n" + "".join(f"{word} A{i}=1\n" for i in range(count)), "Dockerfile"


def _chain(draw: random.Random) -> tuple[str, str, str]:
    count, more = draw.randrange(900, 30_000), draw.choice(("", "ENV A=$A$A\n", "RUN x\n"))
    rows = (f"FROM s{i} AS s{i + 1}\n{more}" for i in range(count))
    return f"{count} stages {more!r}", "FROM x AS s0\n" + "".join(rows), "Dockerfile"


def _lines(draw: random.Random) -> tuple[str, str, str]:
    count, word = draw.randrange(4000, 200_000), draw.choice(("a", "&& pip install torch", "# c\n", ""))
    text = "FROM x\nRUN x " + f"\\\n{word} " * count
    return f"{count} lines {word!r}", text[:_MB] + "\n", "Dockerfile"


def _aliases(draw: random.Random) -> tuple[str, str, str]:
    wide, deep = draw.randrange(2, 40), draw.randrange(3, 90)
    form = draw.choice(("a{0}: &a{0} [{1}]\n", "a{0}: &a{0}\n  <<: [{1}]\n", "a{0}: &a{0} {{k: [{1}]}}\n"))
    rows = (form.format(i, ",".join([f"*a{i - 1}"] * wide)) for i in range(1, deep))
    return f"aliases {wide} wide, {deep} deep", "a0: &a0 {x: y}\n" + "".join(rows) + (
        f"services: {{a: {{image: x, command: *a{deep - 1}, environment: *a{deep - 1}}}}}\n"
    ), "a.yaml"  # fmt: skip


_KNOWN: tuple[Callable[[random.Random], tuple[str, str, str]], ...] = (_variables, _names, _chain, _lines, _aliases)
