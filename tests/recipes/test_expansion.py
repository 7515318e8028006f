"""Files that are small and stand for much: refused in one line, before what they stand for is made."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.cli import run

from ..rows import for_each

FROM = "FROM ubuntu:24.04\n"
CHAIN = FROM.strip() + " AS s0\n" + "".join(f"FROM s{i} AS s{i + 1}\n" for i in range(3000))
_NINE = "".join(f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12))
LAUGHS = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + _NINE + "services: {a: {image: x, environment: *a11, command: *a11}}\n"
_MERGES = "".join(f"x{i}: &x{i}\n  <<: [{','.join([f'*x{i - 1}'] * 9)}]\n" for i in range(1, 12))

REFUSED = {
    "ENV of four of itself": (FROM + "ENV A=aaaa\n" + "ENV A=$A$A$A$A\n" * 40, "variables expand to over 4 MiB"),
    "ARG of two of itself": ("ARG A=aa\n" + "ARG A=$A$A\n" * 60 + FROM, "variables expand to over 4 MiB"),
    "RUN of a long variable": (FROM + f"ENV A={'a' * 9000}\n" + "RUN $A$A\n" * 500, "variables expand to over 4 MiB"),
    "variables of every line": (FROM + "".join(f"ENV A{i}=1\n" for i in range(2000)), "produce over 500000 entries"),
    "variables of a chain": (CHAIN.replace("\n", "\nENV A=1 B=2 C=3\n"), "produce over 500000 entries"),
    "instructions": (FROM + "RUN x\n" * 10_001, "more than 10000 lines"),
    "short lines": ("FROM x AS s\n" + "<<E\n$RUN x\n" * 100_000, "more than 10000 lines"),
    "lines of a RUN": (FROM + "RUN x " + "\\\n a " * 200_000 + "\n", "more than 5000 continued lines"),
    "lines with comments": (FROM + "RUN x " + "\\\n# c\n\n a " * 5_001 + "\n", "more than 5000 continued lines"),
    "comments": ("services: {}\n" + "# x\n" * 250_000, "more than 50000 lines"),
    "YAML aliases": (LAUGHS, "more than 50000 nodes"),
    "YAML merge keys": ("x0: &x0 {a: 1}\n" + _MERGES + "services: {a: *x11}\n", "more than 50000 nodes"),
    "YAML texts": (f"x: &x {'a' * 90_000}\ny: [{'*x, ' * 90}]\nservices: {{}}\n", "more than 50000 nodes"),
    "an alias of itself": ("services: &s\n  a: *s\n", "*s is an alias of a node that contains it"),
    "an alias of itself, set twice": ("a: &s [1]\nservices:\n  a: &s\n    b: *s\n", "*s is an alias of a node that contains it"),
    "YAML in depth": ("services: " + "[" * 5000, "nested more than 100 levels deep"),
}  # fmt: skip
JUDGED = {
    "a chain of 3,000 stages": CHAIN,
    "a long word": FROM + f"RUN {'a' * 60_000} && pip install torch\n",
    "words joined by quotes": FROM + "RUN " + "'a'" * 20_000 + "\n",
    "assignments before a command": FROM + "RUN " + "A=1 " * 15_000 + "pip install torch\n",
    "blank lines": FROM + "\n" * 300_000,
    "blanks in a RUN": FROM + "RUN <<E\n" + "\n" * 100_000 + "E\n",
    "aliases in their number": "services:\n  a: &a {image: x}\n" + "".join(f"  b{i}: *a\n" for i in range(300)),
}  # fmt: skip


@for_each("name", REFUSED, quick=8)
def test_what_stands_for_too_much_is_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, words = REFUSED[name]
    file = tmp_path / "recipe"
    file.write_text(text)
    assert run(["dockerfile", str(file)]) == 2
    printed = capsys.readouterr()
    assert words in printed.err and printed.err.count("\n") == 1 and not printed.out


@for_each("name", JUDGED, quick=4)
def test_what_is_only_large_is_judged(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "recipe"
    file.write_text(JUDGED[name])
    assert run(["dockerfile", str(file)]) in (0, 1)
    assert not capsys.readouterr().err
