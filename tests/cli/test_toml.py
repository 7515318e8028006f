"""TOML of a stranger: what costs the square of its length is refused, and what people write is not."""

from __future__ import annotations

import pytest

from doctor.commands.toml import MOST_PARTS, NotToml, loads

from ..rows import Faults


def test_a_key_of_very_many_parts_is_refused() -> None:
    many = ["a"] * 200_000
    with Faults() as faults:
        for name, text in {
            "bare": ".".join(many) + " = 1",
            "a table": f"[{'.'.join(many)}]",
            "a list of tables": f"[[{'.'.join(many)}]]",
            "quoted": ".".join(['"a"'] * 100_000) + " = 1",
            "with blanks": " . ".join(many) + " = 1",
            "in a table in a line": "x = { " + ".".join(many) + " = 1 }",
            "behind a line": "x = 1\n" + ".".join(many) + " = 1\n",
        }.items():
            with faults.of(name), pytest.raises(NotToml, match=f"more than {MOST_PARTS} parts"):
                loads(text)


def test_what_people_write_is_read() -> None:
    versions = ", ".join(f'"{n}.{n}.{n}"' for n in range(999))
    text = (
        f'# {"." * 400}\nversions = [{versions}]\nnote = "{"a sentence, and more. " * 500}"\n[a.b."c.d"]\n'
        'long = """\n' + "1.2.3\n" * 999 + '"""'
    )
    assert len(loads(text)["versions"]) == 999
    for words in ("x = " + "[" * 2000 + "]" * 2000, "x = ", "\0"):
        with pytest.raises(NotToml, match=r"^[^\n]+$"):
            loads(words)
